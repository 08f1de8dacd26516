#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs of different priority on one device under an xserver, with kernels of about the same length:

  pairs.py fake PROGRAM SHIM XSERVER FOLDER_OF_THE_FAKE
  pairs.py outside PROGRAM SHIM XSERVER [OUT]
  pairs.py at FOLDER PROGRAM SHIM XSERVER [OUT]

PROGRAM is `operations`, whose role `pair` submits them. outside: on what HIP_TEST_EMULATED names, as operations.py has it;
the device there must be one that several processes share.

The background program keeps four kernels submitted ahead. How many of its kernels end while a request of the urgent one runs is
shown, natively and at levels 1 and 2; that is by the clocks of two programs, and nothing depends on it. The criterion needs no clock:
xserver reads counts in the page that it shares with the background program. Between two of its answers in the same suspension the
number of commands submitted (level 1) or completed (level 2) may grow by those that were on their way, and by no more. Between
suspensions the same count must grow, else it shows nothing. Then SIGKILL ends each side, xserver too, and the others go on."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = float(os.environ.get("HIP_TEST_PAIR_SECONDS", "20"))
EMPTY = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
LEVELS = [int(x) for x in os.environ.get("HIP_TEST_LEVELS", "1 2").split()]
# Commands that may be counted within a suspension. Level 1: the one with which the thread that submits them waits. Levels 2 and
# 3: the four in flight, of whose end a mark may tell late, and one more that the thread has submitted meanwhile.
ON_THEIR_WAY = {1: 1, 2: 5, 3: 5}
SPANS = 5         # suspensions that must be seen, each as long as three kernels: a loaded machine gets more tries
TRIES = 6


class Place:
    def __init__(self, way, program, folder):
        self.program, self.fake = program, folder if way == "fake" else ""
        self.start = [] if self.fake else [os.path.join(folder, "run")]
        self.kernel_ms, self.seconds = (5, 4) if self.fake else (20, SECONDS)
        self.kernels = 40 if self.fake else 15 # of a request: far more than may be on their way
        self.name = "the fake runtime" if self.fake else subprocess.run(self.start, stdout=subprocess.PIPE, text=True, timeout=60,
                                                                        check=False).stdout.strip()

    def popen(self, preload, *args, **extra):
        env = dict(EMPTY, **extra)
        if self.fake:
            env.update(LD_LIBRARY_PATH=self.fake, **({"LD_PRELOAD": preload} if preload else {}))
        command = [*self.start, *([] if self.fake else [preload]), self.program, "pair", *map(str, args)]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def ended(self, p, timeout):
        """(status, rows of numbers, our lines)"""
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(p)
            out, err = p.communicate()
        return p.returncode, [tuple(map(float, x.split())) for x in out.splitlines()], [x for x in err.splitlines() if "pair:" in x or "ERRO" in x]


def end(p):
    """SIGKILL for the program and for what started it."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def server(xserver, folder, level):
    path = os.path.join(folder, "xs.sock")
    for left in (path, http_name(path)):
        if os.path.exists(left):
            os.unlink(left)
    more = ["--inflight-us=20000"] if level == 3 else [] # level 3 acts on what is long in flight
    daemon = subprocess.Popen([xserver, "--port=0", *more, "HPF"], env=dict(EMPTY, XSCHED_SOCKET=path), stderr=subprocess.DEVNULL)
    for _ in range(1000):
        if os.path.exists(path) and os.path.exists(http_name(path)):
            break
        time.sleep(0.02)
    return daemon, path


def http_name(path):
    return path[:-len("sock")] + "http.sock"


class Watch(threading.Thread):
    """What xserver answers about the background program's busiest queue, one answer after another."""
    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.answers, self.stopped = http_name(sock), {}, threading.Event()

    def run(self):
        while not self.stopped.wait(0.002):
            begin = time.monotonic() * 1e3
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(10)
                    s.connect(self.sock)
                    s.sendall(b"GET /xqueues HTTP/1.0\r\nHost: localhost\r\n\r\n")
                    answer = b""
                    while part := s.recv(65536):
                        answer += part
                queues = json.loads(answer.partition(b"\r\n\r\n")[2])["xqueues"]
            except (OSError, ValueError):
                continue
            for q in queues:
                if q["priority"] == 1:
                    self.answers.setdefault(q["handle"], []).append(
                        (begin, time.monotonic() * 1e3, q["suspensions"], q["suspended"], q["commands"], q["completed"]))

    def spans(self, kernel_ms):
        """({suspended: [(milliseconds, submitted, completed) of each span]}): growth between its first answer and its last"""
        self.stopped.set()
        self.join()
        found = {True: [], False: []}
        rows = max(self.answers.values(), key=lambda rows: rows[-1][4], default=[])
        at = 0
        while at < len(rows):
            last = at
            while last + 1 < len(rows) and rows[last + 1][2:4] == rows[at][2:4]:
                last += 1
            ms = rows[last][0] - rows[at][1]     # at least
            if ms >= 3 * kernel_ms:
                found[rows[at][3]].append((ms, rows[last][4] - rows[at][4], rows[last][5] - rows[at][5]))
            at = last + 1
        return found


def count(lows, highs, kernel_ms):
    """(kernels of the background program that ended in each request, those a second in requests, those a second between)"""
    inside = [sum(b < e[0] < n for e in lows) for b, n in highs]
    at = {"in": sum(n - b for b, n in highs), "between": 0.0}
    between = 0
    for (_, a), (b, _) in zip(highs, highs[1:]):
        begin = a + kernel_ms      # the first after a pause takes a kernel's time to end
        if b > begin:
            between += sum(begin < e[0] < b for e in lows)
            at["between"] += b - begin
    return inside, sum(inside) / max(at["in"], 1) * 1e3, between / max(at["between"], 1) * 1e3


def both(place, shim, turns, level, xserver, folder):
    daemon, sock = server(xserver, folder, level)
    ours = [{}, {}] if level is None else [{"XSCHED_SOCKET": sock, "XSCHED_PRIORITY": p, "XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
                                           for p in ("1", "9")]
    preload = "" if level is None else shim
    low, lows = place.popen(preload, "low", 3600, turns, **ours[0]), []
    reader = threading.Thread(target=lambda: lows.extend(place.ended(low, 3600)))
    reader.start()
    time.sleep(2 if place.fake else 5)
    watch = Watch(sock)
    watch.start()
    high = place.popen(preload, "high", place.seconds - 2, turns, place.kernels, 10 * place.kernel_ms, **ours[1])
    highs = place.ended(high, place.seconds * 10 + 100)
    spans = watch.spans(place.kernel_ms)
    low.terminate()
    reader.join(place.seconds * 6 + 60)
    if reader.is_alive():
        end(low)
        reader.join()
    daemon.terminate()
    daemon.wait()
    return lows, highs, spans


def grew(spans, level):
    """(what is counted at this level, in each suspension, in each time between)"""
    return ("submitted" if level == 1 else "completed", *([s[1 if level == 1 else 2] for s in spans[suspended]] for suspended in (True, False)))


def is_enough(spans, level):
    _, during, between = grew(spans, level)
    return len(during) >= SPANS and max(between, default=0) > ON_THEIR_WAY[level]


def judge(spans, level):
    """(a row, what is wrong)"""
    what, during, between = grew(spans, level)
    ms = sum(s[0] for s in spans[True])
    row = f"{what} in {len(during)} suspensions of {ms:.0f} ms together\t{' '.join(map(str, during))}\tbetween\t{' '.join(map(str, between))}"
    bad = []
    if not is_enough(spans, level):
        bad.append(f"level {level}: {len(during)} suspensions, {max(between, default=0)} commands {what} between two: this shows nothing")
    if max(during, default=0) > ON_THEIR_WAY[level]:
        bad.append(f"level {level}: {max(during)} commands were {what} in one suspension")
    return row, bad


def deaths(place, shim, turns, xserver, folder):
    """Each is ended in the middle; the others must go on."""
    rows, bad = [], []
    for level in LEVELS:
        for victim in ("urgent", "background", "xserver"):
            daemon, sock = server(xserver, folder, level)
            env = {"XSCHED_SOCKET": sock, "XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
            ends = {"low": [], "high": []}

            def read(p, to):
                for line in p.stdout:
                    to.append(float(line.split()[-1]))

            low = place.popen(shim, "low", 600, turns, XSCHED_PRIORITY="1", **env)
            threading.Thread(target=read, args=(low, ends["low"]), daemon=True).start()
            high = place.popen(shim, "high", 600, turns, 1, 0, XSCHED_PRIORITY="9", **env)
            threading.Thread(target=read, args=(high, ends["high"]), daemon=True).start()
            until = time.monotonic() + (10 if place.fake else 90)
            while time.monotonic() < until and (not ends["low"] or len(ends["high"]) < 20):
                time.sleep(0.05)
            others = {"urgent": ("low",), "background": ("high",), "xserver": ("low", "high")}[victim]
            begin = time.monotonic() * 1e3
            if victim == "xserver":
                daemon.kill()
            else:
                end({"urgent": high, "background": low}[victim])
            until, after = time.monotonic() + 30, {}
            while time.monotonic() < until and len(after) < len(others):
                for o in others:
                    fresh = [e for e in ends[o] if e > begin + 2 * place.kernel_ms]
                    if len(fresh) >= 3:
                        after.setdefault(o, fresh[2] - begin)
                time.sleep(0.02)
            for p in (low, high):
                end(p)
                p.wait()
            daemon.kill()
            daemon.wait()
            for o in others:
                rows.append(f"killed\tlevel {level}\t{victim}\t{o} goes on, its third command ends after\t{after.get(o, -1):.0f} ms")
                if o not in after:
                    bad.append(f"level {level}: {victim} was killed, and {o} did not go on")
    return rows, bad


def main(way, *more):
    folder = os.environ.get("HIP_TEST_EMULATED", "")
    if way == "at":
        folder, *more = more
    program, shim, xserver, *out = more
    if way == "fake":
        folder, *out = out
    if not folder:
        print("skipped: HIP_TEST_EMULATED names no folder with a runtime and a device (docs/hip.md says what is in it)")
        return 77
    place, bad, rows = Place(way, program, folder), [], []
    with tempfile.TemporaryDirectory() as scratch:
        status, turns, said = place.ended(place.popen("", "calibrate", place.kernel_ms), 300)
        if status or not turns:
            print(f"wrong: {place.name}: no kernels of a known length: status {status} {said}")
            return 1
        turns = int(turns[0][0])
        rows.append(f"kernel\t{place.kernel_ms} ms\t{turns} turns")
        alone = place.ended(place.popen("", "high", place.seconds / 2, turns, place.kernels, 10 * place.kernel_ms), place.seconds * 3 + 60)[1]
        length = sorted(b - a for a, b in alone) or [-1]
        rows.append(f"alone\trequests\t{len(alone)}\tmedian\t{length[len(length) // 2]:.1f} ms")
        for level in (None, *LEVELS):
            lows, highs, spans = both(place, shim, turns, level, xserver, scratch)
            for _ in range(TRIES - 1):
                if level is None or is_enough(spans, level):
                    break
                lows, highs, more_spans = both(place, shim, turns, level, xserver, scratch)
                spans = {which: spans[which] + more_spans[which] for which in spans}
            name = "natively" if level is None else f"level {level}"
            if lows[0] or highs[0]:
                bad.append(f"{name}: status {lows[0]} and {highs[0]}, {len(highs[1])} requests; {lows[2]} {highs[2]}")
                continue
            settled = highs[1][2:]         # before, kernels are in flight whose length is not known yet
            inside, during, between = count(lows[1], settled, place.kernel_ms)
            length = sorted(b - a for a, b in settled)
            rows.append(f"{name}\trequests\t{len(settled)}\tmedian\t{length[len(length) // 2]:.1f} ms\tbackground kernels a second during them\t"
                        f"{during:.1f}\tbetween them\t{between:.1f}\tended in each\t{' '.join(map(str, inside))}")
            if level is not None:
                row, wrong = judge(spans, level)
                rows[-1] += "\t" + row
                bad += wrong
        more_rows, more_bad = deaths(place, shim, turns, xserver, scratch)
    text = "\n".join([f"# {place.name}: two programs under an xserver"] + rows + more_rows + ["wrong: " + x for x in bad + more_bad])
    print(text)
    if out:
        with open(out[0], "w", encoding="utf-8") as f:
            print(text, file=f)
    return 1 if bad + more_bad else 0


sys.exit(main(*sys.argv[1:]))
