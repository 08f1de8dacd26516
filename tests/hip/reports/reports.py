#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users of earlier designs met, as tests: reports.py SHIM HAL FOLDER_OF_THE_SYSTEM'S_COPY WHEEL WRONG_FOLDER

The ladder runs without a shim, under ours in all modes, and under shims that are wrong in one way each
(wrong.c). Ours must give what no shim gives; each wrong one must fail in its own way, or the test could not."""
import os
import subprocess
import sys
import tempfile

GOOD = {"init": "0", "randn": "0", "blas create": "0", "stream": "0", "on a stream": "0", "gemm": "0",
        "module, C name": "0", "module, C++ name": "0", "randn again": "0", "tags": "1 2 3 4 5 6"}


def main(shim, hal, system, wheel, wrong):
    bad = []
    ladder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ladder.py")

    def run(**extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        env.update(extra, LD_LIBRARY_PATH=system, PYTHONPATH=wheel, PYTHONDONTWRITEBYTECODE="1",
                   SYSTEM_HIP=os.path.join(system, "libamdhip64.so.6"))
        r = subprocess.run([sys.executable, ladder], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=60, check=False)
        keys = sorted(list(GOOD) + ["queue of a stream", "seen", "runtimes"], key=len, reverse=True)
        out = {}
        for line in r.stdout.splitlines():
            key = next((k for k in keys if line.startswith(k + " ")), None)
            if key:
                out[key] = line[len(key) + 1:]
        return r.returncode, out, r.stderr

    def expect(what, got, want):
        if got != want:
            bad.append(f"{what}: got {got}, want {want}")

    code, native, err = run(HAL=hal)
    expect("native", (code, {k: native.get(k) for k in GOOD}), (0, GOOD))
    expect("native, the C interface on a stream of the framework's", native.get("queue of a stream"), "0")
    for title, extra in (("quiet", {}), ("queues", {"XSCHED_AUTO_XQUEUE": "ON"}),
                         ("a policy", {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}),
                         ("disabled", {"XSCHED_DISABLE": "1"})):
        code, out, err = run(LD_PRELOAD=shim, HAL=hal, **extra)
        expect("ours, " + title, (code, out), (0, native))
        said = [line for line in err.splitlines() if "XSCHED" in line]
        expect("ours, " + title + ", said", said, [])
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        code, out, err = run(LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
        with open(trace, encoding="ascii") as f:
            lines = [line.split() for line in f]
    calls = [(c[2], c[3], c[4]) for c in lines if len(c) > 5 and "Launch" in c[2]]
    expect("ours: each launch is a command on a queue", [c for c in calls if c[1] != "submit"], [])
    names = [c[0] for c in calls]
    expect("ours: launches", (names.count("hipLaunchKernel"), names.count("hipExtModuleLaunchKernel"),
                              sum(n.startswith("_Z24hipExt") for n in names)), (5, 1, 1))
    expect("ours: on the default stream", sum(c[2] == "-" for c in calls), 3)
    to = [" ".join(c) for c in lines if c[0] == "#" and "calls go to" in " ".join(c)]
    expect("ours: bound to the wheel's own copy", ["torch/lib/libamdhip64.so" in t for t in to], [True])

    def wrong_run(name, **extra):
        return run(LD_PRELOAD=os.path.join(wrong, f"libwrong_{name}.so"), **extra)

    lib = os.path.join(wrong, "libwrong_{}.so").format
    code, out, _ = wrong_run("hidden")
    expect("hidden registration: invalid device function", out.get("randn"), "98")
    expect("hidden registration: HIPBLAS_STATUS_NOT_INITIALIZED", out.get("blas create"), "1")
    code, out, _ = wrong_run("second")
    expect("a second runtime works as long as all goes there", out.get("randn"), "0")
    expect("a second runtime: context is destroyed", out.get("on a stream"), "709")
    expect("a second runtime: HIPBLAS_STATUS_INTERNAL_ERROR", out.get("gemm"), "6")
    expect("a second runtime: two copies", int(out.get("runtimes", 0)) > int(native["runtimes"]), True)
    code, out, _ = wrong_run("next")
    expect("dlsym(RTLD_NEXT) is null for what was loaded RTLD_LOCAL", code, -11)
    code, out, _ = wrong_run("mangled", WRONG=lib("mangled"))
    expect("the C name only of hipExtModuleLaunchKernel is missed", out.get("seen"), "6")
    code, out, _ = wrong_run("default", WRONG=lib("default"))
    expect("the default stream is passed by", out.get("seen"), "4")
    code, out, _ = run(HAL=lib("foreign"))
    expect("a foreign stream asked of another copy: 709", out.get("queue of a stream"), "709")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
