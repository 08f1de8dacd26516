#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured programs get CPUs of their own, and the same addresses: starts.py ROOT"""
import os
import subprocess
import sys

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import starts  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def layout(prepare):
    """Where a program has its stack and what it may run on."""
    said = subprocess.run(["cat", "/proc/self/maps", "/proc/self/status", "/proc/self/personality"], preexec_fn=prepare, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout.splitlines()
    return ([l.split()[0] for l in said if "[stack]" in l or "libc" in l],
            next(l.split()[1] for l in said if l.startswith("Cpus_allowed_list:")), said[-1])


def main():
    for n in (8, 16, 32, 64):
        for names in (("high", "low"), ("high", "low", "high"), ("a", "b", "c")):
            got = starts.places(names, range(100, 100 + n))
            used = [c for cpus in got.values() for c in cpus]
            need(set(got) == set(names), f"{n} CPUs, {names}: {got}")
            need(len(used) == len(set(used)) <= n - max(2, n // 4), f"{n} CPUs, {names}: {got}")
            need(len({len(cpus) for cpus in got.values()}) == 1 and set(used) <= set(range(100, 100 + n)), f"{got}")
    need(starts.places(("high", "low"), range(7)) == {}, "too few CPUs: wherever they like")
    need(starts.places([str(i) for i in range(6)], range(8)) == {}, "too many processes: wherever they like")
    need(starts.places(["all"], range(8)) == {"all": set(range(6))}, "one process")
    one = {min(os.sched_getaffinity(0))}
    stack, cpus, personality = layout(starts.prepare(one))
    need(cpus == str(*one), f"runs on {cpus}, not on {one}")
    if int(personality, 16) & starts.ADDR_NO_RANDOMIZE:
        need(layout(starts.prepare(one))[0] == stack and layout(starts.prepare(None))[0] == stack, "the same addresses")
    else:
        print("addresses cannot be kept here")
    need(layout(starts.prepare({4095}))[0], "CPUs that are not there are no error")


main()
