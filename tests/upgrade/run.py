#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xserver is replaced under load by older and newer ones: run.py --build BUILD [--rounds 6]

Programs of random CUDA calls on the fake driver come one after the other, two with the present library and two with one
that knows the first protocol minor only; the more important hold the others. Meanwhile xserver ends, by a request and by
SIGKILL in turn, and the other build takes its place, `rounds` times. Each program ends by itself with the results of a
run without XSched, none is refused anything, and each kind of program joined each kind of server.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

SEEDS, STEPS, LIMIT_S = 8, 100, 120
# what a program may say: a wait of a second for what nobody sees; that xserver went away
ALLOWED = re.compile("urgent queues completed nothing|xserver does not answer")


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}


class Load:
    """One program after the other, until told to stop."""

    def __init__(self, build, socket, kind, number):
        self.kind, self.number, self.programs, self.calls, self.losses = kind, number, 0, 0, []
        driver = os.path.join(build, "tests/fakes/cuda/driver")
        preload = os.path.join(build, "lib/xsched/libshimcuda.so")
        if kind == "old":
            preload = os.path.join(build, "tests/upgrade/old/libpreempt_old.so") + " " + preload
        self.command = [os.path.join(build, "tests/sequences/seq_cuda"), os.path.join(driver, "fakecuda.so")]
        self.plain = dict(clean(), LD_LIBRARY_PATH=driver)
        self.env = dict(self.plain, LD_PRELOAD=preload, XSCHED_SOCKET=socket, XSCHED_PRIORITY=str(number))
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def run(self, first, env):
        r = subprocess.run([*self.command, str(first), str(SEEDS), str(STEPS)], env=env, timeout=LIMIT_S, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = [line for line in r.stderr.splitlines() if "XSCHED" in line and not ALLOWED.search(line)]
        return r.returncode, r.stdout.splitlines(), said

    def work(self):
        while not self.stop.is_set():
            first = 1 + self.number * 1000000 + self.programs * SEEDS
            self.programs += 1
            try:
                want, got = self.run(first, self.plain), self.run(first, self.env)
            except subprocess.TimeoutExpired:
                self.losses.append(f"{self.kind} program, seeds from {first}: hangs")
                continue
            if got != want or want[0] != 0:
                lines = [f"{a} -> {b}" for a, b in zip(want[1], got[1]) if a != b]
                self.losses.append(f"{self.kind} program, seeds from {first}: exit code {got[0]}, {got[2]} {lines[:3]}")
            self.calls += sum(int(line.split()[1]) for line in got[1] if line.startswith("steps"))


def which(socket):
    """Tells one socket of this name from the next; the number of its inode alone is soon used again."""
    try:
        found = os.stat(socket)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def server(build, kind, socket, log):
    path = "bin/xserver" if kind == "new" else "tests/integration/integration_xserver_0"
    before = which(socket)
    p = subprocess.Popen([os.path.join(build, path), "--socket", socket, "--no-http", "HPF"],
                         env=dict(clean(), XLOG_LEVEL="INFO"), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    until = time.monotonic() + 20
    while time.monotonic() < until and p.poll() is None:
        if which(socket) not in (None, before):
            break
        time.sleep(0.01)
    return p


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    build, joined, losses, begin = os.path.abspath(args.build), {}, [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="xsched-upgrade-") as folder:
        socket = os.path.join(folder, "s")
        loads = [Load(build, socket, kind, i) for i, kind in enumerate(("old", "new", "old", "new"))]
        for i in range(args.rounds):
            kind, path = ("old", "new")[i % 2], os.path.join(folder, "log")
            with open(path, "w", encoding="utf-8") as log:
                p = server(build, kind, socket, log)
                for load in loads if i == 0 else []:
                    load.thread.start()
                until = time.monotonic() + 15
                while time.monotonic() < until:     # both kinds of programs have joined, and then some time passes
                    with open(path, encoding="utf-8") as f:
                        minors = re.findall(r"joined, protocol 1\.(\d+)", f.read())
                    if "0" in minors and len(set(minors)) > 1:
                        break
                    time.sleep(0.1)
                time.sleep(1)
                if p.poll() is not None:
                    losses.append(f"the {kind} xserver ended with {p.returncode}")
                elif i + 1 < args.rounds:
                    p.kill() if i % 4 > 1 else p.terminate()
                    p.wait(30)
                else:
                    last = p
            with open(path, encoding="utf-8") as f:
                for minor in re.findall(r"joined, protocol 1\.(\d+)", f.read()):
                    key = (kind, "old" if minor == "0" else "new")
                    joined[key] = joined.get(key, 0) + 1
        for load in loads:
            load.stop.set()
        for load in loads:
            load.thread.join()
            losses += load.losses
        if last.poll() is None:
            last.terminate()
            last.wait(30)
    for key in ((a, b) for a in ("old", "new") for b in ("old", "new")):
        if not joined.get(key):
            losses.append(f"no {key[1]} program joined an {key[0]} xserver")
    print("\n".join(losses[:20]))
    print("joined:", ", ".join(f"{b} program at {a} xserver {n}" for (a, b), n in sorted(joined.items())))
    print(f"upgrade: {args.rounds - 1} replacements, {sum(l.programs for l in loads)} programs, "
          f"{sum(l.calls for l in loads)} API calls, {len(losses)} losses, {time.monotonic() - begin:.0f} s")
    return 1 if losses else 0


sys.exit(main())
