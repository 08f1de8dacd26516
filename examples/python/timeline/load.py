# SPDX-License-Identifier: Apache-2.0
"""load.py WORK PAUSE: one unit of work after another, with pauses, until it is ended."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
from device import open_device  # noqa: E402

work = open_device().work(sys.argv[1])
while True:
    work.unit()
    time.sleep(float(sys.argv[2]))
