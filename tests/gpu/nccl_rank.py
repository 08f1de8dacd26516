#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training's shape without a model: some work, then an all-reduce of what came out, again and again.

  nccl_rank.py processes FILE RANK STEPS   one of two processes, a device each (torch.distributed)
  nccl_rank.py graph FILE RANK STEPS       the same with the all-reduce in a CUDA graph
  nccl_rank.py threads STEPS               one process with both devices (torch.cuda.nccl)

A JSON line when ready, one with results after a line on stdin; then it waits for the end of stdin. Every tenth step waits
for the device and sleeps 10 ms, so that nothing is under way. With NCCL_RANK_CPU=1 it runs on processors through gloo, to
try the program itself."""
import json
import os
import sys
import time

import torch

MODE = sys.argv[1]
STEPS = int(sys.argv[-1])
CPU = bool(os.environ.get("NCCL_RANK_CPU"))
COUNT = 1 << (10 if CPU else 23)              # floats in an all-reduce: 32 MiB
WIDTH = 16 if CPU else 2048
torch.set_grad_enabled(False)


def say(**row):
    print(json.dumps(row), flush=True)


class Clock:
    """An event, or where there is no device, a time."""

    def __init__(self):
        if CPU:
            self.at = time.monotonic()
        else:
            self.event = torch.cuda.Event(enable_timing=True)
            self.event.record()

    def until(self, other):
        return (other.at - self.at) * 1e3 if CPU else self.event.elapsed_time(other.event)


class Part:
    """What one device does."""

    def __init__(self, number):
        self.number = number
        self.device = torch.device("cpu") if CPU else torch.device("cuda", number)
        made = torch.Generator().manual_seed(3 + number)
        self.weights = (torch.randn(WIDTH, WIDTH, generator=made) / WIDTH ** 0.5).to(self.device)
        self.first = torch.randn(WIDTH, WIDTH, generator=made).to(self.device)
        self.start_x = torch.randn(COUNT, generator=made).to(self.device)
        self.sent = torch.zeros(COUNT, device=self.device)
        self.times = []
        self.begin()

    def begin(self):
        self.h = self.first.clone()
        self.x = self.start_x.clone()

    def work(self, step):
        for _ in range(6 + 3 * self.number):      # the other one comes first and waits on its device
            self.h = torch.tanh(self.h @ self.weights)
        self.sent.copy_(self.x * 0.5 + (step % 7))

    def take(self):
        self.x = self.sent * 0.5

    def sum(self):
        return float(self.x.double().sum() + self.h.double().sum())


def processes(file, rank):
    import torch.distributed as dist

    if not CPU:
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo" if CPU else "nccl", init_method=f"file://{file}", rank=rank, world_size=2)
    part = Part(rank)
    reduce = lambda: dist.all_reduce(part.sent)   # noqa: E731
    reduce()
    if MODE == "graph" and not CPU:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):   # a thread of torch's looks after NCCL
            dist.all_reduce(part.sent)
        reduce = graph.replay
    # with a graph of torch 2.11's that holds an all-reduce, leaving the group does not return, natively either
    return [part], reduce, (lambda: None) if MODE == "graph" else dist.destroy_process_group


def threads():
    parts = [Part(0), Part(1)]

    def reduce():
        if CPU:
            both = parts[0].sent + parts[1].sent
            for p in parts:
                p.sent.copy_(both)
        else:
            torch.cuda.nccl.all_reduce([p.sent for p in parts])
    return parts, reduce, lambda: None


def synchronize(parts):
    for p in parts:
        if not CPU:
            torch.cuda.synchronize(p.device)


def on(part):
    return torch.cuda.device(part.device) if not CPU else torch.no_grad()


def run(parts, reduce, steps):
    """@return times of the collectives on the devices, how long the call that starts each kept this thread, and from one
    group's end to the next one's, ms"""
    gaps, marks, called = [], [], []
    last = time.monotonic()
    for step in range(steps):
        before, after = [], []
        for p in parts:
            with on(p):
                p.work(step)
                before.append(Clock())
        began = time.monotonic()
        reduce()
        called += [round((time.monotonic() - began) * 1e3, 3)] * len(parts)
        for p in parts:
            with on(p):
                after.append(Clock())
                p.take()
        marks += zip(before, after)
        if step % 10 == 9:
            synchronize(parts)
            now = time.monotonic()
            gaps.append((now - last) * 1e3)
            time.sleep(0.01)
            last = time.monotonic()
    synchronize(parts)
    return [round(a.until(b), 3) for a, b in marks], called, [round(g, 3) for g in gaps]


def main():
    parts, reduce, end = threads() if MODE == "threads" else processes(sys.argv[2], int(sys.argv[3]))
    run(parts, reduce, 10)
    say(ready=True, torch=torch.__version__, nccl=None if CPU else ".".join(map(str, torch.cuda.nccl.version())))
    sys.stdin.readline()
    for p in parts:
        p.begin()
    began = time.monotonic()
    collectives, called, groups = run(parts, reduce, STEPS)
    say(seconds=round(time.monotonic() - began, 3), steps=STEPS, collective_ms=collectives, called_ms=called, group_ms=groups,
        checksum=[p.sum() for p in parts])
    sys.stdin.read()
    end()
    sys.stdout.flush()
    os._exit(0)


main()
