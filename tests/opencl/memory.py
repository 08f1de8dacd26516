#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_MEM_LIMIT on the installed OpenCL, whichever way the shim comes in: memory.py PROGRAM SHIM"""
import os
import subprocess
import sys
import tempfile


def run(program, limit, folder, more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "OPENCL_LAYERS"))}
    env.update(more, POCL_CACHE_DIR=os.path.join(folder, "pocl"))
    return subprocess.run([program, str(limit)], env=env, capture_output=True, text=True, timeout=100)


def main(program, shim):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for where in ({"LD_PRELOAD": shim}, {"OPENCL_LAYERS": shim}, {"LD_PRELOAD": shim, "OPENCL_LAYERS": shim}):
            for how in ({}, {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}):
                for limit in ("64M", "100M", None):
                    more = {**where, **how, **({"XSCHED_MEM_LIMIT": limit} if limit else {})}
                    r = run(program, limit[:-1] if limit else 0, folder, more)
                    said = [line for line in r.stderr.splitlines() if "MEM_LIMIT" in line]
                    if r.returncode != 0 or len(said) != (limit is not None):
                        wrong += 1
                        print(more, "exit code", r.returncode, r.stdout, r.stderr)
        if run(program, 64, folder, {"LD_PRELOAD": shim}).returncode != 1:
            wrong += 1
            print("the program does not notice that there is no limit")
    return wrong


sys.exit(1 if main(*sys.argv[1:]) else 0)
