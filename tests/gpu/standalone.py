#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program that runs alone notices: ResNet-18 batch 1 in a closed loop, two processes of each variant, one at a
time in alternating order (native; quiet: the shim without XQueues; xsched: joined to xserver). Then, with two xsched
clients at work, kill -9 of xserver: both go on, results right, and join the next one.
standalone.py BUILD [BLOCKS [SECONDS [XSERVER]]]      JSON lines on stdout; XSCHED_SOCKET names the server's socket"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

BUILD = sys.argv[1]
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 2
XSERVER = sys.argv[4] if len(sys.argv) > 4 else os.path.join(BUILD, "bin/xserver")
HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = {"LD_PRELOAD": os.path.join(BUILD, "lib/xsched/libshimcuda.so")}
VARIANTS = {"native": {}, "quiet": SHIM, "xsched": dict(SHIM, XSCHED_PRIORITY="1")}


class Client:
    def __init__(self, role, env):
        self.p = subprocess.Popen([sys.executable, os.path.join(HERE, "client.py"), role], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=dict(os.environ, **env))

    def start(self, seconds):
        self.p.stdin.write(f"run {seconds}\n")
        self.p.stdin.flush()

    def result(self):
        return json.loads(self.p.stdout.readline())


def server():
    env = {k: v for k, v in os.environ.items()}
    p = subprocess.Popen([XSERVER, "--no-http", "HPF"], env=env, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    return p


def emit(**k):
    print(json.dumps(dict(k, workload="standalone")), flush=True)


def main():
    daemon = server()
    clients = [(v, i, Client("loop", e)) for i in range(2) for v, e in VARIANTS.items()]
    low = Client("low", dict(SHIM, XSCHED_PRIORITY="0"))
    sums = {v: c.result()["checksum"] for v, _, c in clients}
    low_sum = low.result()["checksum"]
    emit(metric="checksums_equal", value=int(len(set(sums.values())) == 1))
    got = {}
    for block in range(BLOCKS):
        for v, i, c in (clients if block % 2 == 0 else reversed(clients)):
            c.start(SECONDS)
            got.setdefault((v, i), []).append(statistics.median(c.result()["ms"]))
    for (v, i), blocks in got.items():
        emit(variant=v, process=i, metric="p50", unit="ms", value=statistics.median(blocks), blocks=blocks)
    base = statistics.mean(statistics.median(b) for (v, _), b in got.items() if v == "native")
    for v in VARIANTS:
        emit(variant=v, metric="ratio", value=round(
            statistics.mean(statistics.median(b) for (w, _), b in got.items() if w == v) / base, 4))
    high = next(c for v, i, c in clients if v == "xsched")
    for round_ in range(2):
        low.start(5)
        high.start(4)
        time.sleep(2)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        time.sleep(0.5)
        daemon = server()
        a, b = high.result(), low.result()
        emit(metric="kill_xserver", run=round_, high_requests=a["n"], high_max_ms=max(a["ms"]), low_batches=b["n"],
             low_max_ms=max(b["ms"]), right=int(a["checksum"] == sums["xsched"] and b["checksum"] == low_sum))
    for c in [c for _, _, c in clients] + [low]:
        c.p.stdin.close()
        c.p.wait(30)
    daemon.terminate()


main()
