#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One BERT task, an ordinary PyTorch program that knows nothing of XSched: bert_worker.py RATE BATCH [--device D]

RATE is requests a second (0: the next one follows at once). Reads "run SECONDS OFFSET" lines and answers each with a JSON
line of latencies, from when a request was due to when its result was there."""
import json
import sys
import time

import torch
import transformers

rate, batch = float(sys.argv[1]), int(sys.argv[2])
device = sys.argv[4] if len(sys.argv) > 4 else "cuda"
layers = int(sys.argv[5]) if len(sys.argv) > 5 else 12
torch.manual_seed(1)
model = transformers.BertModel(transformers.BertConfig(num_hidden_layers=layers)).to(device).eval()
tokens = (torch.arange(batch * 128).reshape(batch, 128) * 7 % 30000).to(device)


def once():
    return model(tokens).last_hidden_state[:, 0].float().sum().item()   # .item() waits


with torch.no_grad():
    for _ in range(5):
        value = once()
    print(json.dumps({"ready": True, "value": value}), flush=True)
    for line in sys.stdin:
        seconds, offset = map(float, line.split()[1:3])
        time.sleep(offset)              # tasks of one rate are not due at the same moments
        samples, n, begin = [], 0, time.perf_counter()
        while True:
            now = time.perf_counter()
            due = begin + n / rate if rate else now
            if due >= begin + seconds:
                break
            if due > now:
                time.sleep(due - now)
            again = once()
            samples.append(round((time.perf_counter() - due) * 1e3, 3))
            n += 1
            if again != value:
                value = float("nan")
        print(json.dumps({"n": n, "seconds": round(time.perf_counter() - begin, 3), "ms": samples, "value": value}),
              flush=True)
