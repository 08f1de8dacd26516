# SPDX-License-Identifier: Apache-2.0
"""Raw results: JSON lines, one measurement a line (docs/results/README.md). What belongs to one cell (workload,
parameters, variant, block) is written at once and ends with a line that has "last", so that an interrupted run goes
on behind what is whole.

A line {"common": {...}} is no measurement: it has the keys and values that the rows after it share, up to the next such
line. A run writes whole rows; scripts/thin_results.py writes the shorter form, for docs/results."""
import json
import os

NAME = "suite.jsonl"
SHARED = ("workload", "platform", "variant", "run", "t_ms", "device", "driver", "framework", "commit", "date", "cell", "added")


def expand(lines):
    """@return the rows that these lines of a file mean, each with all of its keys; None where a line is broken"""
    common = {}
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            yield None
            continue
        if "common" in row:
            common = row["common"]
        else:
            yield {**common, **row}


def shorten(rows):
    """@return lines that mean these rows: expand() gives the rows again"""
    before = {}
    for row in rows:
        common = {k: row[k] for k in SHARED if k in row}
        if common != before:
            yield json.dumps({"common": common}, separators=(",", ":"))
            before = common
        yield json.dumps({k: v for k, v in row.items() if k not in common}, separators=(",", ":"))
    if before:
        yield json.dumps({"common": {}}, separators=(",", ":"))    # a run that appends to the file writes whole rows


def load(path):
    """@return rows of whole cells, and how many rows were of others"""
    if not os.path.exists(path):
        return [], 0
    with open(path, encoding="utf-8") as f:
        read = list(expand(f))
    rows = [r for r in read if r is not None]
    whole = {r["cell"] for r in rows if r.get("last")}
    kept = [r for r in rows if "cell" not in r or r["cell"] in whole]
    return kept, len(read) - len(kept)


class Raw:
    def __init__(self, folder, tail):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, NAME)
        self.tail = tail
        rows, dropped = load(self.path)
        if dropped:
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r, separators=(",", ":")) + "\n" for r in rows)
            os.replace(self.path + ".new", self.path)
        self.done = {r["cell"] for r in rows if r.get("last")}
        self.dropped = dropped
        self.kept = len(rows)

    def write(self, rows, cell=None):
        text = ""
        for i, row in enumerate(rows):
            row = dict(row, **self.tail())
            if cell is not None:
                row["cell"] = cell
                if i == len(rows) - 1:
                    row["last"] = True
            text += json.dumps(row, separators=(",", ":")) + "\n"
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(text)
        if cell is not None:
            self.done.add(cell)
