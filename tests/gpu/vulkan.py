# SPDX-License-Identifier: Apache-2.0
"""What run_vulkan runs: vulkan.py DIR OUT [PART...]

suite    tests/vulkan/suite.c: every case, natively and with the layer, with no scheduler, with a policy in the process, with
         xserver, at level 2, at level 3, and at level 3 beside a more urgent program; the program checks the results
cost     a submission that has nothing to do: ns in the program's thread
rate     a program by itself that submits 1 ms or 0.1 ms of work without an end, eight in flight: how many a second
alone    a program of 1 ms submissions by itself
beside   the same beside a program that submits 1 ms of work without an end, one or eight in flight, at levels 1, 2 and 3
pairs    alone and beside once more with fewer requests, natively and as `xsched run` starts programs, at auto, 1, 2 and 3, at
         most three turns, the last begun before 27 seconds are over: under a minute
mixed    a Vulkan program and a CUDA program (tests/gpu/client.c), each as the urgent one once, at levels auto, 1, 2 and 3
llama    llama.cpp's server by itself and beside a training (vulkan_llama.py), where DIR/vulkan has it
level3   the channel groups of a Vulkan program, with no scheduler (vulkan_level3.py); it switches channels off, so ask for it
Each natively and under XSched by turns. A row for each: what, how, P50 and P99 of the urgent side in us, what the background
completed in a second, and the longest call of a submission there.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import vulkan_level3
import vulkan_llama

DIR, OUT = sys.argv[1], sys.argv[2]
PARTS = sys.argv[3:] or ["suite", "cost", "rate", "alone", "beside", "mixed", "llama"]
US, COUNT, GAP_S, TURNS = 1000, 300, 0.01, 3
PAIRS_S, PAIRS_COUNT = 27, 100
NAME = "VK_LAYER_XSCHED_schedule"
CUDA = os.path.join(DIR, "vulkan", "gpu_client")
SHIM = os.path.join(DIR, "lib", "xsched", "libshimcuda.so")
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

    def env(self, priority, level="auto"):
        return layered(XSCHED_SOCKET=self.socket, XSCHED_SCHEDULER="GLB", XSCHED_PRIORITY=str(priority),
                       XSCHED_AUTO_XQUEUE_LEVEL=str(level))

    def cuda_env(self, priority, level="auto"):
        return {**self.env(priority, level), "LD_PRELOAD": SHIM}


class Program:
    """vulkan_two_programs, which is ready when this is made."""

    def __init__(self, env, *arguments):
        with open(os.path.join(OUT, "programs.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([TWO, *map(str, arguments)], env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        if self.line() != ["ready"]:
            raise RuntimeError("it is not ready")
        self.done = self.longest = 0

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
            for text in self.process.stdout:
                self.done += 1
                self.longest = max(self.longest, int((text.split() + ["0"])[1]))
        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError("a program failed")


class Cuda:
    """tests/gpu/client.c, which is ready when this is made."""
    per_ms = None

    def __init__(self, env, *arguments):
        if Cuda.per_ms is None:
            text = subprocess.run([CUDA, "calibrate"], env=native(), stdout=subprocess.PIPE, check=True).stdout
            Cuda.per_ms = json.loads(text)["rounds_per_ms"]
        self.process = subprocess.Popen([CUDA, *map(str, arguments), str(Cuda.per_ms)], env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        for text in self.process.stderr:
            if text.startswith("ready"):
                return
        raise RuntimeError(f"the CUDA program ended with {self.process.wait()}")

    def answer(self):
        text = self.process.communicate(timeout=120)[0]
        got = json.loads(text)
        if self.process.returncode or got["wrong"]:
            raise RuntimeError("the CUDA program failed")
        return got

    def stop(self):
        self.process.terminate()
        return self.answer()


def urgent(program, count=COUNT):
    took = []
    for _ in range(count):
        program.go()
        begin, end = map(int, program.line())
        took.append(end - begin)
        time.sleep(GAP_S)
    took.sort()
    return took[count // 2], took[count * 99 // 100]


def measure(what, how, urgent_env, background_env=None, ahead=1, count=COUNT):
    up = Program(urgent_env, "bursts", US, 1, count)
    down = Program(background_env, *(("pipe", US, ahead) if ahead > 1 else ("loop", US))) if background_env else None
    if down:
        down.go()
        down.count()
    before, since = (down.done if down else 0), time.monotonic()
    p50, p99 = urgent(up, count)
    rate = (down.done - before) / (time.monotonic() - since) if down else None
    up.end()
    if down:
        down.end()
    row(what=what, how=how, ahead=ahead, p50_us=p50, p99_us=p99, background_per_s=rate and round(rate, 1),
        longest_submit_us=down.longest if down else None)


def pairs():
    since, turn = time.monotonic(), 0
    while turn < TURNS and time.monotonic() - since < PAIRS_S:
        with Server() as server:
            measure("alone", "native", native(), count=PAIRS_COUNT)
            measure("alone", "xsched auto", server.cuda_env(10), count=PAIRS_COUNT)
            for ahead in (1, 8):
                measure("beside", "native", native(), native(), ahead, PAIRS_COUNT)
                for level in ("auto", 1, 2, 3):
                    measure("beside", f"xsched {level}", server.cuda_env(10, level), server.cuda_env(-10, level), ahead, PAIRS_COUNT)
        turn += 1


def cost(how, env):
    p = Program(env, "cost", 20000)
    p.go()
    median, mean = map(int, p.line())
    p.end()
    row(what="cost", how=how, median_ns=median, mean_ns=mean)


def rate(how, env, us):
    p = Program(env, "pipe", us, 8)
    p.go()
    p.count()
    time.sleep(0.5)
    before, since = p.done, time.monotonic()
    time.sleep(3)
    row(what="rate", how=how, us=us, per_s=round((p.done - before) / (time.monotonic() - since), 1))
    p.end()


def vulkan_before_cuda(how, vulkan_env, cuda_env):
    down = Cuda(cuda_env, "low", 5, 60)
    up = Program(vulkan_env, "bursts", US, 1, COUNT)
    p50, p99 = urgent(up)
    up.end()
    got = down.stop()
    row(what="vulkan before cuda", how=how, p50_us=p50, p99_us=p99, background_per_s=round(got["kernels"] / got["seconds"], 1))


def cuda_before_vulkan(how, vulkan_env, cuda_env):
    down = Program(vulkan_env, "pipe", US, 8) if vulkan_env else None
    if down:
        down.go()
        down.count()
    before, since = (down.done if down else 0), time.monotonic()
    got = Cuda(cuda_env, "high", COUNT).answer()
    per_s = (down.done - before) / (time.monotonic() - since) if down else None
    if down:
        down.end()
    row(what="cuda before vulkan" if down else "cuda alone", how=how, p50_us=got["p50"], p99_us=got["p99"],
        background_per_s=per_s and round(per_s, 1), longest_submit_us=down.longest if down else None)


@contextlib.contextmanager
def requests(env):
    """A program with a submission of 1 ms now and then."""
    up, stop = Program(env, "bursts", US, 1, 10 ** 6), threading.Event()

    def work():
        while not stop.is_set():
            up.go()
            up.line()
            time.sleep(GAP_S / 5)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        up.process.kill()
        up.process.communicate()


def suite():
    bad, cases = 0, subprocess.run([SUITE, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    with Server() as server:
        for how, env, beside in (
                ("native", native(), None), ("app", layered(XSCHED_SCHEDULER="APP"), None),
                ("local", layered(XSCHED_POLICY="HPF", XSCHED_SCHEDULER="LCL"), None), ("xserver", server.env(3), None),
                ("level 2", server.env(3, 2), None), ("level 3", server.cuda_env(3, 3), None),
                ("level 3 beside", server.cuda_env(-10, 3), server.cuda_env(10, 3))):
            failed = []
            with open(os.path.join(OUT, f"suite_{how.replace(' ', '')}.log"), "w", encoding="utf-8") as log, \
                    requests(beside) if beside else contextlib.nullcontext():
                for case in cases:     # each in its own process: NVIDIA's driver refuses a tenth instance in one
                    if subprocess.run([SUITE, case], env=env, stdout=log, stderr=log, timeout=60, check=False).returncode:
                        failed.append(case)
            row(what="suite", how=how, cases=len(cases), failed=failed)
            bad += len(failed)
    return bad


def main():
    bad = suite() if "suite" in PARTS else 0
    for turn in range(TURNS if set(PARTS) & {"cost", "rate", "alone", "beside", "mixed"} else 0):
        with Server() as server:
            up, down = server.env(10), server.env(-10)
            if "cost" in PARTS:
                cost("native", native())
                cost("xsched", server.env(0))
            for us in (1000, 100) if "rate" in PARTS else ():
                rate("native", native(), us)
                rate("xsched", server.env(0), us)
            if "alone" in PARTS:
                measure("alone", "native", native())
                measure("alone", "xsched", up)
            for ahead in (1, 8) if "beside" in PARTS else ():
                measure("beside", "native", native(), native(), ahead)
                measure("beside", "xsched", up, down, ahead)
                measure("beside", "xsched level 2", server.env(10, 2), server.env(-10, 2), ahead)
                measure("beside", "xsched level 3", server.cuda_env(10, 3), server.cuda_env(-10, 3), ahead)
            if "mixed" in PARTS and turn == 0:
                cuda_before_vulkan("native", None, native())
                vulkan_before_cuda("native", native(), native())
                cuda_before_vulkan("native", native(), native())
                for level in ("auto", 1, 2, 3):
                    vulkan_before_cuda(f"xsched {level}", server.cuda_env(10, level), server.cuda_env(-10, level))
                    cuda_before_vulkan(f"xsched {level}", server.cuda_env(-10, level), server.cuda_env(10, level))
    if "pairs" in PARTS:
        pairs()
    if "level3" in PARTS:
        bad += vulkan_level3.run(sys.modules[__name__])
    folder = vulkan_llama.prepare(sys.modules[__name__]) if "llama" in PARTS else None
    if folder:
        bad += vulkan_llama.run(sys.modules[__name__], folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
