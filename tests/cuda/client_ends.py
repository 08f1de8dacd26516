#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The urgent program of the tests on a GPU ends when it is told to, and says what it did until then. One that ran on would
disturb whatever is measured after it.  client_ends.py GPU_CLIENT FOLDER_OF_THE_FAKE_DRIVER"""
import json
import os
import signal
import subprocess
import sys
import time

ENV = dict(os.environ, LD_LIBRARY_PATH=sys.argv[2])
JOBS = 100000


def ended_after(seconds):
    p = subprocess.Popen([sys.argv[1], "high", str(JOBS), "1000"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stderr.readline()            # ready
    time.sleep(seconds)
    p.send_signal(signal.SIGTERM)
    try:
        out, _ = p.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        p.kill()
        sys.exit("it runs on")
    row = json.loads(out)
    if p.returncode or row["wrong"] or len(row["job_us"]) != row["n"]:
        sys.exit(f"status {p.returncode}: {row}")
    return row["n"]


none = any(ended_after(0) == 0 for _ in range(20))     # the signal may be late on a busy machine
later = ended_after(1)
print(f"{'none' if none else 'never none'}, {later} jobs")
if not none or not 0 < later < JOBS:
    sys.exit("that is not what it ran")
