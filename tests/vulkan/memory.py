#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_MEM_LIMIT on lavapipe: memory.py PROGRAM SHIMS"""
import subprocess
import sys

import lib


def main(program, shims):
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    bad = 0
    for limit, told, want in (("64M", 64, 0), ("100M", 100, 0), (None, 0, 0), (None, 64, 1)):
        env = lib.layered(shims, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF", **({"XSCHED_MEM_LIMIT": limit} if limit else {}))
        r = subprocess.run([program, str(told)], env=env, capture_output=True, text=True, timeout=100)
        if r.returncode != want:
            bad += 1
            print(limit, told, "exit code", r.returncode, r.stdout, r.stderr)
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
