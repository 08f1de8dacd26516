#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program whose work waits for the host is as fast under XSched as without: rates.py PLATFORM MODES HOW SHIMS
DRIVER XSERVER PROGRAM

HOW is `local` (a policy in the process) or `xserver` (a server of the test's own). Pairs of the program run at once, one of them
under XSched; it must reach 0.9 of the other's rate, by the median of the pairs. Where the shim does not see what the work waits
for, XSched tries for a while how long that may take.
"""
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_xserver  # noqa: E402

LEAST, PAIRS, SECONDS, UNSEEN_SECONDS = 0.9, 3, 0.5, 7
UNSEEN = {"list"}
OURS = ("XSCHED_", "XLOG_", "LD_PRELOAD", "OPENCL_LAYERS", "VK_", "ZE_")


def shim(platform, shims):
    """The variables by which a program gets the shim."""
    if platform == "vulkan":
        return {"VK_INSTANCE_LAYERS": "VK_LAYER_XSCHED_schedule", "VK_LAYER_PATH": shims}
    return {"LD_PRELOAD": f"{shims}/libshim{platform}.so"}


def pair(program, mode, *environments):
    """Rounds a second in each environment."""
    seconds = UNSEEN_SECONDS if mode in UNSEEN else SECONDS
    running = [subprocess.Popen([program, str(seconds), mode], env=env, stdout=subprocess.PIPE, text=True) for env in environments]
    said = [p.communicate(timeout=60)[0] for p in running]
    if all(p.returncode == 77 for p in running):
        print(said[0].strip())
        sys.exit(77)
    if any(p.returncode for p in running):
        sys.exit(f"{mode}: exit status {[p.returncode for p in running]}")
    return [float(s) for s in said]


def compare(program, modes, plain, under):
    slow = []
    for mode in modes:
        pairs = [pair(program, mode, plain, under) for _ in range(1 if mode in UNSEEN else PAIRS)]
        ratio = statistics.median(p[1] / p[0] for p in pairs)
        print(f"{mode}: rounds a second without XSched and with it:", ", ".join("%.0f %.0f" % tuple(p) for p in pairs),
              f"({ratio:.2f}, at least {LEAST})")
        if ratio < LEAST:
            slow.append(mode)
    return len(slow)


def main(platform, modes, how, shims, driver, server, program):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    plain.setdefault("POCL_CACHE_DIR", "/tmp")
    if driver:
        plain["LD_LIBRARY_PATH"] = driver
    under = dict(plain, XSCHED_AUTO_XQUEUE="ON", **shim(platform, shims))
    if how == "local":
        return compare(program, modes.split(","), plain, dict(under, XSCHED_POLICY="HPF"))
    with own_xserver.xserver(server, plain) as socket:
        return compare(program, modes.split(","), plain, dict(under, XSCHED_SCHEDULER="GLB", XSCHED_SOCKET=socket))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
