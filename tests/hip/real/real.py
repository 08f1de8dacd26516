#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real HIP programs without and under the shim:

  real.py program SHIM PROGRAM           the same output and exit status, and its registration is seen
  real.py import SHIM PROGRAM LIBRARY    1000 fat binaries: at most 1 % more instructions for each
  real.py calls HIP_SHIM PROGRAM FOLDER CUDA_SHIM PROGRAM FOLDER   a call under the shim takes what CUDA's takes: a launch on
                                         an XQueue within 10 %, the others within 5 % and 20 instructions
  real.py start SHIM PROGRAM FOLDER   a program that starts, launches once and ends: at most START instructions more
  real.py clock SHIM PROGRAM FOLDER [ROUNDS]   the same by the clock, printed only
"""
import os
import re
import subprocess
import sys
import tempfile
import time


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
    env.update(extra)
    return env


def run(command, timeout=120, **extra):
    r = subprocess.run(command, env=environment(**extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=timeout, check=False)
    return r.returncode, r.stdout, [line for line in r.stderr.splitlines() if "XSCHED" in line]


def program(shim, path):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        want = run([path])
        got = run([path], LD_PRELOAD=shim)
        traced = run([path], LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
        with open(trace, encoding="ascii") as f:
            calls = [line.split()[2] for line in f if not line.startswith("#")]
    print(want[1])
    missing = [c for c in ("__hipRegisterFatBinary", "__hipRegisterFunction", "hipGetDeviceCount") if c not in calls]
    if want != got or want != traced or missing:
        print("differs:", want, got, traced, "not seen:", missing)
        return 1
    return 0


def instructions(command, *options, **extra):
    """(all, in objects of ours). Where the runtime keeps things by address, its own share differs from run to run."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        r = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *options] + command,
                           env=environment(**extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=300, check=False)
        if r.returncode:
            print(r.stderr[-2000:])
            sys.exit(1)
        names, total, ours, mine, skip = {}, 0, 0, False, False
        with open(out, encoding="utf-8") as f:
            for line in f:
                if line.startswith(("ob=", "cob=")): # a name stands with the first use of its number, whichever that is
                    kind, _, rest = line.strip().partition("=")
                    number, _, name = rest.partition(" ")
                    names.setdefault(number, name)
                    if kind == "cob":
                        continue
                    mine = bool(re.search(r"lib(shim|hal|preempt)\w*\.so", names[number]))
                elif line.startswith("calls="):
                    skip = True       # what follows is the cost of the callee
                elif re.match(r"[+*0-9-]", line):
                    if not skip:
                        cost = int(line.split()[1])
                        total += cost
                        ours += cost * mine
                    skip = False
    return total, ours


def imports(shim, path, library):
    cost = {}
    for name, extra in (("native", {}), ("shim", {"LD_PRELOAD": shim})):
        few, many = (instructions([path, library], FAT_OBJECTS=n, **extra) for n in ("1", "1000"))
        cost[name] = [(m - f) / 999 for f, m in zip(few, many)]
        print(f"{name}: {few[0]} instructions with one fat binary, {cost[name][0]:.0f} for each more, {cost[name][1]:.1f} "
              "of them ours")
    return 1 if cost["shim"][1] > 0.01 * cost["native"][0] or cost["shim"][1] <= 0 else 0


def calls(*both):
    ways = (("pass", {}), ("launch", {}), ("launch", {"XSCHED_AUTO_XQUEUE": "ON"}), ("sync", {"XSCHED_AUTO_XQUEUE": "ON"}))
    bad = 0
    for path, extra in ways:
        cost = []
        for shim, program_, folder in (both[:3], both[3:]):
            few, many = (instructions([program_, path, n], "--toggle-collect=bench_block", LD_PRELOAD=shim, LD_LIBRARY_PATH=folder, **extra)[1]
                         for n in ("1000", "3000"))
            cost.append((many - few) / 2000)
        print(f"{path} {extra or ''}: {cost[0]:.1f} instructions of ours, {cost[1]:.1f} for CUDA")
        bad += cost[0] > (1.1 * cost[1] if path == "launch" and extra else 1.05 * cost[1] + 20) or cost[0] <= 0
    return 1 if bad else 0


START = 8e6        # 5 ms of a slow core; what the loader does for one more object is in it
STARTS = (("quiet", {}), ("queues", {"XSCHED_AUTO_XQUEUE": "ON"}), ("a policy", {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}))


def start(shim, path, folder):
    bad = 0
    native = instructions([path, "launch", "1"], LD_LIBRARY_PATH=folder)[0]
    for name, extra in STARTS:
        more = instructions([path, "launch", "1"], LD_LIBRARY_PATH=folder, LD_PRELOAD=shim, **extra)[0] - native
        print(f"{name}: {more / 1e6:.2f} million instructions more than the {native / 1e6:.2f} natively")
        bad += not 0 < more <= START
    return 1 if bad else 0


def clock(shim, path, folder, rounds="200"):
    took = {}
    for _ in range(int(rounds)):
        for name, extra in (("natively", {}), *((n, dict(e, LD_PRELOAD=shim)) for n, e in STARTS)):
            begin = time.monotonic()
            with subprocess.Popen([path, "launch", "1"], env=environment(LD_LIBRARY_PATH=folder, **extra), stdout=subprocess.DEVNULL) as p:
                _, p.returncode, used = os.wait4(p.pid, 0)
            took.setdefault(name, []).append(((time.monotonic() - begin) * 1e3, (used.ru_utime + used.ru_stime) * 1e3))
    for name, pairs in took.items():
        for what, ms in zip(("", ", of processors"), map(sorted, zip(*pairs))):
            print(f"{name}{what}: least {ms[0]:.2f} ms, median {ms[len(ms) // 2]:.2f} ms of {len(ms)} starts")
    return 0


sys.exit({"program": program, "import": imports, "calls": calls, "start": start, "clock": clock}[sys.argv[1]](*sys.argv[2:]))
