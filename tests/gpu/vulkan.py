# SPDX-License-Identifier: Apache-2.0
"""What run_vulkan runs: vulkan.py DIR OUT [PART...]

suite    tests/vulkan/suite.c: every case, natively and with the layer, with no scheduler, with a policy in the process and
         with xserver; results are checked by the program
alone    a program of 1 ms submissions by itself, native and under XSched in turn
beside   the same beside a program that submits 1 ms of work without an end: native, and under XSched with priorities
A row for each: what, how, P50 and P99 of the urgent side in us, what the background completed in a second.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

DIR, OUT = sys.argv[1], sys.argv[2]
PARTS = sys.argv[3:] or ["suite", "alone", "beside"]
US, COUNT, GAP_S, TURNS = 1000, 300, 0.01, 3
NAME = "VK_LAYER_XSCHED_schedule"
SUITE, TWO = os.path.join(DIR, "vulkan", "vulkan_suite"), os.path.join(DIR, "vulkan", "vulkan_two_programs")


def native():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "LD_PRELOAD"))}


def layered(**more):
    return {**native(), "VK_ADD_LAYER_PATH": os.path.join(DIR, "lib", "xsched"), "VK_LOADER_LAYERS_ENABLE": NAME,
            "VK_INSTANCE_LAYERS": NAME, "XSCHED_AUTO_XQUEUE": "ON", **more}


def row(**cells):
    with open(os.path.join(OUT, "vulkan.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps(cells) + "\n")
    print(cells, flush=True)


class Server:
    """An xserver of our own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "s")
        with open(os.path.join(OUT, "xserver.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([os.path.join(DIR, "bin", "xserver"), "--no-http", f"--socket={self.socket}", "HPF"],
                                            stdout=log, stderr=log, env=native())
        until = time.monotonic() + 20
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("xserver does not start")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def env(self, priority):
        return layered(XSCHED_SOCKET=self.socket, XSCHED_SCHEDULER="GLB", XSCHED_PRIORITY=str(priority))


class Program:
    """vulkan_two_programs, which is ready when this is made."""

    def __init__(self, env, *arguments):
        with open(os.path.join(OUT, "programs.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([TWO, *map(str, arguments)], env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        if self.line() != ["ready"]:
            raise RuntimeError("it is not ready")
        self.done = 0

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise RuntimeError(f"a program ended with {self.process.wait()}")
        return text.split()

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def count(self):
        def read():
            for _ in self.process.stdout:
                self.done += 1
        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError("a program failed")


def urgent(program):
    took = []
    for _ in range(COUNT):
        program.go()
        begin, end = map(int, program.line())
        took.append(end - begin)
        time.sleep(GAP_S)
    took.sort()
    return took[COUNT // 2], took[COUNT * 99 // 100]


def measure(what, how, urgent_env, background_env=None):
    up = Program(urgent_env, "bursts", US, 1, COUNT)
    down = Program(background_env, "loop", US) if background_env else None
    if down:
        down.go()
        down.count()
    before, since = (down.done if down else 0), time.monotonic()
    p50, p99 = urgent(up)
    rate = (down.done - before) / (time.monotonic() - since) if down else None
    up.end()
    if down:
        down.end()
    row(what=what, how=how, p50_us=p50, p99_us=p99, background_per_s=rate and round(rate, 1))


def suite():
    bad = 0
    with Server() as server:
        for how, env in (("native", native()), ("app", layered(XSCHED_SCHEDULER="APP")),
                         ("local", layered(XSCHED_POLICY="HPF", XSCHED_SCHEDULER="LCL")), ("xserver", server.env(3))):
            with open(os.path.join(OUT, f"suite_{how}.log"), "w", encoding="utf-8") as log:
                code = subprocess.run([SUITE], env=env, stdout=log, stderr=log, timeout=120, check=False).returncode
            row(what="suite", how=how, status=code)
            bad += code != 0
    return bad


def main():
    bad = suite() if "suite" in PARTS else 0
    for _ in range(TURNS):
        with Server() as server:
            if "alone" in PARTS:
                measure("alone", "native", native())
                measure("alone", "xsched", server.env(10))
            if "beside" in PARTS:
                measure("beside", "native", native(), native())
                measure("beside", "xsched", server.env(10), server.env(-10))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
