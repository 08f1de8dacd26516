#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command takes through the proxy: instructions.py PROGRAM DRIVER SHIMS MOST

Callgrind counts the instructions of a call in our objects, of an append to an immediate list and of an execution on a queue, and
what they allocate. Without a policy: with one the submitter of so much at once waits, as it should. Fails when a command takes
more than MOST, when it allocates, and when it takes less than a tenth of MOST, since then something was not counted.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import lib

OURS = ("libshim", "libpreempt", "libhal")
FEW, MANY = 500, 2500
CALLS = {"list": "d0_zeCommandListAppendLaunchKernel", "queue": "d0_zeCommandQueueExecuteCommandLists"}
ALLOCATES = {"malloc", "calloc", "realloc", "posix_memalign", "mmap"}


def count(text):
    """Instructions in our objects, and how often these allocate."""
    names, inside, called, total, allocated, callee = {}, False, False, 0, 0, ""
    for line in text.splitlines():
        named = re.match(r"(c?(?:ob|fn))=\((\d+)\)(?: (.*))?", line)
        if named:
            kind, number, name = named.groups()
            key = (kind[-2:], number)
            names[key] = name or names[key]
            if kind == "ob":
                inside = os.path.basename(names[key]).startswith(OURS)
            if kind == "cfn":
                callee = names[key]
        elif line.startswith("calls="):
            called = True   # the next line is what the callee took
            allocated += int(line[6:].split()[0]) if inside and callee in ALLOCATES else 0
        elif re.match(r"[+*\-\d]\S* \d+$", line):
            total += int(line.split()[1]) if inside and not called else 0
            called = False
    return total, allocated


def run(program, env, what, commands):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={CALLS[what]}",
                        program, "many", str(commands), what], env=env, check=True, capture_output=True, timeout=100)
        with open(out, encoding="utf-8") as f:
            return count(f.read())


def main(program, driver, shims, most):
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return 77
    env = lib.under(driver, shims, "proxy", XSCHED_AUTO_XQUEUE="ON", XSCHED_SCHEDULER="APP")
    bad = 0
    for what in CALLS:
        few, many = run(program, env, what, FEW), run(program, env, what, MANY)
        each, allocated = ((b - a) / (MANY - FEW) for a, b in zip(few, many))
        print(f"{what}: {each:.0f} instructions a command, {allocated:.4f} allocations")
        bad += not int(most) / 10 < each <= int(most) or allocated > 0.001
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
