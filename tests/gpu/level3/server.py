#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs, the shim and xserver on an NVIDIA GPU: server.py BIN LIB RESULTS.jsonl

BIN holds `client` and `xserver`, LIB the libraries (LIB/xsched/libshimcuda.so). Workload E through the whole way
(alone, native, level 1, slices), then kill -9 of xserver and of the background program."""
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BIN, LIB, OUT = sys.argv[1:4]
T_MS = [float(t) for t in os.environ.get("T_MS", "1 5 20 50").split()]
N = int(os.environ.get("N", "150"))
RUNS = int(os.environ.get("RUNS", "2"))
KILLS = int(os.environ.get("KILLS", "2"))
DRIVER = open("/sys/module/nvidia/version", encoding="ascii").read().strip()
folder = tempfile.mkdtemp()
SOCKET = os.path.join(folder, "xserver.sock")
out = open(OUT, "a", encoding="ascii", buffering=1)
samples = open(OUT.replace(".jsonl", "-samples.jsonl"), "a", encoding="ascii", buffering=1)


def tail():
    return {"level": 3, "device": "NVIDIA H200", "driver": DRIVER, "framework": "C", "commit": os.environ.get("COMMIT", ""),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def result(workload, variant, side, metric, value, unit, n, run, report=False, **more):
    row = {"workload": workload, "variant": variant, "side": side, "metric": metric, "value": value, "unit": unit, "n": n,
           "run": run, **more, **({} if report else {"report": False}), **tail()}
    out.write(json.dumps(row, separators=(",", ":")) + "\n")
    print(workload, variant, side, metric, value, unit, "n", n, "run", run, more, flush=True)


def start_server(*options):
    log = open(os.path.join(folder, "xserver.log"), "a", encoding="utf-8")
    p = subprocess.Popen([os.path.join(BIN, "xserver"), "--socket", SOCKET, "--http=OFF", *options], stderr=log, stdout=log)
    for _ in range(200):
        if os.path.exists(SOCKET):
            return p
        time.sleep(0.01)
    raise RuntimeError(open(os.path.join(folder, "xserver.log"), encoding="utf-8").read())


def stop_server(p):
    p.terminate()
    p.wait(10)


def client(priority, *args, level="auto"):
    env = dict(os.environ)
    if priority is not None:
        env.update(LD_PRELOAD=os.path.join(LIB, "xsched/libshimcuda.so"), XSCHED_PRIORITY=str(priority),
                   XSCHED_SOCKET=SOCKET, XLOG_LEVEL=os.environ.get("XLOG_LEVEL", "WARN"),
                   XSCHED_AUTO_XQUEUE_LEVEL=level)
    p = subprocess.Popen([os.path.join(BIN, "client"), *map(str, args)], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if line.strip() == "ready":
            return p
        sys.stderr.write(line)
    raise RuntimeError(f"client {args} ended: {p.wait()}")


def finish(p):
    text, err = p.communicate(timeout=60)
    sys.stderr.write(err)
    return json.loads(text) if text else {}


ROUNDS = json.loads(subprocess.run([os.path.join(BIN, "client"), "calibrate"], stdout=subprocess.PIPE,
                                   check=True).stdout)["rounds_per_ms"]

# variant -> (options of xserver or None, level)
VARIANTS = {
    "alone": (None, None), "native": (None, None), "level1": (["--lv3-slices=OFF"], "1"),
    "xsched": ([], "auto"), "short100": (["--tune=lv3-short-us=100"], "auto"),
}
if os.environ.get("VARIANTS"):
    VARIANTS = {v: VARIANTS[v] for v in os.environ["VARIANTS"].split()}


def share(variant, t_ms, run):
    options, level = VARIANTS[variant]
    server = start_server(*options) if options is not None else None
    low = client(0 if server else None, "low", t_ms, 60, ROUNDS, level=level) if variant != "alone" else None
    high = client(10 if server else None, "high", N, ROUNDS, level=level)
    row = finish(high)
    bad = row["wrong"]
    workload = f"level3 server, T = {t_ms:g} ms"
    for name in ("start", "job"):
        for p in ("p50", "p99", "max"):
            result(workload, variant, "high", f"{name}_{p}", row[f"{name}_{p}"], "us", N, run,
                   report=t_ms == 50 and p != "max", t_ms=t_ms)
        samples.write(json.dumps({"workload": workload, "variant": variant, "metric": name, "unit": "us", "run": run,
                                  "t_ms": t_ms, "samples": row[name], "report": False, **tail()},
                                 separators=(",", ":")) + "\n")
    if low:
        low.send_signal(signal.SIGTERM)
        row = finish(low)
        bad += row["wrong"]
        result(workload, variant, "low", "share", round(row["kernels"] * t_ms / 1e3 / row["seconds"], 4), "1",
               row["kernels"], run, report=t_ms == 50, t_ms=t_ms)
    if server:
        stop_server(server)
    return bad


def kills(run):
    bad = 0
    for what in ("xserver", "low"):
        server = start_server()
        low = client(0, "low", 20, 4, ROUNDS)
        high = client(10, "high", 100, ROUNDS)
        time.sleep(0.5)
        t0 = time.monotonic()
        (server if what == "xserver" else low).kill()
        (server if what == "xserver" else low).wait()
        reaped = time.monotonic() - t0
        row = finish(high)
        bad += row["wrong"]
        result("level3 server, kill -9", what, "high", "job_max", row["job_max"], "us", 100, run)
        result("level3 server, kill -9", what, "", "reaped", reaped * 1e3, "ms", 1, run)
        if what == "xserver":
            row = finish(low)
            bad += row["wrong"] or low.returncode != 0
            result("level3 server, kill -9", what, "low", "kernels", row["kernels"], "1", 1, run)
        else:
            stop_server(server)
    return bad


failures = 0
for t in T_MS:
    for r in range(RUNS):
        for v in VARIANTS:
            failures += share(v, t, r)
for r in range(KILLS):
    failures += kills(r)
result("level3 server, kill -9", "all", "", "failures", failures, "1", 2 * KILLS, 0, report=True)
print(open(os.path.join(folder, "xserver.log"), encoding="utf-8").read()[-3000:])
sys.exit(failures != 0)
