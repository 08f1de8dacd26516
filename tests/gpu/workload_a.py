#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workload A: two processes, ResNet-18 batch 1 at 20 requests a second beside ResNet-50 batch 1024 in a loop; alone,
with the device's own sharing, and under XSched, in alternating blocks of the same processes.
workload_a.py FOLDER_OF_THE_BUILD [BLOCKS [SECONDS]]       JSON lines on stdout"""
import json
import os
import statistics
import subprocess
import sys

BUILD = sys.argv[1]
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 6
HERE = os.path.dirname(os.path.abspath(__file__))


class Client:
    def __init__(self, role, env=None):
        e = dict(os.environ)
        e.update(env or {})
        self.p = subprocess.Popen([sys.executable, os.path.join(HERE, "client.py"), role], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=e)

    def ready(self):
        self.hello = json.loads(self.p.stdout.readline())
        return self

    def start(self, seconds):
        self.p.stdin.write(f"run {seconds}\n")
        self.p.stdin.flush()

    def result(self):
        return json.loads(self.p.stdout.readline())


def shim(priority, level):
    return {"LD_PRELOAD": os.path.join(BUILD, "lib/xsched/libshimcuda.so"), "XSCHED_PRIORITY": str(priority),
            "XSCHED_AUTO_XQUEUE_LEVEL": level}


def quantile(v, q):
    v = sorted(v)
    return v[min(len(v) - 1, int(q * len(v)))]


def emit(**k):
    k.setdefault("workload", "A")
    print(json.dumps(k), flush=True)


def main():
    clients = {("native", "high"): Client("high"), ("native", "low"): Client("low")}
    for level in ("1", "auto"):
        for side, priority in (("high", 10), ("low", 0)):
            clients["level" + level, side] = Client(side, shim(priority, level))
    for key, c in clients.items():
        c.ready()
        emit(variant=key[0], side=key[1], metric="checksum", value=c.hello["checksum"])
    variants = [("alone", "native", ("high",)), ("alone_level1", "level1", ("high",)),
                ("native", "native", ("high", "low")), ("level1", "level1", ("high", "low")),
                ("auto", "levelauto", ("high", "low")),
                ("low_alone", "native", ("low",)), ("low_alone_level1", "level1", ("low",))]
    got = {}
    for block in range(BLOCKS):
        for name, which, sides in variants:
            if sides == ("low",) and block >= 2:
                continue
            for s in reversed(sides):
                clients[which, s].start(SECONDS + (0.5 if s == "low" and len(sides) > 1 else 0))
            for s in sides:
                r = clients[which, s].result()
                got.setdefault((name, s), []).append(r)
                if s == "high":
                    emit(variant=name, side=s, block=block, metric="samples_ms", value=r["ms"], n=r["n"])
                else:
                    emit(variant=name, side=s, block=block, metric="images_per_s", unit="1/s", n=r["n"],
                         value=round(r["n"] * 1024 / r["seconds"], 1), checksum=r["checksum"])
    for (name, s), rs in got.items():
        if s == "high":
            ms = [v for r in rs for v in r["ms"]]
            for metric, q in (("p50", .5), ("p90", .9), ("p99", .99)):
                emit(variant=name, side=s, metric=metric, value=quantile(ms, q), unit="ms", n=len(ms))
        else:
            emit(variant=name, side=s, metric="throughput", unit="1/s", n=sum(r["n"] for r in rs),
                 value=round(statistics.mean(r["n"] * 1024 / r["seconds"] for r in rs), 1))
    for c in clients.values():
        c.p.stdin.close()
    for c in clients.values():
        c.p.wait(30)


main()
