#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One side of workload A, an ordinary PyTorch program: client.py high|low|loop.
Reads lines "run SECONDS", answers with a JSON line of raw measurements."""
import json
import sys
import time

import torch
import torchvision

torch.backends.cudnn.benchmark = False
role = sys.argv[1]
torch.manual_seed(1)
m = (torchvision.models.resnet50() if role == "low" else torchvision.models.resnet18()).cuda().eval()
x = torch.randn(1024 if role == "low" else 1, 3, 224, 224, generator=torch.Generator().manual_seed(2)).cuda()


def once():
    y = m(x)
    torch.cuda.synchronize()
    return y


with torch.no_grad():
    for _ in range(3 if role == "low" else 30):
        y = once()
    print(json.dumps({"ready": role, "checksum": float(y.double().sum())}), flush=True)
    for line in sys.stdin:
        seconds = float(line.split()[1])
        samples = []
        begin = time.perf_counter()
        end = begin + seconds
        n = 0
        while time.perf_counter() < end:
            if role == "high":           # open loop, 20 a second
                due = begin + n / 20
                if due >= end:
                    break
                while time.perf_counter() < due:
                    time.sleep(max(0, min(0.002, due - time.perf_counter() - 0.0005)))
                t = due
            else:
                t = time.perf_counter()
            y = once()
            samples.append(round((time.perf_counter() - t) * 1e3, 4))
            n += 1
        took = time.perf_counter() - begin
        print(json.dumps({"role": role, "n": n, "seconds": round(took, 4), "ms": samples,
                          "checksum": float(y.double().sum())}), flush=True)
