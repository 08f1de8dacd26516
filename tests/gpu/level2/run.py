#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 2 on an NVIDIA GPU: run.py BIN LIB OUT [PART...]

BIN holds client, gates, micro (build.sh) and xserver; LIB the libraries (LIB/xsched/libshimcuda.so). OUT gets
level2.jsonl and level2-samples.jsonl; a part that is complete there is not run again. Parts: calls fill hold cost
latency parked."""
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BIN, LIB, OUT = sys.argv[1:4]
PARTS = sys.argv[4:] or ["calls", "fill", "hold", "cost", "latency", "parked"]
T_MS = [float(t) for t in os.environ.get("T_MS", "0.1 0.5 2 10 50").split()]
N = int(os.environ.get("N", "100"))
NEIGHBOURS = [int(n) for n in os.environ.get("NEIGHBOURS", "1 8 16 64").split()]
SHIM = os.path.join(os.path.abspath(LIB), "xsched/libshimcuda.so")
folder = tempfile.mkdtemp()
SOCKET = os.path.join(folder, "xserver.sock")
os.makedirs(OUT, exist_ok=True)
MAIN = os.path.join(OUT, "level2.jsonl")
try:
    DRIVER = open("/sys/module/nvidia/version", encoding="ascii").read().strip()
except OSError:
    DRIVER = "fake"
done = set()
if os.path.exists(MAIN):
    done = {json.loads(line).get("part") for line in open(MAIN, encoding="ascii") if '"complete"' in line}
out = open(MAIN, "a", encoding="ascii", buffering=1)
samples = open(os.path.join(OUT, "level2-samples.jsonl"), "a", encoding="ascii", buffering=1)
failures = 0


def put(row, to=None):
    tail = {"level": 2, "device": "NVIDIA H200", "driver": DRIVER, "framework": "C", "commit": os.environ.get("COMMIT", ""),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    (to or out).write(json.dumps({**row, **tail}, separators=(",", ":")) + "\n")
    if not to:
        print(*[f"{v:.6g}" if isinstance(v, float) else v for v in row.values()], flush=True)


def environment(level=None, policy=None, priority=None, gate_us=None, depth=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "LD_PRELOAD"))}
    if level:
        env.update(LD_PRELOAD=SHIM, XSCHED_AUTO_XQUEUE="ON", XSCHED_AUTO_XQUEUE_LEVEL=str(level))
    if policy:
        env["XSCHED_POLICY"] = policy
    if priority is not None:
        env.update(XSCHED_PRIORITY=str(priority), XSCHED_SOCKET=SOCKET)
    if gate_us is not None:
        env["XSCHED_TUNE"] = f"gate-us={gate_us}"
    if depth:
        env["DEPTH"] = str(depth)
    return env


def program(name, *args, timeout=120, **how):
    r = subprocess.run([os.path.join(BIN, name), *map(str, args)], env=environment(**how), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=timeout)
    sys.stderr.write(r.stderr)
    rows = []
    for line in r.stdout.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            print(line)
    return r.returncode, rows


def server(*options):
    log = open(os.path.join(folder, "xserver.log"), "a", encoding="utf-8")
    p = subprocess.Popen([os.path.join(BIN, "xserver"), "--socket", SOCKET, "--http=OFF", "--lv3-slices=OFF", *options],
                         stderr=log, stdout=log)
    for _ in range(500):
        if os.path.exists(SOCKET):
            return p
        time.sleep(0.01)
    raise RuntimeError(open(os.path.join(folder, "xserver.log"), encoding="utf-8").read())


def stop(p):
    p.terminate()
    p.wait(10)


def client(*args, **how):
    p = subprocess.Popen([os.path.join(BIN, "client"), *map(str, args)], env=environment(**how), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return p


def ready(p):
    for line in p.stderr:
        if line.strip() == "ready":
            return p
        sys.stderr.write(line)
    raise RuntimeError(f"client ended: {p.wait()}")


def finish(p):
    text, err = p.communicate(timeout=100)
    sys.stderr.write(err)
    return json.loads(text) if text else {"wrong": 1}


def in_process(what):
    global failures
    levels = [("native", {})]
    if what == "hold":
        levels = [(f"level{n}", {"level": n, "policy": "HPF"}) for n in (1, 2)]
    for name, how in levels:
        code, rows = program("gates", what, name, **how)
        failures += code != 0
        for row in rows:
            put({"part": what, **row, "run": 0})
        if code:
            put({"part": what, "workload": f"level2 {what}", "variant": name, "metric": "exit", "value": code, "run": 0})


def cost():
    """What a gate costs a launch: empty kernels, alone under xserver."""
    for run in range(2):
        variants = [("native", {}), ("level1", {"level": 1}), ("level2", {"level": 2}),
                    ("level2 each", {"level": 2, "gate_us": 0})]
        for name, how in variants:
            p = server() if how else None
            if how:
                how["priority"] = 1
            code, rows = program("micro", name, **how)
            for row in rows:
                put({"part": "cost", **row, "workload": "level2 " + row["workload"], "run": run})
            if code:
                put({"part": "cost", "workload": "level2 cost", "variant": name, "metric": "exit", "value": code})
            if p:
                stop(p)


rounds = 0


def share(t_ms, variant, run, neighbours=1, part="latency", depth=64):
    """Jobs of the urgent client beside others that always have `depth` kernels of t_ms to give."""
    global failures
    how = {"alone": None, "native": {}, "level1": {"level": 1}, "level2": {"level": 2},
           "level2 each": {"level": 2, "gate_us": 0}}[variant]
    p = server() if how else None
    lows = []
    if variant != "alone":
        extra = {"priority": 0} if how else {}
        lows = [client("low", t_ms, 60, rounds, depth=depth, **(how or {}), **extra) for _ in range(neighbours)]
        for low in lows:
            ready(low)
    high = ready(client("high", N, rounds, **(how or {}), **({"priority": 10} if how else {})))
    row = finish(high)
    wrong = row["wrong"]
    workload = f"level2 {part}, T = {t_ms:g} ms" + (f", {neighbours} neighbours" if part == "parked" else "")
    for name in ("start", "job"):
        for q in ("p50", "p99", "max"):
            put({"part": part, "workload": workload, "variant": variant, "side": "high", "metric": f"{name}_{q}",
                 "value": row[f"{name}_{q}"], "unit": "us", "n": N, "run": run, "t_ms": t_ms, "neighbours": neighbours})
        put({"workload": workload, "variant": variant, "metric": name, "unit": "us", "run": run, "t_ms": t_ms,
             "samples": row[name]}, samples)
    kernels = seconds = 0
    for low in lows:
        low.send_signal(signal.SIGTERM)
    for low in lows:
        row = finish(low)
        wrong += row["wrong"]
        kernels += row.get("kernels", 0)
        seconds = max(seconds, row.get("seconds", 0))
    if lows:
        put({"part": part, "workload": workload, "variant": variant, "side": "low", "metric": "share",
             "value": round(kernels * t_ms / 1e3 / seconds, 4), "unit": "1", "n": kernels, "run": run, "t_ms": t_ms,
             "neighbours": neighbours})
    put({"part": part, "workload": workload, "variant": variant, "side": "", "metric": "wrong", "value": wrong, "unit": "1",
         "n": N, "run": run})
    failures += wrong
    if p:
        stop(p)


def calibrate():
    global rounds
    code, rows = program("client", "calibrate")
    rounds = rows[0]["rounds_per_ms"]


def latency():
    calibrate()
    for run in range(int(os.environ.get("RUNS", "1"))):
        for t in T_MS:
            for v in os.environ.get("VARIANTS", "alone,native,level1,level2,level2 each").split(","):
                share(t, v, run)


def parked():
    calibrate()
    for n in NEIGHBOURS:
        for v in ("level1", "level2"):
            share(1, v, 0, neighbours=n, part="parked", depth=8)


for part_name in PARTS:
    if part_name in done:
        print(part_name, "is complete")
        continue
    t0 = time.monotonic()
    {"cost": cost, "latency": latency, "parked": parked}.get(part_name, lambda: in_process(part_name))()
    out.write(json.dumps({"part": part_name, "complete": True, "seconds": round(time.monotonic() - t0, 1)}) + "\n")
    print(f"-- {part_name}: {time.monotonic() - t0:.1f} s", flush=True)
print("failures", failures)
try:
    print(open(os.path.join(folder, "xserver.log"), encoding="utf-8").read()[-2000:])
except OSError:
    pass
sys.exit(failures != 0)
