#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drivers that the user names in ZE_ENABLE_ALT_DRIVERS, under `xsched run`: named.py SUITE DRIVER XSCHED [right|wrong]

Ours stands in the place of each: results are those without XSched, and every command is scheduled, in a program that opens the
loader while it runs, too (without what is preloaded). The wrong variant puts the user's list back behind `xsched run`, so that
ours has no part in it: then nothing may be scheduled.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import lib

CASE = "immediate"


def main(suite, driver, xsched, variant="right"):
    bad = []
    launch = [xsched, "run", "-q", "--local-policy", "HPF", "--"]
    with tempfile.TemporaryDirectory() as folder:
        one, two, broken = (os.path.join(folder, n) for n in ("libone.so", "two.driver", "libbroken.so"))
        for copy in (one, two):
            shutil.copy(os.path.join(driver, "libze_intel_gpu.so.1"), copy)
        with open(broken, "w", encoding="utf-8") as f:
            f.write("no object\n")

        def run(names, *before, where=folder):
            path = os.path.join(folder, "trace")
            if os.path.exists(path):
                os.unlink(path)
            # the fake driver says that its objects have tables in them, and they have not: a newer loader with two drivers must
            # not look, which `xsched run` sees to in any case
            env = lib.plain(where, ZE_ENABLE_ALT_DRIVERS=names, XSCHED_TRACE=path,
                            ZE_ENABLE_LOADER_DRIVER_DDI_PATH="1" if before else "0")
            again = ["env", f"ZE_ENABLE_ALT_DRIVERS={names}"] if before and variant == "wrong" else []
            r = subprocess.run([*before, "env", "-u", "LD_PRELOAD", *again, suite, CASE], env=env, capture_output=True, text=True,
                               timeout=60, check=False)
            submits = 0
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    submits = sum(" submit " in line for line in f)
            return (r.returncode, r.stdout), submits, r.stderr

        cases = {"a path": one, "two": f"{one},{two}", "two, one of which is not there": f"/none/libthree.so,{one}",
                 "a name": "libone.so", "twice under xsched run": two}
        for name, names in cases.items():
            # an installed driver that is not named is not seen
            for where in (folder, f"{folder}:{driver}"):
                want, none, _ = run(names, where=where)
                got, submits, said = run(names, *launch * (2 if "twice" in name else 1), where=where)
                if want[0] or none or got != want or said or submits < 120:
                    bad.append((name, want, got, submits, said))
        for name, names, lines in (("not there", "/none/libthree.so", 0), ("no object", broken, 1)):
            want, none, _ = run(names)
            got, submits, said = run(names, *launch)
            if not want[0] or none or got != want or submits or said.count("does not open") != lines or said.count("\n") != lines:
                bad.append((name, want, got, submits, said))
    for b in bad:
        print(b)
    print(f"{2 * len(cases) + 2} lists, {len(bad)} differences")
    return int(bool(bad) == (variant == "right"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
