#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two copies of the runtime in one process, and none: both.py PROGRAM SHIM HAL FRAMEWORK FOLDER_OF_THE_SYSTEM'S_COPY"""
import os
import subprocess
import sys
import tempfile


def main(program, shim, hal, framework, system):
    bad = []
    # a program that is linked to one of the names gets the shim for it when that name is loaded first
    names = " ".join([os.path.join(os.path.dirname(shim), "names", f"libxsched-amdhip64.so{n}") for n in ("", ".5", ".6", ".7")] + [shim])

    def run(*arguments, **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        env.update(dict({"LD_LIBRARY_PATH": system}, **extra))
        r = subprocess.run([program, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=60, check=False)
        return r.returncode, r.stdout.splitlines(), [line.split("] ", 1)[-1] for line in r.stderr.splitlines()]

    def expect(what, got, want):
        if got != want:
            bad.append(f"{what}:\n  got  {got}\n  want {want}")

    want = run(framework, hal)
    expect("natively nothing fails", ([line for line in want[1] if line.endswith("709") or line.endswith("98")], want[0]), ([], 0))
    for extra in ({}, {"XSCHED_AUTO_XQUEUE": "ON"}, {"XSCHED_AUTO_XQUEUE": "ON", "FAKE_HIP": "no_writes"},
                  {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}):
        expect(f"as natively, {extra}", run(framework, hal, LD_PRELOAD=shim, **extra), want)
        expect(f"as natively, all names, {extra}", run(framework, hal, LD_PRELOAD=names, **extra), want)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        got = run(framework, LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace, XLOG_LEVEL="INFO")
        with open(trace, encoding="ascii") as f:
            launches = [line.split() for line in f if " hipLaunchKernel " in line]
        expect("every launch of both is a command", (len(launches), {c[3] for c in launches}), (34, {"submit"}))
        said = [line for line in got[2] if "several copies" in line]
        expect("said once", len(said), 1)
        # no runtime at all but ourselves
        libs = os.path.dirname(os.path.dirname(shim))
        got = run("nothing", LD_PRELOAD=names, LD_LIBRARY_PATH=f"{folder}:{libs}", XSCHED_HIP_LIB="/nonexistent")
        if not any(os.path.exists(f"{d}/libamdhip64.so{n}") for n in ("", ".5", ".6", ".7")
                   for d in ("/usr/lib/x86_64-linux-gnu", "/opt/rocm/lib", "/usr/lib64")):
            expect("no runtime", (got[0], got[1][0], len(got[2])), (1, "mine: 100 100", 2))
        # the path that the user names, where the caller's dependency is ours
        got = run("nothing", LD_PRELOAD=names, LD_LIBRARY_PATH=f"{folder}:{libs}",
                  XSCHED_HIP_LIB=os.path.join(system, "libamdhip64.so.6"))
        expect("XSCHED_HIP_LIB", (got[1][0], got[2]), ("mine: 0 0", []))
    expect("no device", run("nothing", FAKE_HIP="no_device", LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON")[1][0],
           run("nothing", FAKE_HIP="no_device")[1][0])
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
