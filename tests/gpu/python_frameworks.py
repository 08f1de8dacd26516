#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package with real frameworks, under xserver: what is set on a stream of PyTorch or CuPy, or on the process
for JAX, is what the server has in force; and what a with-block costs. JSON lines.

    xsched run --priority 3 -- python3 python_frameworks.py torch|cupy|jax|cost
"""
import json
import os
import sys
import time

import xsched

what = sys.argv[1]


def emit(**row):
    print(json.dumps(dict(workload="python package", **row)), flush=True)


def in_force(handle, want):
    """Whether the server says so within some seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        mine = {q.handle: q.priority for q in xsched.status().of(os.getpid())}
        if mine.get(handle) == want or (handle is None and mine and set(mine.values()) == {want}):
            return True
        time.sleep(0.01)
    return f"wanted {want}, the server has {mine}"


def check(name, result):
    emit(variant=what, metric=name, value=1 if result is True else 0, unit="1", n=1, report=False, **(
        {} if result is True else {"detail": str(result)}))
    return result is True


def torch_checks():
    import torch
    x = torch.randn(512, 512, device="cuda")
    default, side, urgent = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-2)
    for s in (default, side, urgent):
        with torch.cuda.stream(s):
            y = x @ x
    torch.cuda.synchronize()
    ok = True
    for name, s, first in (("default", default, 3), ("created", side, 3), ("vendor priority", urgent, 5)):
        q = xsched.Queue(s)
        ok &= check(f"{name}: first", in_force(q.handle, first))
        xsched.set_priority(s, 11)
        ok &= check(f"{name}: set_priority", in_force(q.handle, 11))
        with torch.cuda.stream(s):
            with xsched.priority(40):
                y = x @ x
                ok &= check(f"{name}: with-block", in_force(q.handle, 40))
            y += 1
        ok &= check(f"{name}: after it", in_force(q.handle, 11))
    torch.cuda.synchronize()
    ok &= check("result", bool(torch.equal(y, x @ x + 1)))
    xsched.set_priority(xsched.PROCESS, 7)
    ok &= check("process", in_force(None, 7))
    queue = xsched.Queue(side)
    out = torch.zeros(1, device="cuda")

    def add():
        with torch.cuda.stream(side):
            out.add_(1)

    with queue.suspended():
        commands = [queue.submit(add) for _ in range(10)]
        time.sleep(0.05)
    for c in commands:
        c.wait()
    side.synchronize()
    ok &= check("commands", float(out) == 10 or float(out))
    return ok


def cupy_checks():
    import cupy
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        a = cupy.arange(1000) * 2
        with xsched.priority(21):
            b = a + 1
            ok = check("with-block", in_force(xsched.Queue(s).handle, 21))
    ok &= check("after it", in_force(xsched.Queue(s).handle, 3))
    xsched.set_priority(s, 9)
    ok &= check("set_priority", in_force(xsched.Queue(s).handle, 9))
    s.synchronize()
    return ok & check("result", int(b.sum()) == 2 * 499500 + 1000)


def jax_checks():
    import jax
    import jax.numpy as jnp
    y = float(jnp.dot(jnp.ones((256, 256)), jnp.ones((256, 256))).sum())
    xsched.set_priority(xsched.PROCESS, 13)
    ok = check("process", in_force(None, 13))
    try:
        xsched.set_priority(jax.devices()[0], 1)
        ok &= check("a device is no stream", "accepted")
    except xsched.StreamTypeError as error:
        ok &= check("a device is no stream", "xsched.PROCESS" in str(error))
    return ok & check("result", y == 256.0 ** 3)


def cost():
    """Nanoseconds of one empty block, the median of batches."""
    import torch
    torch.ones(1, device="cuda")
    stream = torch.cuda.Stream()
    queue = xsched.Queue(stream)
    fixed = xsched.priority(50, queue)
    variant = os.environ.get("XSCHED_SCHEDULER", "GLB") if "XSCHED_POLICY" not in os.environ else "LCL"

    def current():
        with xsched.priority(50):
            pass

    def named():
        with xsched.priority(50, queue):
            pass

    def again():
        with fixed:
            pass

    def unchanged():
        with xsched.priority(in_force_now):
            pass

    in_force_now = xsched.Queue(torch.cuda.current_stream()).swap_priority(3)
    in_force_now = 3
    for name, f in (("current stream", current), ("named queue", named), ("block used again", again),
                    ("nothing to change", unchanged)):
        batches = []
        for _ in range(200):
            began = time.perf_counter_ns()
            for _ in range(100):
                f()
            batches.append((time.perf_counter_ns() - began) / 100)
        batches.sort()
        emit(variant=variant, metric=f"with-block, {name}", value=round(batches[100], 1), unit="ns", n=20000)
        emit(variant=variant, metric=f"with-block, {name}, least batch", value=round(batches[0], 1), unit="ns", n=20000,
             report=False)
    return True


sys.exit(0 if {"torch": torch_checks, "cupy": cupy_checks, "jax": jax_checks, "cost": cost}[what]() else 1)
