#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program has on the device before a scheduler can hold it:

    first.py PROGRAM SHIM FOLDER_OF_THE_FAKE XSERVER SLOW [CASE...]

It submits as fast as it can from its first command on (first.c). What is in flight is bounded while its
process joins, however long that takes; it goes on when nobody comes; and without xserver it is left alone.
SLOW is first_slow.c."""
import os
import signal
import subprocess
import sys
import tempfile
import time

from tries import judged

FEW = 12         # kernels of 1 ms in flight on a stream: one or two; joined and alone 2 ms of them
MANY = 400


class Stage:
    def __init__(self, program, shim, fake, xserver, slow, folder):
        self.program, self.xserver, self.slow = program, xserver, slow
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        self.socket = self.env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        self.with_shim = {"LD_LIBRARY_PATH": fake, "LD_PRELOAD": shim}
        self.running = []

    def serve(self):
        p = subprocess.Popen([self.xserver, "--no-http", "HPF"], env=self.env, stderr=subprocess.DEVNULL)
        self.running.append(p)
        for _ in range(1000):
            if os.path.exists(self.socket):
                break
            time.sleep(0.02)
        return p

    def start(self, *arguments, priority=0, level=1, slow=False, **more):
        """@param slow  its connect(2) takes a second  @return when it begins to submit"""
        env = dict(self.env, **self.with_shim, XSCHED_PRIORITY=str(priority),
                   XSCHED_AUTO_XQUEUE_LEVEL=str(level), **more)
        if slow:
            env["LD_PRELOAD"] = f"{self.slow} {env['LD_PRELOAD']}"
        p = subprocess.Popen([self.program, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, env=env)
        self.running.append(p)
        assert p.stdout.readline() == "begun\n"
        return p

    @staticmethod
    def said(p):
        words = p.communicate(timeout=60)[0].split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def end(self):
        for p in self.running:
            p.kill()
            p.communicate()


def joins(s):
    s.serve()
    got = [s.said(s.start(300, 1, 1, 60000, slow=slow)) for slow in (False, True)]
    return got, all(g["submitted"] == 300 and g["most"] <= FEW for g in got)


def local(s):
    """The scheduler is a thread of the program itself."""
    got = [s.said(s.start(100, 1, 1, 60000, XSCHED_POLICY="HPF", XSCHED_AUTO_XQUEUE="ON")) for _ in range(6)]
    return got, all(g["submitted"] == 100 and g["most"] <= FEW for g in got)


def threads(s):
    """Sixteen that begin at once: on eight streams, and on one."""
    s.serve()
    eight = s.said(s.start(20, 8, 16, 60000))
    one = s.said(s.start(20, 1, 16, 60000))
    return (eight, one), (eight["submitted"] == one["submitted"] == 320 and eight["most"] <= 2 * FEW and
                          one["most"] <= 4 * FEW)


def urgent(s):
    s.serve()
    s.start(1000000, 1, 1, 0, priority=5)
    time.sleep(0.3)


def busy(s):
    """An urgent program always has work: next to nothing of it runs, at level 2 either."""
    urgent(s)
    got = [s.said(s.start(900, 1, 1, 0, level=level)) for level in (1, 2)]
    return got, all(g["ran"] < 60 for g in got) and got[0]["submitted"] < 60


def busy_threads(s):
    """At level 2, from sixteen threads: the kernels were never timed, so each waits outside, and those that
    went before it do not take it along."""
    urgent(s)
    got = [s.said(s.start(60, 16, 16, 0, level=2)) for _ in range(6)]
    return got, all(g["ran"] < 200 for g in got)


def stopped(s):
    """xserver takes the connection and never answers: after 2 s that is given up."""
    s.serve().send_signal(signal.SIGSTOP)
    got = s.said(s.start(2900, 1, 1, 1500))
    return got, got["submitted"] == 2900 and got["most"] <= FEW and 1900 <= got["submit_ms"] < 2800


def stopped_others(s):
    """From sixteen threads; and at level 2, which has a wider bound once gates can be closed."""
    s.serve().send_signal(signal.SIGSTOP)
    got = s.said(s.start(50, 4, 16, 60000)), s.said(s.start(200, 1, 1, 60000, level=2))
    return got, (got[0]["submitted"] == 800 and got[0]["most"] <= FEW + 4 and
                 got[1]["submitted"] == 200 and got[1]["most"] <= FEW)


def killed(s):
    """It is killed while a program waits for its answer."""
    p = s.serve()
    p.send_signal(signal.SIGSTOP)
    low = s.start(1400, 1, 1, 400)
    time.sleep(0.5)
    p.kill()
    got = s.said(low)
    return got, got["submitted"] == 1400 and got["most"] <= FEW and 450 <= got["submit_ms"] < 1200


def dead(s):
    """Its socket is there, and nobody behind it."""
    p = s.serve()
    p.kill()
    p.wait()
    got = s.said(s.start(600, 1, 1, 60000))
    return got, os.path.exists(s.socket) and got["most"] > MANY and got["submit_ms"] < 300


def nobody(s):
    """There is no xserver, which is seen before anybody tries to reach it."""
    got = [s.said(s.start(600, 1, 1, 60000, slow=slow)) for slow in (False, True)]
    return got, all(g["most"] > MANY and g["submit_ms"] < 300 for g in got)


CASES = (joins, local, threads, busy, busy_threads, stopped, stopped_others, killed, dead, nobody)


def attempt(case, parts):
    with tempfile.TemporaryDirectory() as folder:
        s = Stage(*parts, folder)
        try:
            got, ok = case(s)
        finally:
            s.end()
    print(f"{case.__name__}: {got}", flush=True)
    return ok


def main():
    parts, names = sys.argv[1:6], sys.argv[6:]
    return max(judged(lambda c=c: attempt(c, parts)) for c in CASES if not names or c.__name__ in names)


sys.exit(main())
