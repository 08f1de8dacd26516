#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults in every place where XSched asks for something: run.py --build BUILD [--every N] [--seed N] [SECTION...]

A program is a few hundred random CUDA calls on the fake driver, or an OpenCL program on PoCL; its results are known
from a run without XSched. In each run one thing fails; the program must end with its own results, in time, and nobody
may crash. Sections:

  local    the nth call of libpreempt, libhal and libshim into the C library fails; a policy in the process
  global   the same under an xserver
  opencl   the same in a program on PoCL
  server   the nth such call of xserver fails: it may end with an error, never crash; the program goes on
  always   every call of one function fails, from the first on
  seccomp  system calls are denied by the kernel (EPERM), to a program and to xserver
  shm      /dev/shm and the folder for temporary files are full
  slow     a program that holds the device is stopped and continued all the time
  vendor   a function of the driver that only we ask for fails always
  calls    the nth call of our own into the driver fails, at levels 1, 2 and 3, with each of several errors, or the
           device is lost there
  hip      the same on the fake HIP runtime, with marks of both kinds; of thousands of calls 200 for each error
  cl       the same in a program on PoCL
  levelzero  the nth call of ours into the C library fails, in random Level Zero programs on the fake driver, by both ways; the
           nth call of our own into the driver does
  deaths   xserver is killed, or stopped, at the nth message; a program is, while another one waits
  clock    the clock that our code reads jumps by an hour, at the nth look
  storm    10,000 connections come and go; xserver is replaced under load

--every N: of the places of a section each Nth is tried (default 1: all). The last line counts.
"""
import argparse
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

CLIENT_OBJECTS = "libpreempt,libhal,libshim"
LIMIT_S = 60
STEPS = 90
LONG = 100            # seeds of a program that is there for a while


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "FAULT_"))}


class World:
    def __init__(self, build, every, seed):
        self.build, self.every = build, every
        self.random = random.Random(seed)
        self.driver = os.path.join(build, "tests/fakes/cuda/driver")
        self.program = os.path.join(build, "tests/sequences/seq_cuda")
        self.fault = os.path.join(build, "tests/faults/libfault.so")
        self.deny = os.path.join(build, "tests/faults/deny")
        self.shim = os.path.join(build, "lib/xsched/libshimcuda.so")
        self.opencl = os.path.join(build, "examples/opencl/transparent")
        self.xserver = os.path.join(build, "bin/xserver")
        self.folder = tempfile.TemporaryDirectory(prefix="xsched-faults-")
        self.injected, self.runs, self.refused, self.losses, self.numbers = 0, 0, 0, [], 0
        self.want = {}

    def path(self, stem):
        self.numbers += 1
        return os.path.join(self.folder.name, f"{stem}-{self.numbers}")

    def command(self, seed=1, count=1):
        return [self.program, os.path.join(self.driver, "fakecuda.so"), str(seed), str(count), str(STEPS)]

    def plain(self, seed=1, count=1):
        """A line for each of `count` seeds."""
        if (seed, count) not in self.want:
            r = subprocess.run(self.command(seed, count), env=dict(clean(), LD_LIBRARY_PATH=self.driver), check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S)
            self.want[seed, count] = r.stdout.splitlines()[:count]
        return self.want[seed, count]

    def env(self, **extra):
        return dict(clean(), LD_LIBRARY_PATH=self.driver, XLOG_LEVEL="OFF",
                    LD_PRELOAD=f"{self.shim} {self.fault}", FAULT_OBJECTS=CLIENT_OBJECTS, **extra)

    def start(self, seed=1, wrap=(), count=1, **extra):
        return subprocess.Popen([*wrap, *self.command(seed, count)], env=self.env(**extra), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def judge(self, p, what, seed=1, may_refuse=False, count=1):
        """The program ends by itself, with the results of a run without XSched. may_refuse: or with an error, where
        we could not even find the vendor's library."""
        self.runs += 1
        try:
            out, err = p.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            self.losses.append(f"{what}: hangs")
            return False
        lines = out.splitlines()
        if may_refuse and p.returncode == 1 and lines and lines[0].startswith("FAILED CALL(cuInit,"):
            self.refused += 1     # the vendor's own error code, at the first call
            return True
        if p.returncode != 0 or lines[:count] != self.plain(seed, count):
            self.losses.append(f"{what}: exit code {p.returncode}, {lines[:1]} {err.splitlines()[-2:]}")
            return False
        return True

    def server(self, wrap=(), **extra):
        path = self.path("xs")
        env = dict(clean(), XLOG_LEVEL="OFF", **extra)
        if extra and "LD_PRELOAD" not in extra:
            env.update(LD_PRELOAD=self.fault, FAULT_OBJECTS="xserver")
        p = subprocess.Popen([*wrap, self.xserver, "--socket", path, "--port", "0", "HPF"], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        until = time.monotonic() + (10 if not extra and not wrap else 2)
        while not os.path.exists(path) and p.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        return p, path

    def end_server(self, p, what, may_crash=False):
        """It ends when asked to; a signal that is not ours is a crash."""
        killed = False
        if p.poll() is None:
            p.send_signal(signal.SIGCONT)
            p.terminate()
            try:
                p.wait(timeout=15)
            except subprocess.TimeoutExpired:
                killed = True
                p.kill()
                p.wait()
        if not may_crash and (killed or (p.returncode < 0 and p.returncode != -signal.SIGTERM)):
            self.losses.append(f"{what}: xserver {'hangs' if killed else 'died of signal'} {p.returncode}")

    def counted(self, path):
        try:
            with open(path, encoding="ascii") as f:
                calls, failed, name = f.read().split()
            return int(calls), int(failed), name
        except (OSError, ValueError):
            return 0, 0, "-"

    def places(self, total):
        first = self.random.randrange(self.every) + 1
        return range(first, total + 1, self.every)

    def each(self, places, one):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, places))


LOCAL = {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}


def globally(path, priority=0):
    return {"XSCHED_SOCKET": path, "XSCHED_PRIORITY": str(priority)}


def single(w, mode, what):
    """The nth call fails, for each n."""
    count = w.path("count")
    p = w.start(FAULT_COUNT=count, **mode)
    w.judge(p, what + ", nothing fails")
    total, _, _ = w.counted(count)
    if total < 20:
        w.losses.append(f"{what}: only {total} calls of ours were seen")

    def one(n):
        at = w.path("count")
        w.judge(w.start(FAULT_AT=str(n), FAULT_COUNT=at, **mode), f"{what}, call {n}", may_refuse=True)
        failed = w.counted(at)[1]
        w.injected += failed

    w.each(w.places(total), one)
    return total


def section_local(w):
    return f"{single(w, LOCAL, 'local')} calls of ours in one run"


def section_global(w):
    server, path = w.server()
    try:
        return f"{single(w, globally(path), 'global')} calls of ours in one run"
    finally:
        w.end_server(server, "global")


def section_opencl(w):
    if not os.path.exists(w.opencl):
        return "skipped: no OpenCL example was built"
    shim = os.path.join(w.build, "lib/xsched/libshimopencl.so")

    def run(**extra):
        env = dict(clean(), XLOG_LEVEL="OFF", FAULT_OBJECTS=CLIENT_OBJECTS, POCL_MAX_PTHREAD_COUNT="1",
                   LD_PRELOAD=f"{shim} {w.fault}", **LOCAL, **extra)
        w.runs += 1
        return subprocess.run([w.opencl], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S,
                              text=True)

    count = w.path("count")
    want = run(FAULT_COUNT=count)
    if want.returncode != 0:
        return "skipped: no OpenCL device"
    total = w.counted(count)[0]

    def one(n):
        at = w.path("count")
        try:
            got = run(FAULT_AT=str(n), FAULT_COUNT=at)
        except subprocess.TimeoutExpired:
            w.losses.append(f"opencl, call {n}: hangs")
            return
        w.injected += w.counted(at)[1]
        if got.returncode < 0:
            w.losses.append(f"opencl, call {n}: signal {got.returncode} {got.stderr.splitlines()[-2:]}")
        elif got.returncode == 0 and got.stdout.splitlines()[-1:] != want.stdout.splitlines()[-1:]:
            w.losses.append(f"opencl, call {n}: another result: {got.stdout.splitlines()[-1:]}")

    w.each([n for i, n in enumerate(w.places(total)) if w.every == 1 or i % 4 == 0], one)
    return f"{total} calls of ours in one run"


def section_server(w):
    seeds = 30   # so many that the program joins before it has ended, on a busy machine, too

    def one(what, **more):
        at = w.path("count")
        server, path = w.server(FAULT_COUNT=at, **more)
        w.judge(w.start(count=seeds, **globally(path)), what, count=seeds)
        w.end_server(server, f"{what} ({w.counted(at)[2]})")
        return w.counted(at)

    total = one("server, nothing fails")[0]
    if total < 60:   # it comes and goes with 45
        w.losses.append(f"server: only {total} calls were seen: nobody joined")

    def place(n):
        w.injected += one(f"server, call {n}", FAULT_AT=str(n))[1]

    w.each(w.places(total), place)
    return f"{total} calls of xserver in one run"


FUNCTIONS = {"memfd_create": (1, 12, 24, 28), "eventfd": (24, 1), "socket": (1, 24), "mmap": (12, 1), "calloc": (12,),
             "malloc": (12,), "realloc": (12,), "pthread_create": (11, 1), "connect": (111, 1, 4), "sendmsg": (11, 12),
             "recvmsg": (11, 104), "ppoll": (4, 12), "poll": (4,), "futex": (4, 11), "ftruncate": (28, 1), "fcntl": (24,),
             "lseek": (22,), "madvise": (22, 1), "write": (11, 28), "read": (4, 11), "getsockopt": (1,),
             "setsockopt": (1,), "open": (24,), "pread": (5,), "readlink": (13,), "realpath": (13,), "syscall": (38, 1)}


def section_always(w):
    server, path = w.server()
    cases = [(name, number, mode) for name, numbers in FUNCTIONS.items() for number in numbers
             for mode in ("local", "global")]

    def one(case):
        name, number, mode = case
        at = w.path("count")
        extra = LOCAL if mode == "local" else globally(path)
        p = w.start(FAULT_ONLY=name, FAULT_ERRNO=str(number), FAULT_COUNT=at, **extra)
        w.judge(p, f"always: {name} gives {number}, {mode}", may_refuse=True)
        w.injected += w.counted(at)[1]

    try:
        w.each(cases[::max(1, min(w.every, 2))], one)
    finally:
        w.end_server(server, "always")
    return f"{len(FUNCTIONS)} functions"


def section_seccomp(w):
    server, path = w.server()
    denied = ["memfd_create", "eventfd2", "socket", "connect", "sendmsg", "recvmsg", "madvise", "mremap", "getrandom",
              "ppoll", "set_robust_list", "sched_setscheduler", "fcntl", "membarrier"]
    cases = [(name, mode) for name in denied for mode in (LOCAL, globally(path))]

    def one(case):
        name, mode = case
        p = w.start(wrap=[w.deny, name, "--"], **mode)
        if w.judge(p, f"seccomp: {name} is denied"):
            w.injected += 1

    try:
        w.each(cases, one)
    finally:
        w.end_server(server, "seccomp")
    to_server = ["memfd_create", "getrandom", "fcntl", "sched_setscheduler", "timerfd_create", "signalfd4", "accept4",
                 "pidfd_open", "futex_waitv", "getsockopt", "setsockopt", "sendmsg", "recvmsg", "epoll_create1",
                 "epoll_ctl", "eventfd2", "bind", "listen"]

    def of_server(name):
        sv, where = w.server(wrap=[w.deny, name, "--"])
        w.judge(w.start(**globally(where)), f"seccomp: {name} is denied to xserver")
        w.injected += 1
        w.end_server(sv, f"seccomp: {name} is denied to xserver")

    w.each(to_server, of_server)
    return f"{len(denied)} system calls denied to a program, {len(to_server)} to xserver"


def section_shm(w):
    """Shared pages are memory files and need neither; nothing else may need them either."""
    full = ["unshare", "-m", "sh", "-c", "for d in /dev/shm /mnt; do mount -t tmpfs -o size=64k tmpfs $d && "
            "{ head -c 1000000 /dev/zero > $d/full 2>/dev/null; [ $(stat -f -c %a $d) = 0 ]; } || exit 98; done; "
            "export TMPDIR=/mnt; exec \"$@\"", "sh"]
    if subprocess.run([*full, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return "skipped: needs a mount namespace"
    server, path = w.server(wrap=full)
    if not os.path.exists(path):
        w.losses.append("shm: xserver does not start")
    for name, mode in ("local", LOCAL), ("global", globally(path)):
        if w.judge(w.start(wrap=full, **mode), f"shm: full, {name}"):
            w.injected += 1
    w.end_server(server, "shm")
    return "2 programs and xserver"


def section_slow(w):
    """Somebody holds the device, or is held, and gets on in jerks: as on a machine that swaps."""
    server, path = w.server()
    stops = 6 if w.every == 1 else 2
    for victim_priority in (9, 0):
        for pause_s in (0.01, 0.2, 1.2):          # shorter and longer than a lease
            victim = w.start(3, count=LONG, **globally(path, victim_priority))
            other = w.start(1, **globally(path, 5))
            for _ in range(stops):
                if victim.poll() is not None:
                    break
                os.killpg(victim.pid, signal.SIGSTOP)
                time.sleep(pause_s)
                os.killpg(victim.pid, signal.SIGCONT)
                time.sleep(0.02)
                w.injected += 1
            w.judge(other, f"slow: beside a program of priority {victim_priority} stopped for {pause_s} s")
            w.judge(victim, f"slow: priority {victim_priority}, stopped for {pause_s} s at a time", 3,
                    count=LONG)
    w.end_server(server, "slow")
    return "6 pairs of programs"


def section_vendor(w):
    names = ["cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2", "cuStreamWriteValue64_v2",
             "cuStreamWriteValue32_v2", "cuCtxGetDevice", "cuDeviceGetAttribute", "cuStreamGetPriority",
             "cuStreamGetCtx", "cuStreamGetFlags", "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
             "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode", "cuStreamSynchronize", "cuStreamQuery",
             "cuDeviceGetCount", "cuDriverGetVersion"]
    crashes = []

    def one(name):
        for value in ("999", "1", "201"):
            p = subprocess.Popen(w.command(), env=w.env(FAULT_VENDOR=f"{name}={value}", **LOCAL),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            w.runs += 1
            w.injected += 1
            try:
                p.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.communicate()
                crashes.append(f"vendor: {name} gives {value}: hangs")
                continue
            # the program sees the error too where it calls that function: it may stop by itself then
            if p.returncode < 0:
                crashes.append(f"vendor: {name} gives {value}: signal {p.returncode}")

    w.each(names, one)
    w.losses += crashes
    return f"{len(names)} functions of the driver"


UNINITIALIZED, NO_HOST_MEMORY = f"-> {0x78000001}", f"-> {0x70000002}"   # Level Zero's
ERRORS = {"out of memory": 2, "invalid handle": 400, "not supported": 801, "device lost": 700}


class Calls:
    """The nth call of our own into a vendor's library gives an error, in one program and mode."""

    def __init__(self, w, what, command, env, env_plain, lines=slice(None)):
        self.w, self.what, self.command, self.env, self.lines = w, what, command, env, lines
        self.want = self.run(env_plain)

    def run(self, env):
        """Exit code (None: it hangs), lines."""
        p = subprocess.Popen(self.command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        try:
            out, err = p.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            return None, [], []
        return p.returncode, out.splitlines()[self.lines], err.splitlines()

    def one(self, case):
        n, error, value = case
        at, lost = self.w.path("count"), error == "device lost"
        env = dict(self.env, FAULT_VENDOR_AT=str(n), FAULT_VENDOR_VALUE=str(value), FAULT_ONLY="-", FAULT_COUNT=at)
        if lost:
            env["FAULT_VENDOR_LOST"] = "1"
        code, out, err = self.run(env)
        total, failed, name = self.w.counted(at)
        what = f"{self.what}, call {n} ({name}) gives {error}"
        self.w.runs += 1
        self.w.injected += failed
        if code is None:
            self.w.losses.append(f"{what}: hangs")
        elif code < 0:
            self.w.losses.append(f"{what}: signal {-code} {err[-2:]}")
        elif lost:                    # the program is told, and does what it does then
            pass
        elif (code, out) != self.want[:2]:
            self.w.losses.append(f"{what}: exit code {code}, {out[:1]} {err[-2:]}")
        return total

    def all(self, errors=None, most=1000):
        """most: of the places, no more than so many for each error, evenly spread."""
        if self.want[0] != 0:
            self.w.losses.append(f"{self.what}: without XSched: {self.want}")
            return 0
        total = self.one((0, "nothing", 0))
        if total < 10:
            self.w.losses.append(f"{self.what}: only {total} calls of ours were seen")
        places = list(self.w.places(total))
        places = places[::max(1, -(-len(places) // most))]
        self.w.each([(n, error, value) for error, value in (errors or ERRORS).items() for n in places], self.one)
        return total


def section_calls(w):
    totals = []
    for level in (1, 2, 3):
        env = dict(w.env(), **LOCAL, XSCHED_AUTO_XQUEUE_LEVEL=str(level), XSCHED_TUNE="gate-us=0")
        plain = dict(clean(), LD_LIBRARY_PATH=w.driver)
        server = None
        if level == 3:            # channel groups, and somebody who steers them
            world = os.path.join(w.folder.name, "world")
            os.mkdir(world)
            subprocess.run([os.path.join(w.build, "tests/fakes/world/conductor"), world, "0", "--real"], check=True,
                           stdout=subprocess.DEVNULL)
            fake = os.path.join(w.build, "tests/fakes/world/libfakeworld.so")
            server, path = w.server(LD_PRELOAD=fake, FAKE_WORLD=world)
            for name in LOCAL:
                del env[name]
            env.update(globally(path), FAKE_WORLD=world, LD_PRELOAD=f"{env['LD_PRELOAD']} {fake}")
        totals.append(Calls(w, f"level {level}", w.command(), env, plain, slice(0, 1)).all())
        if server:
            w.end_server(server, "level 3")
    return f"{' + '.join(map(str, totals))} calls of ours in one run at levels 1, 2, 3; {len(ERRORS)} errors"


def section_hip(w):
    suite, fake = os.path.join(w.build, "tests/hip/hip_suite"), os.path.join(w.build, "tests/fakes/hip/system")
    shim = os.path.join(w.build, "lib/xsched/libshimhip.so")
    if not os.path.exists(suite) or not os.path.exists(shim):
        return "skipped: HIP was not built"
    plain = dict(clean(), LD_LIBRARY_PATH=fake)
    totals = []
    for marks in ("VALUE", "EVENT"):
        env = dict(plain, **LOCAL, XLOG_LEVEL="OFF", LD_PRELOAD=f"{shim} {w.fault}", FAULT_OBJECTS=CLIENT_OBJECTS,
                   XSCHED_HIP_MARKS=marks)
        totals.append(Calls(w, f"HIP, marks by {marks}", [suite, "dlsym"], env, plain).all(most=max(4, 200 // w.every)))
    return f"{' + '.join(map(str, totals))} calls of ours in one run"


def section_cl(w):
    if not os.path.exists(w.opencl):
        return "skipped: no OpenCL example was built"
    plain = dict(clean(), POCL_MAX_PTHREAD_COUNT="1")
    # of those that we call, the program calls none
    ours = ("clGetPlatformInfo,clGetDeviceInfo,clGetEventInfo,clGetCommandQueueInfo,clEnqueueMarker,clFlush,"
            "clEnqueueMarkerWithWaitList,clSetEventCallback,clReleaseEvent")
    env = dict(plain, **LOCAL, XLOG_LEVEL="OFF", LD_PRELOAD=os.path.join(w.build, "lib/xsched/libshimopencl.so") + " " +
               w.fault, FAULT_OBJECTS=CLIENT_OBJECTS, FAULT_VENDOR_SHIM=ours)
    # CL_OUT_OF_HOST_MEMORY, CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION
    errors = {"out of memory": -6, "invalid queue": -36, "not supported": -59}
    return f"{Calls(w, 'OpenCL', [w.opencl], env, plain, slice(-1, None)).all(errors, max(3, 60 // w.every))} calls of ours in one run"


def section_levelzero(w):
    program, fake = os.path.join(w.build, "tests/sequences/seq_levelzero"), os.path.join(w.build, "tests/fakes/levelzero/driver")
    if not os.path.exists(program):
        return "skipped: Level Zero's programs were not built"
    shims = os.path.join(w.build, "lib/xsched")
    command = [program, os.path.join(fake, "libze_intel_gpu.so.1"), "1", "1", str(2 * STEPS)]
    plain = dict(clean(), LD_LIBRARY_PATH=fake)
    faulty = dict(plain, **LOCAL, XLOG_LEVEL="OFF", FAULT_OBJECTS=CLIENT_OBJECTS + ",libxsched-")
    ways = {"proxy": dict(faulty, LD_PRELOAD=w.fault, ZE_ENABLE_ALT_DRIVERS=f"{shims}/libxsched-ze_intel_gpu.so"),
            "preload": dict(faulty, LD_PRELOAD=f"{shims}/libshimlevelzero.so {w.fault}")}
    totals = []
    for way, env in ways.items():
        calls = Calls(w, f"Level Zero, {way}", command, plain, plain, slice(0, 1))
        count = w.path("count")
        if calls.run(dict(env, FAULT_COUNT=count))[:2] != calls.want[:2]:
            w.losses.append(f"{calls.what}: differs where nothing fails")
        total = w.counted(count)[0]
        if total < 20:
            w.losses.append(f"{calls.what}: only {total} calls of ours were seen")
        totals.append(total)

        def one(n):
            at = w.path("count")
            code, out, err = calls.run(dict(env, FAULT_AT=str(n), FAULT_COUNT=at))
            w.runs += 1
            w.injected += w.counted(at)[1]
            # where we could not even find the vendor's library, or have no memory for its tables: the vendor's own error
            if code == 1 and out and out[0].startswith("FAILED ") and out[0].endswith((UNINITIALIZED, NO_HOST_MEMORY)):
                w.refused += 1
            elif (code, out) != calls.want[:2]:
                w.losses.append(f"{calls.what}, call {n}: exit code {code}, {out[:1]} {err[-2:]}")

        w.each(w.places(total), one)
    # of those that we call, the shim hands on none for the program
    ours = ("zeFenceQueryStatus,zeFenceReset,zeEventPoolCreate,zeEventPoolDestroy,zeEventCreate,zeEventDestroy,zeEventQueryStatus,"
            "zeEventHostReset,zeEventHostSynchronize,zeCommandListCreate,zeCommandListClose,zeDeviceGetProperties,"
            "zeDevicePciGetPropertiesExt")
    errors = {"out of device memory": 0x70000003, "not supported": 0x78000003, "invalid argument": 0x78000004}
    calls = Calls(w, "Level Zero", command, dict(ways["preload"], FAULT_VENDOR_SHIM=ours), plain, slice(0, 1))
    totals.append(calls.all(errors, max(5, 200 // w.every)))
    return f"{' + '.join(map(str, totals))} calls of ours in one run"


def section_deaths(w):
    """xserver, then a program, killed or stopped in the middle."""
    messages = 0
    for _ in range(5):                            # a program may end before it has joined
        count = w.path("count")
        server, path = w.server(FAULT_COUNT=count, FAULT_ONLY="recvmsg", FAULT_AT="1000000")
        w.judge(w.start(**globally(path)), "deaths, nothing dies")
        w.end_server(server, "deaths, nothing dies")
        messages = max(messages, w.counted(count)[0])
    cases = [(only, n, action) for only in ("recvmsg", "sendmsg") for n in range(1, messages + 1)
             for action in ("kill", "stop")]

    def of_server(case):
        only, n, action = case
        sv, where = w.server(FAULT_ONLY=only, FAULT_AT=str(n), FAULT_ACTION=action)
        two = [w.start(seed, **globally(where, seed)) for seed in (1, 2)]
        for seed, p in enumerate(two, 1):
            w.judge(p, f"deaths: xserver, {action} at {only} {n}", seed)
        w.injected += 1
        w.end_server(sv, "deaths", may_crash=True)

    w.each(cases[::max(1, w.every // 8)], of_server)
    server, path = w.server()
    count = w.path("count")
    w.judge(w.start(FAULT_COUNT=count, **globally(path)), "deaths, no program dies")
    total = w.counted(count)[0]

    def of_client(n):
        for action in ("kill", "stop"):
            victim = w.start(3, FAULT_AT=str(n), FAULT_ACTION=action, **globally(path, 9))
            time.sleep(0.02)
            w.judge(w.start(1, **globally(path, 0)), f"deaths: an urgent program, {action} at call {n}")
            w.injected += 1
            os.killpg(victim.pid, signal.SIGKILL)
            victim.communicate()

    w.each([n for i, n in enumerate(w.places(total)) if i % 2 == 0], of_client)
    w.end_server(server, "deaths of programs")
    return f"{messages} messages"


def section_clock(w):
    server, path = w.server()
    # CLOCK_MONOTONIC does not go back; a local policy would wait until it is where it was
    cases = [(n, jump, mode) for n in (1, 5, 20, 60, 150, 400) for jump in ("clock+3600", "clock-3600")
             for mode in ("local", "global") if (jump, mode) != ("clock-3600", "local")]

    def one(case):
        n, jump, mode = case
        extra = LOCAL if mode == "local" else globally(path)
        p = w.start(FAULT_ONLY="clock_gettime", FAULT_AT=str(n), FAULT_ACTION=jump, **extra)
        if w.judge(p, f"clock: {jump} at look {n}, {mode}"):
            w.injected += 1

    w.each(cases, one)
    w.end_server(server, "clock")

    def of_server(case):
        n, jump = case
        sv, where = w.server(FAULT_ONLY="clock_gettime", FAULT_AT=str(n), FAULT_ACTION=jump)
        two = [w.start(seed, **globally(where, seed)) for seed in (1, 2)]
        for seed, p in enumerate(two, 1):
            w.judge(p, f"clock: xserver's, {jump} at look {n}", seed)
        w.injected += 1
        w.end_server(sv, f"clock of xserver, {jump} at {n}")

    w.each([(n, jump) for n in (1, 10, 40, 120) for jump in ("clock+3600", "clock-3600")], of_server)
    return f"{len(cases) + 8} jumps"


def section_storm(w):
    server, path = w.server()
    n = 10000 if w.every <= 50 else 2000

    def descriptors():
        return len(os.listdir(f"/proc/{server.pid}/fd"))

    def own():      # not its code: whose that is changes as other servers of this machine come and go
        with open(f"/proc/{server.pid}/smaps_rollup", encoding="ascii") as f:
            return sum(int(line.split()[1]) for line in f if line.startswith(("Pss_Anon:", "Pss_Shmem:")))

    def connect(count):
        for _ in range(count):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(path)
            s.close()

    def settle(most=float("inf")):      # xserver sees the last of them close when it gets a CPU
        until, seen, since = time.monotonic() + LIMIT_S, 0, time.monotonic()
        while time.monotonic() < until:
            count = descriptors()
            if count != seen or count > most:
                seen, since = count, time.monotonic()
            elif time.monotonic() - since > 0.3:
                break
            time.sleep(0.05)
        return descriptors(), own()

    for _ in range(1000):  # the socket's file is there a moment before xserver listens
        try:
            connect(1)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    connect(500)
    before = settle()
    connect(n)
    after = settle(before[0])
    w.injected += n
    if after[0] > before[0] or after[1] > before[1] + 512:
        w.losses.append(f"storm: descriptors {before[0]} -> {after[0]}, memory {before[1]} -> {after[1]} kB")
    w.judge(w.start(**globally(path)), "storm: a program after it")
    # xserver is replaced under load, several times: programs run on and join the new one
    load = [w.start(seed, **globally(path, seed)) for seed in (1, 2, 3, 4)]
    for i in range(4):
        time.sleep(0.05)
        server.send_signal(signal.SIGKILL if i % 2 else signal.SIGTERM)
        server.wait()
        server = subprocess.Popen([w.xserver, "--socket", path, "--port", "0"], env=dict(clean(), XLOG_LEVEL="OFF"),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        w.injected += 1
    for seed, p in enumerate(load, 1):
        w.judge(p, "storm: a program whose xserver is replaced", seed)
    w.end_server(server, "storm")
    return f"{n} connections"


SECTIONS = {name[8:]: fn for name, fn in list(globals().items()) if name.startswith("section_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20240611)
    parser.add_argument("sections", nargs="*")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    w = World(os.path.abspath(args.build), args.every, args.seed)
    begin = time.monotonic()
    for name in args.sections or SECTIONS:
        start, injected, losses = time.monotonic(), w.injected, len(w.losses)
        said = SECTIONS[name](w)
        print(f"{name:8} {w.injected - injected:6} faults, {len(w.losses) - losses} losses, "
              f"{time.monotonic() - start:.0f} s ({said})", flush=True)
        for line in w.losses[losses:][:10]:
            print("    " + line)
    print(f"{w.injected} faults injected in {w.runs} runs, {w.refused} ended in an error of the "
          f"vendor's, {len(w.losses)} losses, {time.monotonic() - begin:.0f} s")
    for line in w.losses[:10]:          # last, too: a log that is cut keeps its end
        print("    " + line)
    w.folder.cleanup()
    return 1 if w.losses else 0


sys.exit(main())
