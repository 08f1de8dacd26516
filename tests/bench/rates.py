#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much a side did that goes on all the time counts while the urgent side was there: rates.py ROOT

It begins before the urgent side and ends after it, so it has the device for itself at both ends."""
import os
import sys
import types

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import measure  # noqa: E402

LEAD_NS, WINDOW_NS = 300_000_000, 1_500_000_000
SIDE = types.SimpleNamespace(mode="closed", depth=1, name="low")
BEFORE = [48_000 * i for i in range(1, 7)]              # us: six steps in the lead
AFTER = [1_850_000, 1_898_000]


def rate(ends, n=None):
    answer = {"ends_us": ends, "n": len(ends) if n is None else n, "seconds": 2.0, "checksum": 0, "wrong": 0, "cpu_ms": 1}
    rows = measure.side_rows({}, SIDE, answer, LEAD_NS, WINDOW_NS, 1)
    return next(row["value"] for row in rows if row["metric"] == "throughput")


def need(value, wanted):
    if abs(value - wanted) > 1e-3:
        sys.exit(f"failed: {value} a second, not {wanted}")


def main():
    need(rate(BEFORE + AFTER), 0)
    need(rate(BEFORE + [900_000] + AFTER), 1 / 1.5)
    need(rate(BEFORE + [900_000, 1_300_000] + AFTER), 2 / 1.5)
    need(rate(BEFORE + [400_000, 900_000, 1_400_000] + AFTER), 2)      # two whole periods in a second
    need(rate([], n=100), 50)                                          # it says no more than how many
    need(rate([1000 * i for i in range(1, 101)], n=5000), 2500)        # likewise: only the first ones are listed


main()
