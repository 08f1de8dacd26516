#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that the program hands over itself: each is a function that launches. While the queue is suspended they wait
inside XSched and submit() does not block. No shim is needed: python main.py."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import xsched  # noqa: E402
from device import open_device  # noqa: E402

COMMANDS = 24


def main():
    device = open_device()
    stream = device.stream()
    work = device.work("infer", stream)
    queue = xsched.Queue(stream)
    order = []

    def launch(i):
        order.append(i)
        work.enqueue()
        return i * i

    with queue.suspended():
        commands = [queue.submit(launch, i) for i in range(COMMANDS)]
        time.sleep(0.05)
        early = len(order)
    values = [c.wait() for c in commands]
    queue.wait()
    work.finish()
    right = work.verify() and values == [i * i for i in range(COMMANDS)] and order == list(range(COMMANDS))
    print(f"{COMMANDS} commands handed in while suspended, {early} launched then, {len(order)} after, in order: "
          f"{order == sorted(order)}, results are {'right' if right else 'WRONG'}")
    queue.destroy()
    return 0 if right and early == 0 else 1


sys.exit(main())
