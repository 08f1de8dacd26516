#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that others wrote, on the fake device: programs.py DRIVER XSCHED     prints what was run and what is not here

Each runs natively and under `xsched run` with a policy in the process; what it prints must be the same, and commands must have been
scheduled. LEVELZERO_PYTHON names a Python that has dpctl and intel-sycl-rt, and openvino (from PyPI). OpenVINO's plugin for NPUs looks
for the NPU driver's UUID and graph extension, which the fake driver has not: it loads, asks our driver and finds no device, as natively. LEVELZERO_LOADER is the folder of a loader
of version 1.17 of the interface or newer, which that runtime wants, with its tracing layer.
"""
import os
import shutil
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


def openvino():
    if not PYTHON or not LOADER or subprocess.run([PYTHON, "-c", "import openvino"], capture_output=True, check=False).returncode:
        return None
    return [PYTHON, "-B", os.path.join(HERE, "openvino_client.py")]


PROGRAMS = {"dpctl": (dpctl, "gpu", 500), "openvino": (openvino, "npu", 0)}   # command, driver, submissions at least
BETWEEN = "# Level Zero: between the loader and its drivers"


def run(command, env):
    r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    return r.returncode, r.stdout, r.stderr


def main(driver, xsched):
    bad = ran = 0
    for name, (command, kind, least) in PROGRAMS.items():
        command = command()
        if not command:
            print(f"{name}: not here (LEVELZERO_PYTHON, LEVELZERO_LOADER)")
            continue
        root = os.path.dirname(os.path.dirname(PYTHON))   # where wheels put the libraries of the SYCL runtime
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(driver, "libze_intel_gpu.so.1"), os.path.join(folder, f"libze_intel_{kind}.so.1"))
            env = lib.plain(f"{folder}:{root}/lib", ONEAPI_DEVICE_SELECTOR="level_zero:*")
            trace = os.path.join(folder, "trace")
            want = run(command, env)
            got = run([xsched, "run", "-q", "--local-policy", "HPF", "--", *command], {**env, "XSCHED_TRACE": trace})
            said = ""
            if os.path.exists(trace):
                with open(trace, encoding="utf-8") as f:
                    said = f.read()
            submits = said.count(" submit ")
        ran += 1
        if want[0] or got[:2] != want[:2] or submits < least or BETWEEN not in said:
            bad += 1
            print(name, want, got)
        print(f"{name}: {submits} submissions scheduled")
    return bad if ran else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
