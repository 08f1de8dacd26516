#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_MEM_LIMIT on the fake device of 256 MiB: memory.py PROGRAM DRIVER SHIMS. The program asks for 400 MiB."""
import subprocess
import sys

import lib


def main(program, driver, shims):
    bad = 0
    for way in lib.WAYS:
        for limit, want in (("64M", "64 64 64"), ("25%", "64 64 64"), (None, "400 256 400")):
            env = lib.under(driver, shims, way, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF",
                            **({"XSCHED_MEM_LIMIT": limit} if limit else {}))
            r = subprocess.run([program], env=env, capture_output=True, text=True, timeout=60, check=False)
            if (r.returncode, r.stdout.strip()) != (0, want):
                bad += 1
                print(way, limit, "exit code", r.returncode, r.stdout, r.stderr)
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
