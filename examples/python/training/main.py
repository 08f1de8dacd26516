#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service answers requests while a model is trained on the same device in whatever time is left."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import together  # noqa: E402

ROLES = [together.Role("service", 10, "infer", 0.25), together.Role("training", 0, "train", 0)]


def judge(ours, native):
    a, b = (together.percentile(x["service"], 50) for x in (ours, native))
    return [] if a < b else [f"the service's P50 is {a:.2f} ms under XSched and {b:.2f} ms without"]


sys.exit(together.main("Training beside inference", "example training", ROLES, judge, __doc__))
