#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs with XSched and without: run_random.py PROGRAM DRIVER SHIMS SEED PROGRAMS

The program judges what comes out; here its hash must be the same natively, with nobody scheduling, and with a policy in the
process, by each way.
"""
import subprocess
import sys

import lib


def main(program, driver, shims, seed, programs):
    auto = {"XSCHED_AUTO_XQUEUE": "ON"}
    ways = {"native": lib.plain(driver), "app": lib.under(driver, shims, "proxy", **auto, XSCHED_SCHEDULER="APP"),
            "hpf": lib.under(driver, shims, "proxy", **auto, XSCHED_POLICY="HPF"),
            "preload": lib.under(driver, shims, "preload", **auto, XSCHED_POLICY="HPF"),
            "both": lib.under(driver, shims, "both", **auto, XSCHED_POLICY="HPF")}
    started = {way: subprocess.Popen([program, seed, programs], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for way, env in ways.items()}
    said = {way: (p.communicate(timeout=3000)[0], p.returncode) for way, p in started.items()}
    bad = len(set(said.values())) != 1 or any(code for _, code in said.values())
    print(said if bad else said["native"][0].strip())
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
