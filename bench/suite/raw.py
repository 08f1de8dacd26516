# SPDX-License-Identifier: Apache-2.0
"""Raw results: JSON lines, one measurement a line (docs/results/README.md). What belongs to one cell (workload,
parameters, variant, block) is written at once and ends with a line that has "last", so that an interrupted run goes
on behind what is whole."""
import json
import os

NAME = "suite.jsonl"


def load(path):
    """@return rows of whole cells, and how many rows were of others"""
    if not os.path.exists(path):
        return [], 0
    rows, broken = [], 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            try:
                rows.append(json.loads(line))
            except ValueError:
                broken += 1
    whole = {r["cell"] for r in rows if r.get("last")}
    kept = [r for r in rows if "cell" not in r or r["cell"] in whole]
    return kept, broken + len(rows) - len(kept)


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
