#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each call of the driver fails once, and the device is lost at each command: faults.py SUITE DRIVER SHIMS MOST

The program must end as it does natively. Where the call that failed is one that marks need as well, it may be ours that was refused:
then the program has all of its own, or one call of its own was refused later.
"""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lib

SCHEDULERS = {"app": {"XSCHED_SCHEDULER": "APP"}, "hpf": {"XSCHED_POLICY": "HPF"}}
OURS = ("execute", "append", "fence", "event", "list", "pool")   # what is called for marks, too
THEIRS = ("queue", "immediate", "alloc", "lost")
COMMANDS = 41                # of the case `lost`: a later one is a mark, which the program does not have natively


def run(env, suite, case):
    try:
        r = subprocess.run([suite, case], env=env, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return r.returncode, r.stdout


def main(suite, driver, shims, most):
    bad, refused = [], 0
    whole = run(lib.plain(driver), suite, "refused")
    cases = [(name, n) for name in OURS + THEIRS for n in range(1, int(most) + 1) if name != "lost" or n <= COMMANDS]

    def one(case):
        name, n = case
        what = "lost" if name == "lost" else "refused"
        want = run(lib.plain(driver, FAKE_ZE=f"{name}:{n}"), suite, what)
        if name == "lost" and want[0]:
            bad.append((name, n, "natively", "", want))
        for way in lib.WAYS:
            for scheduler, env in SCHEDULERS.items():
                got = run(lib.under(driver, shims, way, FAKE_ZE=f"{name}:{n}", XSCHED_AUTO_XQUEUE="ON", **env), suite, what)
                if got != want and (name in THEIRS or got not in (whole, (0, whole[1].replace("0 refused", "1 refused")))):
                    bad.append((name, n, way, scheduler, got, want))
        return want != whole

    with ThreadPoolExecutor(2) as pool:
        refused = sum(pool.map(one, cases))
    for b in bad:
        print(b)
    print(f"{len(cases)} faults, {refused} of them met natively, {len(cases) * len(lib.WAYS) * len(SCHEDULERS)} runs, {len(bad)} differences")
    return int(bool(bad) or refused < len(cases) // 4)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
