#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xserver and a program whose clocks differ, as in a container with a time namespace of its own, or because a preload
(other_clock.c, libfaketime) gives the program another: an operator's suspension lasts, and ends soon when xserver is stopped:
timens.py namespace|preload PAIR SHIM FOLDER_OF_THE_FAKE XSERVER XCLI [PRELOAD]"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from tries import judged

SKIP = 77
HELD = 1.2      # s; a lease lasts half a second


def shifted(seconds):
    return ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(seconds)] if seconds else []


def until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def lines(path):
    with open(path, encoding="utf-8") as f:
        return f.read().count("\n")


def runs(process, through):
    """@return the pid of what was started, through unshare(1)"""
    if not through:
        return process.pid
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(path, encoding="ascii") as f:
        return int(f.read().split()[0])


def once(server_ahead, program_ahead, clock, pair, shim, fake, xserver, xcli, preload=""):
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        began = os.path.join(folder, "began")
        daemon = subprocess.Popen([*shifted(server_ahead), xserver, "--port", "0", "HPF"], env=env, stderr=subprocess.DEVNULL)
        program = None
        try:
            if not until(lambda: os.path.exists(os.path.join(folder, "xs.http.sock"))):
                return False
            with open(began, "w", encoding="utf-8") as out:
                program = subprocess.Popen([*shifted(program_ahead), "env", f"LD_LIBRARY_PATH={fake}", f"LD_PRELOAD={shim}:{preload}", *clock,
                                            "XSCHED_PRIORITY=0", "XSCHED_AUTO_XQUEUE_LEVEL=1", pair, "30"],
                                           env=env, stdout=out)

            def ask(*words):
                return subprocess.run([xcli, "--json", *words], env=env, capture_output=True, text=True, timeout=60, check=False)

            def pids():
                answer = ask("list")
                return [q["pid"] for q in json.loads(answer.stdout)["xqueues"]] if answer.returncode == 0 else []

            if not until(lambda: pids() and lines(began) > 10):
                return False
            pid = pids()[0]
            ask("suspend", f"--pid={pid}")
            time.sleep(0.3)          # what was in flight ends
            before = lines(began)
            time.sleep(HELD)
            held = lines(began) - before
            ask("resume", f"--pid={pid}")
            resumed = until(lambda: lines(began) > before + held + 10)
            ask("suspend", f"--pid={pid}")
            time.sleep(0.3)
            before = lines(began)
            os.kill(runs(daemon, server_ahead), signal.SIGSTOP)
            stopped = time.monotonic()
            went_on = until(lambda: lines(began) > before + 10)
            took = time.monotonic() - stopped
            print(f"server {server_ahead:+} s, program {program_ahead:+} s {' '.join(clock)}: {held} kernels in {HELD} s of suspension, resumed: {resumed}, "
                  f"on {took:.1f} s after xserver was stopped")
            return held == 0 and resumed and went_on and took < 5
        finally:
            for process in (program, daemon):
                if process:
                    process.kill()       # and what it started
                    process.wait()


def main(kind, *programs):
    if kind == "preload":
        clocks = (["OTHER_CLOCK_AHEAD=100000"], ["OTHER_CLOCK_AHEAD=-100000"], ["OTHER_CLOCK_RATE=5"], ["OTHER_CLOCK_RATE=300"])
        return 1 if any(judged(lambda c=clock: once(0, 0, c, *programs)) for clock in clocks) else 0
    can = subprocess.run([*shifted(100), "true"], capture_output=True, check=False)
    if can.returncode:
        print("no time namespaces here:", can.stderr.decode().strip())
        return SKIP
    with open("/proc/uptime", encoding="ascii") as f:
        behind = -int(float(f.read().split()[0])) + 60
    for server, program in ((0, 100000), (100000, 0), (0, min(behind, 0))):
        if judged(lambda s=server, p=program: once(s, p, [], *programs)):
            return 1
    return 0


sys.exit(main(*sys.argv[1:]))
