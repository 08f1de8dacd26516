#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several OpenCL loaders in one process keep their own platforms and queues: two_loaders.py PROGRAM SHIM LOADER DRIVER

LOADER is the installed one. Copies of the file are loaders of their own. DRIVER has three platforms and nothing else."""
import os
import shutil
import subprocess
import sys
import tempfile


def main(program, shim, loader, driver):
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        copies = [shutil.copy(os.path.realpath(loader), os.path.join(folder, f"libOpenCL-{n}.so.1")) for n in ("a", "b", "c")]
        # more than the layer has entries for: their calls pass by
        more = [shutil.copy(copies[0], os.path.join(folder, f"libOpenCL-{n}.so.1")) for n in ("d", "e", "f")]

        stub = os.path.join(folder, "stub")
        os.mkdir(stub)
        with open(os.path.join(stub, "stub.icd"), "w", encoding="ascii") as f:
            f.write(driver + "\n")

        def run(loaders, **extra):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_", "OPENCL_", "OCL_"))}
            env.update(extra, POCL_CACHE_DIR=os.path.join(folder, "cache"))
            command = [program, loaders[0], loaders[1], "/etc/OpenCL/vendors", stub, *loaders[2:]]
            r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            return r.returncode, r.stdout.strip(), r.stderr.strip()

        native = run(copies)
        want = (0, "one: 1, other: 3, one: 1, work: 7, third: 1, work: 8, other: 3, one: 1", "")
        if native != want:
            bad.append(f"natively {native}, not {want}")
        for mode in ({"LD_PRELOAD": shim}, {"OPENCL_LAYERS": shim}, {"LD_PRELOAD": shim, "OPENCL_LAYERS": shim}):
            for queues in ({}, {"XSCHED_AUTO_XQUEUE": "ON"}, {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"},
                           {"XSCHED_MEM_LIMIT": "64M"}, {"XSCHED_DISABLE": "1"}):
                got = run(copies, **mode, **queues)
                if got != native:
                    bad.append(f"{sorted(mode)}, {queues}: {got}, natively {native}")
        trace = os.path.join(folder, "trace")
        run(copies, OPENCL_LAYERS=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
        with open(trace, encoding="ascii") as f:
            lines = f.read().splitlines()
        as_layer = sum("loaded as a layer" in line for line in lines)
        commands = [line.split() for line in lines if " clEnqueueWriteBuffer " in line]
        if as_layer != 3 or len(commands) != 200 or {c[3] for c in commands} != {"submit"}:
            bad.append(f"trace: {as_layer} layers, {len(commands)} commands {set(c[3] for c in commands)}")
        many = " ".join(copies + more)
        script = ("import ctypes, sys\nfor p in sys.argv[1:]:\n    n = ctypes.c_uint(0)\n    "
                  "print(ctypes.CDLL(p).clGetPlatformIDs(0, None, ctypes.byref(n)), n.value)")
        seen = [subprocess.run([sys.executable, "-c", script, *many.split()], env=dict(os.environ, **extra), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=120, check=False)
                for extra in ({}, {"OPENCL_LAYERS": shim})]
        if seen[0].stdout != seen[1].stdout or seen[1].returncode or "more than 4 loaders" not in seen[1].stderr:
            bad.append(f"six loaders: natively {seen[0]}, with the layer {seen[1]}")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
