#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured programs get CPUs of their own, and the same addresses: starts.py ROOT"""
import os
import subprocess
import sys

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import report, starts  # noqa: E402
from suite.results import Results  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def layout(prepare):
    """Where a program has its stack and what it may run on."""
    said = subprocess.run(["cat", "/proc/self/maps", "/proc/self/status", "/proc/self/personality"], preexec_fn=prepare, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout.splitlines()
    return ([l.split()[0] for l in said if "[stack]" in l or "libc" in l],
            next(l.split()[1] for l in said if l.startswith("Cpus_allowed_list:")), said[-1])


class Refuses:
    """A C library under a filter that denies personality(2), or only what changes something."""

    def __init__(self, all_of_it):
        self.all_of_it = all_of_it

    def personality(self, flags):
        return 0 if flags.value == starts.ASK and not self.all_of_it else -1


class Ignores:
    """A system that says yes and does nothing."""

    def personality(self, flags):
        return 0


class Flags:
    """A program that has another flag already."""
    value = 0x8

    def personality(self, flags):
        old = self.value
        if flags.value != starts.ASK:
            self.value = flags.value
        return old


def randomised():
    """Whether programs have random addresses here unless they ask for others."""
    return len({layout(None)[0][0] for _ in range(4)}) > 1


def rows(letter, how):
    return [{"workload": letter, "platform": "cuda", "variant": "native", "side": "machine", "metric": "seconds", "value": 1, "run": run,
             **(how or {})} for run in range(3)]


def made_up(how):
    return Results(rows("A", how))


def said(how):
    return " ".join(report.alike(made_up(how)))


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
        need(not starts.same_addresses(starts.prepare(None)), "what cannot be kept is not said to be")
    need(layout(starts.prepare({4095}))[0], "CPUs that are not there are no error")
    for libc in (Refuses(all_of_it=False), Refuses(all_of_it=True), Ignores()):
        need(layout(starts.prepare(one, libc))[1] == str(*one), "a refusal is no error, and the CPUs are kept")
        if randomised():
            need(not starts.same_addresses(starts.prepare(None, libc)), f"{libc}: random addresses are called the same")
    flag = Flags()
    starts.prepare(None, flag)()
    need(flag.value == 0x8 | starts.ADDR_NO_RANDOMIZE, f"other flags are kept: {flag.value:#x}")

    need(not report.alike(made_up(None)), "older results do not say that programs were started alike")
    need(not report.alike(made_up({"alike": False, "addresses": False, "cpus": {}})), "--free-starts")
    need("at the same addresses" in said({"alike": True, "addresses": True, "cpus": {}}), "addresses")
    need("CPUs of its own" not in said({"alike": True, "addresses": True, "cpus": {}}), "no CPUs of their own")
    need("at random addresses" in said({"alike": True, "addresses": False, "cpus": {}}), "refused")
    need("where the system allows" in said({"alike": True, "cpus": {"high": 6, "low": 6}}), "rows that do not say")
    need("on 6 CPUs of its own" in said({"alike": True, "cpus": {"high": 6, "low": 6}}), "CPUs of their own")
    both = " ".join(report.alike(Results(rows("A", {"alike": True, "addresses": True, "cpus": {"high": 6, "low": 6}})
                                         + rows("B", {"alike": True, "addresses": True, "cpus": {}}))))
    need(both == ("In A on cuda (each process on 6 CPUs of its own), B on cuda programs were started alike: with the same "
                  "PYTHONHASHSEED, at the same addresses. "), both)


main()
