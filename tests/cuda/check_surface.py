#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shim exports exactly its rows, ioctl, dlopen, dlmopen and dlsym, and at least what the toolkit's stub of the driver exports:
check_surface.py SHIM API.def [STUB]"""
import re
import subprocess
import sys


def exports(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines() if line.split()[-2] in "TWi"}


def main(shim, rows_file, stub=None):
    with open(rows_file, encoding="ascii") as f:
        rows = re.findall(r"^CU(?:_PASS)?\((?:[A-Z_]+, )?(cu\w+),", f.read(), re.M)
    ours = exports(shim)
    bad = [f"{r} has two rows" for r in set(rows) if rows.count(r) > 1]
    bad += [f"{r} has a row and is not exported" for r in sorted(set(rows) - ours)]
    bad += [f"{r} is exported without a row" for r in sorted(ours - set(rows) - {"ioctl", "dlopen", "dlmopen", "dlsym", "__asan_default_options"})]
    if stub:
        bad += [f"{r} is in {stub} and not in the shim" for r in sorted(exports(stub) - ours) if r.startswith("cu")]
    print("\n".join(bad))
    print(f"{len(rows)} rows, stub {'compared' if stub else 'not here'}")
    return 1 if bad or len(rows) < 600 else 0


sys.exit(main(*sys.argv[1:]))
