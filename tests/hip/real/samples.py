#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real HIP programs on a runtime that has a device, without and under the shim: samples.py SHIM [PART...]

HIP_TEST_LIBDIR is a folder with libamdhip64.so.N and programs for it (docs/hip.md says what is in it). Where it is unset,
nothing is run (status 77). A file `environment` there (NAME=VALUE, one a line) says what the programs need. Parts
(default: all):

  same      every program: what it prints and how it ends is the same natively, under the shim, and scheduled. Times are left
            out, and lines that differ between two native runs. Threads of a program may print in another order
  counted   every program: each command in the trace was scheduled, and libpreempt counted as many as the trace has
  both      some programs under this shim and OpenCL's, if the runtime is a client of OpenCL: a command inside a command
            is not scheduled again
  ordered   two processes on one core (`order`, order.hip): P99 of the urgent one under xserver at most 1.5 times what it
            is alone, where natively it is at least twice that. A request is so long that what the other has in flight
            when it comes (three streams, each within its bound) is a small part of it. The three ways take turns; P99 is
            that of all their requests together. A round in which others took more than 5 % of the core's
            time is not counted, and repeated; a machine that is never so quiet shows nothing

HIP_TEST_OUT=FILE gets all figures as JSON lines. HIP_TEST_ROUNDS=6: rounds of `ordered`, of 100 requests each way: six tell
whether something is wrong, a P99 to be quoted wants more."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

SKIP, OWN = 77, "order"
REQUESTS, KERNELS, KERNEL_US = 100, 48, 500
ROUNDS = int(os.environ.get("HIP_TEST_ROUNDS", "6"))    # that count
MORE, QUIET = ROUNDS, 0.05            # that may be repeated; what others may take of the core
TIME = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)? ?(ms|us|ns|s|sec|seconds|GB/s)\b")
FOLDER = os.environ.get("HIP_TEST_LIBDIR", "")


def report(**facts):
    if os.environ.get("HIP_TEST_OUT"):
        with open(os.environ["HIP_TEST_OUT"], "a", encoding="ascii") as f:
            f.write(json.dumps({"workload": "hip-samples", "report": False, **facts}) + "\n")


class Programs:
    def __init__(self, shim, scratch):
        self.shim, self.scratch = os.path.abspath(shim), scratch
        self.root = os.path.dirname(os.path.dirname(os.path.dirname(self.shim)))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        self.env.update(LD_LIBRARY_PATH=FOLDER, POCL_CACHE_DIR=os.path.join(scratch, "cache"),
                        XSCHED_SOCKET=os.path.join(scratch, "xserver.sock"))
        path = os.path.join(FOLDER, "environment")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.env.update(line.strip().split("=", 1) for line in f if "=" in line)
        self.paths = [p for p in sorted(glob.glob(os.path.join(FOLDER, "*"))) if os.path.isfile(p) and
                      os.access(p, os.X_OK) and ".so" not in os.path.basename(p) and os.path.basename(p) != OWN]

    def run(self, path, **extra):
        r = subprocess.run([path], env={**self.env, **extra}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           cwd=self.scratch, timeout=300, check=False)
        return r.returncode, [TIME.sub("TIME", line) for line in r.stdout.decode(errors="replace").splitlines()]

    def trace(self, path, name, **extra):
        """(status, how often each function was handled how, largest count of libpreempt)"""
        trace = os.path.join(self.scratch, "trace." + name)
        status, _ = self.run(path, XSCHED_TRACE=trace, **extra)
        how, counted = {}, 0
        with open(trace, encoding="ascii") as f:
            for line in f:
                w = line.split()
                if line.startswith("#"):
                    continue
                how[w[2], w[3]] = how.get((w[2], w[3]), 0) + 1
                if w[3] == "submit":
                    counted = max(counted, int(w[7]))
        os.unlink(trace)
        return status, how, counted


def same(p):
    bad = 0
    ways = {"shim": {}, "scheduled": {"XSCHED_AUTO_XQUEUE": "ON"},
            "policy": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}}
    for path in p.paths:
        name = os.path.basename(path)
        status, one = p.run(path)
        again, two = p.run(path)
        if status != again or len(one) != len(two):
            print(f"{name}: differs from itself natively ({status}, {again}): left out")
            continue
        stable = [a == b for a, b in zip(one, two)]
        for way, extra in ways.items():
            code, out = p.run(path, LD_PRELOAD=p.shim, **extra)
            equal = code == status and len(out) == len(one) and (
                all(not s or a == b for s, a, b in zip(stable, one, out)) or all(stable) and sorted(out) == sorted(one))
            bad += not equal
            print(f"{name}, {way}: {'same' if equal else 'DIFFERS'} (status {code}, {sum(stable)} of {len(stable)} lines)")
            report(part="same", program=name, way=way, same=equal, status=code, native_status=status,
                   lines=len(stable), compared=sum(stable))
            if not equal:
                differing = [(a[:80], b[:80]) for s, a, b in zip(stable, one, out) if s and a != b]
                print(f"  natively status {status}, {len(one)} lines; here {len(out)} lines; first that differ: {differing[:3]}")
    return bad


def counted(p):
    bad = 0
    for path in p.paths:
        name = os.path.basename(path)
        status, how, count = p.trace(path, name, LD_PRELOAD=p.shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF")
        submits = sum(n for (_, h), n in how.items() if h == "submit")
        functions = {f for f, h in how if h == "submit"}
        passed = {f: n for (f, h), n in how.items() if h == "pass" and
                  (f in functions or f.startswith(("hipLaunch", "hipModuleLaunch", "hipGraphLaunch")))}
        right = submits == count and not passed
        bad += not right
        print(f"{name}: {submits} commands in the trace, {count} scheduled{'' if right else f': WRONG, {passed} passed by'}")
        report(part="counted", program=name, status=status, submits=submits, scheduled=count, passed=passed,
               calls={f"{f} {h}": n for (f, h), n in sorted(how.items())})
    return bad


def both(p):
    other = os.path.join(os.path.dirname(p.shim), "libshimopencl.so")
    needed = subprocess.run(["readelf", "-d", *glob.glob(os.path.join(FOLDER, "libamdhip64.so*"))], check=False,
                            stdout=subprocess.PIPE, text=True).stdout
    if "libOpenCL" not in needed or not os.path.exists(other):
        print("both: the runtime is no client of OpenCL")
        return 0
    bad = 0
    for path in p.paths[:4]:
        name = os.path.basename(path)
        status, how, count = p.trace(path, name, LD_PRELOAD=p.shim + ":" + other, XSCHED_AUTO_XQUEUE="ON",
                                     XSCHED_POLICY="HPF")
        hip = sum(n for (f, h), n in how.items() if h == "submit" and f.startswith("hip"))
        cl = sum(n for (f, h), n in how.items() if h == "submit" and f.startswith("cl"))
        seen = sum(n for (f, _), n in how.items() if f.startswith("cl"))
        right = status == p.run(path)[0] and hip and not cl and hip == count
        bad += not right
        print(f"{name}, both shims: {hip} commands of HIP and {cl} of OpenCL scheduled, {seen} calls of OpenCL seen"
              f"{'' if right else ': WRONG'}")
        report(part="both", program=name, status=status, hip=hip, opencl=cl, opencl_seen=seen, scheduled=count)
    return bad


def p99(ms):
    return sorted(ms)[min(len(ms) - 1, len(ms) * 99 // 100)]


def core_busy_s(core):
    """Time for which anybody, or another machine on the same hardware, had the core."""
    with open("/proc/stat", encoding="ascii") as f:
        words = next(line for line in f if line.startswith(f"cpu{core} ")).split()
    return sum(int(words[i]) for i in (1, 2, 3, 6, 7, 8)) / os.sysconf("SC_CLK_TCK")


def used_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def children_s():
    t = os.times()
    return t.children_user + t.children_system


def latencies(p, core, turns, low, high, start_s):
    """Latencies of the urgent one beside the other (low: its environment; None: alone), what the other did, and what part
    of the time somebody else took from them. start_s: what the urgent one needs of the core before its first request."""
    path, prefix = os.path.join(FOLDER, OWN), ["taskset", "-c", str(core)]
    beside, rate, other_s = None, 0.0, 0.0
    if low is not None:
        beside = subprocess.Popen([path, "low", turns], env={**p.env, **low}, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        if beside.stdout.readline() != "running\n":
            sys.exit("the background program did not start")
        for task in os.listdir(f"/proc/{beside.pid}/task"):   # only now: its device has a thread for each core
            os.sched_setaffinity(int(task), {core})
        other_s = used_s(beside.pid)
    began, busy_s, own_s = time.monotonic(), core_busy_s(core), children_s()
    run = subprocess.run([*prefix, path, "high", turns, str(KERNELS), str(REQUESTS)], env={**p.env, **high}, timeout=200,
                         stdout=subprocess.PIPE, text=True, check=False)
    busy_s, took_s, own_s = core_busy_s(core) - busy_s, time.monotonic() - began, children_s() - own_s
    ms = [float(x) for x in run.stdout.split()]
    if beside: # the core is never idle: what was neither's was somebody else's
        own_s += used_s(beside.pid) - other_s
        rate = float(beside.communicate("\n", timeout=120)[0])
        if beside.returncode:
            sys.exit(f"the background program ended with {beside.returncode}")
        others = (busy_s - own_s) / took_s
    else: # others may have it between requests
        others = 1 - (own_s - start_s) / (sum(ms) / 1e3)
    if run.returncode:
        sys.exit(f"the urgent program ended with {run.returncode}")
    return ms, rate, max(others, 0)


def ordered(p):
    if not os.path.exists(os.path.join(FOLDER, OWN)):
        print("ordered: there is no program `order` (tests/hip/real/order.hip)")
        return 1
    core = max(os.sched_getaffinity(0))
    turns = subprocess.run(["taskset", "-c", str(core), os.path.join(FOLDER, OWN), "calibrate", str(KERNEL_US)], env=p.env,
                           timeout=60, text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
    start_s = children_s()
    subprocess.run(["taskset", "-c", str(core), os.path.join(FOLDER, OWN), "high", turns, str(KERNELS), "0"], env=p.env,
                   timeout=60, check=True)
    start_s = children_s() - start_s
    server = subprocess.Popen([os.path.join(p.root, "bin", "xserver"), "--no-http", "HPF"], env=p.env,
                              stderr=subprocess.DEVNULL)
    shim = [{"LD_PRELOAD": p.shim, "XSCHED_PRIORITY": n} for n in "19"]
    ways = [("alone", None, {}), ("native", {}, {}), ("xsched", *shim)]
    all_ms, kept = {way[0]: [] for way in ways}, 0
    try:
        for n in range(ROUNDS + MORE):
            took, most = {}, 0.0
            for way, low, high in ways[n % 3:] + ways[:n % 3]:
                ms, rate, others = latencies(p, core, turns, low, high, start_s)
                took[way], most = ms, max(most, others)
                print(f"ordered, round {n}, {way}: P50 {sorted(ms)[len(ms) // 2]:.3f} ms, P99 {p99(ms):.3f} ms, the other "
                      f"{rate:.0f} kernels a second, others took {others:.1%}", flush=True)
                report(part="ordered", round=n, way=way, turns=int(turns), kernels=KERNELS, kernel_us=KERNEL_US, ms=ms,
                       other_per_s=rate, others=round(others, 4))
            if most > QUIET:
                print(f"ordered, round {n}: not counted, others took {most:.1%} of the core's time")
                continue
            for way, ms in took.items():
                all_ms[way] += ms
            kept += 1
            if kept == ROUNDS:
                break
    finally:
        server.terminate()
        server.wait()
    if kept < ROUNDS:
        print(f"ordered: {kept} of {ROUNDS} rounds were quiet in {ROUNDS + MORE}: the machine is too loaded to judge; again when "
              "it is not")
        return 1
    of = {way: p99(ms) for way, ms in all_ms.items()}
    native, xsched = of["native"] / of["alone"], of["xsched"] / of["alone"]
    print(f"ordered: P99 of {len(all_ms['alone'])} requests each: alone {of['alone']:.3f} ms, natively {native:.2f} times that, under "
          f"XSched {xsched:.2f} times")
    if native < 2:
        print("ordered: the urgent one does not suffer natively: nothing to judge")
        return 1
    return 1 if xsched > 1.5 else 0


def main():
    if not FOLDER:
        print("HIP_TEST_LIBDIR is not set: no implementation of HIP with a device to test with; docs/hip.md says what one needs")
        return SKIP
    parts = {"same": same, "counted": counted, "both": both, "ordered": ordered}
    with tempfile.TemporaryDirectory() as scratch:
        p = Programs(sys.argv[1], scratch)
        if not p.paths:
            print("no programs in", FOLDER)
            return 1
        bad = sum(parts[name](p) for name in sys.argv[2:] or parts)
    print(f"{len(p.paths)} programs, {bad} failures")
    return 1 if bad else 0


sys.exit(main())
