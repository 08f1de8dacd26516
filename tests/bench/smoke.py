#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark tool from end to end on what every machine has: smoke.py ROOT BUILD

Runs it with hardly any requests in two halves (a time limit ends the first), then sees that every cell is there
once, that results were compared, that the report is what the raw data give and that a changed one is noticed."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

ROOT, BUILD = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import clients, services  # noqa: E402


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


def ended(args, signo, expect):
    """Ended by a signal: the status says so, nothing is left running, and what it says is no traceback."""
    run = subprocess.Popen([sys.executable, os.path.join(ROOT, "bench/run"), "--build", BUILD, *args], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, start_new_session=True)
    line = run.stdout.readline()
    while line and not line.startswith(("-- ", "   clients ready")):
        line = run.stdout.readline()
    mine = [p for p in os.listdir("/proc") if p.isdigit() and about(p)[1] == str(run.pid)]
    run.send_signal(signo)
    said = line + run.communicate(timeout=60)[0]
    need(run.returncode == expect and "Traceback" not in said, f"{args}: {run.returncode}, {said}")
    until = time.monotonic() + 10
    while any(about(p)[0] != "Z" for p in mine):
        need(time.monotonic() < until, f"{args}: {mine} are left")
        time.sleep(0.02)


def about(pid):
    """Its state (Z when it is gone), its parent"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return "Z", ""


def refused(out):
    """What cannot be done is said in a line."""
    for args in (("--peer", "a=env", "--peer", "a=nice"), ("--tune", "a=--x", "--tune", "a=--y"),
                 ("--peer", "a=env", "--tune", "a=--x"), ("--blocks", "-1"), ("--requests", "-1"), ("--seconds", "-1")):
        bench(*args, expect=2)
    one = ("--smoke", "--only", "B", "--platforms", "fake", "--variants", "native")
    report, notes = os.path.join(out, "report.md"), os.path.join(out, "notes.json")
    with open(notes, "w", encoding="utf-8") as f:
        f.write('{"head": ')
    for args in ((*one, "--out", os.path.join(notes, "in-a-file")), ("--only", "idle", "--build", "/nowhere"),
                 ("--report", out), (*one, "--out", out), ("--report", out)):
        need("Traceback" not in bench(*args, expect=1), args)
    need(not os.path.exists(report), "no report with broken notes")
    os.unlink(notes)
    ended((*one, "--out", os.path.join(out, "hup"), "--blocks", "100"), signal.SIGHUP, 129)
    ended((*one, "--out", os.path.join(out, "term"), "--blocks", "100"), signal.SIGTERM, 143)
    ended(("--only", "submit"), signal.SIGINT, 130)


def mps():
    """An MPS daemon that does not start, in whichever way, is a reason to skip, and leaves nothing behind."""
    with tempfile.TemporaryDirectory() as folder:
        tool, temporary = os.path.join(folder, "nvidia-cuda-mps-control"), os.path.join(folder, "tmp")
        os.mkdir(temporary)
        for script, works in (("#!/bin/sh\nexec sleep 60", False), ("#!/bin/sh\nexit 1", False), ("#!/nowhere", False),
                              ("#!/bin/sh\ntest -d $CUDA_MPS_PIPE_DIRECTORY", True)):
            with open(tool, "w", encoding="utf-8") as f:
                f.write(script + "\n")
            os.chmod(tool, 0o755)
            with mock.patch.object(services, "PATIENCE_S", 0.5), mock.patch.object(tempfile, "tempdir", temporary), \
                    mock.patch.object(services.machine, "find_tool", lambda _: tool):
                daemons = services.Services(BUILD, folder)
                try:
                    need(daemons.mps() and works, script)
                except services.ServiceError as e:
                    need(not works and "does not start" in str(e), f"{script}: {e}")
                daemons.stop()
            need(not os.listdir(temporary), f"{script}: {os.listdir(temporary)}")


def pieces():
    """bench/gpu_first takes a piece for done when it is; a python3 of ours ends as it is told."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "bin"))
        says, done = os.path.join(folder, "says"), os.path.join(folder, "out/pieces")
        with open(os.path.join(folder, "bin/python3"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nread -r n <{says}; sed -i 1d {says}; exit $n\n")
        os.chmod(f.name, 0o755)
        # of part clocks, A and F: what they end with, the seconds there are, what gpu_first ends with, what is done then
        for statuses, seconds, expect, whole in (("0 1", 2000, 1, "A"), ("2", 2000, 1, "A"), ("124", 100, 75, "A"),
                                                 ("137", 100, 75, "A"), ("75", 100, 75, "A"), ("75", 2000, 0, "A F")):
            with open(says, "w", encoding="utf-8") as f:
                f.write(statuses.replace(" ", "\n") + "\n")
            status = subprocess.run([os.path.join(ROOT, "bench/gpu_first"), BUILD, os.path.join(folder, "out"),
                                     str(seconds), "clocks"], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=60,
                                    check=False, env=dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}")).returncode
            with open(done, encoding="utf-8") as f:
                need((status, f.read().split()) == (expect, [f"clocks/{n}" for n in whole.split()]),
                     f"gpu_first, {statuses}: {status}")


def processes(out):
    """(platform, workload, variant, side, block) -> which process it was"""
    with open(os.path.join(out, "suite.jsonl"), encoding="utf-8") as f:
        return {tuple(r[k] for k in ("platform", "workload", "variant", "side", "run")): r["process"]
                for r in map(json.loads, f) if r["metric"] == "checksum"}


def main():
    late()
    pieces()
    mps()
    with tempfile.TemporaryDirectory() as out:
        refused(out)
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
    # other options of xserver in the same processes; options that it refuses spoil nothing
    with tempfile.TemporaryDirectory() as out:
        said = bench("--smoke", "--only", "B", "--platforms", "fake", "--variants", "xsched-auto", "--blocks", "2", "--out", out,
                     "--tune", "bad=--no-such-option", "--tune", "loud=--log-level=INFO")
        where = processes(out)
        need({k[2] for k in where} == {"xsched-auto", "loud"} and len(set(where.values())) == 1, f"{where}")
        need("skipped: B bad on fake: xserver does not answer" in said, said)
        with open(os.path.join(out, "xserver.log"), encoding="utf-8") as f:
            need("XSCHED INFO" in f.read(), "the options are in force")
    # an xserver that dies: nothing is recorded as if it had been there, and the next workload has another one
    with tempfile.TemporaryDirectory() as out:
        said = bench("--smoke", "--only", "E,B", "--platforms", "fake", "--variants", "native,xsched-2,xsched-auto",
                     "--out", out, "--blocks", "2",
                     before="from suite import measure; M = measure.Measurement; run = M.run_cell; "
                     "M.run_cell = lambda self, b, p, v, c: ([s.process.kill() for s in self.suite.services.servers.values() "
                     "if (self.workload.letter, v.name, b) == ('E', 'xsched-2', 1)], run(self, b, p, v, c))[1]")
        there = {k[1:3] + k[4:] for k in processes(out)}
        need({k for k in there if k[0] == "E"} == {("E", "native", 0), ("E", "native", 1), ("E", "xsched-2", 0),
                                                   ("E", "xsched-auto", 0)}, f"{there}")
        need(("B", "xsched-auto", 1) in there, f"{there}: {said}")
        for v in ("xsched-2", "xsched-auto"):
            need(f"skipped: E {v} on fake: xserver has ended" in said, said)
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
