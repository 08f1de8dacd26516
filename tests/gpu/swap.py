#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_SWAP on a GPU: swap.py BUILD OUT [--mib MIB] [--part PART,...] [--cycles N]

Moves the memory of programs out and in from outside, compares what they compute with runs without, and measures the copies
beside plain copies of pinned memory in the same run. BUILD is a build folder, or what
pack_swap made of one. OUT gets swap.jsonl.
Parts:
  client   a C program with --mib (default 16384) in blocks as frameworks have them; each word is checked after each move
  calls    allocations and small commands of that program without XSched, with the shim, and with XSCHED_SWAP
  torch    PyTorch unmodified: a model, allocations that come and go, a captured graph; digests of each step
  random   random programs (tests/sequences) at levels 1 and 2, moved all the time; --seeds of them (default 100)
Exit status 1 when anything is not as it should be; 77 for the part torch alone without PyTorch."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading

from swap_stage import Lines, Rows, clean

HERE = os.path.dirname(os.path.abspath(__file__))


class Program(Lines):
    """One alone, under the shim, or with memory that moves."""

    def __init__(self, build, command, how):
        self.folder = tempfile.TemporaryDirectory()
        env = clean()
        self.pipe = None
        if how != "plain":
            env.update(LD_PRELOAD=os.path.join(build, "lib/xsched/libshimcuda.so"), XSCHED_AUTO_XQUEUE="ON")
        if how == "swap":
            swapper, self.answers = os.path.join(build, "tests/cuda/libswapper.so"), os.path.join(self.folder.name, "answers")
            pipe = os.path.join(self.folder.name, "pipe")
            os.mkfifo(pipe)
            open(self.answers, "w", encoding="ascii").close()
            env.update(XSCHED_SWAP="ON", SWAPPER_PIPE=pipe, SWAPPER_OUT=self.answers, XLOG_LEVEL="INFO")
            env["LD_PRELOAD"] += ":" + swapper
            self.pipe = os.open(pipe, os.O_RDWR)
            self.from_swapper = open(self.answers, encoding="ascii")
        super().__init__(command, env)

    def ask(self, what):
        self.tell(what)
        return self.answer()

    def move(self, what, limit_ms=20000):
        os.write(self.pipe, f"{what} {limit_ms}\n".encode())
        for _ in range(120000):
            text = self.from_swapper.readline()
            if text.endswith("\n"):
                return json.loads(text)
            if self.process.poll() is not None:
                raise RuntimeError(f"the program ended: {self.process.returncode}")
            threading.Event().wait(0.001)
        raise RuntimeError("no answer of the swapper")

    def end(self):
        code = super().end()
        if self.pipe is not None:
            os.close(self.pipe)
            self.from_swapper.close()
        self.folder.cleanup()
        return code


def gbps(row):
    seconds = row["copy_s"] + row["map_s"]
    return row["bytes"] / seconds / 1e9 if seconds else 0


def client(build, rows, args):
    p = Program(build, [os.path.join(build, "tests/gpu/swap_client"), str(args.mib)], "swap")
    ready = p.answer()
    rows.add("client", ready=ready)
    pinned = p.ask("pinned")
    rows.add("client", pinned=pinned)
    before = p.ask("info")
    for cycle in range(args.cycles):
        out = p.move("out")
        while_out = p.ask("info")          # asks for no memory, so it does not wait
        again = p.move("out")
        back = p.move("in")
        checked = p.ask("check")
        rows.add("client", cycle=cycle, out=out, back=back, checked=checked, freed=while_out["free"] - before["free"],
                 out_GBps=round(gbps(out), 2), in_GBps=round(gbps(back), 2),
                 out_of_pinned=round(gbps(out) / pinned["out_GBps"], 3), in_of_pinned=round(gbps(back) / pinned["in_GBps"], 3))
        rows.must(f"cycle {cycle}: out {out}", out["code"] == 0 and out["bytes"] == ready["bytes"])
        rows.must(f"cycle {cycle}: out again {again}", again["code"] != 0)
        rows.must(f"cycle {cycle}: in {back}", back["code"] == 0 and back["bytes"] == ready["bytes"])
        rows.must(f"cycle {cycle}: {checked}", checked["wrong_words"] == 0)
        rows.must(f"cycle {cycle}: the device has {while_out} instead of {before}", while_out["free"] - before["free"] >= ready["bytes"] // 2)
        p.ask("step")
    # the program works while it is told to move: a step waits, and is right
    for cycle in range(args.cycles):
        p.tell("step")
        out = p.move("out")
        back = p.move("in")
        p.answer()
        checked = p.ask("check")
        rows.must(f"beside a step: {out} {back} {checked}", out["code"] == 0 and back["code"] == 0 and checked["wrong_words"] == 0)
    rows.add("client", after=p.ask("pinned"))
    rows.must("the program's end", p.end() == 0)


def calls(build, rows, args):
    for how in ("plain", "shim", "swap") * min(3, args.cycles):
        p = Program(build, [os.path.join(build, "tests/gpu/swap_client"), "64"], how)
        p.answer()
        rows.add("calls", how=how, **p.ask("calls"))
        rows.must(f"calls {how}: its end", p.end() == 0)


def torch_program(gib):
    """Deterministic steps; after each a digest. Prints one line a step, and reads one before it."""
    import hashlib
    import torch
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    n = 2048
    layers = [torch.randn(n, n, device="cuda", dtype=torch.float16) * 0.01 for _ in range(32)]
    ballast = [torch.randint(0, 1 << 30, (64 << 20,), device="cuda", dtype=torch.int32) for _ in range(max(0, int(gib * 4) - 1))]
    x = torch.randn(256, n, device="cuda", dtype=torch.float16)
    static = x.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            y = static @ layers[0]
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.relu(static @ layers[0]) @ layers[1]
    print(json.dumps({"ready": True, "bytes": torch.cuda.memory_allocated()}), flush=True)
    for step, _ in enumerate(sys.stdin):
        for _ in range(20):
            for w in layers:
                x = torch.relu(x @ w) + x * 0.5
            x = x / x.abs().max().clamp(min=1e-3)
        static.copy_(x)
        graph.replay()
        extra = torch.full((16 << 20,), step, device="cuda", dtype=torch.int32)   # comes and goes
        total = int(extra.sum()) + sum(int(b[:: 4097].sum()) for b in ballast)
        del extra
        if step % 3 == 2:
            torch.cuda.empty_cache()
        text = hashlib.sha256(x.cpu().numpy().tobytes() + y.cpu().numpy().tobytes()).hexdigest()
        print(json.dumps({"step": step, "digest": text[:16], "sum": total}), flush=True)


def torch_part(build, rows, args):
    try:
        import torch
        there = torch.cuda.is_available()
    except ImportError:
        there = False
    if not there:
        rows.add("torch", skipped="no PyTorch with a GPU here")
        return False
    command = [sys.executable, os.path.abspath(__file__), "--program", str(args.mib / 1024)]
    digests = {}
    for how in ("plain", "swap"):
        p = Program(build, command, how)
        rows.add("torch", how=how, **p.answer())
        digests[how] = []
        for step in range(2 * args.cycles):
            p.tell("")
            if how == "swap" and step % 2:
                threading.Event().wait(0.02 * (step % 5))   # somewhere in the step
                out, back = p.move("out"), p.move("in")
                rows.add("torch", step=step, out=out, back=back, out_GBps=round(gbps(out), 2), in_GBps=round(gbps(back), 2))
                rows.must(f"torch step {step}: {out} {back}", out["code"] == 0 and back["code"] == 0 and out["bytes"] > 0)
            digests[how].append(p.answer())
        rows.must(f"torch {how}: its end", p.end() == 0)
    rows.must(f"torch: {digests}", digests["plain"] == digests["swap"])
    return True


def random_part(build, rows, args):
    run = os.path.join(HERE, "../sequences/run.py")
    program = os.path.join(build, "tests/sequences/seq_gpu")
    env = dict(clean(), SEQ_SWAPPER=os.path.join(build, "tests/cuda/libswapper.so"))
    r = subprocess.run([sys.executable, run, program, os.path.join(build, "lib/xsched/libshimcuda.so"), args.driver,
                        os.path.join(build, "bin/xserver"), str(args.seeds), "100", "1", "swap,swap2"], env=env, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    rows.add("random", code=r.returncode, said=r.stdout.splitlines()[-6:])
    rows.must("random programs", r.returncode == 0)


def main():
    if sys.argv[1:2] == ["--program"]:
        return torch_program(float(sys.argv[2]))
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("build")
    a.add_argument("out")
    a.add_argument("--mib", type=int, default=16384)
    a.add_argument("--part", default="client,calls,torch,random")
    a.add_argument("--cycles", type=int, default=5)
    a.add_argument("--seeds", type=int, default=100)
    a.add_argument("--driver", default="libcuda.so.1", help=argparse.SUPPRESS)   # a fake's folder
    args = a.parse_args()
    args.build = os.path.abspath(args.build)
    rows, ran = Rows(args.out, "swap.jsonl"), 0
    for part in args.part.split(","):
        try:
            ran += {"client": client, "calls": calls, "torch": torch_part, "random": random_part}[part](args.build, rows, args) is not False
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as e:
            rows.must(f"{part}: {e}", False)
    print(f"{len(rows.wrong)} wrong")
    return 1 if rows.wrong else 0 if ran else 77


sys.exit(main())
