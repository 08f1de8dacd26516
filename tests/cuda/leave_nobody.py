#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts that measure on a GPU leave no program behind when they are told to end in the middle, nor when they come to
their end: it would disturb whatever is measured next.  leave_nobody.py BUILD FOLDER_OF_THE_FAKE_DRIVER"""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD, FAKE = map(os.path.abspath, sys.argv[1:3])
GPU = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../gpu")
holder = tempfile.TemporaryDirectory()
folder = holder.name
there = os.path.join(folder, "build")
os.makedirs(os.path.join(there, "bin"))
os.symlink(os.path.join(BUILD, "lib"), os.path.join(there, "lib"))
for name in ("bin/xserver", "bin/xcli", "tests/cuda/gpu_client", "tests/cuda/cuda_suite"):
    os.symlink(os.path.join(BUILD, name), os.path.join(there, "bin", os.path.basename(name)))


def write(path, *lines):
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    os.chmod(path, 0o755)


def members(session):
    """What runs in a session: command lines."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8") as f:
                state, _, _, its_session = f.read().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                with open(os.path.dirname(path) + "/cmdline", encoding="utf-8") as f:
                    found.append(f.read().replace("\0", " "))
        except OSError:
            continue                   # is gone
    return found


def leaves_nobody(name, args, until, **more):
    """UNTIL: how many of which programs must run before it is told to end; None: it comes to its end."""
    with tempfile.TemporaryFile("w+") as log:
        p = subprocess.Popen(args, env={**os.environ, "TMPDIR": folder, **more}, stdout=log, stderr=log, start_new_session=True)
        ends = time.monotonic() + 60
        while until and not all(sum(program in m for m in members(p.pid)) >= n for program, n in until.items()):
            if p.poll() is not None or time.monotonic() > ends:
                log.seek(0)
                os.killpg(p.pid, signal.SIGKILL)
                sys.exit(f"{name} does not come to {until}: {log.read()}")
            time.sleep(0.02)
        if until:
            p.send_signal(signal.SIGTERM)
        try:
            p.wait(60)
        except subprocess.TimeoutExpired:
            pass
    ends = time.monotonic() + 2        # who was killed may take a moment to be gone
    while members(p.pid) and time.monotonic() < ends:
        time.sleep(0.05)
    left = members(p.pid)
    for path in glob.glob("/proc/[0-9]*") if left else ():
        if os.path.exists(path) and os.getsid(int(os.path.basename(path))) == p.pid:
            os.kill(int(os.path.basename(path)), signal.SIGKILL)
    if left:
        sys.exit(f"{name} leaves {left}")
    print(name, "leaves nobody, status", p.returncode)


robust = [sys.executable, os.path.join(GPU, "robust.py")]
leaves_nobody("robust.py parked", [*robust, "parked", there, folder], {"gpu_client park": 8, "xserver": 1}, FAKE=FAKE)
leaves_nobody("robust.py kills", [*robust, "kills", there, folder], {"gpu_client low": 2, "fork": 2}, FAKE=FAKE)

# The ladder's programs are stand-ins, so that no framework is needed: one that goes on, one that ends at once.
ladder = [os.path.join(GPU, "run_ladder"), there, folder]
os.mkdir(os.path.join(folder, "path"))
client = os.path.join(there, "bin/client")
how = {"LD_LIBRARY_PATH": FAKE, "NEIGHBOUR": "1", "PATH": os.path.join(folder, "path") + ":" + os.environ["PATH"]}
for kind in "client", "stubborn client":
    if kind == "client":
        os.symlink(os.path.join(there, "bin/gpu_client"), client)
    else:
        os.unlink(client)
        write(client, f"#!{sys.executable}", "import signal, sys, time", "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
              "print(':1}') if 'calibrate' in sys.argv else time.sleep(1000)")
    write(os.path.join(folder, "path/python3"), "#!/bin/sh", "exec sleep 100")
    leaves_nobody(f"run_ladder, {kind}, told to end", ladder, {"client high": 1, "sleep 100": 1}, **how)
    write(os.path.join(folder, "path/python3"), "#!/bin/sh", "exit 0")
    leaves_nobody(f"run_ladder, {kind}", ladder, None, **how)
