#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/two_groups: see there. Whatever happens, what it started is ended before SECONDS are over."""
import argparse
import ctypes
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench"))
from suite import machine  # noqa: E402
from suite.services import ServiceError, XServer  # noqa: E402
from suite.variants import clean_environment  # noqa: E402

STALL_MS = 2000
ON_S, OFF_S, CYCLES = 4, 4, 8          # of the urgent NCCL job
BURST_US, PAUSE_US = 6000, 12000       # of the urgent program beside the all-reduce of our own
STOP_AT = struct.calcsize("I") * 6     # of struct control (ipc_rank.cu)
STEP = struct.calcsize("I") * 4
failures, programs = [], []


class Broken(Exception):
    """A program said something else than it should, or nothing."""


def wrong(what):
    failures.append(what)
    print("WRONG:", what, flush=True)


class Program:
    """Lines of JSON come out, the end of its input ends it; its group of processes is its own."""

    def __init__(self, name, command, env, log):
        self.name = name
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        start_new_session=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        programs.append(self)

    @property
    def pid(self):
        return self.process.pid

    def read(self):
        for line in self.process.stdout:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                pass

    def line(self, n, until):
        """The n-th line that it says, waited for until then."""
        while len(self.lines) <= n:
            if time.monotonic() > until:
                raise Broken(f"{self.name} says nothing")
            if not self.reader.is_alive() and len(self.lines) <= n:
                raise Broken(f"{self.name} ended with {self.process.wait()}")
            time.sleep(0.02)
        return self.lines[n]

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()


def kill_all():
    for p in programs:
        p.kill()


class Run:
    def __init__(self, build, out, limit, suspensions, device):
        self.build, self.out, self.suspensions, self.device = build, out, suspensions, device
        self.ends = time.monotonic() + limit
        self.log = open(os.path.join(out, "two_groups.log"), "ab")
        self.rows = open(os.path.join(out, "two_groups.jsonl"), "a", encoding="utf-8")
        self.short = False

    def write(self, part, side, metric, value, unit):
        row = {"part": part, "side": side, "metric": metric, "value": value, "unit": unit, "date": machine.now(),
               "device": self.device, "driver": machine.nvidia_driver(), "commit": machine.commit(self.build)}
        self.rows.write(json.dumps(row, separators=(",", ":")) + "\n")
        self.rows.flush()
        print(f"{part:5} {side:12} {metric:24} {value} {unit}", flush=True)

    def environment(self, server, priority, group):
        return {**clean_environment(), "LD_PRELOAD": os.path.join(self.build, "lib", "xsched", "libshimcuda.so"),
                "XSCHED_SOCKET": server.socket, "XSCHED_PRIORITY": str(priority), **({"XSCHED_GROUP": group} if group else {})}

    def server(self):
        return XServer(self.build, ["--policy", "HPF"], os.path.join(self.out, "xserver.log"))

    def start(self, name, command, server, priority, group):
        return Program(name, command, self.environment(server, priority, group), self.log)

    def until(self, seconds):
        return min(self.ends, time.monotonic() + seconds)

    # ---- two NCCL jobs ----

    def nccl(self):
        server = self.server()
        with tempfile.TemporaryDirectory() as folder:
            try:
                jobs = {}
                for name, priority, work, on, off in (("background", 0, 4, 0, 0), ("urgent", 10, 4, ON_S, OFF_S)):
                    jobs[name] = [self.start(f"{name} {i}", [sys.executable, "-B", os.path.join(HERE, "nccl_group.py"),
                                                             os.path.join(folder, name), str(i), str(work), str(on), str(off)],
                                             server, priority, name) for i in range(2)]
                for p in sum(jobs.values(), []):
                    p.line(0, self.until(150))           # a cold machine reads PyTorch from its disk
                time.sleep(max(0, min(CYCLES * (ON_S + OFF_S), self.ends - time.monotonic() - 40)))
                got = {}
                for name in ("urgent", "background"):    # rank 0 tells the other one
                    jobs[name][0].close()
                    got[name] = [p.line(1, self.until(30)) for p in jobs[name]]
                self.judge_nccl(got)
            finally:
                kill_all()
                server.stop()

    def judge_nccl(self, got):
        for name, rows in got.items():
            for i, row in enumerate(rows):
                self.write("nccl", f"{name} {i}", "inside", row["inside_ms"], "ms")
                self.write("nccl", f"{name} {i}", "longest step", row["gap_ms"], "ms")
                if row["wrong"]:
                    wrong(f"{name} {i}: {row['wrong']} sums are wrong")
                if row["inside_ms"] >= STALL_MS:
                    wrong(f"{name} {i} was inside a collective for {row['inside_ms']:.0f} ms")
            self.write("nccl", name, "steps", rows[0]["steps"], "1")
        if max(r["gap_ms"] for r in got["urgent"]) >= STALL_MS:
            wrong("the urgent job stalled")
        urgent = {int(k) for k in got["urgent"][0]["tenths"]}
        low = {int(k): v for k, v in got["background"][0]["tenths"].items()}
        # tenths of a second in the middle of work or of rest
        busy = [t for t in urgent if all(t + d in urgent for d in range(-3, 4))]
        first, last = min(urgent), max(urgent)
        idle = [t for t in range(first, last) if not any(t + d in urgent for d in range(-3, 4))]
        if not busy or not idle:
            raise Broken("the urgent job had no time of work or of rest")
        rates = {what: sum(low.get(t, 0) for t in ts) / len(ts) * 10 for what, ts in (("busy", busy), ("idle", idle))}
        for what, rate in rates.items():
            self.write("nccl", "background", f"steps while it is {what}", round(rate, 2), "1/s")
        if not rates["idle"] or rates["busy"] >= rates["idle"] / 10:
            wrong(f"the background job does {rates['busy']:.1f} steps/s beside the urgent one, {rates['idle']:.1f} alone")

    # ---- an all-reduce of our own ----

    def ipc_program(self, folder):
        nvcc = machine.find_tool("nvcc") or "/usr/local/cuda/bin/nvcc"
        program = os.path.join(folder, "ipc_rank")
        done = subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=native", "-o", program, os.path.join(HERE, "ipc_rank.cu")],
                              stdout=self.log, stderr=self.log, timeout=120, check=False)
        if done.returncode:
            raise Broken("nvcc does not compile ipc_rank.cu")
        return program

    def ipc(self):
        server = self.server()
        with tempfile.TemporaryDirectory() as folder:
            try:
                program = self.ipc_program(folder)
                with open(os.path.join(folder, "control"), "wb") as f:
                    f.truncate(4096)
                ranks = [self.start(f"rank {i}", [program, "rank", folder, str(i), str(i)], server, 0, "ipc") for i in range(2)]
                for r in ranks:
                    r.line(0, self.until(90))
                time.sleep(1)                            # alone
                with open(os.path.join(folder, "control"), "r+b") as f:
                    control = mmap.mmap(f.fileno(), 4096)
                alone = self.rate(control)
                high = self.start("urgent", [program, "urgent", "2", str(BURST_US), str(PAUSE_US)], server, 10, None)
                high.line(0, self.until(60))
                count = self.suspend(server, ranks, control)
                high.close()
                self.write("ipc", "urgent", "burst_p50", high.line(1, self.until(10))["p50_ms"], "ms")
                self.write("ipc", "rank 0", "steps alone", round(alone, 1), "1/s")
                control[STOP_AT:STOP_AT + 4] = struct.pack("I", self.step(control) + 5000)
                self.judge_ipc([r.line(1, self.until(40)) for r in ranks], count)
            finally:
                kill_all()
                server.stop()

    @staticmethod
    def step(control):
        return max(struct.unpack("2I", control[STEP:STEP + 8]))

    def rate(self, control):
        before, began = self.step(control), time.monotonic()
        time.sleep(2)
        return (self.step(control) - before) / (time.monotonic() - began)

    def suspend(self, server, ranks, control):
        """@return how often a rank was suspended"""
        count, said, before = 0, time.monotonic(), self.step(control)
        while count < self.suspensions:
            if time.monotonic() > self.ends - 60:
                self.short = True
                break
            for r in ranks:
                if r.process.poll() is not None:
                    raise Broken(f"{r.name} ended with {r.process.returncode}")
            count = min(sum(q["suspensions"] for q in server.queues(r.pid)) for r in ranks)
            if time.monotonic() - said > 20:
                said, now = time.monotonic(), self.step(control)
                print(f"ipc   {count} suspensions, {self.ends - said:.0f} s left, {(now - before) / 20:.0f} steps/s", flush=True)
                before = now
            time.sleep(0.2)
        return count

    def judge_ipc(self, rows, count):
        self.write("ipc", "both", "suspensions", count, "1")
        for i, row in enumerate(rows):
            self.write("ipc", f"rank {i}", "steps", row["steps"], "1")
            self.write("ipc", f"rank {i}", "inside", row["inside_ms"], "ms")
            if row["gave_up"] or row["inside_ms"] >= STALL_MS:
                wrong(f"rank {i} was inside the kernel for {row['inside_ms']:.0f} ms")
            if not row["right"]:
                wrong(f"rank {i}: the sums are wrong")
        if count == 0:
            wrong("nobody was suspended")


def devices():
    """How many there are, and what two of the first one are called."""
    try:
        driver, n, name = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0), ctypes.create_string_buffer(96)
    except OSError:
        return 0, ""
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(n)) or driver.cuDeviceGetName(name, len(name), 0):
        return 0, ""
    return n.value, f"2 x {name.value.decode()}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("out")
    p.add_argument("seconds", type=float)
    p.add_argument("parts", nargs="*", choices=["nccl", "ipc", []], default=[])
    p.add_argument("--suspensions", type=int, default=10000)
    a = p.parse_args()
    count, device = devices()
    if count < 2:
        print(f"skipped: two devices are wanted, {count} is here")
        return 77
    run = Run(a.build, a.out, a.seconds, a.suspensions, device)
    last = threading.Timer(a.seconds, lambda: (print("no time left", flush=True), kill_all(), os._exit(75)))
    last.daemon = True
    last.start()
    for part in a.parts or ["nccl", "ipc"]:
        print(f"== {part}", flush=True)
        try:
            getattr(run, part)()
        except (Broken, ServiceError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as e:
            wrong(f"{part}: {type(e).__name__}: {e}")
    run.write("all", "", "failures", len(failures), "1")
    return 1 if failures else 75 if run.short else 0


if __name__ == "__main__":
    sys.exit(main())
