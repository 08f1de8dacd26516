#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ladder of a user's first day with PyTorch under a shim, on the package beside it: one line a rung with the code
that came back, and what the kernels wrote. HAL names the library whose HipQueueCreate is called from another thread."""
import ctypes
import os
import threading

import torch

print("init", torch.init())
print("randn", torch.randn(1))
print("blas create", torch.blas_create())
created = torch.stream()
print("stream", 0 if created else -1)
print("on a stream", torch.on(created, 2))
print("gemm", torch.blas_gemm(created, 3))
print("module, C name", torch.module(created, 4, 0))
print("module, C++ name", torch.module(created, 5, 1))
print("randn again", torch.randn(6))
hal = os.environ.get("HAL")
if hal:
    lib, codes = ctypes.CDLL(hal), []

    def make():
        handle = ctypes.c_uint64(0)
        codes.append(lib.HipQueueCreate(ctypes.byref(handle), ctypes.c_void_p(created)))

    t = threading.Thread(target=make)
    t.start()
    t.join()
    print("queue of a stream", codes[0])
print("tags", *torch.log.tags())
if os.environ.get("WRONG"):
    print("seen", ctypes.CDLL(os.environ["WRONG"]).wrong_seen())
print("runtimes", len({line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libamdhip64" in line}))
