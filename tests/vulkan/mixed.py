#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Vulkan program and a CUDA program on one GPU, by fakes: mixed.py BUSY SHIMS XSERVER CUDA_CLIENT CUDA_DRIVER_FOLDER right|wrong

The GPU is known by its PCI address on both platforms. While the Vulkan program, which is the urgent one, has work, an xserver
with the policy HPF suspends the CUDA program: so long passes between the ends of two of its jobs, whichever command it was that
found the queue suspended. In the wrong variant the devices have different addresses, and its jobs end soon after one another.
"""
import json
import os
import subprocess
import sys
import time

import lib

CUDA_BUS, OTHER_BUS = 0x10, 0x20   # the fake CUDA driver's first device
JOBS, BUSY_S = 150, 0.7            # less than the second after which urgent work that completes nothing counts as stuck


def told(p, expected):
    for line in p.stdout:
        if line.strip() == expected:
            return
    raise RuntimeError(f"{p.args} ended with {p.wait()}")


def main(busy, shims, server, client, driver, variant):
    bus = CUDA_BUS if variant == "right" else OTHER_BUS
    with lib.xserver(server, "HPF") as socket:
        scheduled = {"XSCHED_SOCKET": socket, "XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE_LEVEL": "1"}
        up = subprocess.Popen([busy, str(bus)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              bufsize=1, env=lib.plain(LAYER=os.path.join(shims, "libshimvulkan.so"), XSCHED_PRIORITY="10",
                                                       **scheduled))
        told(up, "ready")
        down = subprocess.Popen([client, "high", str(JOBS), "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=lib.plain(LD_PRELOAD=os.path.join(shims, "libshimcuda.so"), LD_LIBRARY_PATH=driver,
                                              XSCHED_PRIORITY="-10", **scheduled))
        down.stderr.readline()     # ready
        time.sleep(0.4)            # it is on its way
        up.stdin.write("\n")
        told(up, "busy")
        time.sleep(BUSY_S)
        up.stdin.write("\n")
        told(up, "done")
        row = json.loads(down.communicate(timeout=60)[0])
        up.communicate()
    if up.returncode or down.returncode or row["wrong"] or row["n"] != JOBS:
        print(f"statuses {up.returncode} and {down.returncode}, {row}")
        return 1
    print(f"two of {JOBS} jobs ended {row['apart_us'] / 1e3:.0f} ms apart while the urgent program was busy for {BUSY_S * 1e3:.0f} ms")
    held = row["apart_us"] > BUSY_S * 1e6 * 0.8
    return int(held != (variant == "right"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
