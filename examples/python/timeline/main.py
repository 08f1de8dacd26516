#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of which program ran when, on this host, whoever the programs are: `xsched record` draws it. With --demo two
programs of different priority are started, under an xserver of their own, so that there is something to see.
In a notebook: from IPython.display import SVG; SVG("who.svg")."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import xsched

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--out", default="who.svg")
    parser.add_argument("--demo", action="store_true")
    options = parser.parse_args()
    started = []
    with tempfile.TemporaryDirectory(prefix="xsched-timeline-") as folder:
        try:
            if options.demo:
                start_demo(folder, started)
            status = subprocess.run([xsched.launcher(), "record", "-o", options.out, "-d", f"{options.seconds}s"],
                                    check=False).returncode
        except xsched.XSchedError as error:
            sys.exit(str(error))
        finally:
            for p in started:
                p.terminate()
                p.wait(30)
    if options.demo and status == 0:
        with open(options.out, encoding="utf-8") as f:
            text = f.read()
        missing = [p.pid for p in started[:2] if f"PID {p.pid}," not in text]
        if missing:
            sys.exit(f"not in the picture: {missing}")
    return status


def answers():
    try:
        return bool(xsched.status())
    except xsched.ServerError:
        return False


def start_demo(folder, started):
    os.environ["XSCHED_SOCKET"] = os.path.join(folder, "xserver.sock")
    started.append(subprocess.Popen([os.path.join(os.path.dirname(xsched.launcher()), "xserver"), "--port", "0"],
                                    stderr=subprocess.DEVNULL))
    while not answers():
        if started[0].poll() is not None:
            raise SystemExit("xserver does not start")
        time.sleep(0.02)
    for priority, work, pause in ((0, "batch", 0), (10, "infer", 0.05)):
        started.insert(0, subprocess.Popen([xsched.launcher(), "run", "-q", "--no-server", "--priority", str(priority), "--",
                                            sys.executable, "load.py", work, str(pause)], cwd=HERE))
    for _ in range(1200):
        if len({q.pid for q in xsched.status().queues if q.commands > 10}) == 2:
            return
        time.sleep(0.05)
    raise SystemExit("the two programs have not joined xserver")


sys.exit(main())
