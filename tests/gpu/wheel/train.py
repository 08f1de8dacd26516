#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a model on random data in a loop, as a user writes it; nothing here is about XSched.
train.py SECONDS FILE       FILE gets a line for every second step: the time and the number of steps so far"""
import sys
import time

import torch
from torch import nn

seconds, path = float(sys.argv[1]), sys.argv[2]
device = "cuda" if torch.cuda.is_available() else "cpu"
width, batch = (1024, 32) if device == "cuda" else (64, 8)
torch.manual_seed(0)
torch.set_num_threads(1)
layer = nn.TransformerEncoderLayer(d_model=width, nhead=16, dim_feedforward=4 * width, batch_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, num_layers=8), nn.Linear(width, width)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
x, y = torch.randn(batch, 256, width, device=device), torch.randn(batch, 256, width, device=device)

end = time.time() + seconds
with open(path, "w", encoding="utf-8") as f:
    step = 0
    while time.time() < end:
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 2 == 0:
            value = loss.item()
            assert value == value, "the loss is not a number"
            print(f"{time.time():.6f} {step}", file=f, flush=True)
