#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plans for a GPU without one: plans.py ROOT

Programs that answer at once stand for the models, on two made-up devices. Each block of C, G, H, I, L, M, O and P starts its processes
once, on CPUs of their own that are the same whatever the variant, as much as the devices' memory holds; a side alone runs in
the very process of xsched-auto; and what is compared within one process is in the table of targets, where it was measured."""
import collections
import json
import os
import sys
import tempfile

ROOT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import cli, measure, platforms, raw, results, starts, targets, variants, workloads  # noqa: E402

GIB, CPUS = 139, range(32)
SHARED = {"C": ["alone-xsched"], "G": ["alone-xsched"], "H": ["alone-xsched"], "I": ["alone-group-xsched"],
          "L": ["alone-xsched"], "O": ["alone-xsched"], "P": ["alone-xsched"], "M": ["alone-second-xsched"]}
ROWS = {"C": 1, "G": 1, "H": 2, "I": 1, "L": 2, "O": 1, "P": 1, "M": 1}
# bench/clients/torch_client.py, without work: each request takes 2 ms
CLIENT = r"""
import json, os, sys
names = [w.split("=")[0] for w in sys.argv[1:] if not w.isdigit()]
with open(os.environ["PLANS_LOG"], "a") as f:
    f.write(json.dumps({"pid": os.getpid(), "sides": names, "devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
                        "hash": os.environ.get("PYTHONHASHSEED")}) + "\n")
print(json.dumps({"ready": True, "roles": {n: {} for n in names}}), flush=True)
for line in sys.stdin:
    _, role, mode, *fields = line.split()
    o = dict(f.split("=", 1) for f in fields)
    row = {"role": role, "checksum": 1, "wrong": 0, "cpu_ms": 1}
    if mode == "closed":
        us = (int(o["end"]) - int(o["start"])) // 1000
        row.update(n=us // 10000, seconds=us / 1e6, ends_us=list(range(10000, us, 10000)))
    else:
        at = [float(x) for x in o["at"].split(",")]
        row.update(n=len(at), seconds=1, requests_us=[[x, x, x + 1000, x + 2000 + i % 7] for i, x in enumerate(at)],
                   tokens_us=[500 + i % 7 for i in range(len(at))])
    print(json.dumps(row), flush=True)
"""


class Server:
    socket = "none"

    def queues(self, pid):
        with open(f"/proc/{pid}/environ", "rb") as f:
            env = dict(x.split(b"=", 1) for x in f.read().split(b"\0") if b"=" in x)
        level = env[b"XSCHED_AUTO_XQUEUE_LEVEL"]
        return [{"handle": 1, "level": 3 if level == b"auto" else int(level)}]

    def cpu_ms(self):
        return 0

    def ended(self):
        return False


class Services:
    """No daemon is started."""

    def server(self, _options, _prefix=()):
        return Server()

    def mps(self):
        return collections.namedtuple("Mps", "env")({"CUDA_MPS_PIPE_DIRECTORY": "none"})

    def stop(self):
        pass


class Child:
    """What prepare() returned, and for which CPUs."""

    def __init__(self, cpus):
        self.cpus = cpus

    def __call__(self):
        pass


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def run(folder, letter, *options):
    """@return (rows, [(block, key, CPUs or "free", what the process said of itself)], the measurement)"""
    log = os.path.join(folder, "programs")
    sys.argv = ["bench/run", "--out", os.path.join(folder, "out"), "--build", folder, "--llama", folder, *options]
    args, names = cli.parse()
    cli.say = lambda text: None if "skipped" not in text else need(False, text)
    suite = cli.Suite(args, names)
    suite.services = Services()
    client = os.path.join(folder, "client.py")
    for path in (client, os.path.join(folder, "ranks_client.py")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(CLIENT)
    suite.llama = lambda: [sys.executable, "-S", client]
    env = {"PATH": os.environ["PATH"], "PLANS_LOG": log}
    platform = platforms.Platform("cuda", device="made up", memory_gib=GIB, devices=2, torch=[sys.executable, "-S", client], env=env)
    m = measure.Measurement(suite, workloads.BY_LETTER[letter], platform)
    m.rates.update({s.name: 500.0 for s in m.plan.sides if s.load})
    started, start, drop = [], m.pool.start, m.pool.drop
    blocks = [0]

    def note(key, command, env, name, prepare=None):
        start(key, command, env, name, prepare)
        started.append((blocks[0], key, prepare.cpus if prepare else "free", m.pool.clients[key].pid))

    def next_block():
        drop()
        blocks[0] += 1
    m.pool.start, m.pool.drop = note, next_block
    m.run()
    with open(log, encoding="utf-8") as f:
        about = {r["pid"]: r for r in map(json.loads, f)}
    return raw.load(suite.raw.path)[0], [(b, key, cpus, about[pid]) for b, key, cpus, pid in started], m


def memory(m):
    """What each device holds at once."""
    used, seen = collections.Counter(), set()
    for v in m.variants:
        for name, sides in m.groups(v):
            key = (m.base(v).name, name)
            for s in sides if key not in seen else ():
                used[s.device] += s.gib
            seen.add(key)
    return used


def check(letter):
    with tempfile.TemporaryDirectory() as folder:
        plan = workloads.BY_LETTER[letter].plans["cuda"]
        only = () if letter == "M" else ("--variants", ",".join(
            v for v in plan.variants if v in ("alone", "alone-group", "native", "xsched-auto", *SHARED[letter])))
        rows, started, m = run(folder, letter, *only, *(() if letter == "M" else ("--blocks", "3", "--requests", "30")))
    blocks = 5 if letter == "M" else 3
    need(m.blocks == blocks and not m.skipped and not m.left(), f"{letter}: {m.skipped}, {len(m.left())} cells left")
    need(set(SHARED[letter]) <= set(plan.variants), f"{letter}: {plan.variants}")
    # every block its own processes, each side started once for those that share it
    sides = list(dict.fromkeys(m.process_of(s) for s in plan.sides))
    for block in range(blocks):
        keys = [key for b, key, *_ in started if b == block]
        need(sorted(keys) == sorted((base, s) for base in ("native", "xsched-auto") for s in sides), f"{letter}, block {block}: {keys}")
    need(max(memory(m).values()) <= 0.8 * GIB, f"{letter}: {memory(m)} GiB")
    process = {(r["variant"], r["side"], r["run"]): r["process"] for r in rows if r["metric"] == "checksum"}
    need(len(set(process.values())) == len(started) == blocks * 2 * len(sides), f"{letter}: {len(started)} processes")
    for name in SHARED[letter]:
        there = [k for k in process if k[0] == name]
        need(len(there) == blocks * (2 if letter == "I" else 1), f"{letter}: {there}")
        for _, side, block in there:
            need(process[name, side, block] == process["xsched-auto", side, block] != process["native", side, block],
                 f"{letter}: {name} {side}")
    # the same CPUs for a side whatever the variant, nobody else's, and some left
    places = {key[1]: cpus for _, key, cpus, _ in started}
    need(all(places[key[1]] == cpus for _, key, cpus, _ in started), f"{letter}: {started}")
    used = [c for cpus in places.values() for c in cpus]
    need(len(used) == len(set(used)) <= 24 and set(places) == set(sides), f"{letter}: {places}")
    need(all(about["hash"] == "0" for *_, about in started), f"{letter}: PYTHONHASHSEED")
    how = {(r["alike"], r["addresses"], tuple(sorted(r["cpus"].items()))) for r in rows if r["metric"] == "seconds"}
    need(how == {(True, m.addresses, tuple(sorted((s, 24 // len(sides)) for s in sides)))}, f"{letter}: {how}")
    found = [(t.text, v) for t, _, _, v in targets.table(results.Results(rows)) if "in the same process" in t.text]
    need(len(found) == ROWS[letter], f"{letter}: {found}")
    need(letter != "M" or found[0][1] == "met", f"{letter}: {found}")
    other = [dict(r, process="another") if r.get("variant") in SHARED[letter] and "process" in r else r for r in rows]
    need(not any("in the same process" in t.text for t, *_ in targets.table(results.Results(other))),
         f"{letter}: another process is no base")
    less = results.Results([r for r in rows if r.get("variant") not in SHARED[letter]])
    need(not any("in the same process" in t.text for t, *_ in targets.table(less)), f"{letter}: rows that nothing is known of")
    return started


def main():
    counted = {n: len(measure.behind_warm(list(range(n)), 5)) for n in (0, 1, 3, 4, 8, 20, 400)}
    need(counted == {0: 0, 1: 1, 3: 3, 4: 3, 8: 6, 20: 15, 400: 395}, f"of so many requests count: {counted}")
    os.environ.pop("PYTHONHASHSEED", None)
    os.sched_getaffinity = lambda _: set(CPUS)
    starts.prepare = Child
    starts.same_addresses = lambda child: True
    need(all(n in variants.BY_NAME for names in SHARED.values() for n in names), "variants")
    for letter in SHARED:
        started = check(letter)
    # of M, the last: who sees which device
    seen = {key[1]: about["devices"] for _, key, _, about in started}
    need(seen == {"high0": "0", "low0": "0", "high1": "1", "low1": "1", "both": "0,1"}, f"{seen}")
    with tempfile.TemporaryDirectory() as folder:
        rows, started, _ = run(folder, "C", "--free-starts", "--variants", "native", "--blocks", "1", "--requests", "3")
    need(all(cpus == "free" and about["hash"] is None for _, _, cpus, about in started), f"--free-starts: {started}")
    need({(r["alike"], r["addresses"], str(r["cpus"])) for r in rows if r["metric"] == "seconds"} == {(False, False, "{}")}, "free")


main()
