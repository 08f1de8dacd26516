# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of an example beside each other: alone, natively and under XSched, in alternating blocks, with an
xserver of its own. Prints a table; --out FOLDER keeps the figures (JSON lines) and a picture of who ran when.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import picture

HERE = os.path.dirname(os.path.abspath(__file__))


class Role(NamedTuple):
    name: str
    priority: int
    work: str      # infer, train, decode, batch
    load: float    # share of the device that its requests would take alone; 0: one unit after another
    colour: str = ""  # in the picture; else one of picture.py's


def percentile(values, p):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)] if ordered else float("nan")


def launcher():
    import xsched
    return xsched.launcher()


class Program:
    def __init__(self, role, socket=None):
        command = [sys.executable, os.path.join(HERE, "worker.py"), role.work]
        if socket:
            command = [launcher(), "run", "-q", "--no-server", "--socket", socket, "--priority", str(role.priority),
                       "--"] + command
        self.role = role
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program {self.role.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def block(programs, seconds, seed, units):
    start = time.monotonic_ns() + 50_000_000
    for i, p in enumerate(programs):
        rate = p.role.load * 1e3 / units[p.role.name] if p.role.load else 0
        p.say("run", start, seconds, rate, seed * 100 + i)
    return {p.role.name: p.hear() for p in programs}


def main(title, workload, roles, judge, document):
    """judge({role: latencies under XSched}, {role: latencies natively}): what is not as it should be, as a list."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4, help="length of a block (default 4)")
    parser.add_argument("--blocks", type=int, default=2, help="blocks of each variant, in turn (default 2)")
    parser.add_argument("--out", help="folder for figures and picture")
    parser.add_argument("--check", action="store_true", help="fail when priorities do not show in the latencies")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xsched-example-") as folder:
        socket = os.path.join(folder, "xserver.sock")
        server = subprocess.Popen([os.path.join(os.path.dirname(launcher()), "xserver"), "--socket", socket, "--port", "0",
                                   "--policy", "HPF"], stderr=subprocess.DEVNULL)
        programs = []
        try:
            while not os.path.exists(socket):
                if server.poll() is not None:
                    raise SystemExit(f"xserver ended with status {server.returncode}")
                time.sleep(0.02)
            return measure(title, workload, roles, judge, options, socket, programs)
        finally:
            for p in programs:
                p.process.kill()
                p.process.wait()
            server.terminate()
            server.wait(20)


def measure(title, workload, roles, judge, options, socket, started):
    print(f"{title}: starting {2 * len(roles)} programs", flush=True)
    native, ours = [Program(r) for r in roles], [Program(r, socket) for r in roles]
    started += native + ours
    device = [p.hear() for p in started][0]["device"]
    units = {}
    for p in native:  # one at a time
        p.say("calibrate")
        units[p.role.name] = p.hear()["unit_ms"]
    variants = [("alone", native[:1]), ("native", native), ("xsched", ours)]
    got = {(v, r.name): [] for v, _ in variants for r in roles}
    spans, correct = {}, True
    for number in range(options.blocks):
        for variant, programs in variants:
            answers = block(programs, options.seconds / 2 if variant == "alone" else options.seconds, number, units)
            for name, a in answers.items():
                got[variant, name].append(a["spans"])
                correct &= a["correct"]
            spans[variant] = {name: a["spans"] for name, a in answers.items()}
            print(f"  block {number + 1} of {options.blocks}, {variant}: " +
                  ", ".join(f"{n} {len(a['spans'])}" for n, a in answers.items()), flush=True)
    for p in started:
        p.end()
    return report(title, workload, roles, judge, options, device, units, got, spans, correct)


def report(title, workload, roles, judge, options, device, units, got, spans, correct):
    rows, latencies = [], {}
    print(f"\n{title}, device {device}\n{'variant':8} {'program':10} {'priority':>8} {'units':>6} {'P50 ms':>9} {'P99 ms':>9} "
          f"{'units/s':>8}")
    for (variant, name), blocks in got.items():
        if not blocks:
            continue
        role = next(r for r in roles if r.name == name)
        ms = [end - (due if role.load else begin) for b in blocks for due, begin, end in b]
        seconds = sum(max([b[-1][2] / 1e3 if b else 0, 1e-9]) for b in blocks)
        latencies.setdefault(variant, {})[name] = ms
        p50, p99, rate = percentile(ms, 50), percentile(ms, 99), len(ms) / seconds
        print(f"{variant:8} {name:10} {role.priority:8} {len(ms):6} {p50:9.2f} {p99:9.2f} {rate:8.1f}")
        for metric, value, unit in (("p50", p50, "ms"), ("p99", p99, "ms"), ("throughput", rate, "1/s")):
            rows.append({"workload": workload, "variant": variant, "side": name, "priority": role.priority, "metric": metric,
                         "value": round(value, 4), "unit": unit, "n": len(ms), "device": device})
    for name, unit in units.items():
        rows.append({"workload": workload, "variant": "alone", "side": name, "metric": "unit", "value": round(unit, 4),
                     "unit": "ms", "n": 12, "device": device, "report": False})
    if options.out:
        os.makedirs(options.out, exist_ok=True)
        base = os.path.join(options.out, workload.replace(" ", "-"))
        with open(base + ".jsonl", "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        with open(base + ".svg", "w") as f:
            f.write(picture.who_ran_when(title, roles, {v: s for v, s in spans.items() if v != "alone"}))
        print(f"figures and picture: {base}.jsonl, {base}.svg")
    bad = [] if correct else ["results are wrong"]
    if options.check:
        bad += judge(latencies["xsched"], latencies["native"])
    print("all results are right" if correct else "RESULTS ARE WRONG")
    for b in bad:
        print("not as it should be:", b)
    return 1 if bad else 0
