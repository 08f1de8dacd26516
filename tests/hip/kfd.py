#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 3 on AMD's kernel driver as the fake has it: a program that is held takes its queues off the device in the middle
of a kernel, and they always come back: kfd.py CASE PAIR SHIM FOLDER_OF_THE_FAKE FAKE_KFD XSERVER

Cases: held, untimed, auto, probed, killed, stopped, urgent_dies, kill_loop, version, denied. In space, where masks confine
it beside an urgent program with gaps: space, space_killed, space_stopped, space_dies, space_spins, space_denied,
space_old, space_debugged, space_newer, space_in_time."""
import os
import signal
import subprocess
import sys
import tempfile
import time

LONG = "400"          # ms: the kernels of the program that is held


class World:
    def __init__(self, folder, pair, shim, fake, kfd, xserver):
        self.pair, self.xserver = pair, xserver
        self.log = os.path.join(folder, "kfd.log")
        self.errors = os.path.join(folder, "errors")
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("XSCHED_", "XLOG_", "FAKE_")) and k != "LD_PRELOAD"}
        env["XSCHED_SOCKET"] = os.path.join(folder, "xs.sock")
        self.plain = env
        self.env = dict(env, LD_LIBRARY_PATH=fake, LD_PRELOAD=f"{shim}:{kfd}", FAKE_KFD_LOG=self.log)
        self.started = []
        self.daemon = self.serve()

    def serve(self):
        p = subprocess.Popen([self.xserver, "--no-http", "HPF"], env=self.plain, stderr=subprocess.DEVNULL)
        self.started.append(p)
        for _ in range(200):
            if os.path.exists(self.plain["XSCHED_SOCKET"]):
                break
            time.sleep(0.05)
        return p

    def start(self, priority, *args, **env):
        with open(self.errors, "ab") as errors:
            p = subprocess.Popen([self.pair, *args], stdout=subprocess.PIPE, stderr=errors, text=True,
                                 env=dict(self.env, XSCHED_PRIORITY=str(priority), **env))
        self.started.append(p)
        return p

    def low(self, **env):
        return self.start(0, "30", "0", "0", LONG, **{"XSCHED_AUTO_XQUEUE_LEVEL": "3", **env})

    def high(self, busy="100000"):
        """Starts when the other has been timed."""
        return self.start(5, "30", busy, "200", XSCHED_AUTO_XQUEUE_LEVEL="3")

    def rows(self, pid):
        """[(ms, what, queue, percentage)] of one program"""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="ascii") as f:
            split = [line.split() for line in f.read().splitlines() if line.count(" ") == 6]
        return [(float(r[0]), r[2], int(r[3]), int(r[4])) for r in split if int(r[1]) == pid]

    def off(self, pid):
        """Whether its queues are off the device now."""
        now = {}
        for _, _, queue, percentage in self.rows(pid):
            now[queue] = percentage
        return 0 in now.values()

    def wait(self, what, seconds=60):
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            if what():
                return time.monotonic() - began
            time.sleep(0.01)
        raise RuntimeError(f"did not happen in {seconds} s: see {sys._getframe(1).f_lineno}")

    def held(self, **env):
        """A program that is held by a busy urgent one, with its queues off."""
        low = self.low(**env)
        self.wait(lambda: self.ends(low, 2))
        high = self.high()
        self.wait(lambda: self.off(low.pid))
        return low, high

    def ends(self, p, n):
        """Whether the program has ended so many kernels."""
        if not hasattr(p, "lines"):
            p.lines = 0
            os.set_blocking(p.stdout.fileno(), False)
        try:
            p.lines += (os.read(p.stdout.fileno(), 65536) or b"").count(b"\n")
        except BlockingIOError:
            pass
        return p.lines >= n

    def goes_on(self, p):
        self.ends(p, 0)
        enough = p.lines + 3
        self.wait(lambda: self.ends(p, enough))

    def said(self, text):
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            return f.read().count(text)

    def close(self):
        for p in self.started:
            p.kill()
            p.wait()


def held(w):
    low, high = w.held()
    time.sleep(0.3)                      # what ended before is told
    w.ends(low, 0)
    before = low.lines
    time.sleep(1.2)                      # three kernels long
    w.ends(low, 0)
    stood = low.lines - before
    high.kill()
    w.wait(lambda: not w.off(low.pid))
    w.goes_on(low)
    rows = w.rows(low.pid)
    print(f"kernels that ended while its queues were off: {stood}; requests {len(rows)}")
    return stood == 0 and w.daemon.poll() is None


def untimed(w):
    """All its kernels end beside an urgent one, so that none was ever timed."""
    high = w.start(5, "60", "150", "100", XSCHED_AUTO_XQUEUE_LEVEL="3")
    w.wait(lambda: w.ends(high, 2))
    low = w.low()
    w.wait(lambda: w.off(low.pid))
    high.kill()
    w.goes_on(low)
    return True


def auto(w):
    low = w.low(XSCHED_AUTO_XQUEUE_LEVEL="auto")
    w.wait(lambda: w.ends(low, 2))
    w.high()
    time.sleep(2)
    return not [r for r in w.rows(low.pid) if r[1] == "update"]


def probed(w):
    w.held(XSCHED_AUTO_XQUEUE_LEVEL="auto", XSCHED_HIP_LEVEL="3")
    return True


def killed(w):
    low, _ = w.held()
    w.daemon.kill()
    took = w.wait(lambda: not w.off(low.pid))
    print(f"on again {took * 1e3:.0f} ms after xserver was killed")
    w.goes_on(low)
    return took < 3


def stopped(w):
    low, _ = w.held()
    w.daemon.send_signal(signal.SIGSTOP)
    took = w.wait(lambda: not w.off(low.pid))
    print(f"on again {took * 1e3:.0f} ms after xserver was stopped")
    w.goes_on(low)
    w.daemon.send_signal(signal.SIGCONT)
    w.wait(lambda: w.off(low.pid))       # and it is held again
    return took < 5


def urgent_dies(w):
    low, high = w.held()
    high.kill()
    took = w.wait(lambda: not w.off(low.pid))
    print(f"on again {took * 1e3:.0f} ms after the urgent program was killed")
    return took < 3


def kill_loop(w):
    for i in range(6):
        low, high = w.held()
        for p in (low, high) if i % 2 else (high, low):
            p.kill()
            p.wait()
        if w.daemon.poll() is not None:
            print(f"xserver ended in round {i}")
            return False
    last = w.low()
    w.wait(lambda: w.ends(last, 3))      # nobody is in its way
    return True


# ---- in space ----

UNITS = 304           # of the fake's device; its wide part has 256, its narrow one 128
SPACE = {"XSCHED_SHARE": "SPACE", "XSCHED_AUTO_XQUEUE_LEVEL": "1"}


class Masks:
    """The number of compute units that the queues of a program have, as its log has it."""

    def __init__(self, w, pid):
        self.w, self.pid = w, pid

    def rows(self):
        if not os.path.exists(self.w.log):
            return []
        with open(self.w.log, encoding="ascii") as f:
            split = [line.split() for line in f.read().splitlines() if line.count(" ") == 6]
        return [(float(r[0]), int(r[3]), int(r[6], 16)) for r in split if int(r[1]) == self.pid and r[2] == "mask"]

    def units(self):
        rows = self.rows()
        return rows[-1][2] if rows else UNITS

    def changes(self):
        """@return changes of the part, and the most requests that a queue had for one of them"""
        rows, changes, most = self.rows(), 0, 0
        for queue in {r[1] for r in rows}:
            of_queue = [r[2] for r in rows if r[1] == queue]
            changes = max(changes, len(of_queue))
            most = max([most] + [1 + (a == b) for a, b in zip(of_queue, of_queue[1:])])
        return changes, most


def gaps(w, **env):
    """An urgent program that launches slowly: a kernel that takes no time, and a pause of 0.3 ms."""
    return w.start(5, "60", "0", "0.3", "0", **{**SPACE, **env})


def slow(w, **env):
    return w.start(0, "60", "0", "0", "5", **{**SPACE, **env})


def drain(p):
    """Reads on, so that it does not stop at a full pipe."""
    for _ in range(1000):
        before = getattr(p, "lines", 0)
        p_ends(p)
        if p.lines == before:
            return


def p_ends(p):
    if not hasattr(p, "lines"):
        p.lines = 0
        os.set_blocking(p.stdout.fileno(), False)
    try:
        p.lines += (os.read(p.stdout.fileno(), 65536) or b"").count(b"\n")
    except BlockingIOError:
        pass


def confined(w, **env):
    low = slow(w, **env)
    w.wait(lambda: w.ends(low, 2))
    high = gaps(w)
    masks = Masks(w, low.pid)
    w.wait(lambda: drain(high) or masks.units() < UNITS)
    return low, high, masks


def space(w):
    low, high, masks = confined(w)
    w.wait(lambda: drain(high) or masks.units() == 256)
    drain(low)
    before, seconds = low.lines, 2
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        drain(high)
        time.sleep(0.02)
    drain(low)
    ended = low.lines - before
    high.kill()
    took = w.wait(lambda: masks.units() == UNITS)
    w.goes_on(low)
    changes, most = masks.changes()
    print(f"beside: {ended} kernels of 5 ms in {seconds} s; the whole device {took * 1e3:.0f} ms after the urgent program; "
          f"{changes} changes, {most} request a queue for each")
    return ended > 200 * seconds * 0.5 and took < 3 and most == 1 and changes < 40 and not w.off(low.pid) and not Masks(w, high.pid).rows()


def space_killed(w):
    low, _, masks = confined(w)
    w.daemon.kill()
    took = w.wait(lambda: masks.units() == UNITS)
    print(f"the whole device {took * 1e3:.0f} ms after xserver was killed")
    w.goes_on(low)
    return took < 3


def space_stopped(w):
    low, high, masks = confined(w)
    w.daemon.send_signal(signal.SIGSTOP)
    took = w.wait(lambda: drain(high) or masks.units() == UNITS)
    print(f"the whole device {took * 1e3:.0f} ms after xserver was stopped")
    w.goes_on(low)
    w.daemon.send_signal(signal.SIGCONT)
    w.wait(lambda: drain(high) or masks.units() < UNITS) # and it is confined again
    return took < 5


def space_dies(w):
    """A confined program is killed; the next one is none the worse."""
    for _ in range(3):
        low, high, _ = confined(w)
        for p in (low, high):
            p.kill()
            p.wait()
    last = slow(w)
    w.wait(lambda: w.ends(last, 3))
    return w.daemon.poll() is None and Masks(w, last.pid).units() == UNITS


def space_spins(w):
    """Kernels that end on the whole device alone."""
    low, high, masks = confined(w, FAKE_KFD="spins", XLOG_LEVEL="WARN")
    w.wait(lambda: drain(high) or w.said("shares in time, not in space") > 0)
    w.wait(lambda: drain(high) or masks.units() == UNITS)
    high.kill()
    w.goes_on(low)
    return w.said("a kernel ended nothing for a second on a part of the device") == 1 and masks.units() == UNITS


def in_time(w, text, **env):
    """A program that cannot be masked waits while an urgent one is active, and says so once."""
    low = slow(w, XLOG_LEVEL="WARN", **env)
    w.wait(lambda: w.ends(low, 2))
    high = gaps(w)
    w.wait(lambda: drain(high) or w.said(text) > 0)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        drain(high)
        time.sleep(0.02)
    high.kill()
    w.goes_on(low)
    print(f"said {w.said(text)} times: {text}")
    return w.said(text) == 1 and Masks(w, low.pid).units() == UNITS


def space_denied(w):
    return in_time(w, "the program shares in time, not in space: the driver does not let XSched mask compute units (1)",
                   FAKE_KFD="deny_masks")


def space_old(w):
    return in_time(w, "the program shares in time, not in space: the driver does not let XSched mask compute units (25)",
                   FAKE_KFD="no_masks")


def space_debugged(w):
    return in_time(w, "the program shares in time, not in space: the driver does not let XSched mask compute units (16)",
                   FAKE_KFD="debugged")


def space_newer(w):
    return in_time(w, "the program shares in time, not in space: XSched does not know the masks of this architecture (130000)",
                   FAKE_KFD_SHAPE="130000 1 8 2 64")


def space_in_time(w):
    """One of them asks for space, the other does not: by turns."""
    low = slow(w)
    w.wait(lambda: w.ends(low, 2))
    high = gaps(w, XSCHED_SHARE="TIME")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        drain(high)
        time.sleep(0.02)
    high.kill()
    w.goes_on(low)
    return not Masks(w, low.pid).rows()


def refused(w, fault, text):
    low = w.low(FAKE_KFD=fault, XLOG_LEVEL="WARN")
    w.wait(lambda: w.ends(low, 2))
    high = w.high(busy="600")
    w.wait(lambda: w.said("level 3 is not available") > 0)
    time.sleep(1)
    high.kill()
    w.goes_on(low)
    print(f"said {w.said(text)} times: {text}")
    return w.said(text) == 1 and not w.off(low.pid)


def version(w):
    return refused(w, "version2", "XSched does not know this version of the kernel driver's interface (2)")


def denied(w):
    return refused(w, "deny", "the driver does not let XSched change queues")


def main(case, *programs):
    with tempfile.TemporaryDirectory() as folder:
        w = World(folder, *programs)
        try:
            ok = globals()[case](w)
        finally:
            w.close()
            if os.environ.get("KFD_VERBOSE"):
                for path in (w.log, w.errors):
                    if os.path.exists(path):
                        print(open(path, encoding="utf-8", errors="replace").read())
    return 0 if ok else 1


sys.exit(main(*sys.argv[1:]))
