#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One process that climbs the ladder: operations, layers, models, graphs, compiled code, on the default stream and
on a created one. Prints one JSON line a rung with a digest of the results; run it twice, once without and once
under the shim, and compare the digests (run_ladder does). --quick leaves out torch.compile."""
import argparse
import hashlib
import json
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402

torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
torch.use_deterministic_algorithms(True, warn_only=True)


def digest(*tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().float().cpu().contiguous().numpy().tobytes())
    return h.hexdigest()[:16]


def seeded(*shape):
    g = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=g).cuda(non_blocking=True)


def built(make):
    torch.manual_seed(7)
    return make().cuda().eval()


def basic():
    x = seeded(1000, 1000)
    y = torch.arange(10**6, device="cuda", dtype=torch.float32).reshape(1000, 1000)
    z = (x * 2 + y).relu().cumsum(0)
    pinned = torch.empty(1000, 1000).pin_memory()
    pinned.copy_(z, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    return digest(z, z.sum(1), x.sort(1).values, pinned, torch.zeros(5, device="cuda").fill_(3))


def matmul():
    a, b = seeded(2048, 1024), seeded(1024, 512)
    return digest(a @ b, a.half() @ b.half(), torch.bmm(seeded(8, 64, 64), seeded(8, 64, 64)))


def conv():
    m = built(lambda: nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2)))
    with torch.no_grad():
        return digest(m(seeded(8, 3, 224, 224)))


def train():
    torch.manual_seed(3)
    m = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 10)).cuda()
    opt = torch.optim.AdamW(m.parameters(), 1e-3)
    x, y = seeded(512, 256), torch.arange(512, device="cuda") % 10
    losses = []
    for _ in range(20):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(m(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return digest(torch.stack(losses), *m.parameters())


def resnet(name, batch):
    import torchvision
    m = built(lambda: getattr(torchvision.models, name)())
    x = seeded(batch, 3, 224, 224)
    with torch.no_grad():
        for _ in range(5):
            y = m(x)
    return digest(y)


def lstm():
    m = built(lambda: nn.LSTM(128, 256, 2, batch_first=True))
    with torch.no_grad():
        y, (h, c) = m(seeded(16, 50, 128))
    return digest(y, h, c)


def bert():
    m = built(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True), 12,
                                            enable_nested_tensor=False))
    with torch.no_grad():
        return digest(m(seeded(4, 128, 768)))


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.a, self.b = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.heads = heads

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (y.reshape(n, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.a(x)).chunk(3, -1))
        att = (q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5)).softmax(-1)
        x = x + self.out((att @ v).transpose(1, 2).reshape(n, t, d))
        return x + self.mlp(self.b(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.head = nn.Embedding(1000, 256), nn.Linear(256, 1000)
        self.blocks = nn.Sequential(*[Block(256, 4) for _ in range(4)])

    def forward(self, ids):
        return self.head(self.blocks(self.tok(ids)))


def gpt_input():
    return (torch.arange(8 * 64, device="cuda") * 37 % 1000).reshape(8, 64)


def gpt():
    m = built(Gpt)
    with torch.no_grad():
        return digest(m(gpt_input()))


def gpt_graph():
    m, ids = built(Gpt), gpt_input()
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                m(ids)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = m(ids)
        for _ in range(20):
            graph.replay()
        first = digest(y)
        ids.add_(1).remainder_(1000)
        graph.replay()
        return first + digest(y)


def gpt_compiled():
    m = built(Gpt)
    f = torch.compile(m)
    with torch.no_grad():
        for _ in range(3):
            y = f(gpt_input())
    return digest(y)


RUNGS = [("basic", basic), ("matmul", matmul), ("conv", conv), ("train", train),
         ("resnet18", lambda: resnet("resnet18", 1)), ("resnet50", lambda: resnet("resnet50", 16)), ("lstm", lstm),
         ("bert", bert), ("gpt", gpt), ("gpt_graph", gpt_graph), ("gpt_compiled", gpt_compiled)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true")
    p.add_argument("--variant", default="native")
    a = p.parse_args()
    bad = 0
    for where in ("default", "created"):
        for name, rung in RUNGS:
            if a.quick and name == "gpt_compiled":
                continue
            t = time.perf_counter()
            try:
                if where == "created":
                    with torch.cuda.stream(torch.cuda.Stream()):
                        d = rung()
                        torch.cuda.synchronize()
                else:
                    d = rung()
            except Exception as e:  # one rung's failure must not hide the others'
                d = f"error {type(e).__name__}: {str(e)[:200]}"
                bad += 1
            print(json.dumps({"test": "ladder", "variant": a.variant, "stream": where, "rung": name, "digest": d,
                              "seconds": round(time.perf_counter() - t, 3)}), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
