#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The urgent side of the second demo: an ordinary PyOpenCL program.

    pyload.py calibrate --target-us 4000                     how long the vectors are whose dot product takes that long
    pyload.py requests --length N --count 100 --period-us 50000 --out FILE

A request is a dot product of two vectors on the device, a kernel of PyOpenCL's own library, checked against NumPy.
Open loop: latency counts from the intended arrival.
"""
import argparse
import sys
import time

import numpy
import pyopencl
import pyopencl.array


class Work:
    def __init__(self, length):
        platform = pyopencl.get_platforms()[0]
        self.context = pyopencl.Context(platform.get_devices()[:1])
        self.queue = pyopencl.CommandQueue(self.context)
        host = numpy.arange(length, dtype=numpy.int64) % 1000
        self.expected = int(numpy.dot(host, host))
        self.x = pyopencl.array.to_device(self.queue, host)
        self.run()

    def run(self):
        got = int(pyopencl.array.dot(self.x, self.x).get())
        if got != self.expected:
            sys.exit(f"pyload: wrong result: {got}, not {self.expected}")


def calibrate(target_us):
    length = 1 << 18
    for _ in range(4):
        work = Work(length)
        took = []
        for _ in range(60):
            begin = time.monotonic_ns()
            work.run()
            took.append((time.monotonic_ns() - begin) / 1e3)
        length = max(1024, int(length * target_us / min(took)) // 1024 * 1024)
    print(f"length={length} min_us={min(took):.1f}")


def requests(options):
    work = Work(options.length)
    rows = []
    for _ in range(5):
        work.run()
    first = time.monotonic_ns() + options.period_us * 1000
    for i in range(options.count):
        intended = first + i * options.period_us * 1000
        time.sleep(max(0, intended - time.monotonic_ns()) / 1e9)
        begin = time.monotonic_ns()
        work.run()
        rows.append((i, intended, begin, time.monotonic_ns()))
    with open(options.out, "w") as f:
        f.write("request,intended_ns,begin_ns,end_ns\n")
        f.writelines(",".join(map(str, r)) + "\n" for r in rows)
    print(f"requests={len(rows)} correct")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("calibrate", "requests"))
    parser.add_argument("--target-us", type=int, default=4000)
    parser.add_argument("--length", type=int, default=1 << 18)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--period-us", type=int, default=50000)
    parser.add_argument("--out", default="/dev/null")
    options = parser.parse_args()
    if options.mode == "calibrate":
        calibrate(options.target_us)
    else:
        requests(options)


main()
