#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a submission through the layer takes: instructions.py PROGRAM LAYER MOST

PROGRAM is test_layer.c, whose driver does nothing. Callgrind counts the instructions of vkQueueSubmit in our objects, and
none of the driver, without a policy: with one the submitter of so much at once waits, as it should. Fails when a submission takes more than MOST, and when it takes less than a tenth of that, since then
something was not counted.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

OURS = ("libshim", "libpreempt", "libhal")
FEW, MANY = 500, 2500


def count(text):
    """Instructions in our objects."""
    names, inside, called, total = {}, False, False, 0
    for line in text.splitlines():
        named = re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line)
        if named:
            kind, number, name = named.groups()
            names[number] = name or names[number]
            if kind == "ob":
                inside = os.path.basename(names[number]).startswith(OURS)
        elif line.startswith("calls="):
            called = True   # the next line is what the callee took
        elif re.match(r"[+*\-\d]\S* \d+$", line):
            total += int(line.split()[1]) if inside and not called else 0
            called = False
    return total


def run(program, layer, submissions):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
    env.update(LAYER=layer, SUBMISSIONS=str(submissions), XSCHED_AUTO_XQUEUE="ON", XSCHED_SCHEDULER="APP")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                        "--toggle-collect=xs_vk_vkQueueSubmit", program], env=env, check=True, capture_output=True, timeout=100)
        with open(out, encoding="utf-8") as f:
            return count(f.read())


def main(program, layer, most):
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return 77
    each = (run(program, layer, MANY) - run(program, layer, FEW)) / (MANY - FEW)
    print(f"{each:.0f} instructions a submission")
    return int(not int(most) / 10 < each <= int(most))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
