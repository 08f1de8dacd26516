#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two Level Zero programs on the fake device: two.py PROGRAM DRIVER SHIMS XSERVER [right|wrong]

A program of low priority works without an end; another one has bursts of work. While a burst is under way, an xserver with
the policy HPF suspends the other program: next to nothing of it completes, and the burst takes at most 1.3 times as long as
alone. The wrong variant gives both the same priority; then both must be more than the test allows.
"""
import os
import statistics
import subprocess
import sys
import tempfile

import lib

US, N, BURSTS, MOST = 2000, 20, 7, 1.3


def start(program, env, *arguments):
    return subprocess.Popen([program, *map(str, arguments)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            bufsize=1)


def line(p):
    text = p.stdout.readline()
    if not text:
        raise RuntimeError(f"{p.args} ended with {p.wait()}")
    return text.split()


def go(p):
    p.stdin.write("go\n")
    p.stdin.flush()


def end(*programs):
    for p in programs:
        p.communicate()   # closes its input, which ends the loop
        if p.returncode:
            raise RuntimeError(f"{p.args} ended with {p.returncode}")


def measure(program, env, background):
    """([(begin, end) of each burst], times of completion in the background). @param env  of a priority"""
    up = start(program, env(10), "bursts", US, N, BURSTS)
    line(up)
    bursts, done = [], []
    if background is None:
        for _ in range(BURSTS):
            go(up)
            bursts.append([int(t) for t in line(up)])
        end(up)
        return bursts, done
    down = start(program, env(background), "loop", US)
    line(down)
    go(down)
    done += [int(line(down)[0]) for _ in range(5)]
    for _ in range(BURSTS):
        go(up)
        bursts.append([int(t) for t in line(up)])
        while done[-1] < bursts[-1][1]:   # the other one goes on
            done.append(int(line(down)[0]))
        done += [int(line(down)[0]) for _ in range(3)]
    end(up, down)
    return bursts, done


def main(program, driver, shims, server, variant="right"):
    with lib.xserver(server, "HPF") as socket, tempfile.TemporaryDirectory() as folder:
        def env(priority):
            return lib.under(driver, shims, "proxy", FAKE_ZE_DEVICE=os.path.join(folder, "device"), XSCHED_SOCKET=socket,
                             XSCHED_PRIORITY=str(priority), XSCHED_AUTO_XQUEUE="ON", XSCHED_SCHEDULER="GLB")

        alone = statistics.median(e - b for b, e in measure(program, env, None)[0])
        bursts, done = measure(program, env, -10 if variant == "right" else 10)
    # of the middle of each burst: one may be in flight as it begins, and one begins before it ends
    beside = [sum(b + (e - b) // 5 < t < e - (e - b) // 10 for t in done) for b, e in bursts]
    took = statistics.median(e - b for b, e in bursts)
    print(f"{beside} of the background complete beside bursts of {N}, which take {took:.0f} us, {took / alone:.2f} of {alone:.0f} alone")
    ordered = statistics.median(beside) <= N // 10 and took <= MOST * alone
    return 0 if ordered == (variant == "right") else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
