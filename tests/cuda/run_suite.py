#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite on the fake driver in one mode, compared with a run without XSched:
run_suite.py SUITE SHIM FOLDER_OF_THE_FAKE MODE [XSERVER]

MODE: quiet (no XQueue), disabled, app (XQueues, nobody schedules), local (a policy in the process), nomemops and
noregister (a device that cannot write marks), xserver (one of our own), local2 and xserver2 (the same at level 2,
with a gate before each command). Each with functions found by dlsym and by cuGetProcAddress. With XQueues, the second run's commands are counted
twice, by libpreempt and in the trace, and must agree and be more than 3000.
"""
import difflib
import os
import subprocess
import sys
import tempfile
import time

MODES = {"quiet": {}, "disabled": {"XSCHED_DISABLE": "1", "XSCHED_PRIORITY": "1"}, "app": {"XSCHED_AUTO_XQUEUE": "ON"},
         "local": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"},
         "nomemops": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF", "FAKE_CUDA": "no_memory_ops",
                      "FAKE_HIP": "no_writes"},
         "noregister": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF", "FAKE_CUDA": "no_register",
                        "FAKE_HIP": "no_register"},
         "xserver": {"XSCHED_PRIORITY": "1"},
         # gates as often as can be: one before each command
         "local2": {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF", "XSCHED_AUTO_XQUEUE_LEVEL": "2",
                    "XSCHED_TUNE": "gate-us=0"},
         "xserver2": {"XSCHED_PRIORITY": "1", "XSCHED_AUTO_XQUEUE_LEVEL": "2", "XSCHED_TUNE": "gate-us=0"}}


def counts(path):
    lines = most = 0
    with open(path, encoding="ascii") as f:
        for line in f:
            field = line.split()
            if len(field) > 3 and field[3] == "submit":
                lines += 1
                most = max(most, int(field[-1]))
    return lines, most


def run(suite, how, fake, **extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_FILE", "LD_PRELOAD"))}
    env.update(LD_LIBRARY_PATH=fake, **extra)
    r = subprocess.run([suite, how], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=50)
    said = [e for e in r.stderr.splitlines() if "XSCHED" in e]
    if "FAKE_CUDA" in extra and len(said) == 1 and "CUDA: th" in said[0]:
        said = []                 # it is said once that there are no marks
    return r.returncode, r.stdout.splitlines(), said


def main(suite, shim, fake, mode, xserver=None):
    with tempfile.TemporaryDirectory() as folder:
        extra = dict(MODES[mode], LD_PRELOAD=shim)
        daemon = None
        if mode.startswith("xserver"):
            extra["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
            daemon = subprocess.Popen([xserver, "--no-http", "HPF"], env=dict(os.environ, **{
                "XSCHED_SOCKET": extra["XSCHED_SOCKET"]}), stderr=subprocess.DEVNULL)
            for _ in range(100):
                if os.path.exists(extra["XSCHED_SOCKET"]):
                    break
                time.sleep(0.05)
        try:
            for how in ("dlsym", "entry"):
                want = run(suite, how, fake)
                if want[0] != 0:
                    print("without XSched:", want)
                    return 1
                scheduled = mode not in ("quiet", "disabled")
                trace = os.path.join(folder, how)
                if scheduled and how == "entry":
                    extra["XSCHED_TRACE"] = trace
                got = run(suite, how, fake, **extra)
                if got != want:
                    print("\n".join(difflib.unified_diff(want[1], got[1], "without", "with", lineterm="")))
                    print(mode, how, "exit code", got[0], got[2])
                    return 1
                print(f"{mode} {how}: {len(want[1])} lines equal")
                if "XSCHED_TRACE" in extra:
                    n = counts(trace)
                    print(f"{n[0]} submit lines, {n[1]} commands counted")
                    if n[0] != n[1] or n[0] <= 3000:
                        return 1
        finally:
            if daemon:
                daemon.terminate()
                daemon.wait()
    return 0


sys.exit(main(*sys.argv[1:]))
