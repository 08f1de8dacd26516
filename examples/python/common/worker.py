# SPDX-License-Identifier: Apache-2.0
"""One program of an example that has several: worker.py infer|train|decode|batch

Reads commands from standard input and answers each with a line of JSON:
  calibrate               {"unit_ms"}
  run START_NS SECONDS RATE SEED   from START_NS (CLOCK_MONOTONIC) on; RATE requests a second arrive at random times, or
                          0: one unit after another. {"spans": [[intended, begin, end], ...] in ms, "correct"}
"""
import json
import random
import sys
import time

from device import open_device


def calibrate(work):
    took = []
    for _ in range(12):
        began = time.monotonic_ns()
        work.unit()
        took.append((time.monotonic_ns() - began) / 1e6)
    return sorted(took)[len(took) // 4]


def run(work, start_ns, seconds, rate, seed):
    arrivals = random.Random(seed)
    spans, due = [], 0.0
    while time.monotonic_ns() < start_ns:
        time.sleep(max(0, (start_ns - time.monotonic_ns()) / 1e9 - 0.001))

    def now():
        return (time.monotonic_ns() - start_ns) / 1e6

    while True:
        due = due + arrivals.expovariate(rate) * 1e3 if rate else now()
        if due >= seconds * 1e3 or now() >= 3 * seconds * 1e3:
            return spans
        while now() < due:
            time.sleep(max(0, (due - now()) / 1e3 - 0.0002))
        began = now()
        work.unit()
        spans.append([round(due, 4), round(began, 4), round(now(), 4)])


def main():
    device = open_device()
    work = device.work(sys.argv[1])
    for _ in range(3):
        work.unit()
    print(json.dumps({"ready": sys.argv[1], "device": device.name}), flush=True)
    for line in sys.stdin:
        command = line.split()
        if command[0] == "calibrate":
            answer = {"unit_ms": calibrate(work)}
        else:
            spans = run(work, int(command[1]), float(command[2]), float(command[3]), int(command[4]))
            answer = {"spans": spans, "correct": work.verify()}
        print(json.dumps(answer), flush=True)


main()
