#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that others wrote, on the fake device: programs.py DRIVER XSCHED     prints what was run and what is not here

Each runs natively and under `xsched run` with a policy in the process; what it prints must be the same, and commands must have been
scheduled. LEVELZERO_PYTHON names a Python that has dpctl and intel-sycl-rt (from PyPI). LEVELZERO_LOADER is the folder of a loader
of version 1.17 of the interface or newer, which that runtime wants, with its tracing layer.
"""
import os
import subprocess
import sys
import tempfile

import lib

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON, LOADER = (os.environ.get(f"LEVELZERO_{n}") for n in ("PYTHON", "LOADER"))


def dpctl():
    """The command; None: it is not here."""
    if not PYTHON or not LOADER or subprocess.run([PYTHON, "-c", "import dpctl"], capture_output=True, check=False).returncode:
        return None
    return [PYTHON, "-B", os.path.join(HERE, "dpctl_client.py")]


PROGRAMS = {"dpctl": (dpctl, 500)}   # command, submissions at least


def run(command, env):
    r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    return r.returncode, r.stdout, r.stderr


def main(driver, xsched):
    bad = ran = 0
    for name, (command, least) in PROGRAMS.items():
        command = command()
        if not command:
            print(f"{name}: not here (LEVELZERO_PYTHON, LEVELZERO_LOADER)")
            continue
        root = os.path.dirname(os.path.dirname(PYTHON))   # where wheels put the libraries of the SYCL runtime
        env = lib.plain(f"{LOADER}:{driver}:{root}/lib", ONEAPI_DEVICE_SELECTOR="level_zero:*")
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            want = run(command, env)
            got = run([xsched, "run", "-q", "--local-policy", "HPF", "--", *command], {**env, "XSCHED_TRACE": trace})
            submits = 0
            if os.path.exists(trace):
                with open(trace, encoding="utf-8") as f:
                    submits = sum(" submit " in line for line in f)
        ran += 1
        if want[0] or got[:2] != want[:2] or submits < least:
            bad += 1
            print(name, want, got)
        print(f"{name}: {submits} submissions scheduled")
    return bad if ran else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
