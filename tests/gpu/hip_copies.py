#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A HIP program without kernels, so that it needs no compiler and no framework: hip_copies.py NAME [--role ROLE]

NAME is what the runtime is opened by, libamdhip64.so.6 say. Prints one JSON object. Roles: check (fills and copies
on all kinds of streams, results compared; what a small command costs; what stream memory operations do), low (fills
without end until its input ends), high (requests at a fixed rate; latencies), size (the devices, and what
HIP_COPIES_BYTES and HIP_COPIES_CALLS should be here: a fill of a millisecond or so, and small ones for two seconds)."""
import argparse
import ctypes
import json
import os
import select
import sys
import time

P, SIZE, D2H, HOST_D2H = ctypes.c_void_p, ctypes.c_size_t, 2, 4096
CALLS = int(os.environ.get("HIP_COPIES_CALLS", "2000"))
FILL = int(os.environ.get("HIP_COPIES_BYTES", str(256 << 20)))


class Hip:
    def __init__(self, name):
        self.lib = ctypes.CDLL(name)
        self.failed = []

    def __call__(self, name, *args):
        try:
            r = getattr(self.lib, name)(*args)
        except AttributeError:
            r = "missing"
        if r:
            self.failed.append(f"{name}: {r}")
        return r

    def allocate(self, n):
        p = P()
        return None if self("hipMalloc", ctypes.byref(p), SIZE(n)) else p

    def fill(self, p, value, n, s):
        return self("hipMemsetAsync", p, ctypes.c_int(value), SIZE(n), s)


def size(hip):
    p, s, n = hip.allocate(FILL), P(), 1 << 16

    def fill(n):
        begin = time.perf_counter()
        hip.fill(p, 1, n, s)
        hip("hipStreamSynchronize", s)
        return time.perf_counter() - begin

    hip("hipStreamCreateWithFlags", ctypes.byref(s), ctypes.c_uint(1))
    fill(n)                               # the first one loads code
    while n < FILL and min(fill(n), fill(n)) < 1e-3:
        n *= 2
    devices, count = [], ctypes.c_int(0)
    hip("hipGetDeviceCount", ctypes.byref(count))
    for i in range(count.value):
        text = ctypes.create_string_buffer(256)
        hip("hipDeviceGetName", text, ctypes.c_int(255), ctypes.c_int(i))
        devices.append(text.value.decode(errors="replace"))
    small = per_call(hip, s, 20, lambda: hip.fill(p, 7, 4096, s))["us"]
    return {"bytes": n, "calls": max(50, min(CALLS, int(2e6 / max(small, 1)))), "devices": devices, "failed": sorted(set(hip.failed))}


def streams(hip):
    plain, urgent, masked = P(), P(), P()
    yield "null", P(0)
    if not hip("hipStreamCreateWithFlags", ctypes.byref(plain), ctypes.c_uint(1)):
        yield "created", plain
    if not hip("hipStreamCreateWithPriority", ctypes.byref(urgent), ctypes.c_uint(1), ctypes.c_int(-1)):
        yield "created, priority -1", urgent
    mask = (ctypes.c_uint32 * 4)(*[0xffffffff] * 4)
    if not hip("hipExtStreamCreateWithCUMask", ctypes.byref(masked), ctypes.c_uint32(4), mask):
        yield "created, CU mask", masked
    yield "per thread", P(2)


def per_call(hip, s, n, call):
    begin = time.perf_counter()
    codes = {call() for _ in range(n)}
    submitted = time.perf_counter()
    hip("hipStreamSynchronize", s)
    end = time.perf_counter()
    return {"codes": sorted(map(str, codes)), "submit_us": round((submitted - begin) / n * 1e6, 3),
            "us": round((end - begin) / n * 1e6, 3)}


def check(hip):
    out = {"results": {}, "cost": {}, "memory_operations": {}}
    n = min(FILL, 1 << 22)
    p, host = hip.allocate(n), (ctypes.c_ubyte * HOST_D2H)()
    named = dict(streams(hip))
    for i, (name, s) in enumerate(named.items()):
        right = True
        for value in range(1, 40):
            hip.fill(p, value, n, s)
            hip("hipMemcpyAsync", host, p, SIZE(HOST_D2H), ctypes.c_int(D2H), s)
            hip("hipStreamSynchronize", s)
            right = right and bytes(host) == bytes([value]) * HOST_D2H
        out["results"][name] = right
        out["cost"][name] = per_call(hip, s, CALLS, lambda s=s: hip.fill(p, 7, 4096, s))
    failed = list(hip.failed)             # what is tried below may be missing
    s, word, signal = named.get("created", P(0)), P(), P()
    places = {}
    if not hip("hipHostMalloc", ctypes.byref(word), SIZE(4096), ctypes.c_uint(0)):
        places["host"] = word
    if not hip("hipExtMallocWithFlags", ctypes.byref(signal), SIZE(8), ctypes.c_uint(2)):
        places["signal"] = signal
    for name, at in places.items():
        out["memory_operations"]["write " + name] = per_call(
            hip, s, CALLS // 4, lambda at=at: hip("hipStreamWriteValue64", s, at, ctypes.c_uint64(9), ctypes.c_uint(0)))
        if out["memory_operations"]["write " + name]["codes"] == ["0"]:
            out["memory_operations"]["wait " + name] = per_call(
                hip, s, CALLS // 4, lambda at=at: hip("hipStreamWaitValue32", s, at, ctypes.c_uint32(9), ctypes.c_uint(0),
                                               ctypes.c_uint32(0xffffffff)))
    out["failed"] = sorted(set(failed))
    version = ctypes.c_int(0)
    hip("hipRuntimeGetVersion", ctypes.byref(version))
    out["version"] = version.value
    out["right"] = all(out["results"].values()) and not failed
    return out


def low(hip):
    p, s, n = hip.allocate(FILL), P(), 0
    hip("hipStreamCreateWithFlags", ctypes.byref(s), ctypes.c_uint(1))
    print("running", flush=True)
    begin = time.perf_counter()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(16):
            hip.fill(p, n & 255, FILL, s)
        hip("hipStreamSynchronize", s)
        n += 16
    return {"per_s": n / (time.perf_counter() - begin), "failed": sorted(set(hip.failed))}


def high(hip, seconds):
    p, s, ms = hip.allocate(FILL), P(), []
    hip("hipStreamCreateWithFlags", ctypes.byref(s), ctypes.c_uint(1))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(4):
            hip.fill(p, 1, FILL // 4, s)
        hip("hipStreamSynchronize", s)
        ms.append((time.perf_counter() - begin) * 1e3)
        time.sleep(0.02)
    ms.sort()
    return {"n": len(ms), "p50_ms": round(ms[len(ms) // 2], 4), "p99_ms": round(ms[min(len(ms) - 1, len(ms) * 99 // 100)], 4),
            "failed": sorted(set(hip.failed))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name")
    parser.add_argument("--role", choices=("check", "low", "high", "size"), default="check")
    parser.add_argument("--seconds", type=float, default=5)
    a = parser.parse_args()
    hip = Hip(a.name)
    count = ctypes.c_int(0)
    if hip("hipGetDeviceCount", ctypes.byref(count)) or not count.value:
        print(json.dumps({"no_device": hip.failed or 0}))
        return 3
    role = {"check": check, "low": low, "size": size, "high": lambda hip: high(hip, a.seconds)}
    out = role[a.role](hip)
    print(json.dumps(out), flush=True)
    return 0 if out.get("right", not out["failed"]) else 1


sys.exit(main())
