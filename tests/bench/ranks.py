#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of two ranks on a processor: ranks.py ROOT     (skipped where this Python has no PyTorch with gloo)

The first rank tells the others what to do; each request gives the same result, tokens have their times, and nobody is left
behind when the driver goes."""
import importlib.util
import json
import os
import subprocess
import sys
import time

ROOT = sys.argv[1]
CLIENT = os.path.join(ROOT, "bench", "clients", "ranks_client.py")


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(p) for p in found.split()]


def run(model, *lines):
    env = dict(os.environ, BENCH_TORCH_DEVICE="cpu", OMP_NUM_THREADS="1")
    with subprocess.Popen([sys.executable, CLIENT, "2", f"high={model}:0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=env) as p:
        hello = json.loads(p.stdout.readline())
        started = children(p.pid)
        need(len(started) == 2 and hello["worker"] in started, f"{hello}: {started}")
        rows = []
        for line in lines:
            start = time.monotonic_ns() + 10_000_000
            p.stdin.write(f"run high {line} start={start} end={start + 1_000_000_000}\n")
            p.stdin.flush()
            rows.append(json.loads(p.stdout.readline()))
        p.stdin.close()
        need(p.wait(60) == 0, f"{model}: status {p.returncode}")
        need(not any(os.path.exists(f"/proc/{pid}") for pid in started), f"{model}: a rank is left behind")
    for row in rows:
        need(not row["wrong"] and row["checksum"] == hello["roles"]["high"]["checksum"] and row["n"] >= 1, f"{model}: {row}")
    return rows


def main():
    if not all(importlib.util.find_spec(name) for name in ("torch", "torchvision")):
        print("skipped: this Python has no PyTorch and torchvision")
        return 77
    gap, closed = run("tp-gpt", "gap at=0,0,0", "closed")
    need(gap["n"] == 3 and len(gap["tokens_us"]) == 3 * 7 and closed["n"] == len(closed["ends_us"]), f"{gap}, {closed}")
    run("ddp-resnet50", "closed", "open at=0,100000")
    return 0


sys.exit(main())
