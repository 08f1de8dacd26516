#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What being attached costs a program that runs alone, where two starts of one program differ by more than that: ResNet-18
batch 1 in a closed loop, many starts without us and under xserver, all alive, one at a time in alternating order. Once as
they come, and once with the address space, the hashes and the core of all of them the same, which tells where starts differ.
starts.py BUILD [STARTS [BLOCKS [SECONDS [XSERVER]]]]      JSON lines on stdout; XSCHED_SOCKET names the server's socket"""
import json
import os
import random
import statistics
import subprocess
import sys
import time

BUILD = sys.argv[1]
STARTS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
BLOCKS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
XSERVER = sys.argv[5] if len(sys.argv) > 5 else os.path.join(BUILD, "bin/xserver")
HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = {"native": {}, "xsched": {"LD_PRELOAD": os.path.join(BUILD, "lib/xsched/libshimcuda.so"), "XSCHED_PRIORITY": "1"}}
SAME = {"PYTHONHASHSEED": "0", "CLIENT_CORE": str(max(os.sched_getaffinity(0)) // 2)}


def emit(**k):
    print(json.dumps(dict(k, workload="starts")), flush=True)


def client(variant, same):
    env = dict(os.environ, **VARIANTS[variant], **(SAME if same else {}))
    return subprocess.Popen([*(["setarch", "-R"] if same else []), sys.executable, os.path.join(HERE, "client.py"), "loop"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


def turn(p, seconds):
    p.stdin.write(f"run {seconds}\n")
    p.stdin.flush()
    return statistics.median(json.loads(p.stdout.readline())["ms"])


def interval(native, ours):
    """of the ratio of the means, starts drawn anew"""
    draw = random.Random(1)
    ratios = sorted(statistics.mean(draw.choices(ours, k=len(ours))) / statistics.mean(draw.choices(native, k=len(native)))
                    for _ in range(4000))
    return ratios[100], ratios[3899]


def measure(same):
    clients = [(v, i, client(v, same)) for i in range(STARTS) for v in VARIANTS]
    sums = {json.loads(c.stdout.readline())["checksum"] for _, _, c in clients}
    emit(same=same, metric="checksums_equal", value=int(len(sums) == 1))
    got = {}
    for block in range(BLOCKS):
        for v, i, c in clients if block % 2 == 0 else reversed(clients):
            got.setdefault((v, i), []).append(turn(c, SECONDS))
    for _, _, c in clients:
        c.stdin.close()
        c.wait(30)
    starts = {v: [statistics.median(b) for (w, _), b in got.items() if w == v] for v in VARIANTS}
    for (v, i), blocks in got.items():
        emit(same=same, variant=v, process=i, metric="p50", unit="ms", value=statistics.median(blocks), blocks=blocks)
    low, high = interval(starts["native"], starts["xsched"])
    emit(same=same, metric="ratio", n=STARTS, low=round(low, 4), high=round(high, 4),
         value=round(statistics.mean(starts["xsched"]) / statistics.mean(starts["native"]), 4),
         ratio_of_medians=round(statistics.median(starts["xsched"]) / statistics.median(starts["native"]), 4))


daemon = subprocess.Popen([XSERVER, "--no-http", "HPF"], stderr=subprocess.DEVNULL)
time.sleep(0.5)
for together in (True, False):
    measure(together)
daemon.terminate()
daemon.wait()
