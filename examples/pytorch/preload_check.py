#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quick check that PyTorch works under the shim: preload_check.py [--device cuda]

    LD_PRELOAD=.../lib/xsched/libshimhip.so python3 preload_check.py      (libshimcuda.so on NVIDIA)

Prints which runtime and which shim are loaded, then runs a few operations on the default stream and on one that it
creates, and compares them with the CPU. Exit status 0: all equal."""
import argparse
import sys

import torch
import where


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    cuda = device.startswith("cuda")
    if cuda and not torch.cuda.is_available():
        print("no device: PyTorch sees none")
        return 1
    print("PyTorch", torch.__version__, where.platform(), torch.cuda.get_device_name(0) if cuda else device)
    x = torch.randn(10, 10, device=device)              # where a second copy of the runtime shows at once
    bad = []

    def check(what, got, want):
        if not torch.allclose(got.cpu(), want, rtol=1e-3, atol=1e-4):
            bad.append(what)
        print(f"{what:28s} {'ok' if what not in bad else 'DIFFERS'}", flush=True)

    h = x.cpu()
    check("addition", x + x, h + h)
    check("multiplication, sum", (x * 3).sum(1), (h * 3).sum(1))
    check("matrix product", x @ x.T, h @ h.T)
    if cuda:
        for priority in (0, -1):
            s = torch.cuda.Stream(priority=priority)
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                y = (x @ x).relu()
            s.synchronize()
            check(f"stream of priority {priority}", y, (h @ h).relu())
        torch.cuda.synchronize()
        for what, part in (("shim", "libshim"), ("HIP runtime", "libamdhip64"), ("CUDA driver", "libcuda.so")):
            for path in where.loaded(part):
                print(f"{what}: {path}")
        if not where.loaded("libshim"):
            print("no shim is loaded: set LD_PRELOAD, or use `xsched run`")
    print("FAILED: " + ", ".join(bad) if bad else "all equal")
    return 1 if bad else 0


sys.exit(main())
