#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface from Python on streams that PyTorch made: c_api.py [--json]

Works with and without the shim. Hardware queues and XQueues are made on the default stream, on created streams and
from another thread; one stream is suspended and resumed while another works; an error is a return code."""
import argparse
import ctypes
import json
import sys
import threading
import time

import torch
import where

BLOCK = 1                         # kPreemptLevelBlock
NOT_FOUND, INVALID = 3, 2


class Api:
    def __init__(self):
        name = where.platform()
        self.preempt = ctypes.CDLL(where.library("libpreempt.so"), mode=ctypes.RTLD_GLOBAL)
        self.hal = ctypes.CDLL(where.library(f"libhal{name}.so"))
        title = name.capitalize()
        self.create_hw, self.get_hw = getattr(self.hal, title + "QueueCreate"), getattr(self.hal, title + "QueueGet")

    def hw(self, stream):
        handle = ctypes.c_uint64(0)
        r = self.create_hw(ctypes.byref(handle), ctypes.c_void_p(stream))
        return r, handle.value

    def xqueue(self, hw):
        handle = ctypes.c_uint64(0)
        r = self.preempt.XQueueCreate(ctypes.byref(handle), ctypes.c_uint64(hw), ctypes.c_int64(BLOCK), ctypes.c_int64(0))
        return r, handle.value

    def __getattr__(self, name):
        f = getattr(self.preempt, name)
        return lambda *a: f(*(ctypes.c_uint64(a[0]), *(ctypes.c_int64(v) for v in a[1:])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    api, failed = Api(), []

    def expect(what, got, want=True):
        if got != want:
            failed.append(what)
        if as_json:
            print(json.dumps({"rung": "c_api: " + what, "how": "ok" if got == want else f"FAILED: {got}, not {want}"}), flush=True)
        else:
            print(f"{what:58s} {'ok' if got == want else f'FAILED: {got}, not {want}'}", flush=True)

    x = torch.randn(256, 256, device="cuda")
    want = (x @ x).relu().sum().item()
    streams = [torch.cuda.Stream(), torch.cuda.Stream(priority=-1)]
    made = {}
    for name, handle in [("default stream", 0)] + [(f"created stream {i}", s.cuda_stream) for i, s in enumerate(streams)]:
        r, hw = api.hw(handle)
        expect(f"hardware queue of the {name}", (r, hw != 0), (0, True))
        expect(f"the same again ({name})", api.hw(handle), (0, hw))
        r, xq = api.xqueue(hw)
        expect(f"XQueue of the {name}", (r, xq != 0), (0, True))
        made[name] = hw, xq
    other = []
    third = torch.cuda.Stream()
    t = threading.Thread(target=lambda: other.append(api.xqueue(api.hw(third.cuda_stream)[1])))
    t.start()
    t.join()
    expect("in another thread, on a stream made here", other[0][0], 0)
    made["third"] = api.hw(third.cuda_stream)[1], other[0][1]
    expect("what is no stream is an error code", api.hw(0x1001)[0], INVALID)
    expect("an unknown XQueue is an error code", api.XQueueSuspend(0x7fffffffffff, 0), NOT_FOUND)

    for name, (_, xq) in made.items():
        expect(f"priority of {name}", api.XHintPriority(xq, 3 if name == "third" else 1), 0)
    for name, s in [("created stream 0", streams[0]), ("third", third)]:
        with torch.cuda.stream(s):
            s.wait_stream(torch.cuda.default_stream())
            got = (x @ x).relu().sum()
        s.synchronize()
        expect(f"results on {name}", abs(got.item() - want) < 1e-3 * abs(want))

    # Under the shim a held stream holds its thread outside the driver; without, only XQueueSubmit is held.
    if where.loaded("libshim"):
        hw, xq = made["created stream 0"]
        expect("suspend", api.XQueueSuspend(xq, 0), 0)
        done = threading.Event()

        def held():
            with torch.cuda.stream(streams[0]):
                (x @ x).relu()
            done.set()

        t = threading.Thread(target=held, daemon=True)
        t.start()
        with torch.cuda.stream(third):
            for _ in range(20):
                y = x @ x
        third.synchronize()
        time.sleep(0.2)
        expect("a suspended stream starts nothing", done.is_set(), False)
        expect("another stream goes on meanwhile", torch.isfinite(y).all().item())
        expect("resume", api.XQueueResume(xq, 0), 0)
        t.join(10)
        expect("a resumed stream goes on", done.is_set())
        streams[0].synchronize()
    for name, (hw, xq) in made.items():
        expect(f"destroy the XQueue of {name}", api.XQueueDestroy(xq), 0)
        expect(f"destroy the hardware queue of {name}", api.HwQueueDestroy(hw), 0)
    torch.cuda.synchronize()
    if not as_json:
        print("FAILED: " + ", ".join(failed) if failed else "all as expected")
    return 1 if failed else 0


sys.exit(main())
