#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Six BERT tasks in three groups on one GPU: latency by group, without XSched and with it.

    bert_groups.py [--seconds 8] [--runs 2] [--out FILE.jsonl]

Two tasks of each group, all the same model: HIGH and MIDDLE get requests at a fixed rate, LOW asks again as soon as it
has its answer. Each task is a process of its own and knows nothing of XSched; its group is only the priority that the
environment gives it (XSCHED_PRIORITY). First a HIGH task alone, then the six natively and under an xserver of this
script's own in turn. Needs PyTorch and transformers; random weights, nothing is fetched."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import where

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = (("high", 3), ("middle", 2), ("low", 1))


class Task:
    def __init__(self, group, rate, a, extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "LD_PRELOAD"))}
        env.update(extra)
        self.group = group
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "bert_worker.py"), str(rate), str(a.batch),
                                         "--device", a.device, str(a.layers)], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise SystemExit(f"a task of group {self.group} ended:\n" + self.log.read()[-1500:])
        return json.loads(line)

    def run(self, seconds, offset):
        self.process.stdin.write(f"run {seconds} {offset}\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        if self.process.wait(30):
            self.log.seek(0)
            raise SystemExit(f"a task of group {self.group} ended with {self.process.returncode}:\n" + self.log.read()[-1500:])


def percentile(samples, p):
    samples = sorted(samples)
    return samples[min(len(samples) - 1, int(len(samples) * p / 100))]


def variant(name, a, env_of, alone=False, seen=None):
    """Starts the tasks, lets them run together, gives {group: [answers]}."""
    tasks = [Task(g, a.rate if g != "low" else 0, a, env_of(priority)) for g, priority in GROUPS
             for _ in range(1 if alone else 2) if not alone or g == "high"]
    for t in tasks:
        t.value = t.answer()["value"]
    for i, t in enumerate(tasks):         # all of them once, for what is only learnt together
        t.run(2, 0.37 * i / a.rate)
    for t in tasks:
        t.answer()
    for i, t in enumerate(tasks):
        t.run(a.seconds, 0.37 * i / a.rate)
    if seen is not None:
        time.sleep(a.seconds / 2)
        seen.append(subprocess.run([os.path.join(where.root(), "bin", "xcli"), "list"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, timeout=10, check=False,
                                   env=dict(os.environ, **env_of(0))).stdout)
    result = {}
    for t in tasks:
        r = t.answer()
        if r["value"] != t.value:
            raise SystemExit(f"{name}: results of a task in group {t.group} changed")
        r["first"] = t.value
        result.setdefault(t.group, []).append(r)
    for t in tasks:
        t.end()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--runs", type=int, default=2, help="how often baseline and XSched alternate")
    parser.add_argument("--rate", type=float, default=6, help="requests a second of a HIGH or MIDDLE task")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--platform", choices=("cuda", "hip"), help="which shim; default: what PyTorch says")
    parser.add_argument("--out", help="raw measurements, JSON lines")
    a = parser.parse_args()
    shim = where.shim(a.platform)
    rows, samples = [], {}

    def note(name, run, result):
        for group, answers in result.items():
            ms = [v for r in answers for v in r["ms"]]
            samples.setdefault((name, group), []).extend(ms)
            rows.append({"workload": "I", "variant": name, "run": run, "side": group, "n": len(ms),
                         "p50": percentile(ms, 50), "p90": percentile(ms, 90), "p99": percentile(ms, 99),
                         "per_second": round(sum(r["n"] / r["seconds"] for r in answers), 2), "unit": "ms",
                         "values": sorted({r["first"] for r in answers}), "ms": ms})
            print(f"{name:9s} run {run}  {group:7s} n {len(ms):5d}  p50 {rows[-1]['p50']:8.2f}  p99 {rows[-1]['p99']:8.2f} ms  "
                  f"{rows[-1]['per_second']:7.2f}/s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        env = {"XSCHED_SOCKET": os.path.join(folder, "xserver.sock")}
        server = subprocess.Popen([os.path.join(where.root(), "bin", "xserver"), "HPF", "0"],
                                  env=dict(os.environ, **env), stderr=subprocess.DEVNULL)
        listed = []
        try:
            for _ in range(100):
                if os.path.exists(env["XSCHED_SOCKET"]):
                    break
                time.sleep(0.05)
            note("alone", 0, variant("alone", a, lambda p: {}, alone=True))
            for run in range(a.runs):
                note("baseline", run, variant("baseline", a, lambda p: {}))
                note("xsched", run, variant("xsched", a, lambda p: dict(env, LD_PRELOAD=shim, XSCHED_PRIORITY=str(p)),
                                            seen=listed if run == 0 else None))
        finally:
            server.terminate()
            server.wait()
    if a.out:
        with open(a.out, "w", encoding="utf-8") as f:
            for r in rows:
                f.write(json.dumps(r) + "\n")
            f.write(json.dumps({"xcli_list": listed}) + "\n")
    values = {v for r in rows for v in r["values"]}

    def per_second(name, group):
        return statistics.mean(r["per_second"] for r in rows if (r["variant"], r["side"]) == (name, group))

    print(f"\nBERT, batch {a.batch}, {len(GROUPS) * 2} tasks, latency in ms (p50 / p99), all runs together; "
          f"results {'equal' if len(values) == 1 else 'DIFFER: ' + str(values)}")
    print(f"{'group':8s}{'priority':>9s}{'baseline':>20s}{'XSched':>20s}{'p99, XSched/baseline':>22s}"
          f"{'requests/s, baseline':>22s}{'XSched':>9s}")
    for group, priority in GROUPS:
        b, x = samples[("baseline", group)], samples[("xsched", group)]
        print(f"{group:8s}{priority:9d}{percentile(b, 50):11.2f} / {percentile(b, 99):6.2f}"
              f"{percentile(x, 50):11.2f} / {percentile(x, 99):6.2f}{percentile(x, 99) / percentile(b, 99):22.2f}"
              f"{per_second('baseline', group):22.1f}{per_second('xsched', group):9.1f}")
    alone = samples[("alone", "high")]
    print(f"one HIGH task alone: {statistics.median(alone):.2f} / {percentile(alone, 99):.2f}; under XSched beside five others "
          f"p99 is {percentile(samples[('xsched', 'high')], 99) / percentile(alone, 99):.2f} times that")
    if listed:
        print("\nwhat `xcli list` showed meanwhile:\n" + listed[0])
    return 0 if len(values) == 1 else 1


sys.exit(main())
