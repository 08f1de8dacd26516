#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs and xserver: what the background program does while the urgent one launches more slowly than its device
computes, by how both share: beside.py PROGRAM SHIM FOLDER_OF_THE_FAKE XSERVER"""
import json
import os
import subprocess
import sys
import tempfile
import time

from tries import judged

SPACE = {"XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": "/nonexistent/one"}
OTHER = {"XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": "/nonexistent/other"}


def run(program, shim, fake, xserver, low_env, high_env):
    """@return kernels of the background program in two seconds beside the urgent one, and those on a lane; what xserver says"""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "CUDA_MPS_"))}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        daemon = subprocess.Popen([xserver, "HPF", "0"], env=env, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            if os.path.exists(env["XSCHED_SOCKET"]):
                break
            time.sleep(0.02)
        env.update(LD_LIBRARY_PATH=fake, LD_PRELOAD=shim, FAKE=os.path.join(fake, "fakecuda.so"), FAKE_CUDA_WIDE="1")
        low = subprocess.Popen([program, "2000", "0", "30", "5000"], env={**env, "XSCHED_PRIORITY": "0", **low_env},
                               stdout=subprocess.PIPE, text=True)
        low.stdout.readline()
        high = subprocess.Popen([program, "100", "100", "30", "16"], env={**env, "XSCHED_PRIORITY": "5", **high_env},
                                stdout=subprocess.PIPE, text=True)
        high.stdout.readline()
        time.sleep(2)
        said = json.loads(subprocess.run([os.path.join(os.path.dirname(xserver), "xcli"), "--json", "list"],
                                         env=dict(env, LD_PRELOAD=""), stdout=subprocess.PIPE, timeout=30, check=True).stdout)
        high.kill()
        high.communicate()
        low.kill()
        rows = [tuple(map(int, line.split())) for line in low.communicate()[0].splitlines() if line.count(" ") == 1]
        daemon.kill()
        daemon.wait()
        shares = sorted(p["share"] for p in said["processes"])
        lanes = [q["lane"] for q in said["xqueues"] if q["priority"] == 0]
        return rows[-1][0] - rows[0][0], rows[-1][1] - rows[0][1], shares, lanes


def once(*args):
    together, on_lane, shares, lanes = run(*args, SPACE, SPACE)
    print(f"in space: {together} kernels, {on_lane} on a lane, {shares} {lanes}")
    ok = on_lane > together * 0.5 and together > 200 and shares == ["space", "space"]
    for name, low, high, want in (("in two servers", SPACE, OTHER, ["space", "space"]), ("in time", {}, {}, ["time", "time"]),
                                  ("one of them in space", SPACE, {}, ["space", "time"])):
        found, on_lane, shares, lanes = run(*args, low, high)
        print(f"{name}: {found} kernels, {on_lane} on a lane, {shares} {lanes}")
        ok &= on_lane == 0 and shares == want and lanes == [0] and found < together
    return ok


sys.exit(judged(lambda: once(*sys.argv[1:])))
