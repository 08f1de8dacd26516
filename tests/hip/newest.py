#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that is linked with a function that is newer than the table: newest.py PROGRAM SHIM FOLDER_OF_A_NEWER_RUNTIME
FOLDER_OF_A_KNOWN_ONE

It starts and gets the runtime's function, its other calls are scheduled, and one line of the log names the newer version. With
a runtime that the table knows there is no line."""
import os
import subprocess
import sys


def main(program, shim, newer, known):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
    auto = {"LD_PRELOAD": shim, "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}
    bad = []

    def check(title, folder, extra, scheduled, said=(), args=(program,)):
        r = subprocess.run(args, env=dict(env, LD_LIBRARY_PATH=folder, **extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=60, check=False)
        lines = [line for line in r.stderr.splitlines() if "HIP: using" not in line]   # which INFO has besides
        if r.returncode or r.stdout != f"0 42\nscheduled {scheduled}\n":
            bad.append(f"{title}: {r.returncode} {r.stdout} {r.stderr}")
        if len(lines) != (1 if said else 0) or any(s not in lines[0] for s in said):
            bad.append(f"{title}: says {lines}, not one line with {said}")

    check("natively", newer, {}, 0)
    check("scheduled", newer, auto, 3, ("WARN", "libamdhip64.so.7 has functions up to hip_9.12", "up to hip_7."))
    check("without XQueues", newer, {"LD_PRELOAD": shim}, 0)
    check("for those who ask", newer, {"LD_PRELOAD": shim, "XLOG_LEVEL": "INFO"}, 0, ("INFO", "hip_9.12"))
    check("switched off", newer, dict(auto, XSCHED_DISABLE="1"), 0)
    if subprocess.run([program], env=dict(env, LD_LIBRARY_PATH=known), stderr=subprocess.PIPE, check=False).returncode == 0:
        bad.append("the known runtime has the newer node as well")
    # a program that needs no newer one, on the runtime that is known
    suite = "import ctypes; c = ctypes.c_int(); n = ctypes.CDLL('libamdhip64.so.7').hipGetDeviceCount(ctypes.byref(c)); " \
            "print(n, 42); print('scheduled 0')"
    check("a known runtime", known, auto, 0, (), (sys.executable, "-c", suite))
    check("a newer runtime, opened", newer, auto, 0, ("hip_9.12",), (sys.executable, "-c", suite))
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
