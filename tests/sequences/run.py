#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random legal programs, compared with themselves without XSched:
run.py PROGRAM SHIM FOLDER_OF_THE_FAKE XSERVER SEEDS STEPS [FIRST_SEED [MODE,...]]

With a library's name instead of the folder, programs run on a GPU. seq_gpu is for that, and runs on the fake as well: it need not call
every row, and its kernels must have been confined where lanes are used. MODE: app, local, lanes, xserver or gathers; all of them where none is
named. swap and swap2 (at level 2), for seq_gpu: its memory moves out and in all the time, by the library that SEQ_SWAPPER names. Seeds go in batches. Each runs plainly and in one mode: XQueues that nobody schedules; a policy in the process, where kernels stay
or change between lanes and the whole device all the time; and, two batches at a time, under an xserver where one program is held for the other. The digests of each seed must be
equal (results, order on each stream, memory), and nothing may be said in the log but that something stalled. The last lines count the API calls
and the rows of the table that were called.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

BATCH = 50
STALL = "urgent queues completed nothing"   # a second's wait for what nobody sees: allowed, and counted
TIMEOUT = 600            # of a batch; on a GPU a quarter
APP = {"XSCHED_AUTO_XQUEUE": "ON"}
LOCAL = {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}
SWAP = dict(LOCAL, XSCHED_SWAP="ON", SEQ_LARGE="1", SWAPPER_US="3000", FAKE_CUDA_WIDE="1")
LANES = dict(LOCAL, XSCHED_TUNE="lanes=2", SEQ_LANES="1")


def loads(shim, turn):
    """The variables that bring the shim in. Level Zero has two ways, which also go together."""
    if not shim.endswith("libshimlevelzero.so"):
        return {"LD_PRELOAD": shim}
    driver = {"ZE_ENABLE_ALT_DRIVERS": os.path.join(os.path.dirname(shim), "libxsched-ze_intel_gpu.so"),
              "ZE_ENABLE_LOADER_DRIVER_DDI_PATH": "0"}
    return [driver, {"LD_PRELOAD": shim}, dict(driver, LD_PRELOAD=shim)][turn % 3]


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}


class Runner:
    def __init__(self, program, shim, fake, steps):
        self.program, self.shim, self.fake, self.steps = program, shim, fake, steps
        # not by the vendor's name, where there is another one: the shim may answer to that
        self.gpu, self.every_row = not os.path.isdir(fake), os.path.basename(program) != "seq_gpu"
        self.real = fake if self.gpu else sorted(glob.glob(os.path.join(fake, "fake*.so")) + glob.glob(os.path.join(fake, "lib*.so.[0-9]")))[0]
        self.calls, self.seeds, self.stalls, self.bad, self.uncalled, self.rows, self.confined, self.swapped = 0, 0, 0, [], None, 0, 0, 0
        self.lock = threading.Lock()

    def run(self, first, count, extra=None):
        env = clean()
        if not self.gpu:
            env["LD_LIBRARY_PATH"] = ":".join(filter(None, (os.environ.get("LEVELZERO_LOADER"), self.fake)))
        if extra is not None:
            env.update(extra, **loads(self.shim, first // BATCH))
            if "SWAPPER_US" in extra:
                env["LD_PRELOAD"] += ":" + os.environ["SEQ_SWAPPER"]
        try:
            r = subprocess.run([self.program, self.real, str(first), str(count), str(self.steps)], env=env, timeout=TIMEOUT / (4 if self.gpu else 1),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired:
            return None, "hangs"
        confined = [int(line.split()[1]) for line in r.stderr.splitlines() if re.fullmatch(r"confined \d+", line)]
        swapped = [int(line.split()[1]) for line in r.stderr.splitlines() if re.fullmatch(r"swapped \d+", line)]
        said = [line for line in r.stderr.splitlines() if "XSCHED" in line]
        with self.lock:
            self.confined += max(confined, default=0) if extra is LANES else 0
            self.swapped += max(swapped, default=0)
            self.stalls += sum(STALL in line for line in said)
        if r.returncode != 0 or any(STALL not in line for line in said):
            return None, f"exit code {r.returncode}: {r.stdout.splitlines()[-1:]} {r.stderr.splitlines()[-3:]}"
        return r.stdout.splitlines(), ""

    def batch(self, first, count, mode, extra):
        want, why = self.run(first, count)
        got, why_not = self.run(first, count, extra) if want else (None, "without XSched: " + why)
        with self.lock:
            if got is None:
                self.bad.append(f"seeds {first} to {first + count - 1}, {mode}: {why_not}")
                return
            for a, b in zip(want, got):
                if a != b:
                    self.bad.append(f"{mode}: without {a}, with {b}")
            if len(want) != len(got):
                self.bad.append(f"{mode}: {len(want)} lines without, {len(got)} with")
            self.seeds += count
            for line in got:
                if m := re.match(r"steps (\d+)", line):
                    self.calls += int(m[1])
                elif m := re.match(r"rows \d+ of (\d+)", line):
                    self.rows = int(m[1])
            uncalled = {line[12:] for line in got if line.startswith("not called: ")}
            self.uncalled = uncalled if self.uncalled is None else self.uncalled & uncalled


def under_xserver(runner, pairs, xserver, gathers):
    """Two at a time: the one with the higher priority holds the other. gathers: its commands gather meanwhile, at level 2."""
    options, env = (["--tune=gather=3"], {"XSCHED_AUTO_XQUEUE_LEVEL": "2"}) if gathers else ([], {})
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "xs.sock")
        daemon = subprocess.Popen([xserver, "--no-http", "--socket", socket, *options, "HPF"], env=clean(),
                                  stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(socket) and daemon.poll() is None:
                time.sleep(0.05)
            for pair in pairs:
                with ThreadPoolExecutor(2) as two:
                    for i, (first, count) in enumerate(pair):
                        two.submit(runner.batch, first, count, f"xserver, priority {i}{', gathers' if gathers else ''}",
                                   {"XSCHED_SOCKET": socket, "XSCHED_PRIORITY": str(i), **env})
        finally:
            daemon.terminate()
            daemon.wait()


EXTRA = {"app": APP, "local": LOCAL, "lanes": LANES, "swap": SWAP, "swap2": dict(SWAP, XSCHED_AUTO_XQUEUE_LEVEL="2", XSCHED_TUNE="gate-us=0")}
SERVED = ("xserver", "gathers")
TURNS = ["local", "app", "xserver", "xserver", "lanes", "gathers", "gathers", "app"]


def main(program, shim, fake, xserver, seeds, steps, first="1", modes=None):
    if not os.path.isfile(shim):                    # the loader would go on without it
        print(f"run.py: no {shim}")
        return 2
    runner = Runner(program, shim, fake, int(steps))
    begin, first, seeds = time.monotonic(), int(first), int(seeds)
    turns = modes.split(",") if modes else TURNS
    batches = [(i, min(BATCH, first + seeds - i)) for i in range(first, first + seeds, BATCH)]
    batches = [(turns[i % len(turns)], b) for i, b in enumerate(batches)]
    with ThreadPoolExecutor(12 if runner.gpu else 4 * os.cpu_count()) as pool:     # a stall is a second's sleep
        for mode, (start, count) in batches:
            if mode not in SERVED:
                pool.submit(runner.batch, start, count, mode, EXTRA[mode])
    for served in SERVED:
        held = [b for mode, b in batches if mode == served]
        if held:
            under_xserver(runner, [held[i:i + 2] for i in range(0, len(held), 2)], xserver, served == "gathers")
    for line in runner.bad[:20]:
        print(line)
    uncalled = runner.uncalled or set()
    print(f"{runner.seeds} seeded programs, {runner.calls} API calls, {len(runner.bad)} differences, "
          f"{runner.stalls} batches with a stall, {runner.rows - len(uncalled)} of {runner.rows} rows called, {time.monotonic() - begin:.0f} s")
    if runner.confined:
        print(f"{runner.confined} kernels ran on lanes")
    if runner.swapped:
        print(f"memory went out and in {runner.swapped} times")
    if any(turn.startswith("swap") for turn in turns) and not runner.swapped:
        print("no memory moved")
        return 1
    unconfined = "lanes" in turns and not runner.confined
    if uncalled and runner.every_row:
        print("rows not called:", " ".join(sorted(uncalled)))
    return 1 if runner.bad or runner.seeds != seeds or (uncalled if runner.every_row else unconfined) else 0


sys.exit(main(*sys.argv[1:]))
