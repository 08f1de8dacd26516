#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of different priority on one GPU, in virtual time: what preemption takes, what is in flight and how far gates
lie apart are exact numbers. exact.py BUILD [--show] [--long] [CASE...]

Each case runs an xserver, a program that always has work (low) and one that has a request now and then (high) in a world
of their own (tests/fakes/world). --show prints what came out and judges nothing."""
import os
import subprocess
import sys
import tempfile
import time


def numbers(said):
    """Names and numbers by turns."""
    return dict(zip(said[::2], map(int, said[1::2])))


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

    def xserver(self, *options, policy="HPF"):
        p = self.start([os.path.join(self.build, "bin/xserver"), "--no-http", "--tune=spin-us=0", *options, policy],
                       LD_PRELOAD=self.world)
        while not os.path.exists(self.environ["XSCHED_SOCKET"]):
            assert p.poll() is None
            os.sched_yield()
        return p

    def program(self, *arguments, shim=True, **env):
        return self.start([os.path.join(self.build, "tests/cuda/cuda_exact"), *map(str, arguments)],
                          LD_PRELOAD=f"{self.shim} {self.world}" if shim else self.world,
                          LD_LIBRARY_PATH=self.driver, FAKE=os.path.join(self.driver, "fakecuda.so"), **env)

    def said(self, p, codes=(0,)):
        until = time.monotonic() + 200
        while True:
            try:
                out = p.communicate(timeout=1)[0]
                break
            except subprocess.TimeoutExpired:
                if self.conductor.poll() or time.monotonic() > until:
                    self.kill()
                    raise RuntimeError("a program waits for what never comes") from None
        if p.returncode not in codes:
            self.kill()
            raise RuntimeError(f"exit code {p.returncode}: {out}")
        return out.split()

    def kill(self):
        for p in [self.conductor, *self.programs]:
            if p.poll() is None:
                p.kill()
                p.communicate()

    def end(self):
        """What the GPU did."""
        said = self.conductor.communicate(timeout=200)[0].split()
        self.kill()
        self.folder.cleanup()
        return numbers(said)


def pair(build, level, low, high, world=(), xserver=(), how="high", of_low=(), work="low", **env):
    """A program that always has work beside one that has a request now and then. level 0: without XSched.
    of_low: variables for the former; work: what it does."""
    w = World(build, *((3,) if level else (2, "--all")), *map(str, world))
    if level:
        w.xserver(*map(str, xserver))
    common = {"shim": bool(level), "XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
    a = w.program(work, *low, **common, **({"XSCHED_PRIORITY": "0", **dict(of_low)} if level else {}))
    b = w.program(how, *high, **common, **({"XSCHED_PRIORITY": "5", **env} if level else {}))
    a_said, b_said = w.said(a), w.said(b)
    return dict(numbers(a_said), latency=list(map(int, b_said)), **w.end())


def learnt(build, **arguments):
    """As pair, but for the first two."""
    got = pair(build, **arguments)
    return dict(got, first=got["latency"][:2], latency=got["latency"][2:])


def alone(build, level, low, xserver=(), **env):
    """One program that always has work."""
    w = World(build, 2)
    w.xserver(*map(str, xserver))
    said = w.said(w.program("low", *low, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="0", **env))
    return dict(numbers(said), **w.end())


def turns(build, level, both):
    """Two like programs that always have work take turns."""
    w = World(build, 3)
    w.xserver(policy="UP")
    programs = [w.program("changed", *both, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="0") for _ in range(2)]
    said = [numbers(w.said(p)) for p in programs]
    w.end()
    return {k: [s[k] for s in said] for k in said[0]}


def threads(build, low, high, **env):
    """Both as threads of one program, at level 1."""
    w = World(build, 2)
    w.xserver()
    said = w.said(w.program("both", *high, *low, XSCHED_AUTO_XQUEUE_LEVEL="1", XSCHED_PRIORITY="0", **env))
    n = said.index("kernels")
    return dict(numbers(said[n:]), latency=list(map(int, said[:n])), **w.end())


def misfortune(build, how, level, xserver=()):
    """An urgent program always has work; at AT something happens to it. When does the other one go on?"""
    at, until = 40300, 60000
    w = World(build, 3)
    w.xserver(*map(str, xserver))
    a = w.program("each", 1000, until, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="0")
    b = w.program("bad", how, at, until, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_PRIORITY="5")
    ends = list(map(int, w.said(a)))
    if how == "stopped":
        b.kill()
    b_said = w.said(b, codes=(0, -9))
    w.end()
    return {"before": sum(at - 15000 < e <= at for e in ends), "after_us": min(e for e in ends if e > at) - at,
            "then": sum(e > at for e in ends), "said": " ".join(b_said)}


def cut_short(build, how, whom, goes_on_us=0):
    """A background program has a kernel of 5 ms on the GPU when the urgent one begins, and gets short slices. The urgent one
    is killed, or kills or stops another program: xserver, or a second background program with short slices. Then it
    goes on for a while and ends. When does the first one go on?"""
    begins, at = 40030, 70300
    until = at + goes_on_us
    w = World(build, 4 if whom == "other" else 3)
    level3 = {"XSCHED_AUTO_XQUEUE_LEVEL": "3"}
    victims = {"xserver": w.xserver()}
    low = ("each", 5000, until + 50000)
    a = w.program(*low, XSCHED_PRIORITY="0", **level3)
    if whom == "other":
        victims["other"] = w.program(*low, XSCHED_PRIORITY="0", **level3)
    if whom in victims:
        level3["VICTIM"] = str(victims[whom].pid)
    b = w.program("bad", how, at, until, begins, XSCHED_PRIORITY="5", **level3)
    ends = list(map(int, w.said(a)))
    b_said = w.said(b, codes=(0, -9))
    since = until if whom == "other" else at
    after = [e - since for e in ends if e > since]
    return {"before": sum(begins + 500 < e <= since for e in ends), "after_us": after[0] if after else None,
            "beside": sum(since < e <= until for e in ends), "then": len(after), "said": " ".join(b_said), **w.end()}


def otherwise(build, how, late_us, each_us=8000, start=25, steps=34):
    """From some step on an urgent program whose commands gather does something else (exact eager). @return how many steps were
    late then, and the longest one"""
    low = (100, 40000 + each_us * steps)
    got = pair(build, level=3, low=low, high=(*SLOW[:4], each_us, steps, start, how), world=SWITCH, how="eager")
    after = got["latency"][start:]
    return dict(got, late=sum(t > late_us for t in after), most=max(after), before=max(got["latency"][:start]))


def meddled(build, how, whom, level, at=76300):
    """Commands of an urgent program gather, by force, beside one that always has work; at AT somebody kills or stops xserver or
    one of them. What a program computed is right, or it says so."""
    w = World(build, 4, *map(str, SWITCH))
    victims = {"xserver": w.xserver("--tune=gather=3")}
    common = {"XSCHED_AUTO_XQUEUE_LEVEL": str(level)}
    victims["low"] = a = w.program("each", 100, 150000, XSCHED_PRIORITY="0", **common)
    victims["high"] = b = w.program("eager", *SLOW[:-1], 15, XSCHED_PRIORITY="5", **common)
    meddler = w.program("meddles", how, at, shim=False, VICTIM=str(victims[whom].pid))
    w.said(meddler)
    if how == "stops" and whom != "xserver":    # the rest of the world ends without it
        w.said(b if whom == "low" else a)
        victims[whom].kill()
    a_ends, b_said = list(map(int, w.said(a, codes=(0, -9)))), list(map(int, w.said(b, codes=(0, -9))))
    w.end()
    after = [y - x for x, y in zip(a_ends, a_ends[1:]) if y > at]
    return {"others_most_us": max(after, default=None), "latency": b_said, "steps": len(b_said), "others": len(a_ends)}


# Kernels of 100 us, always some; beside them a request of one kernel of 200 us each 5 ms.
LOW, HIGH = (100, 36000), (200, 1, 0, 20030, 5000, 3)
# Ten kernels of 20 us, 10 us after one another.
GAPS = (20, 10, 10, 20030, 8000, 2)
# Sixty kernels of 200 us, 10 us after one another, beside a thread of the same program.
THREADS = dict(low=(100, 70000), high=(200, 60, 10, 20030, 22000, 2))
# Fifteen kernels of 700 us, 20 us after one another, and sixty of 200 us without a pause: what decodes, and what trains.
TOKENS, STEP = (700, 15, 20, 20030, 30000, 3), (200, 60, 0, 20030, 30000, 3)
SWITCH = ("--switch-us", 100)
# Slices by themselves: the background program's device waits for no value.
UNGATED = {"FAKE_CUDA": "no_waits"}
# Ten kernels of 120 us, launched at once.
JOB = (120, 10, 0, 20030, 21000, 4)
# A framework that launches sixty kernels of 10 us in 2.4 ms, or in 3.2; beside it kernels of 100 us, always some.
EAGER_LOW, EAGER = (100, 290000), (10, 60, 40, 20030, 6000, 45)

SLOW = (20, 60, 100, 20030, 8000, 35)
# Twenty steps, each a graph of forty kernels of 40 us, 300 us after one another.
GRAPH = (40, 40, 20030, 300, 20)

# name: function, its arguments, what must come out: numbers, or two between which they lie
CASES = {
    # The slice of 2048 us that the other program is in ends at some time.
    "native": (pair, dict(level=0, low=LOW, high=HIGH), {"latency": [210, 1554, 850]}),
    # It ends earlier when the other program has done what it had in flight: 1000 us, and what is added so that no device
    # runs dry. But for the requests it has the whole device.
    "level1": (pair, dict(level=1, low=LOW, high=HIGH), {"latency": (0, 1300), "kernels": (205, 215)}),
    # So it does when it was held just before: what it had in flight ended then, and that says nothing of the bound.
    "level1_often": (pair, dict(level=1, low=LOW, high=(200, 1, 0, 20030, 1730, 9)), {"latency": (0, 1100)}),
    # How many commands may be in flight was said. Each request makes the other side's look longer than they are, and timers are
    # late; the device has always work nevertheless. (Of 800, 700 were left where a wait slept for a quarter of what was in flight.)
    "threshold": (pair, dict(level=1, low=(100, 110000), high=(120, 10, 0, 20030, 8000, 10), how="eager",
                             world=(*SWITCH, "--late-us", 60), of_low={"XSCHED_AUTO_XQUEUE_THRESHOLD": "8"}),
                  {"kernels": (790, 800), "in_flight_us": (700, 900), "idle_us": (10000, 11000)}),
    # Threads of one program, whose streams have the vendor's priorities: in each pause a kernel of 100 us begins, until
    # the 2 ms that were in flight are over; and without an end where the queues of a program are not told apart.
    "threads": (threads, dict(THREADS, XSCHED_INTRA="ON"),
                {"latency": (1700, 2100), "in_flight_us": (2000, 2600)}),
    "threads_as_one": (threads, THREADS, {"latency": [5400, 5400]}),
    # The same with synchronous fills of device memory, which return before they are done.
    "fills": (pair, dict(level=1, work="fills", low=LOW, high=HIGH, of_low={"FAKE_CUDA_FILL_US": "100"}),
              {"latency": (0, 1300), "in_flight_us": (900, 2600), "kernels": (205, 215)}),
    "fills2": (pair, dict(level=2, work="fills", low=LOW, high=HIGH, of_low={"FAKE_CUDA_FILL_US": "100"}), {"latency": (0, 300)}),
    # At the next gate: at most 300 us.
    "level2": (pair, dict(level=2, low=LOW, high=HIGH), {"latency": (0, 300)}),
    # The rest of a slice of 50 us (10), the change of groups (100).
    "level3": (pair, dict(level=3, low=LOW, high=HIGH, world=SWITCH, xserver=("--tune=lv3-busy-us=0",)), {"latency": [110, 110, 110], "switches": 8}),
    # A job of ten kernels, launched at once: 1200 us, the rest of a slice and the change. Another slice in its middle would
    # cost a slice of 400 and two changes, since the other group is the first one: the second job finds that the first one went
    # on launching, when its kernel had not been timed yet.
    "job": (learnt, dict(level=3, low=(100, 110000), high=JOB, world=(*SWITCH, "--control-us", 300), how="eager"),
            {"first": (1310, 2000), "latency": (1310, 1360)}),
    # A version of the kernel's driver that nobody has looked at: level 2 is what level 3 becomes, level auto is level 1.
    "version": (pair, dict(level=3, low=LOW, high=HIGH, world=("--version", "600.10.02")),
                {"latency": (0, 300), "gates": (1, 1000)}),
    "version_auto": (pair, dict(level="auto", low=LOW, high=HIGH, world=("--version", "600.10.02")),
                     {"latency": (0, 1300), "gates": 0, "kernels": (205, 215)}),
    # To and fro in each of nine pauses: away (100, of which the pause took 10), a slice (50), back (100); the first 110.
    # What an H200 did with eager inference (docs/results/2026-11-21-h200-suite, A).
    "gaps_50": (pair, dict(level=3, low=LOW, high=GAPS, world=SWITCH, xserver=("--tune=lv3-short-us=50", "--tune=lv3-busy-us=0"), of_low=UNGATED),
                {"latency": [110 + 9 * (100 - 10 + 50 + 100)] * 2, "switches": 42, "switching_us": 4200}),
    # With longer slices the other program has soon done what it had in flight (1000 us), and there is no more of it.
    "gaps_200": (pair, dict(level=3, low=LOW, high=GAPS, world=SWITCH, xserver=("--tune=lv3-short-us=200", "--tune=lv3-busy-us=0"), of_low=UNGATED),
                 {"latency": (1600, 2300), "switches": (20, 28)}),
    # What the other program had in flight when the request came, 1000 us, goes by in its pauses, in slices of 50 or 400 us, with two
    # changes each. Behind gates there is at most 300 us of it; and it may have more in flight.
    "tokens": (pair, dict(level=3, low=(100, 110000), high=TOKENS, world=SWITCH, of_low=UNGATED), {"latency": (1300, 2300), "gates": 0}),
    "tokens_gates": (pair, dict(level=3, low=(100, 110000), high=TOKENS, world=SWITCH),
                     {"latency": (100, 400), "gates": (200, 400), "in_flight_us": (5000, 16300)}),
    "step": (pair, dict(level=3, low=(100, 110000), high=STEP, world=SWITCH, of_low=UNGATED), {"latency": (450, 800), "gates": 0}),
    "step_gates": (pair, dict(level=3, low=(100, 110000), high=STEP, world=SWITCH),
                   {"latency": (100, 400), "gates": (200, 400)}),
    # The device switches to the other program in pauses of the launches.
    "eager": (pair, dict(level=3, low=EAGER_LOW, high=EAGER, world=SWITCH, of_low=UNGATED, how="eager"),
              {"latency": (2400, 3400), "switches": (500, 900), "kernels": (1400, 1750)}),
    # A framework that launches sixty kernels of 20 us in 6 ms, or in 8. They gather while the other program computes, after some
    # steps that teach how many may; the urgent program waits 0.5 ms longer at most.
    "gathers": (pair, dict(level=3, low=(100, 300000), high=SLOW, world=SWITCH, how="eager"),
                {"latency": (6000, 8480), "kernels": (1500, 1650)}),
    "gathers2": (pair, dict(level=2, low=(100, 300000), high=SLOW, world=SWITCH, how="eager"),
                 {"latency": (6000, 8480), "kernels": (1600, 1850)}),
    "gathers_not": (pair, dict(level=3, low=(100, 300000), high=SLOW, world=SWITCH, how="eager", xserver=("--tune=gather=0",)),
                    {"latency": (6000, 8480), "kernels": (480, 680)}),
    # A server's steps of 1658 us, of which the device needs 678. The other program has 0.94 ms of each but for a change of 100 us to
    # and fro: some 700 kernels in all.
    "serves": (pair, dict(level=3, low=(100, 160000), high=(3, 20, 12, 20030, 600, 80, 800), world=SWITCH, how="serves"),
               {"latency": (1650, 1900), "kernels": (650, 800)}),
    # What was learnt is wrong from then on: the program launches ten times as fast, or has kernels ten times as long. One step is
    # late. (Looks at memory instead of a wait: sched_steps, overdue.)
    "faster": (otherwise, dict(how=1, late_us=1420), {"late": (0, 1), "most": (0, 2000), "before": (0, 8480)}),
    "longer": (otherwise, dict(how=2, late_us=13000, each_us=15000), {"late": (0, 1), "most": (0, 19000), "before": (0, 8480)}),
    # A server's steps of 1640 us, 660 of the device, where a helper thread waits and the program goes on. It gathers; the
    # other program leaves before its last commands. That one has some 80 kernels before and after; of 156 ms it has 57
    # (1 - (660 + 200)/1640 would be 74).
    "hands": (pair, dict(level=3, low=(100, 180000), high=(3, 20, 12, 20030, 600, 95, 1400), world=SWITCH, how="hands",
                    xserver=("--tune=gather=2",)),
              {"latency": (1640, 1860), "kernels": (600, 720)}),
    # The same of vLLM's shape, steps of 1637 us: small kernels, a graph of 600 us, further small kernels, which end as the device
    # does, and the helper thread waits 0.3 ms later. The gate opens before the graph, and the other program is back as the device
    # has done the step: it has 0.4 ms in each of the 98 steps that gather, and 230 kernels before and after.
    "engine": (pair, dict(level=3, low=(100, 230000), high=(3, 17, 53, 20030, 600, 125, 100, 12), world=SWITCH, how="hands",
                     xserver=("--tune=gather=2",)),
               {"latency": (1630, 1860), "kernels": (570, 660)}),
    # A step is one graph of 1600 us and a wait for the event behind it. Without XSched the other program's slices of 2 ms come
    # in between. At level 1 a step may wait for what was in flight when the urgent program had paused (1000 us), at the others
    # for the change of groups (100) and the rest of a short slice.
    "graph_native": (pair, dict(level=0, low=(100, 60000), high=GRAPH, world=SWITCH, how="graph"), {"latency": [2010] + [3548] * 19}),
    "graph1": (pair, dict(level=1, low=(100, 60000), high=GRAPH, world=SWITCH, how="graph"), {"latency": (1600, 2800), "kernels": (60, 160)}),
    "graph2": (pair, dict(level=2, low=(100, 60000), high=GRAPH, world=SWITCH, how="graph"), {"latency": (1600, 1800), "gates": (1, 400)}),
    "graph3": (pair, dict(level=3, low=(100, 60000), high=GRAPH, world=SWITCH, how="graph"), {"latency": (1600, 1800), "gates": (1, 400)}),
    # 2000 us, and at most a quarter and a kernel more: 6 us of each are taken for the way of a mark, which is no way here.
    "in_flight": (alone, dict(level=1, low=(100, 24000)), {"in_flight_us": (2000, 2600), "took_us": (9800, 10300)}),
    "in_flight_1000": (alone, dict(level=1, low=(100, 24000), XSCHED_TUNE="inflight-us=1000"), {"in_flight_us": (900, 1350)}),
    # The first kernels took 50 us, the others take 1000. That is learnt, too, where programs wait for their last command but
    # eight by themselves, so that ends are found late: the bound is what it should be.
    "changed": (turns, dict(level=1, both=(50, 400000, 1000)), {"in_flight": (1, 4)}),
    # Gates at most 3/10 of that apart, and never closer than one kernel.
    "gates": (alone, dict(level=2, low=(100, 18000)), {"between_gates_us": (100, 600), "to_us": (100, 600)}),
    "gates_300": (alone, dict(level=2, low=(100, 18000), XSCHED_TUNE="gate-us=300"),
                  {"between_gates_us": (100, 300), "to_us": (100, 300)}),
}
# What is held goes on within 100 ms, whatever happens to the other one.
for how, said in (("killed", ""), ("exits", ""), ("lost", "code 700"), ("destroys", "code 0")):
    for lv in (1, 2, 3):
        CASES[f"{how}{lv}"] = (misfortune, dict(how=how, level=lv),
                               {"before": 0, "after_us": (0, 100000), "then": (10, 20), "said": said})
# Short slices go back: by xserver, and by their own process when that is gone, at the latest at the end of a lease. Beside the
# urgent program, while it goes on: half of the device when xserver is gone; a slice of 2 ms in 52 when it is stopped, since a process
# that waits for nothing keeps its long slice. (With the short one the first kernel of 5 ms ends and no other.)
for name, arguments, after, beside in (("short_killed", dict(how="killed", whom="urgent"), (0, 20000), 0),
                               ("short_other", dict(how="kills", whom="other", goes_on_us=20000), (0, 20000), 0),
                               ("short_xserver", dict(how="kills", whom="xserver", goes_on_us=200000), (0, 100000), (15, 25)),
                               ("short_stopped", dict(how="stops", whom="xserver", goes_on_us=800000), (400000, 700000), (2, 10))):
    CASES[name] = (cut_short, arguments, {"before": 0, "after_us": after, "beside": beside, "then": (5, 200)})


# While commands gather. Without xserver steps are as natively; one that is stopped may suspend the other program until the end
# of its lease.
for name, want in (("kills_xserver2", {"steps": 15, "latency": (6000, 10100), "others_most_us": (0, 10000)}),
                   ("stops_xserver3", {"steps": 15, "latency": (6000, 10100), "others_most_us": (0, 700000)}),
                   ("kills_low3", {"steps": 15, "latency": (6000, 8300)}), ("stops_low2", {"steps": 15, "latency": (6000, 8300)}),
                   ("kills_high2", {"others_most_us": (0, 10000)}), ("stops_high3", {"others_most_us": (0, 100000)})):
    how, whom = name[:-1].split("_")
    CASES[name] = (meddled, dict(how=how, whom=whom, level=int(name[-1])), want)


# Only with --long: much as another case, and slow.
LONG = ("gathers2", "faster", "kills_low3", "stops_low2", "stops_high3", "kills_high2")


def fits(got, want):
    if isinstance(want, tuple):
        return got is not None and all(want[0] <= g <= want[1] for g in (got if isinstance(got, list) else [got]))
    return got == want


def main():
    build, show = os.path.abspath(sys.argv[1]), "--show" in sys.argv
    bad = 0
    names = [n for n in sys.argv[2:] if not n.startswith("--")] or \
            [n for n in CASES if (n in LONG) == ("--long" in sys.argv)]
    for name in names:
        function, arguments, want = CASES[name]
        try:
            got = function(build, **arguments)
        except RuntimeError as e:
            got = {"error": str(e)}
        wrong = {k: got.get(k) for k in want if not fits(got.get(k), want[k])}
        if show or wrong:
            print(name, got)
        if wrong and not show:
            print(f"  WRONG {wrong}, want {({k: want[k] for k in wrong})}")
        bad += bool(wrong)
    print(f"{len(names)} cases, {bad} wrong")
    return 1 if bad and not show else 0


if __name__ == "__main__":
    sys.exit(main())
