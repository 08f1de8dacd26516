#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of different priority on one GPU, in virtual time: what preemption takes, what is in flight and how far gates
lie apart are exact numbers. exact.py BUILD [--show] [CASE...]

Each case runs an xserver, a program that always has work (low) and one that has a request now and then (high) in a world
of their own (tests/fakes/world). --show prints what came out and judges nothing."""
import os
import subprocess
import sys
import tempfile


class World:
    """A folder, its conductor, and the programs in it."""

    def __init__(self, build, processes, *options):
        self.build = build
        self.folder = tempfile.TemporaryDirectory(prefix="xsched-world-")
        self.programs = []
        self.conductor = subprocess.Popen([os.path.join(build, "tests/fakes/world/conductor"), self.folder.name,
                                           str(processes), *options], stdout=subprocess.PIPE, text=True)
        assert self.conductor.stdout.readline() == "ready\n"
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        self.environ.update(FAKE_WORLD=self.folder.name, XLOG_LEVEL="WARN",
                            XSCHED_SOCKET=os.path.join(self.folder.name, "xs.sock"))
        self.world = os.path.join(build, "tests/fakes/world/libfakeworld.so")
        self.driver = os.path.join(build, "tests/fakes/cuda/driver")
        self.shim = os.path.join(build, "lib/xsched/libshimcuda.so")

    def start(self, command, **env):
        p = subprocess.Popen(command, env=dict(self.environ, **env), stdout=subprocess.PIPE, text=True)
        self.programs.append(p)
        return p

    def xserver(self, *options):
        p = self.start([os.path.join(self.build, "bin/xserver"), "--no-http", "--spin-us", "0", *options, "HPF"],
                       LD_PRELOAD=self.world)
        while not os.path.exists(self.environ["XSCHED_SOCKET"]):
            assert p.poll() is None
            os.sched_yield()
        return p

    def program(self, *arguments, shim=True, **env):
        return self.start([os.path.join(self.build, "tests/cuda/cuda_exact"), *map(str, arguments)],
                          LD_PRELOAD=f"{self.world} {self.shim}" if shim else self.world,
                          LD_LIBRARY_PATH=self.driver, FAKE=os.path.join(self.driver, "libcuda.so.1"), **env)

    @staticmethod
    def said(p, codes=(0,)):
        out = p.communicate(timeout=200)[0]
        if p.returncode not in codes:
            raise RuntimeError(f"exit code {p.returncode}: {out}")
        return out.split()

    def end(self):
        """What the GPU did."""
        said = self.conductor.communicate(timeout=200)[0].split()
        for p in self.programs:
            if p.poll() is None:
                p.kill()
                p.communicate()
        self.folder.cleanup()
        return dict(zip(said[::2], map(int, said[1::2])))


def pair(build, level, low, high, world=(), xserver=()):
    """A program that always has work beside one that has a request now and then. level 0: without XSched."""
    w = World(build, *((3,) if level else (2, "--all")), *map(str, world))
    if level:
        w.xserver(*map(str, xserver))
    common = {"shim": bool(level), "XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
    a = w.program("low", *low, **common, **({"XSCHED_PRIORITY": "0"} if level else {}))
    b = w.program("high", *high, **common, **({"XSCHED_PRIORITY": "5"} if level else {}))
    a_said, b_said = w.said(a), w.said(b)
    return dict(zip(a_said[::2], map(int, a_said[1::2])), latency=list(map(int, b_said)), **w.end())


def alone(build, level, low, xserver=(), **env):
    """One program that always has work."""
    w = World(build, 2)
    w.xserver(*map(str, xserver))
    said = w.said(w.program("low", *low, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="0", **env))
    return dict(zip(said[::2], map(int, said[1::2])), **w.end())


def misfortune(build, how, level, xserver=()):
    """An urgent program always has work; at AT something happens to it. When does the other one go on?"""
    at, until = 100300, 400000
    w = World(build, 3)
    w.xserver(*map(str, xserver))
    a = w.program("each", 1000, until, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="0")
    b = w.program("bad", how, at, until, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="5")
    ends = list(map(int, w.said(a)))
    if how == "stopped":
        b.kill()
    b_said = w.said(b, codes=(0, -9))
    w.end()
    return {"before": sum(at - 50000 < e <= at for e in ends), "after_us": min(e for e in ends if e > at) - at,
            "then": sum(e > at for e in ends), "said": " ".join(b_said)}


CASES = {
    # name: function, its arguments, what must come out
    "native": (pair, dict(level=0, low=(100, 60000), high=(200, 1, 0, 20030, 5000, 6)), {}),
    "level1": (pair, dict(level=1, low=(100, 60000), high=(200, 1, 0, 20030, 5000, 6)), {}),
    "level2": (pair, dict(level=2, low=(100, 60000), high=(200, 1, 0, 20030, 5000, 6)), {}),
    "level3": (pair, dict(level=3, low=(100, 60000), high=(200, 1, 0, 20030, 5000, 6), world=("--switch-us", 100)), {}),
}
CASES["in_flight"] = (alone, dict(level=1, low=(100, 30000)), {})
CASES["in_flight_1000"] = (alone, dict(level=1, low=(100, 30000), XSCHED_INFLIGHT_US="1000"), {})
CASES["gates"] = (alone, dict(level=2, low=(100, 30000)), {})
CASES["gates_500"] = (alone, dict(level=2, low=(100, 30000), XSCHED_GATE_US="500"), {})
for how in ("killed", "exits", "lost", "destroys", "stopped"):
    for lv in (1, 2, 3):
        CASES[f"{how}{lv}"] = (misfortune, dict(how=how, level=lv), {})


def main():
    build, show = os.path.abspath(sys.argv[1]), "--show" in sys.argv
    bad = 0
    for name in [n for n in sys.argv[2:] if n != "--show"] or CASES:
        function, arguments, want = CASES[name]
        got = function(build, **arguments)
        wrong = {k: got.get(k) for k in want if got.get(k) != want[k]}
        if show or wrong:
            print(name, got)
        if wrong and not show:
            print(f"  WRONG {wrong}, want {({k: want[k] for k in wrong})}")
        bad += bool(wrong)
    print(f"{len(CASES)} cases, {bad} wrong")
    return 1 if bad and not show else 0


if __name__ == "__main__":
    sys.exit(main())
