#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which library the shim binds to, and what programs get: binding.py PROGRAM SHIM FOLDER_OF_THE_FAKE"""
import os
import shutil
import subprocess
import sys
import tempfile


def run(program, how, **extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
    env.update(extra)
    r = subprocess.run([program, how], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=20)
    return r.returncode, r.stdout.splitlines(), [line.split("] ", 1)[-1] for line in r.stderr.splitlines()]


def main(program, shim, fake):
    bad = []

    def expect(what, got, want):
        if got != want:
            bad.append(f"{what}:\n  got  {got}\n  want {want}")

    works = ["cuInit in libshimcuda.so: 0", "default: libshimcuda.so", "version 0 13000",
             "cuLaunchKernel 0 in libshimcuda.so", "newer 0: 42 in libcuda.so.1", "lacking: 801"]
    none = ["cuInit in libshimcuda.so: 3", "default: libshimcuda.so", "version 3 -1", "cuLaunchKernel 3 in -",
            "newer 3: -1 in -", "lacking: 3"]
    path = os.path.join(fake, "libcuda.so.1")
    expect("LD_LIBRARY_PATH", run(program, "plain", LD_PRELOAD=shim, LD_LIBRARY_PATH=fake), (0, works, []))
    expect("deepbind", run(program, "deepbind", LD_PRELOAD=shim, LD_LIBRARY_PATH=fake), (0, works, []))
    expect("XSCHED_CUDA_LIB", run(program, "plain", LD_PRELOAD=shim, XSCHED_CUDA_LIB=path), (0, works, []))
    expect("with XQueues", run(program, "plain", LD_PRELOAD=shim, XSCHED_CUDA_LIB=path, XSCHED_AUTO_XQUEUE="ON"),
           (0, works, []))
    code, out, log = run(program, "plain", LD_PRELOAD=shim, LD_LIBRARY_PATH=fake, XSCHED_CUDA_LIB="/nonexistent")
    expect("wrong path", (code, out, len(log)), (0, works, 1))
    with tempfile.TemporaryDirectory() as folder:
        # only ourselves, under the driver's name: an error, once, and no endless search
        shutil.copy(shim, os.path.join(folder, "libcuda.so.1"))
        libs = os.path.dirname(os.path.dirname(shim))
        code, out, log = run(program, "plain", LD_PRELOAD=shim, LD_LIBRARY_PATH=folder + ":" + libs,
                             XSCHED_CUDA_LIB=os.path.join(folder, "libcuda.so.1"))
        if not os.path.exists("/dev/nvidiactl"):   # else this machine has a driver
            expect("only ourselves", (code, out), (0, none))
            if not log or len(log) > 2 or "did not find the real library" not in log[-1]:
                bad.append(f"only ourselves: log {log}")
        # the folder instead of a preload
        os.remove(os.path.join(folder, "libcuda.so.1"))
        os.symlink(shim, os.path.join(folder, "libcuda.so.1"))
        code, out, log = run(program, "plain", LD_LIBRARY_PATH=folder + ":" + libs, XSCHED_CUDA_LIB=path)
        want = [line.replace("libshimcuda.so", "libcuda.so.1") for line in works]
        expect("private folder", (code, out[0], out[2:], log), (0, want[0], want[2:], []))
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
