# SPDX-License-Identifier: Apache-2.0
"""For swap_models.py and swap.py: an xserver of its own, programs with much device memory that answer lines, and rows of results."""
import glob
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PATIENCE_S = 40
HERE = os.path.dirname(os.path.abspath(__file__))


def model(kind, gib):
    """A line in, a line of JSON out. serve: one vector through all weights. train: the weights change as well. small: many
    commands that compute little."""
    import torch
    torch.manual_seed(7)
    n = 16384
    weights = [torch.empty(2 * n, n, device="cuda", dtype=torch.float16).normal_(0, 0.01) for _ in range(int(gib))]
    first = torch.randn(64, n, device="cuda", dtype=torch.float16)
    x = first
    print(json.dumps({"ready": True, "bytes": torch.cuda.memory_allocated()}), flush=True)
    for _ in sys.stdin:
        for _ in range(2000 if kind == "small" else 0):
            first = first + 0
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


def clean():
    """The environment without what would tell a program of XSched."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "SWAPPER_"))}


class Lines:
    """A program that answers lines with lines of JSON."""
    patience_s = 120

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        readable, _, _ = select.select([self.process.stdout], [], [], self.patience_s)
        if not readable:
            raise RuntimeError(f"{self.process.args} says nothing for {self.patience_s} s")
        text = self.process.stdout.readline()
        if not text:
            raise RuntimeError(f"{self.process.args} ended: {self.process.wait()}")
        return json.loads(text)

    def tell(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def end(self):
        """@return its status"""
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(120)


class Program(Lines):
    patience_s = PATIENCE_S

    def __init__(self, stage, command, priority=None, options=("--swap",)):
        """@param priority  None: without XSched; options  of `xsched run`"""
        self.begin = time.monotonic()
        if priority is not None:
            command = [stage.xsched, "run", *options, "--priority", str(priority), "--", *command]
        super().__init__(command, stage.environment)
        stage.programs.append(self)
        self.answer()
        self.start_s = time.monotonic() - self.begin

    def ask(self, what="step"):
        """@return (seconds, what it computed)"""
        begin = time.monotonic()
        self.tell(what)
        answer = self.answer()
        return time.monotonic() - begin, answer.get("digest", answer.get("steps"))


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

    def __init__(self, args, room_gib):
        """@param room_gib  of the card, for programs that move"""
        build = args.build
        self.room_gib = room_gib
        self.folder = tempfile.TemporaryDirectory()
        self.programs = []
        socket = os.path.join(self.folder.name, "xserver.sock")
        libs = [os.path.join(build, d) for d in ("lib", "server-lib") if os.path.isdir(os.path.join(build, d))]
        self.xsched, self.xcli = (os.path.join(build, "bin", n) for n in ("xsched", "xcli"))
        self.environment = {**clean(), "XSCHED_SOCKET": socket, "XSCHED_LIB": os.path.join(build, "lib"), "XLOG_LEVEL": args.log}
        self.tools = {**self.environment, "LD_LIBRARY_PATH": ":".join(libs)}
        if args.driver:
            self.environment.update(LD_LIBRARY_PATH=args.driver, FAKE_CUDA_SHARED=os.path.join(self.folder.name, "card"),
                                    FAKE_CUDA_MEMORY=str(int(room_gib * 1024)))
        self.log = os.path.join(self.folder.name, "log")
        self.command = [os.path.join(build, "bin/xserver"), "--socket", socket, "--port", "0"]
        self.start()

    def start(self):
        """Also after its death."""
        http = os.path.join(self.folder.name, "http.sock")
        if os.path.exists(http):
            os.unlink(http)
        with open(self.log, "a", encoding="utf-8") as log:
            self.server = subprocess.Popen(self.command, stderr=log, env={k: v for k, v in self.tools.items() if k != "XSCHED_SOCKET"})
        end = time.monotonic() + PATIENCE_S
        while not os.path.exists(http):
            if time.monotonic() > end or self.server.poll() is not None:
                with open(self.log, encoding="utf-8") as log:
                    raise RuntimeError(f"xserver does not answer HTTP: {log.read()}")
            time.sleep(0.01)
        self.port = json.loads(self.ask_xcli("--json", "status"))["http_port"]

    def ask_xcli(self, *arguments):
        return subprocess.run([self.xcli, *arguments], env=self.tools, text=True, capture_output=True, check=True, timeout=60).stdout

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
    def __init__(self, out, name):
        os.makedirs(out, exist_ok=True)
        self.file, self.wrong = open(os.path.join(out, name), "a", encoding="ascii"), []

    def add(self, part, **row):
        print(part, json.dumps(row), flush=True)
        self.file.write(json.dumps({"part": part, **row}) + "\n")
        self.file.flush()

    def must(self, what, is_so):
        if not is_so:
            self.wrong.append(what)
            print("WRONG:", what, flush=True)


def command(args, kind, gib):
    """What model() and ballast() are in a process of their own; on a fake: swap_client."""
    if args.driver:
        return swap_client(args, gib)
    return [sys.executable, os.path.join(HERE, "swap_models.py"), "--program", kind, str(gib)]


def swap_client(args, gib):
    return [os.path.join(args.build, "tests/gpu/swap_client"), str(int(gib * 1024))]
