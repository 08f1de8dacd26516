#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One case of what can happen to programs and xserver: run.py --client C --xserver S --xcli X --old DIR CASE"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ARGS = None


def need(condition, what):
    if not condition:
        raise SystemExit("FAILED: " + what)


class World:
    """A folder with a socket and a device file; what was started in it is ended with it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xsched-integration-")
        self.socket = os.path.join(self.folder.name, "x.sock")
        self.device = os.path.join(self.folder.name, "device")
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.started:
            if p.poll() is None:
                p.kill()
            p.wait()
        self.folder.cleanup()

    def server(self, program=None, wait=True):
        log = open(os.path.join(self.folder.name, "server.log"), "ab")
        p = subprocess.Popen([program or ARGS.xserver, f"--socket={self.socket}", "--http=ON", "--port=0",
                              "--log-level=INFO"], stderr=log, stdout=log)
        log.close()
        self.started.append(p)
        until = time.monotonic() + 60
        while wait and not os.path.exists(self.socket):
            need(p.poll() is None and time.monotonic() < until, "xserver does not start")
            time.sleep(0.01)
        return p

    def client(self, role, seconds, program=None, scheduler="GLB", **options):
        c = Client(self, role, seconds, program or ARGS.client, scheduler, options)
        self.started.append(c.process)
        return c

    def queues(self):
        """What xserver knows, by xcli."""
        http = os.path.join(self.folder.name, "http.sock")
        out = subprocess.run([ARGS.xcli, "-a", f"unix:{http}", "list", "--json"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False, timeout=20)
        try:
            return json.loads(out.stdout)["xqueues"]
        except (ValueError, KeyError):
            return None


class Client:
    def __init__(self, world, role, seconds, program, scheduler, options):
        command = [program, "--device", world.device, "--role", role, "--seconds", str(seconds)]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        self.log_path = os.path.join(world.folder.name, f"client-{len(world.started)}.log")
        env = {**os.environ, "XSCHED_SOCKET": world.socket, "XSCHED_SCHEDULER": scheduler, "XLOG_LEVEL": "INFO",
               "XLOG_FILE": self.log_path}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        self.lines, self.ticks, self.requests, self.released, self.result = [], [], [], [], None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        need(self.ready.wait(60), "a client does not get ready")

    def _read(self):
        for line in self.process.stdout:
            word = line.split()
            if word[0] == "ready":
                self.ready.set()
            elif word[0] == "tick":
                self.ticks.append((int(word[1]), int(word[2])))
            elif word[0] == "released":
                self.released.append(int(word[1]))
            elif word[0] == "request":
                self.requests.append(float(word[1]))
            elif word[0] == "result":
                self.result = [int(w) for w in word[1:]]

    def completed(self):
        return self.ticks[-1][1] if self.ticks else 0

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def wait_for(self, what, condition, seconds=60.0):
        until = time.monotonic() + seconds
        while not condition():
            need(time.monotonic() < until, f"never: {what}\n" + self.log())
            time.sleep(0.01)

    def joined(self, times=1):
        self.wait_for(f"joined xserver {times} times", lambda: self.log().count("joined xserver") >= times)

    def progresses(self, seconds=30.0):
        before = self.completed()
        self.wait_for("progress", lambda: self.completed() > before, seconds)

    def finish(self, scheduled=True, now=True):
        """Every command ran once, in order, and took the scheduled path. now: before its time is over."""
        if now:
            self.process.terminate()
        self.process.wait(60)
        self.thread.join(10)
        need(self.process.returncode == 0, f"a client ended with {self.process.returncode}\n" + self.log())
        need(self.result is not None, "a client without a result")
        launched, completed, counted, in_order = self.result
        need(launched > 0 and launched == completed, f"{launched} commands launched, {completed} completed")
        need(in_order == 1, "commands out of order")
        need(not scheduled or counted == launched, f"{counted} of {launched} commands were scheduled")
        need("ERRO" not in self.log(), self.log())
        return launched


def server_killed():
    """kill -9 of xserver under load, three times: no command is lost, and programs join the next one."""
    with World() as w:
        server = w.server()
        low, high = w.client("low", 600, priority=0), w.client("high", 600, priority=10)
        low.joined(1)
        high.joined(1)
        for i in range(3):
            time.sleep(0.5)
            server.send_signal(signal.SIGKILL)
            server.wait()
            low.progresses()
            high.progresses()
            server = w.server(wait=False)
            low.joined(i + 2)
            high.joined(i + 2)
        print("launched:", low.finish(), high.finish(), "requests:", len(high.requests))
        need(server.poll() is None, "the last server has gone")


def held(w, low):
    """An urgent client that keeps the device for itself, until the other one makes no progress."""
    high = w.client("low", 600, priority=10)
    high.joined()
    until = time.monotonic() + 60
    while True:
        need(time.monotonic() < until, "the low side is never held")
        before = low.completed()
        time.sleep(0.35)
        if low.completed() == before and before:
            return high


def client_killed_while_held():
    """kill -9 of a program that is held: xserver forgets it, the others go on, the next one is served."""
    with World() as w:
        w.server()
        low = w.client("low", 600, priority=0)
        low.joined()
        high = held(w, low)
        low.process.kill()
        low.process.wait()
        high.progresses()
        again = w.client("low", 600, priority=0)
        again.joined()
        launched = high.finish()
        again.progresses()
        print("launched:", launched, again.finish())


def release_ms(w, touch_mib):
    """How long a held program waits after the kill of the one that holds the device. None: it happened to run just then."""
    low = w.client("low", 600, priority=0, kernel_us=200)
    low.joined()
    high = w.client("low", 600, priority=10, touch_mib=touch_mib, kernel_us=200)
    high.joined()
    low.wait_for("held", lambda: len(low.ticks) > 8 and low.ticks[-1][1] == low.ticks[-5][1], 20)
    seen, done = len(low.released), low.completed()
    began = time.monotonic()
    high.process.kill()
    low.wait_for("let go", lambda: len(low.released) > seen or low.completed() > done + 100, 20)
    low.process.kill()
    return low.released[seen] / 1e3 - began * 1e3 if len(low.released) > seen else None


def urgent_client_killed():
    """kill -9 of the urgent program: the held one goes on at once."""
    with World() as w:
        w.server()
        low = w.client("low", 600, priority=0)
        low.joined()
        high = held(w, low)
        began = time.monotonic()
        high.process.kill()
        low.progresses(10)
        need(low.released, "the low side was not held")
        print(f"the held program was let go after {low.released[-1] / 1e3 - began * 1e3:.2f} ms")
        low.finish()


def server_last():
    """Programs first, xserver later: they run unscheduled, then join."""
    with World() as w:
        low, high = w.client("low", 600, priority=0), w.client("high", 600, priority=10)
        low.progresses()
        need("does not answer" in low.log(), "nothing was said about the missing server")
        w.server()
        low.joined()
        high.joined()
        low.progresses()
        high.progresses()
        need(low.log().count("does not answer") == 1, "it was said more than once")
        low.finish()
        high.finish()


def versions():
    """Programs and servers of every protocol minor with each other: they join, and priorities act."""
    servers = [ARGS.xserver] + [os.path.join(ARGS.old, f"integration_xserver_{m}") for m in (0, 1)]
    clients = [ARGS.client] + [os.path.join(ARGS.old, f"integration_client_{m}") for m in (0, 1)]
    for s in servers:
        for c in clients:
            if s == servers[0] and c == clients[0]:
                continue
            with World() as w:
                w.server(s)
                low = w.client("low", 600, program=c, priority=0)
                low.joined()
                high = held(w, low)
                high.finish()
                low.progresses()
                low.finish()
                print(os.path.basename(s), "with", os.path.basename(c), "works")


def order():
    """An urgent and a background program over one device, with and without xserver."""
    medians, rates = {}, {}

    def gains():
        return min(medians["xsched"]) < min(medians["native"])

    def starved():
        return max(rates["xsched"]) <= 0.5 * max(rates["native"])

    for i in range(5):   # the best of two rounds; of more where this machine had something else to do
        if i >= 2 and gains() and not starved():
            break
        for mode in ("native", "xsched"):
            with World() as w:
                if mode == "xsched":
                    w.server()
                scheduler = "GLB" if mode == "xsched" else "APP"
                low = w.client("low", 3, scheduler=scheduler, priority=0)
                high = w.client("high", 2, scheduler=scheduler, priority=10)
                high.finish(now=False)
                rates.setdefault(mode, []).append(low.finish(now=False) / 3)
                medians.setdefault(mode, []).append(statistics.median(high.requests))
    for mode in medians:
        print(f"{mode}: request of 4 ms, median {min(medians[mode]):.1f} ms; low {max(rates[mode]):.0f} kernels/s")
    need(gains(), "the urgent program gains nothing")
    need(not starved(), "the background program is starved")


def large_death():
    """The death of a program that touched much memory is noticed as soon as that of a small one."""
    mib = 2048 if available_mib() > 6000 else 512
    small, large = [], []
    for i in range(15):  # the least of five; of more where this machine had something else to do
        if i >= 5 and small and large and min(large) < min(small) + 3:
            break
        for touched, times in ((0, small), (mib, large)):
            with World() as w:
                w.server()
                ms = release_ms(w, touched)
                if ms is not None:
                    times.append(ms)
    need(small and large, "the held program ran at each kill")
    print(f"let go after {min(small):.2f} ms (small), {min(large):.2f} ms ({mib} MiB), least of {len(large)}; medians "
          f"{statistics.median(small):.2f} and {statistics.median(large):.2f} ms")
    need(min(large) < min(small) + 3, "the large program is noticed late")


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) // 1024
    return 0


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("client", "xserver", "xcli", "old"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("case")
    ARGS = parser.parse_args()
    globals()[ARGS.case]()
    print("ok")


main()
