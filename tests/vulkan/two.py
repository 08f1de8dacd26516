#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two Vulkan programs on one core as the device: two.py PROGRAM SHIMS XSERVER [right|wrong]

A program of low priority works without an end; another one has bursts of work. While a burst is under way, an xserver with
the policy HPF suspends the other program: next to nothing of it completes. The wrong variant gives both the same priority;
then what completes must be more than the test allows.
"""
import statistics
import subprocess
import sys

import lib

US, N, BURSTS = 2000, 20, 5


def start(program, env, *arguments):
    return subprocess.Popen(["taskset", "-c", "0", program, *map(str, arguments)], env=env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, bufsize=1)


def line(p):
    text = p.stdout.readline()
    if not text:
        raise RuntimeError(f"{p.args} ended with {p.wait()}")
    return text.split()


def go(p):
    p.stdin.write("go\n")
    p.stdin.flush()


def measure(program, shims, server, urgent, background):
    """(times of completion in the background, [(begin, end) of each burst])"""
    with lib.xserver(server, "HPF") as socket:
        def env(priority):
            return lib.layered(shims, XSCHED_SOCKET=socket, XSCHED_PRIORITY=str(priority), XSCHED_AUTO_XQUEUE="ON",
                               XSCHED_SCHEDULER="GLB", LP_NUM_THREADS="1")

        up = start(program, env(urgent), "bursts", US, N, BURSTS)
        if line(up) != ["ready"]:
            raise RuntimeError("no device")
        down = start(program, env(background), "loop", US)
        line(down)
        go(down)
        done = [int(line(down)[0]) for _ in range(5)]
        bursts = []
        for _ in range(BURSTS):
            go(up)
            bursts.append([int(t) for t in line(up)])
            while done[-1] < bursts[-1][1]:   # the other one goes on
                done.append(int(line(down)[0]))
            done += [int(line(down)[0]) for _ in range(3)]
        for p in (up, down):
            p.communicate()   # closes its input, which ends the loop
            if p.returncode:
                raise RuntimeError(f"{p.args} ended with {p.returncode}")
        return done, bursts


def main(program, shims, server, variant="right"):
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    done, bursts = measure(program, shims, server, 10, -10 if variant == "right" else 10)
    # of the middle of each burst: one may be in flight as it begins, and one begins before it ends
    beside = [sum(b + (e - b) // 5 < t < e - (e - b) // 10 for t in done) for b, e in bursts]
    took = statistics.median(e - b for b, e in bursts)
    print(f"{beside} of the background complete beside bursts of {N}, which take {took:.0f} us for {US * N} us of work")
    few = statistics.median(beside) <= N // 10
    return 0 if few == (variant == "right") else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
