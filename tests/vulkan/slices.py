#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 3 of two Vulkan programs under `xsched run` and a real xserver, on fakes:
slices.py BUSY SHIMS XSERVER XSCHED WORLD_FOLDER VARIANT

The fake world has NVIDIA's kernel driver alone: the programs make channel groups there before their devices, as NVIDIA's
Vulkan driver does, and `xsched run` preloads CUDA's shim, which sees that. While the urgent program has work, its slice is
long and the other one's short. When the urgent program is killed, and when xserver is, the other has the driver's slice
again. Variants:

auto       no level is named
rounds     the same; the other program submits while its slice is short, behind a gate, again and again, and completes it when
           the urgent one has no more work
named      level 3 is
level1     level 1 is: the slices stay the driver's
probed     `xsched doctor --probe` saw level 3 fail: they stay
elsewhere  the programs' groups are on another GPU than their Vulkan device: they stay
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import lib
import own_xserver

BUS, OTHER_BUS = 0x10, 0x20        # the world's GPU
LONG, SHORT, OWN = 50000, 50, 2048
VARIANTS = {"auto": {}, "rounds": {}, "named": {"XSCHED_AUTO_XQUEUE_LEVEL": "3"}, "level1": {"XSCHED_AUTO_XQUEUE_LEVEL": "1"},
            "probed": {"XSCHED_CUDA_LEVEL": "1"}, "elsewhere": {}}
GIVEN = ("auto", "named")
ROUNDS = 4
WAIT_S, STAYS_S = 8, 0.5
BEHIND = 'LD_PRELOAD="$LD_PRELOAD:$KERNEL" exec "$0" "$@"'     # the fake stands where the kernel does: behind the shims


class Program:
    def __init__(self, command, env):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, bufsize=1, env=env)
        self.told("ready")

    def line(self):
        for text in self.process.stdout:
            if not text.startswith("["):     # cmocka's
                return text.strip()
        raise RuntimeError(f"the program ended with {self.process.wait()}")

    def told(self, expected):
        text = self.line()
        if text != expected:
            raise RuntimeError(f"{text} instead of {expected}")

    def say(self, text=""):
        self.process.stdin.write(text + "\n")

    def slice(self):
        self.say("?")
        return int(self.line())

    def kill(self):
        self.process.kill()
        self.process.communicate()


def become(wanted, *programs):
    """Whether the slices become these: after WAIT_S at the latest."""
    until = time.monotonic() + WAIT_S
    while (got := [p.slice() for p in programs]) != wanted and time.monotonic() < until:
        time.sleep(0.01)
    print(f"{got} us, to be {wanted}")
    return got == wanted


def stay(*programs):
    """Whether none of them is anything but the driver's for a while."""
    until, seen = time.monotonic() + STAYS_S, set()
    while time.monotonic() < until:
        seen.update(p.slice() for p in programs)
        time.sleep(0.01)
    print(f"{seen} us, to be {OWN}")
    return seen == {OWN}


def rounds(up, down):
    """@return whether each round came to its end, with gates, and the driver saw nothing that Vulkan forbids"""
    ok = True
    for _ in range(ROUNDS):
        down.say()
        down.told("busy")                 # its work is there before the urgent one's, or its slice would not matter
        up.say()
        up.told("busy")
        ok = ok and become([LONG, SHORT], up, down)
        down.say()                        # it completes this
        down.told("done")
        down.say()                        # the next one comes while it may not run
        time.sleep(0.05)
        up.say()
        up.told("done")
        down.told("busy")
        down.say()
        down.told("done")
        ok = ok and become([OWN, OWN], up, down)
    down.say("!")
    gates, wrong = map(int, down.line().split())
    print(f"{gates} gates, {wrong} wrong")
    return ok and gates > 0 and wrong == 0


@contextlib.contextmanager
def started(program, socket, env):
    with subprocess.Popen([program, "--no-http", "--tune", "lv3-busy-us=0", f"--socket={socket}", "HPF"], env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            own_xserver.wait_for(server, socket)
            yield server
        finally:
            server.kill()


def main(busy, shims, server, xsched, fakes, variant):
    bus = str(OTHER_BUS if variant == "elsewhere" else BUS)
    programs = []

    def program(priority):
        programs.append(Program([xsched, "run", "-q", "-p", str(priority), "--", "sh", "-c", BEHIND, busy, bus], env))
        return programs[-1]

    def both(up, down):
        down.say()
        down.told("busy")
        up.say()
        up.told("busy")
        return become([LONG, SHORT], up, down) if variant in GIVEN else stay(up, down)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(fakes, "conductor"), folder, "0", "--real"], check=True, stdout=subprocess.DEVNULL)
        socket, kernel = os.path.join(folder, "s"), os.path.join(fakes, "libfakeworld.so")
        # a machine with NVIDIA's driver, as far as xsched sees: CUDA's shim watches the channel groups
        world = lib.plain(FAKE_WORLD=folder, XSCHED_CUDA_LIB="libcuda.so.1")
        env = {**world, "KERNEL": kernel, "LAYER": os.path.join(shims, "libshimvulkan.so"), "XSCHED_SOCKET": socket,
               **VARIANTS[variant]}
        try:
            with started(server, socket, {**world, "LD_PRELOAD": kernel}) as running:
                up, down = program(10), program(-10)
                if variant == "rounds":
                    return 0 if rounds(up, down) else 1
                ok = up.slice() == OWN and down.slice() == OWN and both(up, down)
                up.kill()
                ok = ok and become([OWN], down)
                up = program(10)
                down.say()
                down.told("done")
                ok = ok and both(up, down)
                running.kill()
                return 0 if ok and become([OWN, OWN], up, down) else 1
        finally:
            for p in programs:
                p.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
