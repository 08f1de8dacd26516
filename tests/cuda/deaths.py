#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that is held for a busy urgent one goes on when that one is killed, and when xserver is:
deaths.py PAIR SHIM FOLDER_OF_THE_FAKE XSERVER [LEVEL]"""
import os
import subprocess
import sys
import tempfile
import threading
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
        low = subprocess.Popen([pair, "30"], env=dict(env, XSCHED_PRIORITY="0"),
                               stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        ends = []

        def read():
            for line in low.stdout:
                ends.append(float(line.split()[1]))
        threading.Thread(target=read, daemon=True).start()

        def urgent():
            p = subprocess.Popen([pair, "30", "100000"], env=dict(env, XSCHED_PRIORITY="5"), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(1)
            until = time.monotonic() + 10           # it may be slow to start
            while time.monotonic() < until and [e for e in ends if time.monotonic() * 1e3 - 350 < e]:
                time.sleep(0.02)
            return p

        def after(what, limit_ms):
            """How long until the held one's next kernel ends; and that it was held before."""
            now = time.monotonic() * 1e3
            held = not [e for e in ends if now - 300 < e < now]
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and not [e for e in ends if e > now]:
                time.sleep(0.005)
            first = min([e for e in ends if e > now], default=now + 99999) - now
            print(f"{what}: held before: {held}; the next kernel ended {first:.0f} ms later")
            return held and first < limit_ms

        time.sleep(0.7)
        high = urgent()
        high.kill()
        ok = after("urgent program killed", 250)
        high.wait()
        time.sleep(0.5)
        high = urgent()
        daemon.kill()
        ok &= after("xserver killed", 900)   # a lease is 500 ms
        daemon.wait()
        high.kill()
        high.wait()
        low.kill()
        low.wait()
    return ok


sys.exit(judged(lambda: once(*sys.argv[1:])))
