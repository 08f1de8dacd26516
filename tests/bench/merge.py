#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/run --merge on made-up results: merge.py ROOT

A later run replaces whole workloads, or adds only the variants that were missing; the report follows; what is twice the same
changes nothing; a folder without results is an error."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]


def rows(letter, variants, value, date, blocks=3):
    for v in variants:
        for block in range(blocks):
            of = {"workload": letter, "platform": "cuda", "variant": v, "run": block, "device": "made up", "driver": "0",
                  "framework": "none", "commit": "0000000", "date": date, "cell": f"cuda/{letter}/{v}/{block}"}
            ms = [value + block / 10 + i / 100 for i in range(10)]
            yield dict(of, side="high", metric="samples", samples=ms, unit="ms", n=10, report=False)
            yield dict(of, side="high", metric="p50", value=ms[4], unit="ms", n=10)
            yield dict(of, side="high", metric="p99", value=ms[9], unit="ms", n=10)
            yield dict(of, side="machine", metric="seconds", value=1.0, unit="s", n=1, report=False, last=True)


def starts(variants, value, commit, t_ms=(1,)):
    """Of E: when the first kernel starts, alone and beside kernels of T, and what the other side makes."""
    for v in variants:
        for t in (None,) if v == "alone" else t_ms:
            of = {"workload": "E", "platform": "cuda", "variant": v, "run": 0, "device": "made up", "driver": "0",
                  "framework": "none", "commit": commit, "date": "2026-01-01T00:00:00Z",
                  "cell": f"cuda/E/{v}/{t}", **({"t_ms": t} if t else {})}
            us = [(value if v == "alone" else value + 100) + i % 7 / 10 for i in range(300)]
            yield dict(of, side="high", metric="start_samples", samples=us, unit="us", n=300, report=False)
            yield dict(of, side="high", metric="p50", value=1.0, unit="ms", n=300)
            if v != "alone":
                yield dict(of, side="low", metric="throughput", value=value, unit="1/s", n=9)
            yield dict(of, side="machine", metric="seconds", value=1.0, unit="s", n=1, report=False, last=True)


def write(folder, some):
    os.makedirs(folder)
    with open(os.path.join(folder, "suite.jsonl"), "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in some)


def run(*args, expect=0):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench/run"), *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    if done.returncode != expect:
        sys.exit(f"bench/run {' '.join(args)}: status {done.returncode}, not {expect}:\n{done.stdout}")
    return done.stdout


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def values(folder):
    with open(os.path.join(folder, "suite.jsonl"), encoding="utf-8") as f:
        found = {}
        for r in map(json.loads, f):
            if r["metric"] == "p50":
                found.setdefault((r["workload"], r["variant"]), []).append(round(r["value"], 2))
        return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        late = "2026-01-02T00:00:00Z"
        old = [*rows("A", ("alone", "native", "mps"), 1, "2026-01-01T00:00:00Z"),
               *rows("B", ("alone", "native"), 1, "2026-01-01T00:00:00Z"), *rows("C", ("alone", "native"), 5, "2026-01-01T00:00:00Z")]
        write(path("new"), [*(r for letter in "AB" for r in rows(letter, ("alone", "native", "xsched-auto"), 2, late)),
                            *rows("G", ("alone",), 7, late)])
        for name, more in (("replaced", ()), ("appended", ("--append",))):
            write(path(name), old)
            said = run("--merge", path("new"), path(name), *more)
            run("--check", path(name))
            v = values(path(name))
            need(v["C", "alone"] == [5.04, 5.14, 5.24], "what only the first has stays")
            need(v["G", "alone"] == [7.04, 7.14, 7.24], "what only the second has comes")
            need(all(len(x) == 3 for x in v.values()), f"nothing twice: {v}")
            need(v["A", "xsched-auto"][0] == 2.04, "the new variant is there")
            with open(os.path.join(path(name), "report.md"), encoding="utf-8") as f:
                report = f.read()
            if more:
                need(v["A", "alone"][0] == 1.04 and ("A", "mps") in v, "what was there stays")
                need(v["A", "alone-other"][0] == v["A", "native-other"][0] == 2.04, "what it is compared with comes along")
                ours = next(l for l in report.splitlines() if l.startswith("| xsched-auto |")).split("|")
                need(ours[7].strip() == "1", f"against alone of its own run: {ours}")
                target = next(l for l in report.splitlines() if "| urgent P90 at most 1.5 x alone |" in l)
                need("| 1 (" in target, f"a target against alone of its own run: {target}")
                need("another run" in report and f"xsched-auto ({late[:16]})" in report, "the report says so")
            else:
                need(v["A", "alone"][0] == 2.04 and ("A", "mps") not in v, "the whole workload is the new one")
                need("mps is dropped" in said and "another run" not in report, "what is lost is said")
            before = values(path(name))
            run("--merge", path("new"), path(name), *more)
            need(values(path(name)) == before, "the same once more changes nothing")
        # E, where the other run was slower by 50 us and less by half
        write(path("E"), [*starts(("alone", "native", "xsched-3"), 30, "0000000")])
        write(path("E-new"), [*starts(("alone", "native", "xsched-2"), 80, "1111111")])
        run("--merge", path("E-new"), path("E"), "--append")
        run("--check", path("E"))
        with open(os.path.join(path("E"), "report.md"), encoding="utf-8") as f:
            report = f.read().splitlines()
        for v in ("native", "xsched-3", "xsched-2", "native-other"):
            line = next(l for l in report if l.startswith(f"| {v} | 1 |"))
            need(line.startswith(f"| {v} | 1 | 100 (") and "| 1 (1 .. 1) |" in line, f"E against its own run: {line}")
        need(not any(l.startswith("| alone") for l in report), "alone has no row of its own in E")
        said = "Alone, in the run of variants that were added, the first kernel starts after 80.3 ("
        need(any(l.startswith(said) for l in report),
             "alone of the other run is said")
        # what was added without what it is compared with: no figure
        write(path("lone"), [*starts(("xsched-1",), 80, "2222222")])
        run("--merge", path("lone"), path("E"), "--append")
        with open(os.path.join(path("E"), "report.md"), encoding="utf-8") as f:
            need(any(l.startswith("| xsched-1 | 1 |  |  |  |  | 300 |") for l in f), "no figure against another run")
        run("--merge", path("nothing"), path("replaced"), expect=1)
        run("--check", path("nothing"), expect=1)
        # a folder that has a report and no raw results
        os.rename(os.path.join(path("E"), "suite.jsonl"), os.path.join(path("E"), "elsewhere.jsonl"))
        with open(os.path.join(path("E"), "report.md"), encoding="utf-8") as f:
            before = f.read()
        for what in ("--report", "--check"):
            need("there is no suite.jsonl in" in run(what, path("E"), expect=1), "that is said")
        with open(os.path.join(path("E"), "report.md"), encoding="utf-8") as f:
            need(f.read() == before, "and the report stays")


main()
