#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of two of an NCCL job that goes on until its input ends: nccl_group.py FILE RANK WORK ON_S OFF_S

Each step is WORK matrix products and an all-reduce whose sum is known. It works for ON_S seconds and rests for OFF_S (0: it
never rests), together with the other rank. A line of JSON when ready, one with results at the end: for each second of the
clock of the host the steps that ended in it, the longest collective once begun, and how many elements were wrong."""
import collections
import json
import os
import select
import sys
import time

import torch
import torch.distributed as dist

FILE, RANK, WORK, ON_S, OFF_S = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
COUNT, WIDTH, TOGETHER = 1 << 20, 2048, 20
OVER, ON, REST = 0.0, 1.0, 2.0
torch.set_grad_enabled(False)


def say(**row):
    print(json.dumps(row), flush=True)


def ended():
    return bool(select.select([sys.stdin], [], [], 0)[0]) and not sys.stdin.read(1)


def main():
    torch.cuda.set_device(RANK)
    dist.init_process_group("nccl", init_method=f"file://{FILE}", rank=RANK, world_size=2)
    h = torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH ** 0.5
    w = torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH ** 0.5
    x = torch.empty(COUNT, device="cuda")
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    next_is = torch.zeros(1, device="cuda")
    x.fill_(1)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    say(ready=True, torch=torch.__version__, nccl=".".join(map(str, torch.cuda.nccl.version())))
    steps, inside, gap = collections.Counter(), 0.0, 0.0
    step, marks, started = 0, [], time.monotonic()
    last = started
    while True:
        before_that, marks = marks, []
        for _ in range(TOGETHER):
            step += 1
            for _ in range(WORK):
                h = torch.tanh(h @ w)
            x.fill_(float(step % 7 + RANK))
            before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            before.record()
            called = time.monotonic()
            dist.all_reduce(x)
            called = (time.monotonic() - called) * 1e3
            after.record()
            wrong += (x != float(2 * (step % 7) + 1)).sum()
            marks.append((before, after, called))
        # rank 0 says what comes, for both
        rests = OFF_S > 0 and (time.monotonic() - started) % (ON_S + OFF_S) > ON_S
        next_is.fill_((OVER if ended() else REST if rests else ON) if RANK == 0 else 0.0)
        dist.all_reduce(next_is)
        # one whose call was kept waiting had not begun; looked at while the device works
        inside = max([inside, *(b.elapsed_time(a) - c for b, a, c in before_that)])
        says = float(next_is)
        now = time.monotonic()
        gap = max(gap, now - last)
        steps[int(now * 10)] += TOGETHER
        last = now
        if says == OVER:
            break
        if says == REST:
            time.sleep(OFF_S)
            last = time.monotonic()
    inside = max([inside, *(b.elapsed_time(a) - c for b, a, c in marks)])
    torch.cuda.synchronize()
    say(steps=step, tenths={str(k): v for k, v in steps.items()}, inside_ms=round(inside, 3), gap_ms=round(gap * 1e3, 1),
        wrong=int(wrong))
    os._exit(0)     # to leave a group may wait for what the other one does not do any more


main()
