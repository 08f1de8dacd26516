#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/two: collectives on two GPUs. two.py BUILD OUT SECONDS [PART...]

The ranks (nccl_rank.py) have priority 0; an urgent program (bench/load_cuda, priority 10) keeps both devices busy for 0.3 s
of each 0.45 s. In each part results have to be those of the native run and everybody has to end; under XSched every
collective has to be known as one, and where a rank is held (level 1, level 2) none may take as long as the urgent program
is busy: then one of its halves would have been held. To try the script without a device: FAKE=FOLDER_OF_THE_FAKE_DRIVER,
BUILD the folder of the build."""
import datetime
import json
import os
import struct
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench"))
from suite import machine  # noqa: E402
from suite.clients import Client, ClientError, collect  # noqa: E402
from suite.services import ServiceError, XServer  # noqa: E402
from suite.stats import quantile  # noqa: E402
from suite.variants import clean_environment  # noqa: E402

BUILD, OUT, LIMIT = sys.argv[1], sys.argv[2], float(sys.argv[3])
FAKE = os.environ.get("FAKE")
SHIM = os.path.join(BUILD, "lib", "xsched", "libshimcuda.so")
STEPS = 200 if FAKE else 400
BURST_MS, PERIOD_MS, BURSTS = 300, 450, 12
COLLECTIVES_AT = 2 * 64 + 8                    # of xs_client_header (src/wire/page.h)
# name: (how the ranks run, level or "" for native, whether the urgent program is there)
PARTS = {
    "native": ("processes", "", False), "auto": ("processes", "auto", True), "level1": ("processes", "1", True),
    "native-urgent": ("processes", "", True), "threads-native": ("threads", "", False), "threads-auto": ("threads", "auto", True),
    "graph-native": ("graph", "", False), "graph-auto": ("graph", "auto", True), "level2": ("processes", "2", True),
    "threads-level1": ("threads", "1", True), "alone": ("processes", "auto", False),
}
ESTIMATE_S = 25                                # of a part at most, where nothing hangs
LOG = os.path.join(OUT, "clients.log")
began = time.monotonic()
failures = []


def wrong(what):
    failures.append(what)
    print("WRONG:", what, flush=True)


def rows_before():
    try:
        with open(os.path.join(OUT, "two.jsonl"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]
    except OSError:
        return []


def write(part, side, metric, value, unit, n=1, **more):
    mode, level, _ = PARTS[part]
    row = {"workload": "nccl", "variant": part, "mode": mode, "side": side, "metric": metric, "value": value, "unit": unit, "n": n,
           "run": 0, "device": "fake CUDA device" if FAKE else os.environ.get("DEVICE", "2 x NVIDIA H200"),
           "driver": "fake" if FAKE else machine.nvidia_driver(), "framework": framework, "commit": COMMIT,
           "date": machine.now(), "report": False, **({"level": level} if level else {}), **more}
    with open(os.path.join(OUT, "two.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps(row, separators=(",", ":")) + "\n")
    if "samples" not in more:
        print(f"{time.monotonic() - began:6.1f} {part:15} {side:7} {metric:20} {value} {unit} (n = {n})", flush=True)


framework = "C"
COMMIT = machine.commit(BUILD)


def environment(server, level, priority):
    env = clean_environment()
    if FAKE:
        env["LD_LIBRARY_PATH"] = FAKE
    if level:
        env.update(LD_PRELOAD=SHIM, XSCHED_SOCKET=server.socket, XSCHED_PRIORITY=str(priority), XSCHED_AUTO_XQUEUE_LEVEL=level)
    return env


def rank_commands(mode, folder):
    if FAKE:                                   # kernels that meet in shared memory; the fake knows them by the name of NCCL's
        path = os.path.join(folder, "counters")
        with open(path, "wb") as f:
            f.truncate(STEPS * 4)
        names = ("_Z31ncclDevKernel_AllReduce_of_fake", "_Z35ncclSymkDevKernel_AllReduce_of_fake")
        return [[os.path.join(BUILD, "tests", "cuda", "cuda_rank"), path, str(i), names[i], str(STEPS // 10), str(i)]
                for i in range(2)]
    program = [sys.executable, "-B", os.path.join(HERE, "nccl_rank.py"), mode]
    if mode == "threads":
        return [[*program, str(STEPS)]]
    return [[*program, os.path.join(folder, "store"), str(i), str(STEPS)] for i in range(2)]


def collectives_of(pid):
    """How many the process's page says that it has begun; -1 when it cannot be read."""
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
            at = next(int(line.split("-")[0], 16) for line in f if "memfd:xsched-client" in line and line.split()[2] == "00000000")
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
            f.seek(at + COLLECTIVES_AT)
            return struct.unpack("Q", f.read(8))[0]
    except (OSError, StopIteration):
        return -1


def bursts(client, before_ms):
    """Both roles of the urgent program: kernels of 0.5 ms for BURST_MS, again and again."""
    start = time.monotonic_ns() + int(before_ms * 1e6)
    at = ",".join(str(i * PERIOD_MS * 1000) for i in range(BURSTS))
    for role in ("high0", "high1"):
        client.send(f"run {role} open start={start} end={start + int(BURSTS * PERIOD_MS * 1e6)} work_us=500 "
                    f"kernels={BURST_MS * 2} width=100 at={at}")


def calibrate():
    probe = Client([os.path.join(BUILD, "bench", "load_cuda"), "probe"], environment(None, "", 0), LOG, "probe")
    row = collect([probe], {probe: 1}, 60)[probe][0]
    probe.end()
    if row["devices"] < 2:
        print(f"skipped: two devices are wanted, {row['devices']} is here")
        sys.exit(77)
    return row["rounds_per_ms"]


def run_part(part, rounds, folder):
    global framework
    mode, level, urgent = PARTS[part]
    server = XServer(BUILD, ["--policy", "HPF"], os.path.join(OUT, "xserver.log")) if level else None
    ranks, high = [], None
    try:
        if urgent:
            high = Client([os.path.join(BUILD, "bench", "load_cuda"), f"{rounds:.3f}", "high0:0:0", "high1:0:1"],
                          environment(server, level, 10), LOG, f"{part} urgent")
            collect([high], {high: 1}, 60)
        ranks = [Client(c, environment(server, level, 0), LOG, f"{part} rank {i}") for i, c in enumerate(rank_commands(mode, folder))]
        hello = collect(ranks, {r: 1 for r in ranks}, 120)     # a cold machine reads PyTorch from its disk
        if not FAKE:
            framework = f"PyTorch {hello[ranks[0]][0]['torch']}, NCCL {hello[ranks[0]][0]['nccl']}"
        if urgent:
            bursts(high, 200)          # so that the ranks are known for what they do before
        for r in ranks:
            r.send("go")
        got = collect(ranks, {r: 1 for r in ranks}, 45)
        if level:
            looked(part, server, ranks)
        burst = BURST_MS
        if urgent:
            for row in collect([high], {high: 2}, 30)[high]:
                burst = max(burst, urgent_rows(part, row))
        sums = []
        for i, r in enumerate(ranks):
            row = got[r][0]
            sums += row.get("checksum", [])
            took = row["collective_ms"]
            write(part, f"rank{i}", "seconds", row["seconds"], "s")
            write(part, f"rank{i}", "collective_p50", quantile(took, .5), "ms", len(took))
            write(part, f"rank{i}", "collective_max", max(took), "ms", len(took))
            if row.get("group_ms"):
                write(part, f"rank{i}", "group_max", max(row["group_ms"]), "ms", len(row["group_ms"]))
            write(part, f"rank{i}", "collective", None, "ms", len(took), samples=took)
            # one whose call was kept waiting had not begun: its event was in the stream before
            begun = max(t - c for t, c in zip(took, row.get("called_ms", [0] * len(took))))
            write(part, f"rank{i}", "collective_begun_max", round(begun, 3), "ms", len(took))
            if level in ("1", "2") and begun > 0.8 * burst:
                wrong(f"{part}: a collective took {begun:.0f} ms beside bursts of {burst:.0f} ms: it was cut in two")
        compare(part, mode, sums)
        for c in [*ranks, *([high] if high else [])]:
            c.close()                          # together: to leave a group may wait for the others
        for c in [*ranks, *([high] if high else [])]:
            c.end(30)
            if c.process.returncode:
                wrong(f"{part}: {c.name} ended with {c.process.returncode}: {c.why()}")
    finally:
        for c in [*ranks, *([high] if high else [])]:
            if c.process.poll() is None:
                c.process.kill()
                c.process.wait()
        if server:
            server.stop()


def looked(part, server, ranks):
    """What xserver says of the ranks, and whether their collectives were known as such."""
    for i, r in enumerate(ranks):
        queues = server.queues(r.pid)
        if not queues:
            wrong(f"{part}: rank {i} did not join xserver")
            continue
        write(part, f"rank{i}", "held", sum(q["held_us"] for q in queues) / 1e3, "ms", len(queues),
              suspensions=sum(q["suspensions"] for q in queues), devices=len({q["device"] for q in queues}),
              level_in_force=max(q["level"] for q in queues))
        n = collectives_of(r.pid)
        write(part, f"rank{i}", "collectives_known", n, "1")
        if 0 <= n < STEPS:
            wrong(f"{part}: {n} of at least {STEPS} collectives of rank {i} were known as such")


def urgent_rows(part, row):
    """@return how long the urgent program is at work at a time, ms"""
    took = [(x[3] - x[0]) / 1e3 for x in row["requests_us"]]
    for name, q in (("burst_p50", .5), ("burst_max", 1)):
        write(part, row["role"], name, round(quantile(took, q), 2), "ms", len(took))
    if row["wrong"]:
        wrong(f"{part}: the urgent program's result on {row['role']} is wrong")
    return quantile(took, .5)


def compare(part, mode, sums):
    """The first part of a mode that was run is native."""
    if FAKE:
        return
    write(part, "", "checksum", sums, "", len(sums))
    for row in rows_before():
        if row["metric"] == "checksum" and row["mode"] == mode and row["variant"].endswith("native") and row["value"] != sums:
            wrong(f"{part}: results {sums}, native {row['value']}")


def main():
    os.makedirs(OUT, exist_ok=True)
    done_path = os.path.join(OUT, "done")
    open(done_path, "a", encoding="ascii").close()
    with open(done_path, encoding="ascii") as f:
        done = f.read().split()
    wanted = sys.argv[4:] or list(PARTS)
    for part in wanted:
        if part not in PARTS:
            sys.exit(f"no part '{part}' (there are {', '.join(PARTS)})")
    rounds = calibrate()
    for part in wanted:
        if part in done or (FAKE and PARTS[part][0] != "processes"):
            continue
        if time.monotonic() - began + ESTIMATE_S > LIMIT:
            print(f"no time left for {part}: call again")
            return 75
        print(f"== {part}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            began_part = time.monotonic()
            try:
                run_part(part, rounds, folder)
            except (ClientError, ServiceError, OSError, KeyError, ValueError) as e:
                wrong(f"{part}: {type(e).__name__}: {e}")
        print(f"   {time.monotonic() - began_part:.1f} s", flush=True)
        with open(done_path, "a", encoding="ascii") as f:
            f.write(part + "\n")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%H:%M")
    print(f"{date}: {len(failures)} failures, {time.monotonic() - began:.0f} s", flush=True)
    write(wanted[-1], "", "failures", len(failures), "1", failures=failures)
    return 1 if failures else 0


sys.exit(main())
