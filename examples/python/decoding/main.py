#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens of a language model, each short and each waited for, beside batch work that fills the device."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import together  # noqa: E402

ROLES = [together.Role("decoding", 10, "decode", 0.4), together.Role("batch", 0, "batch", 0)]


def judge(ours, native):
    a, b = (together.percentile(x["decoding"], 50) for x in (ours, native))
    return [] if a < b else [f"a token's P50 is {a:.2f} ms under XSched and {b:.2f} ms without"]


sys.exit(together.main("LLM decoding beside batch work", "example decoding", ROLES, judge, __doc__))
