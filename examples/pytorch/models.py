#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From matrix products to models, each rung by itself: models.py [--device cuda] [--json] [--only PART]

Rungs: matrix products (BLAS), convolution (cuDNN or MIOpen), a small network, training steps, ResNet-18 and -50
(torchvision), BERT (transformers). Random weights, nothing is fetched. What is not installed is left out and
said so. A rung that fails names the error and the next one goes on: that is how far a broken set-up comes."""
import argparse
import hashlib
import json
import sys
import time

import torch
from torch import nn


def seeded(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def matmul(d):
    a, b = seeded(1024, 512).to(d), seeded(512, 256).to(d)
    return [a @ b, torch.bmm(seeded(8, 64, 64).to(d), seeded(8, 64, 64).to(d)), nn.functional.linear(a, b.T.contiguous())]


def convolution(d):
    x = seeded(8, 3, 64, 64).to(d)
    w = seeded(16, 3, 3, 3).to(d)
    return [nn.functional.conv2d(x, w, padding=1), nn.functional.conv2d(x, w, stride=2)]


def small_network(d):
    torch.manual_seed(1)
    m = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(32 * 16 * 16, 64), nn.ReLU(), nn.Linear(64, 10)).to(d).eval()
    with torch.no_grad():
        return [m(seeded(16, 3, 32, 32).to(d))]


def training(d):
    torch.manual_seed(2)
    m = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 10)).to(d)
    opt = torch.optim.SGD(m.parameters(), 0.1)
    x, y = seeded(256, 128).to(d), (torch.arange(256) % 10).to(d)
    losses = []
    for _ in range(10):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(m(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return [torch.stack(losses)]


def lstm(d):
    torch.manual_seed(3)
    m = nn.LSTM(64, 128, 2, batch_first=True).to(d).eval()
    with torch.no_grad():
        return [m(seeded(8, 20, 64).to(d))[0]]


def resnet(name, d):
    import torchvision
    torch.manual_seed(4)
    m = getattr(torchvision.models, name)(weights=None).to(d).eval()
    with torch.no_grad():
        for _ in range(3):
            y = m(seeded(8, 3, 224, 224).to(d))
    return [y]


def bert(d):
    import transformers
    torch.manual_seed(5)
    m = transformers.BertModel(transformers.BertConfig(num_hidden_layers=4)).to(d).eval()
    with torch.no_grad():
        return [m(torch.arange(4 * 64).reshape(4, 64).to(d) % 1000).last_hidden_state]


RUNGS = {"matmul": matmul, "convolution": convolution, "small network": small_network, "training": training, "lstm": lstm,
         "resnet18": lambda d: resnet("resnet18", d), "resnet50": lambda d: resnet("resnet50", d), "bert": bert}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=sorted(RUNGS))
    a = parser.parse_args()
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    failed = 0
    for name, rung in RUNGS.items():
        if a.only and name != a.only:
            continue
        begin = time.perf_counter()
        digest = None
        try:
            got = [t.detach().float().cpu() for t in rung(a.device)]
            if not all(torch.isfinite(t).all() for t in got):
                raise ArithmeticError("a result is not finite")
            digest = hashlib.sha256(b"".join(t.contiguous().numpy().tobytes() for t in got)).hexdigest()[:16]
            how = "ok"
        except ImportError as e:
            how = f"left out: {e}"
        except Exception as e:  # pylint: disable=broad-except
            how = f"FAILED: {type(e).__name__}: {str(e).strip().split(chr(10))[0][:160]}"
            failed += 1
        ms = (time.perf_counter() - begin) * 1e3
        if a.json:
            print(json.dumps({"rung": name, "how": how, "ms": round(ms, 1), "digest": digest}), flush=True)
        else:
            print(f"{name:14s} {ms:9.1f} ms  {digest or '':16s}  {how}", flush=True)
    return 1 if failed else 0


sys.exit(main())
