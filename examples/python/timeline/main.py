#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of which program ran when, on this host, whoever the programs are: asks xserver again and again for a while.
With --demo two programs of different priority are started, under an xserver of their own, so that there is something to see.
In a notebook: from IPython.display import SVG; SVG("who.svg")."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "common"))
import picture  # noqa: E402
import xsched  # noqa: E402
from together import Role  # noqa: E402

HELD = "#b9bdc4"  # of whichever program: it waits


def watch(seconds):
    """{process: [(from, to, "running" or "held"), ...]} in ms, and {process: (program, highest priority)}."""
    begin, last = time.monotonic(), 0.0
    spans, names = {}, {}
    while (now := time.monotonic() - begin) < seconds:
        status = xsched.status()
        programs = {p.pid: p.cmdline for p in status.processes}
        for q in status.queues:
            name = names.setdefault(q.pid, [programs.get(q.pid, str(q.pid)), q.priority])
            name[1] = max(name[1], q.priority)
            if q.ready:
                list_ = spans.setdefault((q.pid, "held" if q.suspended else "running"), [])
                if list_ and list_[-1][2] >= last:  # as at the last look
                    list_[-1][2] = now * 1e3
                else:
                    list_.append([last, last, now * 1e3])
        last = now * 1e3
    return spans, names


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
                start_demo(folder, options.seconds, started)
            spans, names = watch(options.seconds)
        except xsched.XSchedError as error:
            sys.exit(str(error))
        finally:
            for p in started:
                p.terminate()
                p.wait(30)
    roles, rows = [], {}
    pids = sorted({pid for pid, _ in spans}, key=lambda pid: (-names[pid][1], pid))
    for (pid, state), list_ in sorted(spans.items(), key=lambda item: (-names[item[0][0]][1], item[0])):
        label = f"{pid} {state}"
        roles.append(Role(label, names[pid][1], "", 0, HELD if state == "held" else
                          picture.COLOURS[pids.index(pid) % len(picture.COLOURS)]))
        rows[label] = list_
        print(f"{label}: {sum(e - b for _, b, e in list_):.0f} ms of {options.seconds * 1e3:.0f}, priority {names[pid][1]}, "
              f"{names[pid][0][:60]}")
    with open(options.out, "w") as f:
        f.write(picture.who_ran_when("Who ran when", roles, {"": rows}, window_ms=options.seconds * 1e3,
                                     bar="a bar is the time in which a process was seen with work that ran, or was held"))
    print(f"picture: {options.out}")
    return 0 if rows else 1


def answers():
    try:
        return bool(xsched.status())
    except xsched.ServerError:
        return False


def start_demo(folder, seconds, started):
    os.environ["XSCHED_SOCKET"] = os.path.join(folder, "xserver.sock")
    started.append(subprocess.Popen([os.path.join(os.path.dirname(xsched.launcher()), "xserver"), "--port", "0"],
                                    stderr=subprocess.DEVNULL))
    while not answers():
        if started[0].poll() is not None:
            raise SystemExit("xserver does not start")
        time.sleep(0.02)
    for priority, work, pause in ((0, "batch", 0), (10, "infer", 0.05)):
        started.insert(0, subprocess.Popen([xsched.launcher(), "run", "-q", "--no-server", "--priority", str(priority), "--",
                                            sys.executable, os.path.join(HERE, "load.py"), work, str(pause)]))
    for _ in range(1200):
        if len({q.pid for q in xsched.status().queues if q.commands > 10}) == 2:
            return
        time.sleep(0.05)
    raise SystemExit("the two programs have not joined xserver")


sys.exit(main())
