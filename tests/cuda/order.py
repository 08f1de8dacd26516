#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs of different priority on one (fake) device under an xserver of our own: while the urgent one is busy,
the other starts next to nothing; when it pauses, the other goes on: order.py PAIR SHIM FOLDER_OF_THE_FAKE XSERVER [LEVEL]"""
import os
import subprocess
import sys
import tempfile
import time

from tries import judged


def once(pair, shim, fake, xserver, level="auto"):
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        daemon = subprocess.Popen([xserver, "--no-http", "HPF"], env=env, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            if os.path.exists(env["XSCHED_SOCKET"]):
                break
            time.sleep(0.05)
        env.update(LD_LIBRARY_PATH=fake, LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE_LEVEL=level)
        low = subprocess.Popen([pair, "3"], env=dict(env, XSCHED_PRIORITY="0"), stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        high = subprocess.Popen([pair, "2", "150", "150"], env=dict(env, XSCHED_PRIORITY="5"), stdout=subprocess.PIPE,
                                text=True)
        lows = [tuple(map(float, line.split())) for line in low.communicate(timeout=60)[0].splitlines()]
        highs = [tuple(map(float, line.split())) for line in high.communicate(timeout=60)[0].splitlines()]
        daemon.terminate()
        daemon.wait()
    if low.returncode or high.returncode or len(highs) < 3:
        print("exit codes", low.returncode, high.returncode, "stretches", len(highs))
        return False
    during = between = busy = idle = 0.0
    for i, (begin, end) in enumerate(highs[1:], 1):   # the first finds kernels that were never timed
        during += sum(begin + 20 < b < end for b, _ in lows)   # begun while the other was busy
        busy += end - begin - 20
        between += sum(highs[i - 1][1] + 20 < b < begin for b, _ in lows)
        idle += begin - highs[i - 1][1] - 20
    if busy <= 0 or idle <= 0:
        print("no time to judge by")
        return False
    rates = during / busy * 1000, between / idle * 1000
    print(f"low kernels a second: {rates[0]:.0f} while the urgent one is busy, {rates[1]:.0f} while it is not "
          f"({len(highs)} stretches, {len(lows)} kernels)")
    return rates[1] > 50 and rates[0] < rates[1] / 5


sys.exit(judged(lambda: once(*sys.argv[1:])))
