#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite without XSched gives the trace that it gave on a device: same_trace.py SUITE FOLDER_OF_THE_FAKE TRACE

TRACE is what tests/gpu/run_robust left in trace.txt, with a few lines in front that begin with #."""
import difflib
import os
import subprocess
import sys


def main(suite, fake, trace):
    with open(trace, encoding="ascii") as f:
        want = [line.rstrip("\n") for line in f if not line.startswith("#")]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "FAKE_"))}
    # the program leaves its device memory to the driver, which here is the heap
    env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    bad = len(want) < 20
    for how in ("dlsym", "entry"):
        r = subprocess.run([suite, how], env=dict(env, LD_LIBRARY_PATH=fake), stdout=subprocess.PIPE, text=True,
                           timeout=50, check=False)
        diff = list(difflib.unified_diff(want, r.stdout.splitlines(), "device", "fake", lineterm=""))
        print("\n".join(diff) if diff else f"{how}: {len(want)} lines equal")
        bad = bad or diff or r.returncode != 0
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
