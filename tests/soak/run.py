#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bounded load, and counters that would show a leak: run.py --build BUILD [--seconds 60] [--out FILE] [--selftest]

One xserver; two programs that make and end queues, change their scheduler (a policy, xserver, none), suspend, resume
and submit all the time; short programs under each shim that come and go; and somebody who looks with xcli. Twice a
second (in long runs less often) the memory (without files: what a library takes depends on who else has it mapped),
descriptors, threads and mappings of xserver and of the two programs are read. After a third of the time what a process
needs is there: from then on none of these may grow. --selftest: a process that leaks must be found. --out FILE: the
counters go there as JSON lines, one for each counter of a process with at most a hundred samples, and the totals. A long run says each minute where it is;
SIGINT ends it early, and what was seen until then is judged.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import machine  # noqa: E402

# The fake device's rings once full (2.2 MB), and as many queues' storages as a loaded machine brings about (600 of 3.3 kB):
# such a machine takes longer than a third of a short run for that.
NEEDED_KB = 4608
LIMITS = {"memory_kb": lambda a: a * 0.04 + 768, "descriptors": lambda a: 3, "threads": lambda a: 3,
          "mappings": lambda a: a * 0.1 + 6}


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}


def read(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        own = sum(int(line.split()[1]) for line in f if line.startswith(("RssAnon:", "RssShmem:")))
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
        mappings = sum(1 for _ in f)
    return {"memory_kb": own, "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")), "mappings": mappings}


def judge(name, samples, needed_kb=0):
    """The last third against the middle one. needed_kb: so much memory is no leak."""
    bad = []
    third = len(samples) // 3
    if third < 3:
        return [f"{name}: only {len(samples)} samples"]
    line = [f"{name:12}"]
    for what, limit in LIMITS.items():
        a = statistics.median(s[what] for s in samples[third:2 * third])
        b = statistics.median(s[what] for s in samples[-third:])
        line.append(f"{what} {a:.0f} -> {b:.0f}")
        if b - a > limit(a) and not (what == "memory_kb" and b <= needed_kb):
            bad.append(f"{name}: {what} grows from {a:.0f} to {b:.0f}")
    print(", ".join(line))
    return bad


def watch(processes, seconds, enough=None, counts=None):
    samples = {name: [] for name in processes}
    begin = said = time.monotonic()
    ended = set()
    while time.monotonic() < begin + seconds and not (enough and enough.is_set()):
        if counts and time.monotonic() > said + 60:
            said = time.monotonic()
            print(f"{said - begin:.0f} s: {counts['programs']} programs came and went, {counts['losses']} failed; " +
                  "; ".join(f"{name} " + " ".join(str(of[-1][what]) for what in LIMITS) for name, of in samples.items()),
                  file=sys.stderr, flush=True)
        for name, p in processes.items():
            if p.poll() is None:
                try:
                    samples[name].append(dict(read(p.pid), second=round(time.monotonic() - begin)))
                except OSError:
                    pass
            elif counts and name not in ended:
                ended.add(name)
                print(f"{time.monotonic() - begin:.0f} s: {name} ended with {p.returncode}", file=sys.stderr, flush=True)
        time.sleep(max(0.5, seconds / 600))
    return samples


def selftest():
    leak = subprocess.Popen([sys.executable, "-c", "import os,time\nk=[]\n"
                             "for _ in range(400): k.append(bytearray(200000)); os.dup(0); time.sleep(0.02)"],
                            stdin=subprocess.DEVNULL)
    bad = judge("leaks", watch({"leaks": leak}, 6)["leaks"])
    leak.kill()
    leak.wait()
    print("\n".join(bad))
    return 0 if any("memory_kb" in b for b in bad) and any("descriptors" in b for b in bad) else 1


PLATFORMS = {"cuda": "cuda/driver/fakecuda.so", "hip": "hip/system/fakehip.so", "opencl": "opencl/driver/libOpenCL.so.1"}


def churn(build, env, stop, counts):
    """One program after the other, of each platform that was built."""
    there = [(os.path.join(build, f"tests/sequences/seq_{platform}"), os.path.join(build, "tests/fakes", fake),
              os.path.join(build, f"lib/xsched/libshim{platform}.so")) for platform, fake in PLATFORMS.items()]
    there = [one for one in there if all(map(os.path.exists, one))]
    while not stop.is_set():
        program, fake, shim = there[counts["programs"] % len(there)]
        counts["programs"] += 1
        extra = dict(env, LD_LIBRARY_PATH=os.path.dirname(fake), XSCHED_PRIORITY="1", XLOG_LEVEL="OFF", LD_PRELOAD=shim)
        r = subprocess.run([program, fake, str(counts["programs"]), "1", "100"], env=extra, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False, start_new_session=True)
        calls = [line.split()[1] for line in r.stdout.splitlines() if line.startswith("steps")]
        if r.returncode != 0 or not calls:
            counts["losses"] += 1
            print(f"{os.path.basename(program)} {counts['programs']}: exit code {r.returncode} "
                  f"{r.stdout.splitlines()[-1:]} {r.stderr.splitlines()[-2:]}", flush=True)
        else:
            counts["calls"] += int(calls[0])
        looked = subprocess.run([os.path.join(build, "bin/xcli"), "list", "--json"], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, start_new_session=True)
        counts["looks"] += looked.returncode == 0
        stop.wait(0.05)


def write_rows(path, samples, totals, said, about):
    """As docs/results/README.md has them."""
    with open(path, "w", encoding="ascii") as f:
        def row(**of):
            f.write(json.dumps(dict({"workload": "soak", "variant": "xsched"}, **of, report=False, **about)) + "\n")

        for name, of in samples.items():
            of = of[::len(of) // 100 + 1]
            for metric in LIMITS:
                row(side=name, metric=metric, seconds=[s["second"] for s in of], samples=[s[metric] for s in of])
        for name, line in said.items():
            row(side=name, metric="said", value=line)
        for metric, value in totals.items():
            row(metric=metric, value=value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--out")
    parser.add_argument("--selftest", action="store_true")
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    build = os.path.abspath(args.build)
    about = {"device": machine.processor(), "commit": machine.commit(build), "date": machine.now()}
    enough = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: enough.set())
    with tempfile.TemporaryDirectory(prefix="xsched-soak-") as folder:
        path = os.path.join(folder, "s")
        env = dict(clean(), XSCHED_SOCKET=path)
        server = subprocess.Popen([os.path.join(build, "bin/xserver"), "--socket", path, "--port", "0"],
                                  env=dict(env, XLOG_LEVEL="OFF"), stderr=subprocess.DEVNULL, start_new_session=True)
        while not os.path.exists(path) and server.poll() is None:
            time.sleep(0.02)
        programs = {}
        for i in (1, 2):
            programs[f"program {i}"] = subprocess.Popen(
                [os.path.join(build, "tests/sequences/seq_preempt"), str(i * 1000000), "1000000000", "100",
                 str(int(args.seconds)), "global"],
                env=dict(env, XLOG_LEVEL="OFF", XSCHED_PRIORITY=str(i)), stdout=subprocess.PIPE, text=True,
                start_new_session=True)
        counts = {"programs": 0, "calls": 0, "losses": 0, "looks": 0}
        stop = threading.Event()
        comers = threading.Thread(target=churn, args=(build, env, stop, counts))
        comers.start()
        begin = time.monotonic()
        samples = watch({"xserver": server, **programs}, args.seconds - 1, enough, counts)
        seconds = round(time.monotonic() - begin) + 1
        stop.set()
        comers.join()
        bad, said = [], {}
        for name, p in programs.items():
            if enough.is_set():
                p.terminate()
            try:
                out = p.communicate(timeout=120)[0]
            except subprocess.TimeoutExpired:
                p.kill()
                out = p.communicate()[0]
                bad.append(f"{name} hangs")
            last = out.splitlines()[-1:] or [""]
            if enough.is_set():
                said[name] = "ended early"
                continue
            print(f"{name}: {last[0]}")
            said[name] = last[0]
            bad += [f"{name}: {line}" for line in out.splitlines() if line.startswith("FAILED")][:3]
            if p.returncode not in (0, 1) or " API calls" not in last[0]:
                bad.append(f"{name} ended with {p.returncode}")
        if server.poll() is not None:
            bad.append(f"xserver ended with {server.returncode}")
        else:
            server.terminate()
            server.wait(30)
    for name, s in samples.items():
        bad += judge(name, s, NEEDED_KB if name in programs else 0)
    if counts["looks"] != counts["programs"]:
        bad.append(f"xcli answered {counts['looks']} times of {counts['programs']}")
    if counts["losses"] or counts["programs"] < 3:
        bad.append(f"{counts['losses']} of {counts['programs']} short programs failed")
    if args.out:
        write_rows(args.out, samples, dict(counts, seconds=seconds, losses=len(bad)), said, about)
    print("\n".join(bad))
    print(f"soak: {seconds} s, {counts['programs']} programs came and went with {counts['calls']} calls, "
          f"{counts['looks']} looks, {len(bad)} losses")
    return 1 if bad else 0


sys.exit(main())
