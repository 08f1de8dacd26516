# SPDX-License-Identifier: Apache-2.0
"""Puts the results of one folder into another one, whole measurements at a time.

A workload that both have is taken from the new folder altogether, since figures compare within one run only. With
append, what the other folder has stays, and gets the variants that it lacks; their rows say in "added" of when they are, and
the report says so too. What such a variant is compared with comes along, under a name of its own (alone-other)."""
import json
import os

from . import raw
from .results import BASES, OTHER


def what(row):
    return row.get("platform"), row["workload"]


def which(row):
    return (*what(row), row.get("variant"))


def is_cell(row):
    return "cell" in row


def load(folder):
    path = os.path.join(folder, raw.NAME)
    if not os.path.exists(path):
        raise ValueError(f"there is no {raw.NAME} in {folder}")
    return raw.load(path)[0]


def merge(new, into, append=False):
    """@param new, into  rows
    @return (rows, lines that say what was done)"""
    said = []
    have = {which(r) for r in into if is_cell(r)}
    come = {which(r) for r in new if is_cell(r)}
    if append:
        taken = come - have
        for p, w, v in sorted(come & have, key=str):
            said.append(f"{w} on {p}: {v} stays as it was")
        kept = into
    else:
        replaced = {k[:2] for k in come}
        taken = come
        kept = [r for r in into if what(r) not in replaced]
        for p, w, v in sorted(have - come, key=str):
            if (p, w) in replaced:
                said.append(f"{w} on {p}: {v} is dropped, the new run does not have it (--append keeps it)")
    for p, w, v in sorted(taken, key=str):
        said.append(f"{w} on {p}: {v} " + ("is added" if append or (p, w, v) not in have else "is replaced"))
    rows = list(kept)
    of_both = {what(r) for r in kept if is_cell(r)}
    runs = {(*what(r), r.get("commit")) for r in new if is_cell(r) and which(r) in taken}
    for r in new:
        if is_cell(r):
            if which(r) in taken:
                rows.append(dict(r, added=r["date"]) if append and what(r) in of_both else r)
            elif append and r.get("variant") in BASES and (*what(r), r.get("commit")) in runs:
                other = r["variant"] + OTHER
                if (*what(r), other) not in have:
                    rows.append(dict(r, variant=other, added=r["date"], cell=r["cell"].replace(f"/{r['variant']}/", f"/{other}/")))
        elif not any(same(r, o) for o in rows):
            rows.append(r)
    return rows, said


def same(a, b):
    """Rates, calibrations, what was skipped: one row for each is enough, the first counts."""
    keys = ("platform", "workload", "variant", "side", "metric", "why")
    return not is_cell(b) and all(a.get(k) == b.get(k) for k in keys)


def main(new, into, append):
    rows, said = merge(load(new), load(into) if os.path.exists(os.path.join(into, raw.NAME)) else [], append)
    os.makedirs(into, exist_ok=True)
    path = os.path.join(into, raw.NAME)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r, separators=(",", ":")) + "\n" for r in rows)
    os.replace(path + ".new", path)
    for line in said:
        print(line)
    from . import report
    touched = {r["workload"] for r in load(new) if is_cell(r)}
    late = [k for k in report.read_notes(into) if k in ("head", "targets") or k.removeprefix("text/").split("/")[0] in touched]
    if late:
        print(f"look through these of notes.json, which speak of what changed: {', '.join(late)}")
    return report.main([into], [])
