#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Six programs in three groups of priorities on one (fake) device: each group starts next to nothing while a more urgent one is
busy, and goes on after it: groups.py PAIR SHIM FOLDER_OF_THE_FAKE XSERVER

The same with priorities clamped to the two that PyTorch's streams have must be found out."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cuda"))
from tries import judged  # noqa: E402  pylint: disable=wrong-import-position

GROUPS = {9: "1.5", 5: "3.5", 0: "5.5"}   # priority: seconds; all begin at once


def rates(folder, pair, shim, fake, xserver, clamp):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
    env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
    with subprocess.Popen([xserver, "--no-http", "HPF"], env=env, stderr=subprocess.DEVNULL) as daemon:
        while not os.path.exists(env["XSCHED_SOCKET"]):
            time.sleep(0.02)
        env.update(LD_LIBRARY_PATH=fake, LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE_LEVEL="1")
        tasks = [(p, subprocess.Popen([pair, s], stdout=subprocess.PIPE, text=True,
                                      env=dict(env, XSCHED_PRIORITY=str(min(p, 1) if clamp else p))))
                 for p, s in GROUPS.items() for _ in range(2)]
        outs = [(p, t.communicate(timeout=60)[0], t.returncode) for p, t in tasks]
        daemon.terminate()
    if any(code for _, _, code in outs):
        print("exit codes", [code for _, _, code in outs])
        return None
    begun = {p: sorted(float(line.split()[0]) for q, out, _ in outs if q == p for line in out.splitlines()) for p in GROUPS}
    high, mid, low = (begun[p] for p in (9, 5, 0))
    first = min(x[0] for x in (high, mid, low))

    def rate(x, start, end):
        return sum(start < b < end for b in x) / (end - start) * 1000

    return {"high alone": rate(high, first + 300, high[-1] - 100),
            "mid beside high": rate(mid, first + 300, high[-1] - 100), "mid after high": rate(mid, high[-1] + 300, mid[-1] - 100),
            "low beside mid": rate(low, high[-1] + 300, mid[-1] - 100), "low after mid": rate(low, mid[-1] + 300, low[-1] - 100)}


def ordered(r):
    return bool(r) and r["mid after high"] > 50 and r["low after mid"] > 50 and \
        r["mid beside high"] < r["mid after high"] / 5 and r["low beside mid"] < r["low after mid"] / 5


def main(*args):
    def attempt():
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            r, clamped = rates(folder, *args, False), rates(other, *args, True)
        for title, x in (("three priorities", r), ("clamped to two", clamped)):
            print(title + ", kernels begun a second:", {k: round(v) for k, v in (x or {}).items()})
        return ordered(r) and bool(clamped) and not ordered(clamped)

    return judged(attempt)


sys.exit(main(*sys.argv[1:]))
