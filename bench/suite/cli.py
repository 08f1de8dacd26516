# SPDX-License-Identifier: Apache-2.0
"""Shows what sharing a device costs and gains on this machine: XSched beside what one would use instead.

  bench/run --quick            A, B, E and J, shortly: alone, native and XSched
  bench/run                    every workload for every platform that is here
  bench/run --only A,E --variants alone,native,xsched-auto
  bench/run --only submit      one of the programs that measure a single path

Raw results go to DIR/suite.jsonl as they come; a call with the same DIR goes on where the last one ended (status 75:
it ended at --time-limit, call again). report.md and the plots are made from the raw results alone, also later by
--report DIR. --merge DIR INTO puts a later run into the results of an earlier one. --save is
--out docs/results/DATE-DEVICE; scripts/figures.py puts the figures into docs/benchmarks.md.
"""
import argparse
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

from . import machine, measure, platforms, programs, raw, services, variants, workloads

ROOT = machine.ROOT
NAME = "xsched-bench" if machine.INSTALLED else "bench/run"
UNFINISHED = 75


def say(text):
    print(text, file=sys.stderr, flush=True)


class Suite:
    """What all measurements of one call share."""

    def __init__(self, args, names):
        self.args = args
        self.quick = args.quick or args.smoke
        self.smoke = args.smoke
        self.blocks = args.blocks or (1 if args.smoke else 0)
        self.requests = args.requests or (8 if args.smoke else 0)
        self.seed = args.seed
        self.only_variants = names
        self.peers = [variants.peer(p) for p in args.peer] + [variants.tuned(t) for t in args.tune]
        self.out = args.out
        self.say = say
        self.began = time.monotonic()
        self.commit = machine.commit(args.build)
        self.about = {}
        self.told = set()
        self.no_clocks = False
        self.raw = raw.Raw(self.out, self.tail)
        self.services = services.Services(args.build, self.out)
        self.rates, self.rounds = self.remembered()
        if self.raw.kept:
            say(f"{self.out}: {len(self.raw.done)} measurements are there already and are kept"
                + (f"; {self.raw.dropped} lines of unfinished ones are dropped" if self.raw.dropped else ""))

    def tail(self):
        return dict(self.about, commit=self.commit, date=machine.now())

    def remembered(self):
        """What earlier calls found out and later ones must not find differently."""
        rates, rounds = {}, {}
        for r in raw.load(self.raw.path)[0]:
            if r["metric"] == "rate":
                rates.setdefault((r["platform"], r["workload"]), {})[r["side"]] = r["value"]
            elif r["metric"] == "rounds_per_ms":
                rounds[r["platform"]] = r["value"]
        return rates, rounds

    def check_time(self, seconds):
        if self.args.time_limit and time.monotonic() - self.began + seconds > self.args.time_limit:
            raise measure.TimeUp

    def patience(self, seconds):
        """How long to wait for what usually takes less; with a time limit, not much beyond that."""
        if not self.args.time_limit:
            return seconds
        return max(5.0, min(seconds, self.args.time_limit - (time.monotonic() - self.began)))

    def batch(self, side, platform):
        """0: as usual. A device that is too small for the usual batch gets a smaller one, and is told so."""
        usual = {"torch:resnet50": 1024}.get(side.client)
        if not usual or platform.memory_gib >= side.gib + 4:
            return 0
        batch = usual
        while batch > 1 and side.gib * batch / usual > 0.5 * platform.memory_gib:
            batch //= 2
        if (platform.name, side.client) not in self.told:
            say(f"   {platform.device} has {platform.memory_gib:.1f} GiB: batch {batch} instead of {usual} for {side.client[6:]}")
            self.told.add((platform.name, side.client))
        return batch

    def llama(self):
        """@return the command of llama.cpp's client, but for its role"""
        found = [os.path.join(self.args.llama, name) for name in ("llama-server", "model.gguf")]
        for path in found:
            if not os.path.exists(path):
                raise services.ServiceError(f"--llama: {path} is missing")
        return [sys.executable, os.path.join(platforms.HERE, "clients", "llama_client.py"), *found]

    def vllm(self):
        """@return what comes behind the name of Python in the command of vLLM's client, but for its role"""
        if not os.path.isdir(os.path.join(self.args.vllm, "vllm")):
            raise services.ServiceError(f"--vllm: {self.args.vllm} is no folder that pack_vllm unpacked")
        return [os.path.join(platforms.HERE, "clients", "vllm_client.py"), os.path.abspath(self.args.vllm)]

    def progress(self, i, n, cell, rows, left=0):
        parts = []
        for r in rows:
            if r["metric"] in ("p50", "p99", "start_p99", "throughput", "tokens"):
                parts.append(f"{r['side'] or r['variant']} {r['metric']} {r['value']:.4g} {r['unit']}")
            if r.get("wrong"):
                parts.append(f"{r['side']}: WRONG RESULT")
        say(f"[{i:3}/{n}] {time.monotonic() - self.began:5.0f} s" + (f", {left:.0f} s to go" if left >= 10 else "")
            + f"  {cell:40} " + ", ".join(parts))

    def run_programs(self, workload):
        """A workload whose programs print their figures: each is one cell a block."""
        blocks = self.blocks or (1 if self.quick else 3)
        for block in range(blocks):
            for program in workload.programs:
                for name, function in programs.OF_WORKLOAD[program]:
                    cell = f"host/{workload.letter}/{name}/{block}"
                    if cell in self.raw.done or (self.smoke and name != programs.OF_WORKLOAD[program][0][0]):
                        continue
                    self.check_time(25 if name == "10000" else 15)
                    mine = measure.cpu_ms()
                    try:
                        rows = function(self.args.build, 50 if self.smoke else 500 if self.quick else 0)
                    except (subprocess.SubprocessError, OSError) as e:
                        say(f"   skipped: {workload.letter} {name}: {e}")
                        self.raw.write([{"workload": workload.letter, "platform": "host", "variant": name, "metric": "skipped",
                                         "why": str(e)[:200], "report": False}])
                        continue
                    rows = [dict(r, workload=workload.letter, platform="host", run=block, program=r["workload"]) for r in rows]
                    rows.append({"workload": workload.letter, "platform": "host", "variant": name, "side": "driver", "metric": "cpu",
                                 "value": round(measure.cpu_ms() - mine, 2), "unit": "ms", "n": 1, "run": block, "report": False})
                    self.raw.write(rows, cell)
                    self.progress(block + 1, blocks, cell, [r for r in rows if r["metric"] == "p99"])

    def run(self, letters):
        only = self.args.platforms.split(",") if self.args.platforms else None
        with_torch = any(s.client.startswith(("torch:", "ranks:")) for n in letters for p in workloads.BY_LETTER[n].plans.values() for s in p.sides)
        found, absent = platforms.detect(self.args.build, self.args.python, only, self.rounds, with_torch, say)
        for name, why in absent.items():
            say(f"platform {name}: not here ({why})")
        try:
            for letter in letters:
                w = workloads.BY_LETTER[letter]
                self.about = {"device": machine.processor(), "driver": "", "framework": "C"}
                if not w.plans:
                    self.run_programs(w)
                for p in found:
                    if p.name not in w.plans:
                        continue
                    in_c = all(s.client == "load" for s in w.plans[p.name].sides)
                    self.about = {"device": p.device, "driver": p.driver, "framework": "C" if in_c else p.framework}
                    if p.name not in self.rounds and p.rounds_per_ms:
                        self.rounds[p.name] = p.rounds_per_ms
                        self.raw.write([{"workload": "", "platform": p.name, "variant": "", "metric": "rounds_per_ms",
                                         "value": p.rounds_per_ms, "unit": "1", "report": False}])
                    measure.Measurement(self, w, p).run()
                here = {p.name for p in found}
                for name in w.plans:
                    if name not in here and name in absent:
                        self.raw_skip(letter, name, absent[name])
        finally:
            self.services.stop()

    def raw_skip(self, letter, platform, why):
        known = {(r["workload"], r["platform"]) for r in raw.load(self.raw.path)[0] if r["metric"] == "skipped"}
        if (letter, platform) not in known:
            self.raw.write([{"workload": letter, "platform": platform, "variant": "", "metric": "skipped", "why": why,
                             "report": False}])


def run_named_programs(args, names):
    """The programs by themselves: figures on stdout, with --save also as NAME.jsonl."""
    if args.shield:
        programs.SHIELD.extend(["chrt", "-f", "10"])
    device, failed = machine.processor(), False
    for name in names:
        print(f"-- {name}: {programs.PROGRAMS[name][1]} (load {os.getloadavg()[0]:.1f})", flush=True)
        try:
            rows = programs.PROGRAMS[name][0](args.build)
        except (subprocess.SubprocessError, services.ServiceError, OSError) as e:
            print(f"   failed: {e}")
            failed = True
            continue
        for row in rows:
            row.update(run=0, device=device, driver="", framework="C", commit=machine.commit(args.build),
                       load=round(os.getloadavg()[0], 2), shield=args.shield, date=machine.now())
            print(f"   {row['variant']:28} {row.get('side', ''):8} {row['metric']:18} {row['value']:12.4g} {row['unit']:5} "
                  f"n = {row['n']}")
        if args.save:
            with open(os.path.join(args.out, f"{name}.jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(row) + "\n" for row in rows)
    return failed


def show_list():
    print("workloads:")
    for w in workloads.WORKLOADS:
        print(f"  {w.letter}  {w.name}: {w.title} ({', '.join(w.plans) or 'any machine'})")
    print("variants:")
    for v in variants.ROWS:
        print(f"  {v.name:17} {v.text}")
    print("programs:")
    for name, (_, text) in programs.PROGRAMS.items():
        print(f"  {name:17} {text}")


def parse():
    p = argparse.ArgumentParser(prog=NAME, description=__doc__.replace("bench/run", NAME), formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", action="store_true", help="workloads, variants and programs")
    p.add_argument("--only", action="append", default=[], metavar="NAME,...", help="workloads A to W, or programs")
    p.add_argument("--variants", metavar="NAME,...", help="only these")
    p.add_argument("--platforms", metavar="NAME,...", help="only these of " + ", ".join(platforms.NAMES))
    p.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND PREFIX",
                   help="another scheduler: clients are started behind this prefix, with BENCH_SIDE and BENCH_PRIORITY set")
    p.add_argument("--tune", action="append", default=[], metavar="NAME=OPTIONS",
                   help="one more variant: the processes of xsched-auto, with an xserver that has these options")
    p.add_argument("--quick", action="store_true", help="A, B, E and J with fewer variants and requests")
    p.add_argument("--smoke", action="store_true", help="the same with hardly any requests: only shows that all runs")
    p.add_argument("--requests", type=int, default=0, help="of the urgent side, a variant (default: as the workload says)")
    p.add_argument("--blocks", type=int, default=0, help="alternating blocks (at least 3 for an interval)")
    p.add_argument("--fresh", action="store_true", default=None,
                   help="each block starts its processes anew (default: for most workloads of several programs)")
    p.add_argument("--no-fresh", action="store_false", dest="fresh", help="processes stay from block to block")
    p.add_argument("--free-starts", action="store_true",
                   help="programs start at random addresses and run on any CPU (default: alike, each side on CPUs of its own)")
    p.add_argument("--clocks", action="store_true", help="also what nvidia-smi says of clocks, power and temperature meanwhile")
    p.add_argument("--seconds", type=float, default=0, metavar="S", help="of a block, for workloads that have no number of requests")
    p.add_argument("--seed", type=int, default=1, help="of the arrivals")
    p.add_argument("--out", metavar="DIR", help="default out/bench")
    p.add_argument("--save", action="store_true", help="into docs/results/DATE-DEVICE")
    p.add_argument("--resume", action="store_true", help="go on in DIR (what happens anyway; an error if there is nothing)")
    p.add_argument("--time-limit", type=float, default=0, metavar="S", help="end cleanly before S seconds, with status 75")
    p.add_argument("--build", default=machine.build_folder(), help="what was built or installed")
    p.add_argument("--llama", metavar="DIR", help="llama-server and model.gguf (pack_llama makes both): for L")
    p.add_argument("--vllm", metavar="DIR", help="vLLM as pack_vllm unpacked it: for V and W")
    p.add_argument("--python", help="the Python that has PyTorch")
    p.add_argument("--no-report", action="store_true", help="raw results only")
    p.add_argument("--report", metavar="DIR", action="append", default=[], help="make report and plots of raw results again")
    p.add_argument("--check", metavar="DIR", action="append", default=[], help="is report.md what the raw results give?")
    p.add_argument("--merge", metavar=("DIR", "INTO"), nargs=2,
                   help="put the workloads of DIR in the place of those of INTO, and make INTO's report again")
    p.add_argument("--append", action="store_true", help="--merge: only what INTO lacks is added")
    p.add_argument("--shield", action="store_true", help="programs in a real-time class, for a machine that has other work")
    args = p.parse_args()
    known = [w.letter for w in workloads.WORKLOADS] + list(programs.PROGRAMS)
    args.only = [n for text in args.only for n in text.split(",") if n]
    for n in args.only:
        if n not in known:
            p.error(f"no workload or program '{n}' (there are {', '.join(known)})")
    names = [n for n in (args.variants or "").split(",") if n]
    for n in names:
        if n not in variants.BY_NAME:
            p.error(f"no variant '{n}' (there are {', '.join(variants.BY_NAME)})")
    for n in (args.platforms or "").split(","):
        if n and n not in platforms.NAMES:
            p.error(f"no platform '{n}' (there are {', '.join(platforms.NAMES)})")
    try:
        more = [variants.peer(text).name for text in args.peer] + [variants.tuned(text).name for text in args.tune]
    except ValueError as e:
        p.error(str(e))
    for n in more:
        if more.count(n) > 1:
            p.error(f"two variants of the name '{n}'")
    for option in ("requests", "blocks", "seconds", "time_limit"):
        if not 0 <= getattr(args, option) < float("inf"):
            p.error(f"--{option.replace('_', '-')}: a number that is not negative is wanted")
    args.build = os.path.abspath(args.build)
    if args.save and machine.INSTALLED:
        p.error("--save: this is no source tree; --out DIR")
    if args.save and not args.out:
        device = next((d for d in (os.environ.get("BENCH_DEVICE"),) if d), machine.processor())
        args.out = os.path.join(ROOT, "docs/results", f"{datetime.date.today():%Y-%m-%d}-{machine.slug(device)}")
    args.out = os.path.abspath(args.out or os.path.join("" if machine.INSTALLED else ROOT, "out", "bench"))
    if args.resume and not os.path.exists(os.path.join(args.out, raw.NAME)):
        p.error(f"--resume: there is no {raw.NAME} in {args.out}")
    return args, names


def main():
    def ended(signo, _):
        for s in caught:
            signal.signal(s, signal.SIG_IGN)     # once: what follows ends the programs
        sys.exit(128 + signo)
    caught = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]     # nohup
    for s in caught:
        signal.signal(s, ended)
    try:
        return call(*parse())
    except KeyboardInterrupt:
        say("interrupted")
        return 130


def call(args, names):
    if args.list:
        show_list()
        return 0
    if args.merge:
        from . import merge
        try:
            return merge.main(*args.merge, args.append)
        except (ValueError, OSError) as e:
            say(f"{NAME}: {e}")
            return 1
    if args.report or args.check:
        from . import report
        try:
            return report.main(args.report, args.check)
        except (ValueError, OSError) as e:
            say(f"{NAME}: {e}")
            return 1
    if args.save:
        try:
            os.makedirs(args.out, exist_ok=True)
        except OSError as e:
            say(f"{NAME}: {e}")
            return 1
    letters = [n for n in args.only if n in workloads.BY_LETTER]
    alone = [n for n in args.only if n not in letters]
    status = run_named_programs(args, alone) if alone else 0
    if alone and not letters:
        return status
    if not os.path.exists(os.path.join(args.build, "bin", "xserver")):
        say(f"{NAME}: {args.build}/bin/xserver is missing: build first (HACKING.md), or --build DIR")
        return 1
    quick = args.quick or args.smoke
    letters = letters or list(workloads.QUICK_LETTERS if quick else (w.letter for w in workloads.WORKLOADS))
    try:
        suite = Suite(args, names)
    except OSError as e:
        say(f"{NAME}: {e}")
        return 1
    try:
        suite.run(letters)
    except measure.TimeUp:
        say(f"time limit of {args.time_limit:.0f} s: call again with the same --out to go on")
        status = UNFINISHED
    except KeyboardInterrupt:
        say("interrupted: what is whole is kept; call again with the same --out to go on")
        return 130
    say(f"{time.monotonic() - suite.began:.0f} s; raw results: {suite.raw.path}")
    from . import report
    if not args.no_report and os.path.exists(suite.raw.path):
        try:
            status = report.main([args.out], []) or status
        except (ValueError, OSError) as e:
            say(f"{NAME}: {e}")
            status = status or 1
    for platform, letter, variant, side in report.differing(args.out):
        say(f"WRONG: {letter} on {platform}, {variant}: the results of {side} are not those of the standalone program")
        status = status or 1
    return status
