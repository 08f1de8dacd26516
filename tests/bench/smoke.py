#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark tool from end to end on what every machine has: smoke.py ROOT BUILD

Runs it with hardly any requests in two halves (a time limit ends the first), then sees that every cell is there
once, that results were compared, that the report is what the raw data give and that a changed one is noticed."""
import json
import os
import subprocess
import sys
import tempfile

ROOT, BUILD = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import clients  # noqa: E402


def bench(*args, expect=0, before="", build=BUILD, path=""):
    """before: Python that changes the tool first; path: where programs are looked for first"""
    program = [os.path.join(ROOT, "bench/run")]
    if before:
        program = ["-c", f"import sys; sys.path.insert(0, {ROOT + '/bench'!r}); {before}; from suite import cli; sys.exit(cli.main())"]
    done = subprocess.run([sys.executable, *program, "--build", build, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=240, check=False,
                          env=dict(os.environ, PATH=path + os.pathsep + os.environ["PATH"]) if path else None)
    if done.returncode != expect:
        print(done.stdout)
        sys.exit(f"bench/run {' '.join(args)}: status {done.returncode}, not {expect}")
    return done.stdout


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def late():
    """A client that gets its processor when the time to measure is over has one request all the same."""
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "tests/fakes/cuda/driver"))
    with tempfile.NamedTemporaryFile() as log:
        client = clients.Client([os.path.join(BUILD, "bench/load_cuda"), "1000", "high"], env, log.name, "late")
        for mode in ("open", "gap"):
            client.send(f"run high {mode} start=1 end=2 work_us=10 kernels=1 width=100 depth=1 fill_us=0 at=1,1")
            said = [r for r in clients.collect([client], {client: 2 if mode == "open" else 1}, 60)[client] if "role" in r]
            need([(r["n"], len(r["requests_us"])) for r in said] == [(1, 1)], f"{mode}: {said}")
        client.end()


def processes(out):
    """(platform, workload, variant, side, block) -> which process it was"""
    with open(os.path.join(out, "suite.jsonl"), encoding="utf-8") as f:
        return {tuple(r[k] for k in ("platform", "workload", "variant", "side", "run")): r["process"]
                for r in map(json.loads, f) if r["metric"] == "checksum"}


def main():
    late()
    with tempfile.TemporaryDirectory() as out:
        bench("--only", "Z", expect=2)
        bench("--variants", "nonsense", expect=2)
        bench("--peer", "nothing", expect=2)
        bench("--resume", "--out", out, expect=2)
        need("xsched-auto" in bench("--list"), "--list names the variants")
        common = ("--smoke", "--platforms", "opencl,fake", "--out", out)
        bench(*common, "--time-limit", "9", "--no-report", expect=75)
        path = os.path.join(out, "suite.jsonl")
        with open(path, encoding="utf-8") as f:
            first = [l for l in f if l.strip()]
        with open(path, "a", encoding="utf-8") as f:   # the line that was being written when it was killed
            f.write('{"workload": "A", "platform": "opencl", "var')
        said = bench(*common, "--peer", "other=env PEER=1")
        print(said)
        with open(path, encoding="utf-8") as f:
            rows = [json.loads(l) for l in f]
        need([json.dumps(r) for r in rows[:len(first)]] == [json.dumps(json.loads(l)) for l in first], "the first half is kept")
        cells = [r["cell"] for r in rows if r.get("last")]
        need(len(cells) == len(set(cells)), "no cell twice")
        here = {c.split("/")[0] for c in cells}
        for cell in ("fake/B/native/0", "fake/B/xsched-auto/0", "fake/E/t_ms=1/xsched-auto/0", "fake/B/other/0", "host/J/2/0"):
            need(cell in cells, cell)
        if "opencl" in here:
            for cell in ("opencl/A/alone/0", "opencl/A/native/0", "opencl/A/xsched-auto/0", "opencl/E/t_ms=5/native/0"):
                need(cell in cells, cell)
        else:
            need("opencl" in said, "why there is no OpenCL")
        need(not any(r.get("wrong") for r in rows), "all results right")
        sums = [r for r in rows if r["metric"] == "checksum"]
        need(sums and all(r["n"] > 0 for r in sums if r["side"] == "high"), "urgent sides answered")
        need({r.get("level") for r in rows if r.get("variant") == "xsched-auto"} - {None}, "the level in force is known")
        driver = [r["value"] for r in rows if r.get("side") == "driver" and r["workload"] != "J"]
        need(sum(driver) < 0.2 * 1e3 * len(driver), f"the driver sleeps while others are measured ({sum(driver)} ms)")
        bench("--check", out)
        report = os.path.join(out, "report.md")
        with open(report, encoding="utf-8") as f:
            text = f.read()
        need("| other |" in text and "## Targets" in text, "the report names the peer")
        with open(report, "w", encoding="utf-8") as f:
            f.write(text.replace("| yes |", "| yes  |", 1))
        bench("--check", out, expect=1)
    # what is packed for a machine where nothing can be built is enough, for the watchers too
    with tempfile.TemporaryDirectory() as out:
        packed = os.path.join(out, "packed")
        subprocess.run([os.path.join(ROOT, "bench/pack"), BUILD, packed], check=True, timeout=120)
        said = bench("--smoke", "--only", "A", "--platforms", "opencl", "--variants", "xsched-auto,xsched-watched", "--out", out,
                     build=packed)
        need("opencl" not in here or ("A on opencl" in said and "skipped" not in said), said)
    # blocks start anew, variants that share a process do so within a block, and what was interrupted goes on
    with tempfile.TemporaryDirectory() as out:
        anew = ("--smoke", "--fresh", "--blocks", "2", "--only", "A,B", "--platforms", "opencl,fake", "--variants",
                "alone,native,alone-xsched,xsched-auto", "--out", out)
        bench(*anew)
        before = processes(out)
        for where in {key[:2] for key in before}:
            own = {v: [before[(*where, v, side, block)] for block in (0, 1)] for *at, v, side, block in before
                   if tuple(at) == where and side == "high"}
            need(own["alone"] == own["native"] and own["native"][0] != own["native"][1], f"{where}: {own}")
            need(not set(own["native"]) & set(own["xsched-auto"]), f"{where}: {own}")
            need(where[1] == "B" or own["alone-xsched"] == own["xsched-auto"], f"{where}: {own}")
        path = os.path.join(out, "suite.jsonl")
        with open(path, encoding="utf-8") as f:
            rows = [l for l in f if json.loads(l).get("cell") != "fake/B/native/1"]
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(rows)
        bench(*anew)
        after = processes(out)
        again = {k for k in before if k[0] == "fake" and k[2] == "native" and k[4] == 1}
        need(before.keys() == after.keys() and again == {k for k in before if before[k] != after[k]}, "only what lacked is anew")
        bench(*(w for w in anew if w != "--fresh"), "--out", os.path.join(out, "kept"), "--platforms", "fake", "--only", "B")
        kept = processes(os.path.join(out, "kept"))
        need(kept["fake", "B", "native", "high", 0] == kept["fake", "B", "native", "high", 1], "without --fresh they stay")
    # programs are started alike, or as the system does
    with tempfile.TemporaryDirectory() as out:
        for free in ((), ("--free-starts",)):
            where = os.path.join(out, "free" if free else "alike")
            bench("--smoke", "--only", "B", "--platforms", "fake", "--variants", "native", "--out", where, *free)
            with open(os.path.join(where, "suite.jsonl"), encoding="utf-8") as f:
                said = {r["alike"] for r in map(json.loads, f) if r["metric"] == "seconds"}
            with open(os.path.join(where, "report.md"), encoding="utf-8") as f:
                need(said == {not free} and ("started alike" in f.read()) == (not free), f"{free}: {said}")
    # the device's clocks, where somebody says them
    with tempfile.TemporaryDirectory() as out:
        asked = ("--smoke", "--only", "B", "--platforms", "fake", "--variants", "native", "--clocks", "--out", out)
        tool = os.path.join(out, "nvidia-smi")
        with open(tool, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nwhile :; do echo '0, 1980, 2619, 412.50, 55, 100, 0x4'; sleep 0.05; done\n")
        os.chmod(tool, 0o755)
        bench(*asked, path=out)
        with open(os.path.join(out, "report.md"), encoding="utf-8") as f:
            need("| device0 | native | 1980 | 1980 | 2619 | 412.5 | 55 | 100 | 0x4 |" in f.read(), "clocks are in the report")
    with tempfile.TemporaryDirectory() as out:
        tool = os.path.join(out, "nvidia-smi")
        with open(tool, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho 'No devices were found'; exit 6\n")
        os.chmod(tool, 0o755)
        said = bench(*asked[:-1], out, path=out)
        need(said.count("--clocks: nvidia-smi: No devices were found") == 1 and "skipped" not in said, said)
    # another program's results are noticed
    with tempfile.TemporaryDirectory() as out:
        said = bench("--smoke", "--only", "B", "--platforms", "fake", "--variants", "alone,native", "--out", out, "--peer",
                     "changed=sh -c '\"$@\" | sed -u s/checksum.:[0-9]*/checksum\\\":7/' sh", expect=1)
        need("WRONG: B on fake, changed" in said and "native: the results" not in said, said)
    # two devices, and what happens where there is one
    with tempfile.TemporaryDirectory() as out:
        two = ("--smoke", "--only", "M", "--platforms", "fake", "--out", out)
        said = bench(*two, before="from suite import platforms; p = platforms.Platform; p.__setattr__ = lambda self, k, v: "
                     "object.__setattr__(self, k, 1 if k == 'devices' else v)")
        need("2 devices are wanted, 1 is here" in said, said)
        bench(*two)
        with open(os.path.join(out, "report.md"), encoding="utf-8") as f:
            text = f.read()
        need("| first | xsched-auto |" in text and "| second | xsched-auto |" in text, "both devices are in the report")
        need("wanted, 1 is here" not in text, "what was measured later is not called skipped")


main()
