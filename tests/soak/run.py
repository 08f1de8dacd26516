#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bounded load, and counters that would show a leak: run.py --build BUILD [--seconds 60] [--out FILE] [--selftest]

One xserver; two programs that make and end queues, change their scheduler (a policy, xserver, none), suspend, resume
and submit all the time; short programs under the CUDA shim that come and go; and somebody who looks with xcli. Twice a
second the memory (PSS), descriptors, threads and mappings of xserver and of the two programs are read. After a third of
the time what a process needs is there: from then on none of these may grow. --selftest: a process that leaks must be
found. --out FILE: the counters go there as JSON lines, at most a hundred a process, and the totals.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LIMITS = {"pss_kb": lambda a: a * 0.04 + 768, "descriptors": lambda a: 3, "threads": lambda a: 3,
          "mappings": lambda a: a * 0.1 + 6}


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}


def read(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        pss = next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
        mappings = sum(1 for _ in f)
    return {"pss_kb": pss, "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")), "mappings": mappings}


def judge(name, samples):
    """The last third against the middle one."""
    bad = []
    third = len(samples) // 3
    if third < 3:
        return [f"{name}: only {len(samples)} samples"]
    line = [f"{name:12}"]
    for what, limit in LIMITS.items():
        a = statistics.median(s[what] for s in samples[third:2 * third])
        b = statistics.median(s[what] for s in samples[-third:])
        line.append(f"{what} {a:.0f} -> {b:.0f}")
        if b - a > limit(a):
            bad.append(f"{name}: {what} grows from {a:.0f} to {b:.0f}")
    print(", ".join(line))
    return bad


def watch(processes, seconds):
    samples = {name: [] for name in processes}
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        for name, p in processes.items():
            if p.poll() is None:
                try:
                    samples[name].append(dict(read(p.pid), second=round(time.monotonic() - begin)))
                except OSError:
                    pass
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
    return 0 if any("pss_kb" in b for b in bad) and any("descriptors" in b for b in bad) else 1


def churn(build, env, stop, counts):
    driver = os.path.join(build, "tests/fakes/cuda/driver")
    extra = dict(env, LD_LIBRARY_PATH=driver, XSCHED_PRIORITY="1", XLOG_LEVEL="OFF",
                 LD_PRELOAD=os.path.join(build, "lib/xsched/libshimcuda.so"))
    while not stop.is_set():
        counts["programs"] += 1
        r = subprocess.run([os.path.join(build, "tests/sequences/seq_cuda"), os.path.join(driver, "fakecuda.so"),
                            str(counts["programs"]), "1", "100"], env=extra, stdout=subprocess.PIPE, text=True, check=False)
        calls = [line.split()[1] for line in r.stdout.splitlines() if line.startswith("steps")]
        if r.returncode != 0 or not calls:
            counts["losses"] += 1
        else:
            counts["calls"] += int(calls[0])
        looked = subprocess.run([os.path.join(build, "bin/xcli"), "list", "--json"], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        counts["looks"] += looked.returncode == 0
        stop.wait(0.05)


def write_rows(path, samples, totals, said):
    """As docs/results/README.md has them."""
    with open(path, "w", encoding="ascii") as f:
        for name, of in samples.items():
            for sample in of[::len(of) // 100 + 1]:
                for metric in LIMITS:
                    f.write(json.dumps({"workload": "soak", "variant": "xsched", "side": name, "metric": metric,
                                        "value": sample[metric], "second": sample["second"], "report": False}) + "\n")
        for name, line in said.items():
            f.write(json.dumps({"workload": "soak", "variant": "xsched", "side": name, "metric": "said", "value": line,
                                "report": False}) + "\n")
        for metric, value in totals.items():
            f.write(json.dumps({"workload": "soak", "variant": "xsched", "metric": metric, "value": value,
                                "report": False}) + "\n")


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
    with tempfile.TemporaryDirectory(prefix="xsched-soak-") as folder:
        path = os.path.join(folder, "s")
        env = dict(clean(), XSCHED_SOCKET=path)
        server = subprocess.Popen([os.path.join(build, "bin/xserver"), "--socket", path, "--port", "0"],
                                  env=dict(env, XLOG_LEVEL="OFF"), stderr=subprocess.DEVNULL)
        while not os.path.exists(path) and server.poll() is None:
            time.sleep(0.02)
        programs = {}
        for i in (1, 2):
            programs[f"program {i}"] = subprocess.Popen(
                [os.path.join(build, "tests/sequences/seq_preempt"), str(i * 1000000), "1000000000", "100",
                 str(int(args.seconds)), "global"],
                env=dict(env, XLOG_LEVEL="OFF", XSCHED_PRIORITY=str(i)), stdout=subprocess.PIPE, text=True)
        counts = {"programs": 0, "calls": 0, "losses": 0, "looks": 0}
        stop = threading.Event()
        comers = threading.Thread(target=churn, args=(build, env, stop, counts))
        comers.start()
        samples = watch({"xserver": server, **programs}, args.seconds - 1)
        stop.set()
        comers.join()
        bad, said = [], {}
        for name, p in programs.items():
            try:
                out = p.communicate(timeout=120)[0]
            except subprocess.TimeoutExpired:
                p.kill()
                out = p.communicate()[0]
                bad.append(f"{name} hangs")
            last = out.splitlines()[-1:] or [""]
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
        bad += judge(name, s)
    if counts["looks"] != counts["programs"]:
        bad.append(f"xcli answered {counts['looks']} times of {counts['programs']}")
    if counts["losses"] or counts["programs"] < 3:
        bad.append(f"{counts['losses']} of {counts['programs']} short programs failed")
    if args.out:
        write_rows(args.out, samples, dict(counts, seconds=round(args.seconds), losses=len(bad)), said)
    print("\n".join(bad))
    print(f"soak: {args.seconds:.0f} s, {counts['programs']} programs came and went with {counts['calls']} calls, "
          f"{counts['looks']} looks, {len(bad)} losses")
    return 1 if bad else 0


sys.exit(main())
