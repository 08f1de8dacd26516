#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs of different priority on one device under an xserver, with kernels of about the same length:

  pairs.py fake PROGRAM SHIM XSERVER FOLDER_OF_THE_FAKE
  pairs.py outside PROGRAM SHIM XSERVER [OUT]

PROGRAM is `operations`, whose role `pair` submits them. outside: on what HIP_TEST_EMULATED names, as operations.py has it;
the device there must be one that several processes share.

The background program keeps four kernels submitted ahead. Counted is how many of its kernels end while a request of the urgent one
runs: natively about as many as at other times; at level 1 and 2 those that were in flight when the request came, and next to none
that was started while the process was suspended. Then each side is ended by SIGKILL, xserver too, and the others go on."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = float(os.environ.get("HIP_TEST_PAIR_SECONDS", "20"))
EMPTY = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
IN_FLIGHT = 2     # the one that runs, and one that the driver has


class Place:
    def __init__(self, way, program, folder):
        self.program, self.fake = program, folder if way == "fake" else ""
        self.start = [] if self.fake else [os.path.join(folder, "run")]
        self.kernel_ms, self.seconds = (5, 4) if self.fake else (20, SECONDS)
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


def server(xserver, folder):
    path = os.path.join(folder, "xs.sock")
    if os.path.exists(path):
        os.unlink(path)
    daemon = subprocess.Popen([xserver, "--no-http", "HPF"], env=dict(EMPTY, XSCHED_SOCKET=path), stderr=subprocess.DEVNULL)
    for _ in range(1000):
        if os.path.exists(path):
            break
        time.sleep(0.02)
    return daemon, path


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


def both(place, shim, turns, level, sock):
    ours = [{}, {}] if level is None else [{"XSCHED_SOCKET": sock, "XSCHED_PRIORITY": p, "XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
                                           for p in ("1", "9")]
    preload = "" if level is None else shim
    low = place.popen(preload, "low", place.seconds + 3, turns, **ours[0])
    time.sleep(2 if place.fake else 5)
    high = place.popen(preload, "high", place.seconds - 2, turns, 6, 10 * place.kernel_ms, **ours[1])
    highs = place.ended(high, place.seconds * 6 + 60)
    lows = place.ended(low, place.seconds * 6 + 60)
    return lows, highs


def deaths(place, shim, turns, xserver, folder):
    """Each is ended in the middle; the others must go on."""
    rows, bad = [], []
    for level in (1, 2):
        for victim in ("urgent", "background", "xserver"):
            daemon, sock = server(xserver, folder)
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


def main(way, program, shim, xserver, *more):
    folder = more[0] if way == "fake" else os.environ.get("HIP_TEST_EMULATED", "")
    out = more[1:] if way == "fake" else more
    if not folder:
        print("skipped: HIP_TEST_EMULATED names no folder with a runtime and a device (docs/hip.md says what is in it)")
        return 77
    place, bad, rows, most = Place(way, program, folder), [], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        status, turns, said = place.ended(place.popen("", "calibrate", place.kernel_ms), 300)
        if status or not turns:
            print(f"{place.name}: no kernels of a known length: status {status} {said}")
            return 1
        turns = int(turns[0][0])
        rows.append(f"kernel\t{place.kernel_ms} ms\t{turns} turns")
        alone = place.ended(place.popen("", "high", place.seconds / 2, turns, 6, 10 * place.kernel_ms), place.seconds * 3 + 60)[1]
        length = sorted(b - a for a, b in alone)
        rows.append(f"alone\trequests\t{len(alone)}\tmedian\t{length[len(length) // 2]:.1f} ms")
        for level in (None, 1, 2):
            daemon, sock = server(xserver, scratch)
            lows, highs = both(place, shim, turns, level, sock)
            daemon.terminate()
            daemon.wait()
            name = "natively" if level is None else f"level {level}"
            if lows[0] or highs[0] or len(highs[1]) < 4:
                bad.append(f"{name}: status {lows[0]} and {highs[0]}, {len(highs[1])} requests; {lows[2]} {highs[2]}")
                continue
            settled = highs[1][2:]         # before, kernels are in flight whose length is not known yet
            inside, during, between = count(lows[1], settled, place.kernel_ms)
            length = sorted(b - a for a, b in settled)
            started = sum(max(0, n - IN_FLIGHT) for n in inside)
            rows.append(f"{name}\trequests\t{len(settled)}\tmedian\t{length[len(length) // 2]:.1f} ms\tbackground kernels a second during them\t"
                        f"{during:.1f}\tbetween them\t{between:.1f}\tended in each\t{' '.join(map(str, inside))}"
                        f"\tstarted while suspended\t{'-' if level is None else started}")
            if level is None:
                most = sum(inside) / len(inside) / 10  # a tenth of what ends natively: a slow machine answers late
            if level is None and during < between / 3:
                bad.append("natively the background program is slowed down as well: this shows nothing")
            if level is not None and (started > most * len(settled) or between < 1):
                bad.append(f"{name}: {started} kernels were started while the process was suspended, {between:.1f} a second ended between")
        more_rows, more_bad = deaths(place, shim, turns, xserver, scratch)
    text = "\n".join([f"# {place.name}: two programs under an xserver"] + rows + more_rows + bad + more_bad)
    print(text)
    if out:
        with open(out[0], "w", encoding="utf-8") as f:
            print(text, file=f)
    return 1 if bad + more_bad else 0


sys.exit(main(*sys.argv[1:]))
