#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The distribution's hipBLAS, rocBLAS and MIOpen on the fake runtime, natively and under the shim:
libraries.py PROGRAM SHIM FOLDER_OF_THE_FAKE WRONG_SHIM [OUT]

HIP_TEST_LIBRARIES names the folder that scripts/hip_libraries.sh made; where it is unset nothing is run (status 77). Each step of
the program gives natively and under the shim the same, each kernel that the libraries launch is a command on a queue, and a
shim that takes registrations to another copy of the runtime fails as users met it. OUT gets the table."""
import glob
import os
import subprocess
import sys
import tempfile


def main(program, shim, fake, wrong, out=None):
    top = os.environ.get("HIP_TEST_LIBRARIES", "")
    loader = (glob.glob(os.path.join(top, "usr/lib/*/ld-linux-*.so.*")) or [None])[0]
    if not top or not loader:
        print("skipped: HIP_TEST_LIBRARIES names no folder of the libraries (scripts/hip_libraries.sh makes one)")
        return 77
    theirs = os.path.dirname(loader)

    def run(preload="", **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        env.update(extra, HOME=scratch, MIOPEN_USER_DB_PATH=scratch, LD_LIBRARY_PATH=fake) # what the shim can know of a path
        args = [loader, "--library-path", f"{fake}:{theirs}"] + (["--preload", preload] if preload else [])
        r = subprocess.run(args + [program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                           check=False)
        return r.returncode, r.stdout.splitlines(), [line for line in r.stderr.splitlines() if "XSCHED" in line]

    bad, ran = [], []
    with tempfile.TemporaryDirectory() as scratch:
        native = run()
        if native[0] == 77:
            print("skipped:", native[1])
            return 77
        if native[0] or not {"hipblasCreate 0", "rocblas_create_handle 0", "miopenCreate 0"} <= set(native[1]):
            bad.append(f"native: {native}")
        names = " ".join([os.path.join(os.path.dirname(shim), f"libxsched-hip{n}.so") for n in (5, 6, 7)] + [shim])
        for title, preload, extra in (("quiet", shim, {}), ("queues", shim, {"XSCHED_AUTO_XQUEUE": "ON"}),
                                      ("all names", names, {"XSCHED_AUTO_XQUEUE": "ON"}),
                                      ("a policy", shim, {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}),
                                      ("level 2", shim, {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF",
                                                         "XSCHED_AUTO_XQUEUE_LEVEL": "2"})):
            got = run(preload, XLOG_LEVEL="WARN", **extra)
            ran.append((title, got))
            if got != native:
                bad.append(f"{title}: {got}, not {native}")
        trace = os.path.join(scratch, "trace")
        run(shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
        with open(trace, encoding="ascii") as f:
            calls = [line.split() for line in f if not line.startswith("#")]
        launches = [c for c in calls if "Launch" in c[2]]
        if len(launches) < 10 or any(c[3] != "submit" for c in launches):
            bad.append(f"{len(launches)} launches, of which not commands: {[c for c in launches if c[3] != 'submit'][:3]}")
        code, lines, _ = run(wrong, SYSTEM_HIP=os.path.join(os.path.dirname(fake), "wheel/torch/lib/libamdhip64.so"))
        if (code, lines) == native[:2]:
            bad.append("a shim with a second runtime was not found out")
        failed = [x for x, y in zip(lines, native[1]) if x != y][:4]
    table = [f"{len(native[1])} steps, {len(launches)} launches, each a command on a queue", "",
             "| step | native | under the shim: " + ", ".join(t for t, _ in ran) + " |", "|---|---|---|"]
    table += [f"| **{line}** | |  |" if not line.split()[-1].isdigit() else
              f"| {line.rpartition(' ')[0]} | {line.rpartition(' ')[2]} | "
              + ", ".join(got[1][i].rpartition(" ")[2] if i < len(got[1]) else "-" for _, got in ran) + " |"
              for i, line in enumerate(native[1])]
    print(table[0], "; a shim with a second runtime:", code, failed)
    if out:
        with open(out, "w", encoding="utf-8") as f:
            print("\n".join(table), file=f)
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
