#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level Zero's functions against our tables: check_surface.py ROOT [FOLDER_OF_HEADERS]

functions.txt has every function of the newest interface that we know: name, table, place, since. Each that hands over work, waits
for it, makes or ends what does, or takes memory has a row in levelzero_api.def; what has none stands in needs_nothing.txt, with
the reason. Rows, and the functions that we call ourselves, stand at the places that functions.txt says. With a folder of
headers (ze_ddi.h) functions.txt itself is compared.
"""
import os
import re
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def functions(text):
    return {w[0]: (w[1], int(w[2]), int(w[3])) for w in (line.split() for line in text.splitlines()) if w and w[0][0] != "#"}


def rows(text, macro):
    pattern = (r"^ZE\(\w+, (\w+), (\d+), (\d+), (\w+)," if macro == "ZE" else r"^ZE_USED\((\w+), (\d+), (\d+), (\w+),")
    return {m[4]: (m[1], int(m[2]), int(m[3])) for m in re.finditer(pattern, text, re.M)}


def of_header(text):
    """name: (table, place)"""
    found = {}
    for table, body in re.findall(r"typedef struct _ze_(\w+)_dditable_t\s*\{(.*?)\}", text, re.S):
        for i, name in enumerate(re.findall(r"ze_pfn(\w+)_t\s+pfn\w+;", body)):
            found["ze" + name] = (table, i)
    return found


def judge(known, table, used, passes):
    bad = [f"{n} has neither a row nor a line in needs_nothing.txt" for n in known if n not in table and n not in passes]
    bad += [f"{n} has both" for n in table if n in passes]
    bad += [f"{n} of needs_nothing.txt is none" for n in passes if n not in known]
    for name, where in {**table, **used}.items():
        if known.get(name) != where:
            bad.append(f"{name}: {where}, should be {known.get(name)}")
    return bad


def main(root, headers=None):
    here = os.path.join(root, "tests/levelzero")
    known = functions(read(here, "functions.txt"))
    table = rows(read(root, "src/shim/levelzero/levelzero_api.def"), "ZE")
    used = rows(read(root, "src/hal/levelzero/used.def"), "ZE_USED")
    passes = {line.split()[0] for line in read(here, "needs_nothing.txt").splitlines() if line and line[0] not in "# "}
    bad = judge(known, table, used, passes)
    tables = set(re.findall(r"^ZE_TABLE\((\w+),", read(root, "src/shim/levelzero/tables.def"), re.M))
    bad += [f"no table {w[0]} in tables.def" for w in {**table, **used}.values() if w[0] not in tables]
    compared = 0
    if headers and os.path.exists(os.path.join(headers, "ze_ddi.h")):
        for name, where in of_header(read(headers, "ze_ddi.h")).items():
            compared += 1
            if known.get(name, (None, None, None))[:2] != where:
                bad.append(f"{name} of {headers}: {where}, functions.txt has {known.get(name)}")
    # a table that lacks one, and one with a wrong place, must be found
    some = next(iter(table))
    wrong = dict(table)
    del wrong[some]
    if not judge(known, wrong, used, passes) or not judge(known, {**table, some: ("fence", 9, 0)}, used, passes):
        bad.append("the check finds nothing")
    print(*bad, sep="\n")
    print(f"{len(known)} functions, {len(table)} rows, {len(passes)} that need none, {len(bad)} missing or wrong; "
          f"{compared} compared with headers")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
