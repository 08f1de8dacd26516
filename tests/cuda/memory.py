#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_MEM_LIMIT on the fake driver: memory.py PROGRAM SHIM FOLDER_OF_THE_FAKE"""
import os
import subprocess
import sys

# limit, what the program then sees as free and total of 512 and 1024 MiB
LIMITS = (("64M", 64, 64), ("0.125 GiB", 128, 128), ("104857600", 100, 100), ("25%", 256, 256), (None, 512, 1024), ("nonsense", 512, 1024),
          ("101%", 512, 1024))
MODES = {"quiet": {}, "active": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"},
         "swap": {"XSCHED_SWAP": "ON"},
         "level 2": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF", "XSCHED_AUTO_XQUEUE_LEVEL": "2"}}


def run(program, shim, fake, how, limit, free, total, more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
    # large blocks of the fake untouched, as mappings: else the C library clears them
    env.update(more, LD_LIBRARY_PATH=fake, LD_PRELOAD=shim, FAKE=os.path.join(fake, "fakecuda.so"),
               MALLOC_MMAP_THRESHOLD_="65536")
    if limit:
        env["XSCHED_MEM_LIMIT"] = limit
    return subprocess.run([program, str(free), str(total), how], env=env, capture_output=True, text=True, timeout=60)


def main(*files):
    wrong = 0
    for mode, more in MODES.items():
        for how in ("dlsym", "entry"):
            for limit, free, total in LIMITS:
                r = run(*files, how, limit, free, total, more)
                said = [line for line in r.stderr.splitlines() if "MEM_LIMIT" in line]
                expected = 1 if limit else 0    # one line: what was refused, or that it is no amount
                if r.returncode != 0 or len(said) != expected:
                    wrong += 1
                    print(mode, how, limit, "exit code", r.returncode, r.stdout, r.stderr)
    r = run(*files, "dlsym", "64M", 512, 1024, {"XSCHED_DISABLE": "1"})
    if r.returncode != 0:
        wrong += 1
        print("disabled:", r.stdout, r.stderr)
    # the test can fail: without a limit the program that expects one finds none
    if run(*files, "dlsym", None, 64, 64, {}).returncode != 1:
        wrong += 1
        print("the program does not notice that there is no limit")
    return wrong


sys.exit(1 if main(*sys.argv[1:]) else 0)
