#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the figures of docs/results into README.md: figures.py [--check]

Each folder docs/results/DATE-DEVICE/ holds raw results as JSON lines, one measurement a line (docs/results/README.md).
For each workload the newest folder that has it is shown, variants side by side, with sample counts. --check only says
whether README.md is up to date.
"""
import collections
import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
VARIANTS = ("alone", "native", "xsched")


def load():
    """workload -> (folder, rows), the newest folder of each"""
    newest = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "docs/results/*/*.jsonl"))):
        folder = os.path.basename(os.path.dirname(path))
        rows = collections.defaultdict(list)
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.strip():
                    row = json.loads(line)
                    if row.get("report", True):
                        rows[row["workload"]].append(row)
        for workload, found in rows.items():
            if workload in newest and newest[workload][0] == folder:
                newest[workload][1].extend(found)
            else:
                newest[workload] = (folder, found)
    return newest


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def show(value):
    return f"{value:.4g}"


def table(newest):
    out = []
    for workload in sorted(newest):
        folder, rows = newest[workload]
        cells = collections.defaultdict(lambda: collections.defaultdict(list))
        for r in rows:
            line = (r.get("side") or "", r["metric"], r.get("unit") or "")
            cells[line][r["variant"]].append((float(r["value"]), int(r.get("n") or 1)))
        variants = [v for v in VARIANTS if any(v in c for c in cells.values())]
        variants += sorted({v for c in cells.values() for v in c} - set(variants))
        out += [f"**{workload}** ([docs/results/{folder}](docs/results/{folder}))", "",
                "| side | metric | " + " | ".join(variants) + " | samples |", "|---|---|" + "---|" * (len(variants) + 1)]
        for (side, metric, unit), by in sorted(cells.items()):
            shown = [show(median([v for v, _ in by[v_]])) if v_ in by else "" for v_ in variants]
            samples = max(sum(n for _, n in by[v_]) for v_ in by)
            out.append(f"| {side} | {metric}{', ' + unit if unit else ''} | " + " | ".join(shown) + f" | {samples} |")
        out.append("")
    return "\n".join(out).rstrip() or "none yet"


def main():
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    new = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END),
                 lambda _: f"{BEGIN}\n{table(load())}\n{END}", text, flags=re.S)
    if "--check" in sys.argv:
        print("up to date" if new == text else "README.md: run scripts/figures.py")
        return new != text
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
