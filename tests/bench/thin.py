#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/thin_results.py: thin.py ROOT

What it drops changes no report; it changes nothing when it runs again; each suite.jsonl of docs/results is as it leaves them.
Rows in the short form mean what whole rows mean, also where a run appends whole rows to them."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import raw  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def run(*command):
    done = subprocess.run([sys.executable, "-B", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def thin(*args):
    return run(os.path.join(ROOT, "scripts/thin_results.py"), *args)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cell(letter, variant, block, **more):
    """What bench/run writes of one block: two sides, a driver, a timeline of two seconds."""
    of = {"workload": letter, "platform": "cuda", "variant": variant, "run": block, "device": "made up", "driver": "0",
          "framework": "none", "commit": "0000000", "date": "2026-01-01T00:00:00Z", "cell": f"cuda/{letter}/{variant}/{block}", **more}
    ms = [2 + block / 10 + i / 100 for i in range(40)]
    high = dict(of, side="high", process=f"{block}@1.5")
    yield dict(high, metric="samples", samples=ms, unit="ms", n=40, report=False)
    for name, value in (("p50", ms[19]), ("p90", ms[35]), ("p99", ms[39])):
        yield dict(high, metric=name, value=value, unit="ms", n=40)
    for side in ("high", "low"):
        yield dict(of, side=side, metric="checksum", value=7, n=40, wrong=0, report=False)
        yield dict(of, side=side, metric="per_100ms", samples=[1, 2, 3], n=6, report=False)
    if variant != "alone":
        yield dict(of, side="low", metric="timeline-ends", samples=[1, 500000, 1500000], n=3, report=False)
        yield dict(of, side="low", metric="throughput", value=5 + block, unit="1/s", n=9, batch=4)
    yield dict(of, side="high", metric="timeline", samples=[[1, 2], [1500000, 1600000]], n=2, report=False)
    yield dict(of, side="driver", metric="cpu", value=0.5, unit="ms", n=1, report=False)
    yield dict(of, side="machine", metric="seconds", value=2.0, unit="s", n=1, report=False, last=True)


def made():
    yield {"workload": "", "platform": "cuda", "variant": "", "metric": "rounds_per_ms", "value": 9, "unit": "1", "date": "2026-01-01"}
    for letter in "ADF":
        for variant in ("alone", "native", "xsched-auto"):
            for block in range(3):
                yield from cell(letter, variant, block)
    for row in cell("A", "mps", 0, added="2026-01-02T00:00:00Z"):
        yield dict(row, wrong=1) if row["metric"] == "checksum" else row


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows, path = list(made()), os.path.join(folder, raw.NAME)
        write(path, rows)
        run(os.path.join(ROOT, "bench/run"), "--report", folder)
        report = read(os.path.join(folder, "report.md"))
        need("| NO |" in report and report.count("| yes |") > 8, f"the report says whose results are equal:\n{report}")
        thin(path)
        need(os.path.getsize(path) * 3 < sum(len(json.dumps(r)) for r in rows), "it is much smaller")
        run(os.path.join(ROOT, "bench/run"), "--check", folder)
        kept, dropped = raw.load(path)
        need(dropped == 0 and {r["cell"] for r in kept if "cell" in r} == {r["cell"] for r in rows if "cell" in r},
             "all cells are there, and whole")
        count = {m: sum(r["metric"] == m for r in kept) for m in {r["metric"] for r in rows}}
        need(count["samples"] == 28 and count["p50"] == 28 and count["p90"] == 0 and count["timeline"] == 7
             and count["per_100ms"] == 12 and count["checksum"] == 20, f"what is kept: {count}")
        before = read(path)
        thin(path)
        need(read(path) == before, "again, it changes nothing")

        # A checksum that differs is kept, whichever block has it.
        odd = [dict(r, value=8) if r["metric"] == "checksum" and r["variant"] == "xsched-auto" and r["run"] == 2 else r for r in rows]
        write(path, odd)
        thin(path)
        need(sum(r["metric"] == "checksum" and r["value"] == 8 for r in raw.load(path)[0]) == 6, "a wrong result stays")

        # Not a suite.jsonl: samples and rates, and what is named.
        other = os.path.join(folder, "tuning.jsonl")
        write(other, rows)
        thin("--keep", "cpu", other)
        with open(other, encoding="utf-8") as f:
            metrics = {r["metric"] for r in raw.expand(f)}
        need(metrics == {"samples", "throughput", "cpu", "rounds_per_ms"}, f"what is kept of another file: {metrics}")

        # The short form, and rows that are appended to it.
        lines = list(raw.shorten(rows))
        need(list(raw.expand(lines)) == [dict(r) for r in rows], "short rows mean whole rows")
        late = {"workload": "C", "variant": "alone", "metric": "p50", "value": 1}
        need(list(raw.expand(lines + [json.dumps(late)]))[-1] == late, "a row that is appended stays as it is")

        for suite in glob.glob(os.path.join(ROOT, "docs/results/*", raw.NAME)):
            shutil.copy(suite, path)
            thin(path)
            need(read(path) == read(suite), f"{suite} has rows that its report does not use: scripts/thin_results.py")


main()
