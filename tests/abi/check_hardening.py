#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs are position independent, have read-only relocations, no executable stack, stack protection and checked
library calls: check_hardening.py PROGRAM...      --self-test COMPILER: a program without is found"""
import os
import subprocess
import sys
import tempfile


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], stdout=subprocess.PIPE, text=True, check=True).stdout


def findings(path):
    bad = []
    header, segments = readelf("-h", path), readelf("-l", path)
    dynamic, symbols = readelf("-d", path), readelf("--dyn-syms", path)
    if "DYN" not in next(line for line in header.splitlines() if "Type:" in line):
        bad.append("is not position independent")
    if "GNU_RELRO" not in segments or ("BIND_NOW" not in dynamic and "NOW" not in dynamic):
        bad.append("has writable relocations (no RELRO with NOW)")
    stack = next((line.split() for line in segments.splitlines() if "GNU_STACK" in line), None)
    if not stack or "E" in stack[6]:
        bad.append("has an executable stack")
    if "__stack_chk_fail" not in symbols:
        bad.append("has no stack protection")
    if "_chk@" not in symbols.replace("__stack_chk", ""):
        bad.append("has no checked library calls (_FORTIFY_SOURCE)")
    return bad


def self_test(compiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weak")
        subprocess.run([compiler, "-x", "c", "-", "-o", path, "-no-pie", "-fno-pie", "-fno-stack-protector", "-O0", "-z",
                        "execstack", "-z", "norelro", "-z", "lazy"], input="int main(void) { return 0; }", text=True,
                       check=True, stderr=subprocess.DEVNULL)
        found = findings(path)
    print(f"a weak program: {len(found)} findings")
    return 0 if len(found) == 5 else 1


def main(args):
    if args[0] == "--self-test":
        return self_test(args[1])
    bad = [f"{path} {what}" for path in args for what in findings(path)]
    print("\n".join(bad) or f"{len(args)} programs are hardened")
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
