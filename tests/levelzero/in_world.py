#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An urgent and a background Level Zero program on one device, in virtual time (tests/fakes/world), so that what comes out is exact:
in_world.py BUILD [--show]

The device changes between programs each 2048 us, as without XSched. An urgent request of 10 ms takes at most 1.3 times as long
as alone beside a background program that always has work; with the priorities the other way round, and without XSched, it takes more.
"""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cuda"))
import exact  # noqa: E402

MOST = 1.3
KERNEL_US, KERNELS = 500, 20
ALONE = KERNEL_US * KERNELS
LOW, HIGH = (100, 300000), (KERNEL_US, KERNELS, 20030, 30000, 9)
FIRST, UNTIL = 20030, 300000


class World(exact.World):
    def program(self, *arguments, shim=True, **env):
        shims = os.path.join(self.build, "lib/xsched")
        if shim:
            env.update(ZE_ENABLE_ALT_DRIVERS=f"{shims}/libxsched-ze_intel_gpu.so", ZE_ENABLE_LOADER_DRIVER_DDI_PATH="0")
        return self.start([os.path.join(self.build, "tests/levelzero/levelzero_in_world"), *map(str, arguments)],
                          LD_PRELOAD=self.world, LD_LIBRARY_PATH=os.path.join(self.build, "tests/fakes/levelzero/driver"), **env)


def run(build, scheduled=True, low=None, high=HIGH, low_priority=0, high_priority=5):
    w = World(build, scheduled + bool(low) + 1, *([] if scheduled else ["--all"]))
    if scheduled:
        w.xserver()
    programs = []
    for kind, arguments, priority in (("low", low, low_priority), ("high", high, high_priority)):
        if arguments:
            programs.append(w.program(kind, *arguments, shim=scheduled, **({"XSCHED_PRIORITY": str(priority)} if scheduled else {})))
    said = [w.said(p) for p in programs]
    w.end()
    return {"latency": list(map(int, said[-1])), "kernels": int(said[0][1]) if low else 0}


# What must come out: the median request (the longest) in times of one alone, and kernels of the background: two numbers between which they lie.
# The background has what the urgent one leaves: of 280 ms, 9 requests of 10 ms.
LEAVES = (UNTIL - FIRST - 9 * ALONE) // LOW[0]
CASES = {
    "alone": ({}, statistics.median, (1, 1), (0, 0)),
    "native": ({"scheduled": False, "low": LOW}, statistics.median, (1.6, 2.3), (0, 2 * LEAVES)),
    "urgent": ({"low": LOW}, statistics.median, (1, MOST), (LEAVES * 9 // 10, LEAVES * 12 // 10)),
    "reversed": ({"low": LOW, "low_priority": 5, "high_priority": 0}, max, (20, 30), (LEAVES, 3000)),
}


def main(build, show=None):
    bad = 0
    for name, (arguments, which, ratio, kernels) in CASES.items():
        got = run(os.path.abspath(build), **arguments)
        took = which(got["latency"]) / ALONE
        wrong = not (ratio[0] <= took <= ratio[1] and kernels[0] <= got["kernels"] <= kernels[1])
        bad += wrong
        print(f"{name}: {which.__name__} {took:.3f} times {ALONE} us, of {got['latency']}; {got['kernels']} kernels in the background"
              + (f": WRONG, {ratio}, {kernels}" if wrong else ""))
    return 1 if bad and not show else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
