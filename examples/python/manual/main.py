#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program is its own scheduler: a thread hands work over, the main thread suspends its stream and resumes it.

The work goes through queue.submit(), so this needs no shim. Under `xsched run` plain launches are suspended as well; then
look that they give the interpreter lock away while they wait (PyTorch and CuPy do, pyopencl does not: a held launch of
pyopencl stops all Python threads, the one that would resume it too)."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "common"))
import xsched  # noqa: E402
from device import open_device  # noqa: E402


def main():
    device = open_device()
    stream = device.stream()
    work = device.work("infer", stream)
    queue = xsched.Queue(stream)
    done = [0]
    stop = threading.Event()

    def launch():
        while not stop.is_set():
            for _ in range(3):
                command = queue.submit(work.enqueue)
            command.wait()
            done[0] += 1

    thread = threading.Thread(target=launch)
    thread.start()
    ran_while_suspended = 0
    for _ in range(3):
        before = done[0]
        while done[0] < before + 10:
            time.sleep(0.001)
        with queue.suspended():
            time.sleep(0.05)  # the launching thread may still have to notice the end of its last kernel
            before = done[0]
            time.sleep(0.15)
            print(f"suspended for 0.2 s: {before} units before, {done[0]} after")
            ran_while_suspended += done[0] - before
    stop.set()
    thread.join()
    right = work.verify()
    print(f"{done[0]} units, results are {'right' if right else 'WRONG'}")
    if ran_while_suspended:
        print("work ran while suspended")
        return 1
    return 0 if right else 1


sys.exit(main())
