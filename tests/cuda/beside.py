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

SPACE = {"XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": "one"}     # folders of daemons; the last has none
OTHER = {"XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": "other"}
NONE = {"XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": "none"}
LOOKS = 20       # of doctor, which sees one moment: it may lie between two kernels


def run(program, shim, fake, xserver, low_env, high_env):
    """@return kernels of the background program in two seconds beside the urgent one, and those on a lane; what xserver says, and
    xsched doctor of the background program"""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "CUDA_MPS_"))}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        daemon = subprocess.Popen([xserver, "HPF", "0"], env=env, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            if os.path.exists(env["XSCHED_SOCKET"]):
                break
            time.sleep(0.02)
        for name in ("one", "other", "none"):
            os.mkdir(os.path.join(folder, name))
            if name != "none":
                with open(os.path.join(folder, name, "control"), "w", encoding="ascii"):
                    pass
        low_env, high_env = ({**e, **({"CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, e["CUDA_MPS_PIPE_DIRECTORY"])} if e else {})}
                             for e in (low_env, high_env))
        env.update(LD_LIBRARY_PATH=fake, LD_PRELOAD=shim, FAKE=os.path.join(fake, "fakecuda.so"), FAKE_CUDA_WIDE="1")
        low = subprocess.Popen([program, "2000", "0", "30", "5000"],
                               env={**env, "XSCHED_PRIORITY": "0", "CUDA_MPS_CLIENT_PRIORITY": "1", **low_env},
                               stdout=subprocess.PIPE, text=True)
        first = low.stdout.readline()
        high = subprocess.Popen([program, "100", "100", "30", "16"], env={**env, "XSCHED_PRIORITY": "5", **high_env},
                                stdout=subprocess.PIPE, text=True)
        high.stdout.readline()
        time.sleep(2)
        said = json.loads(subprocess.run([os.path.join(os.path.dirname(xserver), "xcli"), "--json", "list"],
                                         env=dict(env, LD_PRELOAD=""), stdout=subprocess.PIPE, timeout=30, check=True).stdout)
        lanes = [(q["lane"], q["reserve"]) for q in said["xqueues"] if q["priority"] == 0]
        for _ in range(LOOKS if lanes[0][0] else 1):
            doctor = json.loads(subprocess.run([os.path.join(os.path.dirname(xserver), "xsched"), "doctor", "--json", str(low.pid)],
                                               env=dict(env, LD_PRELOAD=""), stdout=subprocess.PIPE, timeout=60, check=False).stdout)
            notes = [h.split(", on ")[-1] for h in doctor["hints"] if "runs beside" in h]
            if notes:
                break
        changed = subprocess.run([os.path.join(os.path.dirname(xserver), "xcli"), "hint", "--pid", str(low.pid), "-p", "2"],
                                 env=dict(env, LD_PRELOAD=""), stdout=subprocess.DEVNULL, timeout=30, check=False)
        stale = json.loads(subprocess.run([os.path.join(os.path.dirname(xserver), "xsched"), "doctor", "--json", str(low.pid)],
                                          env=dict(env, LD_PRELOAD=""), stdout=subprocess.PIPE, timeout=60, check=False).stdout)
        high.kill()
        high.communicate()
        low.kill()
        rows = [tuple(map(int, line.split())) for line in (first + low.communicate()[0]).splitlines() if line.count(" ") == 1]
        daemon.kill()
        daemon.wait()
        shares = sorted(p["share"] for p in said["processes"])
        says = [sum("MPS gave it the lower priority" in h for h in d["hints"]) for d in (doctor, stale)]
        if changed.returncode or says != [0, 1 if "space" in shares[0] and low_env else 0]:
            print("after a hint doctor says:", says, changed.returncode)
            shares = []
        return rows[-1][0] - rows[0][0], rows[-1][1] - rows[0][1], shares, lanes, notes, doctor["verdict"]


def once(*args):
    together, on_lane, shares, lanes, notes, verdict = run(*args, SPACE, SPACE)
    print(f"in space: {together} kernels, {on_lane} on a lane, {shares} {lanes} {notes} {verdict}")
    (lane, reserve), = lanes
    ok = on_lane > together * 0.5 and together > 200 and shares == ["space", "space"] and ", in space (MPS)" in verdict
    # the wide lane or the narrow one; the doctor looks a moment later
    ok &= lane > 0 and reserve > 0 and len(notes) == 1 and notes[0].endswith(f" of {lane + reserve} multiprocessors")
    for name, low, high, want in (("in two servers", SPACE, OTHER, ["space", "space"]), ("in time", {}, {}, ["time", "time"]),
                                  ("without a daemon", NONE, NONE, ["time", "time"]),
                                  ("one of them in space", SPACE, {}, ["space", "time"])):
        found, on_lane, shares, lanes, notes, verdict = run(*args, low, high)
        print(f"{name}: {found} kernels, {on_lane} on a lane, {shares} {lanes} {notes} {verdict}")
        ok &= on_lane == 0 and shares == want and lanes == [(0, 0)] and not notes and found < together
    return ok


sys.exit(judged(lambda: once(*sys.argv[1:])))
