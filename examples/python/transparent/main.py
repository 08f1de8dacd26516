#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary program that knows nothing of XSched: it computes, and says how long that took."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
from device import open_device  # noqa: E402


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    work = open_device().work("infer")
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        work.unit()
        took.append((time.monotonic() - began) * 1e3)
    took.sort()
    print(f"{len(took)} requests, median {took[len(took) // 2]:.2f} ms, longest {took[-1]:.2f} ms, results are "
          f"{'right' if work.verify() else 'WRONG'}")
    return 0 if work.verify() else 1


sys.exit(main())
