#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drops raw rows of bench/run that no report, picture or table is made from: thin_results.py [--keep METRIC,...] FILE...

docs/results has a bound (tests/abi/check_results.py), and a run writes several times what its report needs. What a
suite.jsonl keeps is what bench/suite/report.py and plots.py read: both give the same as before. Another file keeps samples,
rates and each metric that is not the suite's own; --keep names further ones that a text quotes. Samples are never changed.
A quantile of one block goes where its samples stand beside it, and so does a checksum that says what an earlier block of the
same side said. What rows share is written once (bench/suite/raw.py).
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import raw  # noqa: E402

QUANTILE = re.compile(r"^(|start_|token_|ttft_)p(50|90|99)$")
DETAIL = ("checksum", "cpu", "seconds", "per_100ms", "timeline", "timeline-ends")   # of a suite, besides samples and rates


def key(row, *more):
    return row.get("platform"), row["workload"], row["variant"], row.get("side"), *(row.get(m) for m in more)


class Thin:
    def __init__(self, rows, report, keep):
        self.report, self.keep = report, keep
        self.samples = {key(r, "cell", "metric") for r in rows if "samples" in r}
        self.pair = {metric: {key(r)[:3] for r in rows if r["metric"] == metric} for metric in ("timeline", "timeline-ends")}
        self.seen = set()

    def first(self, row, *more):
        """Whether a row is the first of its side and variant, and of what more tells them apart."""
        name = key(row, "metric"), more
        new = name not in self.seen
        self.seen.add(name)
        return new

    def wanted(self, row):
        metric, letter = row["metric"], row["workload"]
        quantile = QUANTILE.match(metric)
        if metric in self.keep or "cell" not in row:
            return True
        if quantile:
            if self.report and metric == "p50":            # which variants there are, in which run, at which level
                return letter != "E" or self.first(row, row.get("commit"), "added" in row)
            if self.report and metric == "p99" and letter != "E":
                return True                                # "P99 of the blocks"
            return key(row, "cell") + (quantile.group(1) + "samples",) not in self.samples
        if metric not in DETAIL:
            return True
        if not self.report:
            return False
        if metric == "checksum":
            return self.first(row, row.get("t_ms"), row["value"], bool(row.get("wrong")))
        if metric == "per_100ms":              # of the blocks of a variant, pictures show the first
            return letter in ("D", "F") and self.first(row)
        if metric in ("timeline", "timeline-ends"):
            return letter not in ("E", "M") and self.first(row) and all(key(row)[:3] in some for some in self.pair.values())
        return True


def thin(rows, report, keep=()):
    by = Thin(rows, report, keep)
    kept = [r for r in rows if by.wanted(r)]
    whole = {r["cell"] for r in rows if r.get("last")}
    last = {r["cell"]: i for i, r in enumerate(kept) if "cell" in r}
    out = []
    for i, r in enumerate(kept):
        r = {k: v for k, v in r.items() if k != "last"}
        if r.get("cell") in whole and last[r["cell"]] == i:
            r["last"] = True
        out.append(r)
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--keep", default="", metavar="METRIC,...", help="all rows of these, whole")
    p.add_argument("files", nargs="+", metavar="FILE")
    args = p.parse_args()
    keep = [m for m in args.keep.split(",") if m]
    for path in args.files:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        rows = list(raw.expand(text.splitlines()))
        if None in rows:
            sys.exit(f"{path}:{rows.index(None) + 1}: no row")
        new = "".join(line + "\n" for line in raw.shorten(thin(rows, os.path.basename(path) == raw.NAME, keep)))
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(new)
        os.replace(path + ".new", path)
        print(f"{path}: {len(text)} -> {len(new)} bytes")


if __name__ == "__main__":
    main()
