#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small model that answers some requests a second, as a user writes it; nothing here is about XSched.
serve.py REQUESTS A_SECOND FILE       FILE gets a line for each request: the time when it was due and its milliseconds"""
import sys
import time

import torch
from torch import nn

requests, a_second, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
device = "cuda" if torch.cuda.is_available() else "cpu"
width = 512 if device == "cuda" else 64
torch.manual_seed(0)
torch.set_num_threads(1)
layer = nn.TransformerEncoderLayer(d_model=width, nhead=8, dim_feedforward=4 * width, batch_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, num_layers=4), nn.Linear(width, 10)).to(device).eval()
request = torch.randn(1, 64, width)

with torch.no_grad():
    for _ in range(20):
        model(request.to(device)).cpu()
    took = []
    due = time.time() + 0.2
    for _ in range(requests):
        time.sleep(max(0.0, due - time.time()))
        answer = model(request.to(device)).mean(dim=1).cpu()
        took.append((due, (time.time() - due) * 1e3))
        due += 1 / a_second

with open(path, "w", encoding="utf-8") as f:
    f.writelines(f"{at:.6f} {ms:.4f}\n" for at, ms in took)
print(f"{device} {torch.__version__} answer {answer.sum().item():.5f}")
