#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three inference services share a device: gold, silver and bronze customers. Requests arrive at random times, and the
three together ask for nearly all that the device can do."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import together  # noqa: E402

ROLES = [together.Role("gold", 20, "infer", 0.28), together.Role("silver", 10, "infer", 0.28),
         together.Role("bronze", 0, "infer", 0.28)]


def judge(ours, native):
    bad = []
    (gold50, gold99), (silver50, _), (bronze50, bronze99) = (
        (together.percentile(ours[r.name], 50), together.percentile(ours[r.name], 99)) for r in ROLES)
    if not gold50 < silver50 < bronze50:
        bad.append(f"P50 is not in the order of priorities: {gold50:.2f}, {silver50:.2f}, {bronze50:.2f} ms")
    if not gold50 < together.percentile(native["gold"], 50):
        bad.append(f"gold's P50 is {gold50:.2f} ms under XSched, and no longer natively")
    if not gold99 < bronze99:
        bad.append(f"P99 of gold is {gold99:.2f} ms, of bronze {bronze99:.2f} ms")
    return bad


sys.exit(together.main("Inference service with three priorities", "example service", ROLES, judge, __doc__))
