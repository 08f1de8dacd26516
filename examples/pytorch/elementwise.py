#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Element-wise operations in growing sizes, on the default stream: elementwise.py [--device cuda] [--json]

Each rung compares with the CPU and prints its time; with --json a digest, so that runs with and without the shim
can be compared bit for bit."""
import argparse
import hashlib
import json
import sys
import time

import torch


def sync(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    failed = 0
    for n in (10, 1000, 100_000, 1_000_000):
        host = torch.randn(n, generator=torch.Generator().manual_seed(n))
        x = host.to(a.device)
        for name, f in (("add", lambda v: v + 1.5), ("multiply", lambda v: v * v), ("sigmoid", torch.sigmoid),
                        ("relu", torch.relu), ("where", lambda v: torch.where(v > 0, v, -v)),
                        ("chain of 100", lambda v: chain(v))):
            y = f(x)
            sync(a.device)
            begin = time.perf_counter()
            y = f(x)
            sync(a.device)
            us = (time.perf_counter() - begin) * 1e6
            back = y.cpu()
            right = torch.allclose(back, f(host), rtol=1e-4, atol=1e-5)
            failed += not right
            if a.json:
                print(json.dumps({"rung": f"elementwise {name} {n}", "right": right, "us": round(us, 1),
                                  "digest": hashlib.sha256(back.numpy().tobytes()).hexdigest()[:16]}), flush=True)
            else:
                print(f"{name:14s} {n:>9d} elements {us:10.1f} us  {'ok' if right else 'WRONG'}", flush=True)
    return 1 if failed else 0


def chain(v):
    for i in range(100):
        v = v * 0.99 + (i % 3)
    return v


sys.exit(main())
