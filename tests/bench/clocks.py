#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi says is read, also where it says little or nothing: clocks.py ROOT"""
import os
import sys
import tempfile
import time

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import clocks  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def program(folder, text):
    path = os.path.join(folder, "nvidia-smi")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def refused(path):
    try:
        clocks.Clocks(path)
    except clocks.ClockError as e:
        return str(e)
    sys.exit(f"failed: {path} was taken")


def main():
    text = ("0, 1980, 2619, 412.50, 55, 100, 0x0\n1, 345, 2619, 70, 30, 0, 0x1\n0, 1755, 2619, [N/A], 60, 98, 0x4\n"
            "0, 1900, 2619, 500.25, 58, 99, 0x4\nUnable to determine\n1, [N/A], 2619, 70, 30, 0, 0x1\n0, 19")
    first, second = clocks.rows(text)
    need((first["side"], first["value"], first["lowest"], first["highest"], first["n"]) == ("device0", 1900, 1755, 1980, 3), first)
    need(first["power_w"] == 500.25 and first["reasons"] == ["0x0", "0x4"] and first["degrees"] == 58, first)
    need((second["side"], second["n"], second["value"]) == ("device1", 1, 345), second)
    need(clocks.rows("") == [], "nothing said")
    with tempfile.TemporaryDirectory() as folder:
        need("does not start" in refused(os.path.join(folder, "absent")), "an absent program is named")
        need("Field \"x\"" in refused(program(folder, "echo 'Field \"x\" is not a valid field to query.'; exit 2\n")), "why")
        clocks.FIRST_S = 0.3
        need("no answer" in refused(program(folder, "exec sleep 20\n")), "one that says nothing")
        clocks.FIRST_S = 20
        old = program(folder, "case $* in *event_reasons*) echo 'Field \"clocks_event_reasons.active\" is not a valid field to query.'; exit 2;; esac\n"
                      "while :; do echo '0, 1, 2, 3, 4, 5, 0x9'; sleep 0.02; done\n")
        seen = clocks.Clocks(old)
        time.sleep(0.1)
        need(seen.stop()[0]["reasons"] == ["0x9"], "an older driver's name")
        seen = clocks.Clocks(program(folder, "n=1000\nwhile :; do echo \"0, $n, 2619, 400, 50, 90, 0x0\"; n=$((n + 1)); sleep 0.02; done\n"))
        time.sleep(0.3)
        row, = seen.stop()
        need(row["lowest"] > 1000 and row["n"] > 2 and row["highest"] - row["lowest"] == row["n"] - 1, row)
        need(seen.process.poll() is not None, "it is ended")


main()
