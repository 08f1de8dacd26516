#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Priorities inside one program: a thread with batch work, and requests that are answered now and then, at first like
everything else, then inside `with xsched.priority(10, stream)`."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import xsched  # noqa: E402
from device import open_device  # noqa: E402

REQUESTS = 30


def main():
    device = open_device()
    low, high = device.stream(), device.stream()
    batch, request = device.work("batch", low), device.work("infer", high)
    queue = xsched.Queue(high)
    stop = threading.Event()

    # A launch that is held waits in its thread. pyopencl keeps the interpreter lock meanwhile, so that the requests' thread
    # would stand still as well: there a thread of XSched launches the batch work.
    handed = xsched.Queue(low) if device.name == "opencl" else None

    def background():
        while not stop.is_set():
            if handed:
                for command in [handed.submit(batch.enqueue) for _ in range(8)]:
                    command.wait()
            else:
                for _ in range(8):
                    batch.enqueue()
            batch.finish()

    def answer():
        took = []
        for _ in range(REQUESTS):
            time.sleep(0.01)
            began = time.monotonic()
            request.unit()
            took.append((time.monotonic() - began) * 1e3)
        return sorted(took)[REQUESTS // 2]

    thread = threading.Thread(target=background)
    thread.start()
    equal = answer()
    with xsched.priority(10, high):
        urgent = answer()
    again = answer()
    stop.set()
    thread.join()
    right = batch.verify() and request.verify()
    print(f"a request, median: {equal:.2f} ms with equal priorities, {urgent:.2f} ms inside the block, {again:.2f} ms after it")
    print(f"{request.launches} launches of requests, {queue.commands} commands counted by their XQueue, results are "
          f"{'right' if right else 'WRONG'}")
    if queue.commands < request.launches:
        print("the launches did not go through the XQueue: start this with python -m xsched run --intra --local-policy HPF")
        return 1
    return 0 if right else 1


sys.exit(main())
