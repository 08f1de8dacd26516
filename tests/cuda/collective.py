#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs that do collectives together, and an urgent one beside them, under an xserver of our own: a collective
that has begun is not cut in two, whatever the urgent one does, and between collectives they are held:
collective.py RANK PAIR SHIM FOLDER_OF_THE_FAKE XSERVER

The same with a kernel of another name, and with programs of two jobs, is held in the middle, which shows that the test
would notice."""
import os
import struct
import subprocess
import sys
import tempfile
import time

from tries import judged

GROUPS, A_GROUP = 25, 10
NCCL = "_Z31ncclDevKernel_AllReduce_of_fake"


def first_group(shared):
    """Waits until both have met in each collective of the first group."""
    for _ in range(1200):
        with open(shared, "rb") as f:
            if all(n == 2 for n in struct.unpack(f"{A_GROUP}I", f.read(A_GROUP * 4))):
                return
        time.sleep(0.05)
    raise RuntimeError("the two programs did not meet in 60 s")


def once(rank, pair, shim, fake, xserver, kernel, ports=("29500", "29500"), opens=None):
    """As a launcher starts them, with the port of its job. opens: they open memory of each other's. -> the longest collective and how long they took together, ms"""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        daemon = subprocess.Popen([xserver, "--no-http", "HPF"], env=env, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            if os.path.exists(env["XSCHED_SOCKET"]):
                break
            time.sleep(0.05)
        env.update(LD_LIBRARY_PATH=fake, LD_PRELOAD=shim)
        shared = os.path.join(folder, "counters")
        with open(shared, "wb") as f:
            f.truncate(GROUPS * A_GROUP * 4)
        began = time.monotonic()
        ranks = [subprocess.Popen([rank, shared, str(i), kernel, str(GROUPS)],
                                  env=dict(env, XSCHED_PRIORITY="0", MASTER_PORT=ports[i],
                                           **({"RANK_OPENS": "1"} if opens else {})), stdout=subprocess.PIPE, text=True) for i in range(2)]
        first_group(shared)   # both are known for what they do before somebody urgent comes
        time.sleep(0.1)
        high = subprocess.Popen([pair, "3", "1300", "200"], env=dict(env, XSCHED_PRIORITY="5"),
                                stdout=subprocess.DEVNULL)
        try:
            longest = max(float(r.communicate(timeout=60)[0]) for r in ranks)
            took = (time.monotonic() - began) * 1e3
            ok = high.wait(60) == 0 and not any(r.returncode for r in ranks)
        finally:
            for p in ranks + [high]:
                p.kill()
            daemon.terminate()
            daemon.wait()
    if not ok:
        raise RuntimeError("a program failed")
    return longest, took


def main(*programs):
    for how in (("meet",), (NCCL, ("1", "2"))):
        for _ in range(5):   # whether the urgent one comes in the middle of one is chance
            wrong = once(*programs, *how)
            if wrong[0] >= 700:
                break
        else:
            print(f"{how}: nothing was cut, the test shows nothing")
            return 1

    def right():
        longest, took = once(*programs, NCCL)
        print(f"longest collective {longest:.0f} ms of {took:.0f} ms; with another job {wrong[0]:.0f} ms of {wrong[1]:.0f} ms")
        if not (longest < wrong[0] / 2 and took > 1500):
            return False
        longest, took = once(*programs, "meet", opens=True)   # nobody knows the name, and it is not cut either
        print(f"under another name, with memory of the other one's open, {longest:.0f} ms of {took:.0f} ms")
        return longest < wrong[0] / 2

    return judged(right)


sys.exit(main(*sys.argv[1:]))
