#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that do not fit on one card together, under xserver: swap_models.py BUILD OUT [--part pair,turns] [--gib GIB]

BUILD is a build folder, or what pack_swap made of one. OUT gets models.jsonl. A program without XSched takes as much of the card
as makes the models too large for the rest. Parts:
  pair   a model that serves (priority 10), with pauses of --pause seconds, beside one that trains (priority 0); each has
         --gib GiB (default 40), the card has 1 / 0.6 of that. The first request after a pause, the others, steps of the training;
         beside each alone
  turns  four models of --gib / 2 GiB, of which two fit, take requests by turns: how long each switch takes, beside a new
         start of such a program
What each computes is compared with runs alone. Exit status 1 when anything differs; 77 without PyTorch."""
import argparse
import glob
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SERVE, TRAIN = 10, 0
AT_ONCE = 5           # requests between two pauses
PATIENCE_S = 40


def model(kind, gib):
    """A line in, a line of JSON out. serve: one vector through all weights. train: the weights change as well."""
    import torch
    torch.manual_seed(7)
    n = 16384
    weights = [torch.empty(2 * n, n, device="cuda", dtype=torch.float16).normal_(0, 0.01) for _ in range(int(gib))]
    first = torch.randn(64, n, device="cuda", dtype=torch.float16)
    x = first
    print(json.dumps({"ready": True, "bytes": torch.cuda.memory_allocated()}), flush=True)
    for _ in sys.stdin:
        for w in weights:
            x = torch.tanh(x @ w[:n]) + torch.tanh(x @ w[n:])
            if kind == "train":
                w.mul_(0.999)
        print(json.dumps({"digest": float(x.double().sum()).hex()}), flush=True)
        x = x * 0.5 + first


def ballast(gib_left):
    import torch
    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(max(0, free - int(gib_left * 2**30)), device="cuda", dtype=torch.uint8)
    print(json.dumps({"ready": True, "bytes": held.numel()}), flush=True)
    sys.stdin.read()


class Program:
    def __init__(self, stage, command, priority=None):
        self.begin = time.monotonic()
        stage.programs.append(self)
        if priority is not None:
            command = [stage.xsched, "run", "--swap", "--priority", str(priority), "--", *command]
        self.process = subprocess.Popen(command, env=stage.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()
        self.start_s = time.monotonic() - self.begin

    def answer(self):
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        if not readable:
            raise RuntimeError(f"{self.process.args} says nothing for {PATIENCE_S} s")
        text = self.process.stdout.readline()
        if not text:
            raise RuntimeError(f"{self.process.args} ended: {self.process.wait()}")
        return json.loads(text)

    def ask(self):
        """@return (seconds, what it computed)"""
        begin = time.monotonic()
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        answer = self.answer()
        return time.monotonic() - begin, answer.get("digest", answer.get("steps"))

    def end(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()


class Trainer(threading.Thread):
    """Asks for one step after the other; when each ended, and what it computed."""

    def __init__(self, program):
        super().__init__()
        self.program, self.ends, self.digests, self.stop = program, [], [], False
        self.start()

    def run(self):
        while not self.stop:
            self.digests.append(self.program.ask()[1])
            self.ends.append(time.monotonic())

    def rate(self, begin, end):
        return sum(begin < t <= end for t in self.ends) / (end - begin)

    def end(self):
        self.stop = True
        self.join()


class Stage:
    """xserver of our own, and what the programs need to find it."""

    def __init__(self, build, args):
        self.folder = tempfile.TemporaryDirectory()
        self.programs = []
        socket = os.path.join(self.folder.name, "xserver.sock")
        libs = [os.path.join(build, d) for d in ("lib", "server-lib") if os.path.isdir(os.path.join(build, d))]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        self.xsched = os.path.join(build, "bin/xsched")
        self.environment = {**clean, "XSCHED_SOCKET": socket, "XSCHED_LIB": os.path.join(build, "lib"), "XLOG_LEVEL": args.log}
        self.tools = {**self.environment, "LD_LIBRARY_PATH": ":".join(libs)}
        if args.driver:
            self.environment.update(LD_LIBRARY_PATH=args.driver, FAKE_CUDA_SHARED=os.path.join(self.folder.name, "card"),
                                    FAKE_CUDA_MEMORY=str(int(args.gib * 1024 / 0.6)))
        self.log = os.path.join(self.folder.name, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.server = subprocess.Popen([os.path.join(build, "bin/xserver"), "--socket", socket, "--port", "0"],
                                           stderr=log, env={k: v for k, v in self.tools.items() if k != "XSCHED_SOCKET"})
        while not os.path.exists(socket):
            time.sleep(0.01)
        status = subprocess.run([os.path.join(build, "bin/xcli"), "--json", "status"], env=self.tools, text=True, capture_output=True, check=True)
        self.port = json.loads(status.stdout)["http_port"]

    def moves(self, program):
        """What xserver counted of its moves."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/clients", timeout=60) as said:
            found = [c for c in json.load(said)["clients"] if c["pid"] == program.process.pid]
        return found[0].get("swap", {}) if found else {}

    def explain(self):
        """What xserver thinks and logged, and what the threads of the programs do."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/clients", timeout=60) as said:
            print(said.read().decode())
        with open(self.log, encoding="utf-8") as log:
            print("".join(log.readlines()[-60:]))
        for p in self.programs:
            for task in glob.glob(f"/proc/{p.process.pid}/task/*"):
                words = []
                for name in ("comm", "wchan", "syscall"):
                    try:
                        with open(os.path.join(task, name), encoding="ascii") as f:
                            words.append(f.read().strip())
                    except OSError as e:
                        words.append(str(e.errno))
                print(p.process.pid, *words)

    def end(self):
        for p in self.programs:
            p.process.kill()
        self.server.terminate()
        self.server.wait(60)
        self.folder.cleanup()


class Rows:
    def __init__(self, out):
        os.makedirs(out, exist_ok=True)
        self.file, self.wrong = open(os.path.join(out, "models.jsonl"), "a", encoding="ascii"), []

    def add(self, part, **row):
        print(part, json.dumps(row), flush=True)
        self.file.write(json.dumps({"part": part, **row}) + "\n")
        self.file.flush()

    def must(self, what, is_so):
        if not is_so:
            self.wrong.append(what)
            print("WRONG:", what, flush=True)


def command(args, kind, gib):
    if args.driver:
        return [os.path.join(args.build, "tests/gpu/swap_client"), str(int(gib * 1024))]
    return [sys.executable, os.path.abspath(__file__), "--program", kind, str(gib)]


def card_with(stage, args, gib):
    return None if args.driver else Program(stage, command(args, "ballast", gib))


def pair(stage, rows, args):
    rest = card_with(stage, args, args.gib / 0.6)
    low = Program(stage, command(args, "train", args.gib), TRAIN)
    trainer = Trainer(low)
    time.sleep(2)
    begin = time.monotonic()
    time.sleep(args.pause / 2)
    alone = trainer.rate(begin, time.monotonic())
    high = Program(stage, command(args, "serve", args.gib), SERVE)      # its allocation moves the training out
    digests = [high.ask()[1]]
    alone_s = [high.ask() for _ in range(20)]                            # the training has no room
    digests += [d for _, d in alone_s]
    alone_s = [s for s, _ in alone_s]
    rows.add("pair", gib=args.gib, serve_start_s=high.start_s, train_start_s=low.start_s, alone_s=alone_s, train_alone_per_s=alone)
    for n in range(args.pauses):
        before = time.monotonic()
        steps_before = len(trainer.ends)
        time.sleep(args.pause)
        trained, moved, had = time.monotonic(), stage.moves(low), stage.moves(high)
        answers = [high.ask() for _ in range(AT_ONCE)]
        digests += [d for _, d in answers]
        rows.add("pair", pause=n, first_s=answers[0][0], later_s=[s for s, _ in answers[1:]],
                 steps=len(trainer.ends) - steps_before, idle_s=trained - before, back_s=min([t for t in trainer.ends if t > before],
                 default=trained) - before, train_moves=moved, serve_moves=had, train_after=stage.moves(low), serve_after=stage.moves(high))
    high.end()
    trainer.end()
    low.end()
    compare(stage, rows, args, "serve", digests)
    compare(stage, rows, args, "train", trainer.digests)
    if rest:
        rest.end()


def compare(stage, rows, args, kind, digests, gib=None, most=60):
    """With a run without XSched."""
    p = Program(stage, command(args, kind, gib or args.gib))
    want = [p.ask() for _ in range(min(most, len(digests)))]
    p.end()
    rows.add("native", kind=kind, start_s=p.start_s, seconds=statistics.median(s for s, _ in want))
    rows.must(f"{kind}: {digests[:most]} instead of {want}", [d for _, d in want] == digests[:most])


def turns(stage, rows, args):
    gib = args.gib / 2
    rest = card_with(stage, args, gib / 0.4)
    models = [Program(stage, command(args, "serve", gib), SERVE) for _ in range(4)]
    digests = [[] for _ in models]
    for n in range(args.pauses * 4):
        m = models[n % 4]
        first, again = m.ask(), m.ask()
        digests[n % 4] += [first[1], again[1]]
        rows.add("turns", gib=gib, turn=n, first_s=first[0], again_s=again[0], moves=stage.moves(m))
    rows.must(f"four models, four answers: {digests}", all(d == digests[0] for d in digests))
    for m in models:
        m.end()
    compare(stage, rows, args, "serve", digests[0], gib)
    if rest:
        rest.end()


def main():
    if sys.argv[1:2] == ["--program"]:
        return ballast(float(sys.argv[3])) if sys.argv[2] == "ballast" else model(sys.argv[2], float(sys.argv[3]))
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("build")
    a.add_argument("out")
    a.add_argument("--part", default="pair,turns")
    a.add_argument("--gib", type=float, default=40)
    a.add_argument("--pause", type=float, default=10)
    a.add_argument("--pauses", type=int, default=4)
    a.add_argument("--log", default="WARN", help="XLOG_LEVEL of xserver and the programs")
    a.add_argument("--driver", help=argparse.SUPPRESS)   # a fake's folder
    args = a.parse_args()
    args.build = os.path.abspath(args.build)
    if not args.driver:
        try:
            import torch
            if not torch.cuda.is_available():
                return 77
        except ImportError:
            return 77
    rows = Rows(args.out)
    for part in args.part.split(","):
        stage = Stage(args.build, args)
        try:
            {"pair": pair, "turns": turns}[part](stage, rows, args)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            rows.must(f"{part}: {e}", False)
            stage.explain()
        finally:
            stage.end()
    print(f"{len(rows.wrong)} wrong")
    return 1 if rows.wrong else 0


sys.exit(main())
