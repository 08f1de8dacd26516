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
  cost   a program of many small commands without XSched, under it, and with --swap, by turns: its start and its steps
  kills  two programs that move all the time (swap_client); one of them, or xserver, is killed at a random moment, --kills times.
         The others go on, each word is right, and the device's memory is free in the end
  checkpoint   the driver's own checkpoint of a program without XSched, and `xcli swap` of the same program
What each computes is compared with runs alone. Exit status 1 when anything differs; 77 without PyTorch."""
import argparse
import ctypes
import os
import random
import signal
import statistics
import subprocess
import sys
import time

from swap_stage import Program, Rows, Stage, Trainer, ballast, command, model, swap_client

SERVE, TRAIN = 10, 0
AT_ONCE = 5           # requests between two pauses


def ballast_of(stage, args):
    return None if args.driver else Program(stage, command(args, "ballast", stage.room_gib))


def pair(stage, rows, args):
    rest = ballast_of(stage, args)
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
    rest = ballast_of(stage, args)
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


def cost(stage, rows, args):
    ways = {"native": {}, "xsched": {"priority": TRAIN, "options": ()}, "swap": {"priority": TRAIN}}
    for n in range(3):
        for name, how in ways.items():
            p = Program(stage, command(args, "small", args.gib / 40), **how)
            p.ask()
            seconds = [p.ask()[0] for _ in range(30)]
            p.end()
            rows.add("cost", how=name, turn=n, start_s=p.start_s, step_s=statistics.median(seconds))


def free_bytes():
    said = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], text=True, capture_output=True, check=True)
    return int(said.stdout) << 20


def kills(stage, rows, args):
    rest = ballast_of(stage, args)
    held = 0 if args.driver else free_bytes()
    rng = random.Random(3)
    slowest = 0.0
    for n in range(args.kills):
        pair_of = [Program(stage, swap_client(args, args.gib / 16), p) for p in (SERVE, TRAIN)]
        end = time.monotonic() + rng.random()
        while time.monotonic() < end:
            pair_of[rng.randrange(2)].ask()
        for p in pair_of:
            p.tell("step")                                  # both have work: memory moves
        time.sleep(rng.random() / 4)
        victim = n % 3
        if victim == 2:
            stage.server.send_signal(signal.SIGKILL)
            stage.server.wait()
            time.sleep(rng.random() / 4)
            stage.start()
        else:
            gone = pair_of.pop(victim).process
            gone.kill()
            gone.wait()
        for p in pair_of:
            begin = time.monotonic()
            p.answer()
            p.tell("check")
            wrong = p.answer()["wrong_words"]
            slowest = max(slowest, time.monotonic() - begin)
            rows.must(f"kill {n} of {victim}: {wrong} wrong words", wrong == 0)
            p.end()
            rows.must(f"kill {n} of {victim}: status {p.process.returncode}", p.process.returncode == 0)
        rows.add("kills", kill=n, of=("serve", "train", "xserver")[victim], slowest_s=slowest)
        stage.programs = [p for p in stage.programs if p.process.poll() is None]
    time.sleep(1)
    left = 0 if args.driver else free_bytes() - held
    rows.add("kills", kills=args.kills, slowest_s=slowest, device_bytes_left=left)
    rows.must(f"{left} bytes of device memory are left", left < 64 << 20)
    if rest:
        rest.end()


def checkpoint(stage, rows, args):
    gib = args.gib / 4
    p = Program(stage, command(args, "serve", gib), SERVE)
    before = p.ask()[1]
    took = {}
    for n in range(3):
        for way in ("out", "in"):
            begin = time.monotonic()
            stage.ask_xcli("swap", way, str(p.process.pid))
            took[f"xcli_{way}_s"] = time.monotonic() - begin
        rows.add("checkpoint", how="xsched", gib=gib, turn=n, **took, moves=stage.moves(p))
    p.ask()
    p.end()
    if args.driver:
        return
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    p = Program(stage, command(args, "serve", gib))
    rows.must("the same answer", p.ask()[1] == before)
    for n in range(2):
        took = {}
        for what in ("Lock", "Checkpoint", "Restore", "Unlock"):
            begin = time.monotonic()
            code = getattr(cuda, f"cuCheckpointProcess{what}")(p.process.pid, None)
            took[f"{what.lower()}_s"] = time.monotonic() - begin
            rows.must(f"cuCheckpointProcess{what}: {code}", code == 0)
        rows.add("checkpoint", how="driver", gib=gib, turn=n, **took)
    p.ask()
    p.end()


# and the room that the card has for them, by --gib
PARTS = {"pair": (pair, 1 / 0.6), "turns": (turns, 0.5 / 0.4), "cost": (cost, 2), "kills": (kills, 1 / 16 / 0.6), "checkpoint": (checkpoint, 2)}


def main():
    if sys.argv[1:2] == ["--program"]:
        return ballast(float(sys.argv[3])) if sys.argv[2] == "ballast" else model(sys.argv[2], float(sys.argv[3]))
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("build")
    a.add_argument("out")
    a.add_argument("--part", default=",".join(PARTS))
    a.add_argument("--gib", type=float, default=40)
    a.add_argument("--pause", type=float, default=10)
    a.add_argument("--pauses", type=int, default=4)
    a.add_argument("--kills", type=int, default=50)
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
    rows = Rows(args.out, "models.jsonl")
    for part in args.part.split(","):
        what, room = PARTS[part]
        stage = Stage(args, args.gib * room)
        try:
            what(stage, rows, args)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            rows.must(f"{part}: {e}", False)
            stage.explain()
        finally:
            stage.end()
    print(f"{len(rows.wrong)} wrong")
    return 1 if rows.wrong else 0


sys.exit(main())
