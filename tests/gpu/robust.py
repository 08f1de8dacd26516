#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One part of run_robust: robust.py PART BUILD OUT

BUILD holds bin/ (xserver, gpu_client, cuda_suite) and lib/; results go to OUT/robust.jsonl, one measurement a line, and
the end of what xserver said to OUT/xserver.log. Exit code 1: something broke that must not.

  trace      the suite of tests/cuda, without and under the shim: OUT/trace.txt, to be compared with the fake driver's
  kills      twenty times kill -9 of xserver, of either program, of a stopped one, of one whose forked child lives on
  kills_a    twice the same with PyTorch: workload A
  parked     how an urgent program fares beside 1, 8, 64 programs that may not run; parked2: the same at level 2
  slices     two urgent and one background program, one and two, beside an unmanaged one, beside one that makes contexts
  user       all of it as an ordinary user
  names      CUDA_VISIBLE_DEVICES by UUID and by a name that does not exist"""
import atexit
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PART, BUILD, OUT = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(BUILD, "bin/gpu_client")
SHIM = os.path.join(BUILD, "lib/xsched/libshimcuda.so")
FAKE = os.environ.get("FAKE")                  # a folder with the fake driver: to try this script without a device
SCALE = float(os.environ.get("SCALE", "1"))    # of what is counted: smaller runs for trying
folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder, ignore_errors=True)
os.chmod(folder, 0o777)
SOCKET = os.path.join(folder, "xserver.sock")
LOG = os.path.join(folder, "xserver.log")
AS_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if PART == "user" and os.geteuid() == 0 else []
os.makedirs(OUT, exist_ok=True)
if AS_USER:                                    # who may not read the folder that this lies in
    BUILD = shutil.copytree(BUILD, os.path.join(folder, "build"))
    CLIENT, SHIM = os.path.join(BUILD, "bin/gpu_client"), os.path.join(BUILD, "lib/xsched/libshimcuda.so")
    os.environ["HOME"] = folder
failures = []
started = []                                   # every program; none of them stays
told = {"starting": False, "to_end": False}
began = time.monotonic()


def driver():
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return "fake" if FAKE else "?"


def result(variant, side, metric, value, unit, n=1, run=0, **more):
    row = {"workload": "robust " + PART, "variant": variant, "side": side, "metric": metric, "value": value, "unit": unit,
           "n": n, "run": run, "device": os.environ.get("DEVICE", "NVIDIA H200"), "driver": driver(), "framework": "C",
           "commit": os.environ.get("COMMIT", ""), "report": False, **more,
           "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    with open(os.path.join(OUT, "robust.jsonl"), "a", encoding="ascii") as f:
        f.write(json.dumps(row, separators=(",", ":")) + "\n")
    print(f"{time.monotonic() - began:6.1f}", variant, side, metric, value, unit, "n", n, "run", run, flush=True)


def wrong(what):
    failures.append(what)
    print("WRONG:", what, flush=True)


def start(args, **how):
    """Who is being started when this is told to end is known all the same."""
    told["starting"] = True
    try:
        started.append(subprocess.Popen(args, **how))
    finally:
        told["starting"] = False
    if told["to_end"]:
        raise RuntimeError("was told to end")
    return started[-1]


def forked_by(p):
    """Also one that its parent has not told of yet."""
    try:
        with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
            return {int(word) for word in f.read().split()}
    except OSError:
        return set()


def leave_nobody():
    """Who would disturb what comes after this."""
    left = [p for p in started if p.poll() is None]
    for p in left:
        if not failures:
            wrong(f"is left running: {p.args}")
        Client.children |= forked_by(p)
        p.kill()
    for p in left:
        p.wait()
    for child in Client.children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass


def told_to_end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)          # timeout says it twice
    told["to_end"] = True
    if not told["starting"]:
        raise RuntimeError("was told to end")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
    if FAKE:
        env["LD_LIBRARY_PATH"] = FAKE
    env.update({k: str(v) for k, v in more.items()})
    return env


def server(*options):
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    log = open(LOG, "a", encoding="utf-8")
    env = environment()
    more = os.path.join(BUILD, "runtime")          # what this machine may lack of xserver's libraries
    if os.path.isdir(more):
        env["LD_LIBRARY_PATH"] = more
    p = start([*AS_USER, os.path.join(BUILD, "bin/xserver"), "--socket", SOCKET, "--no-http", *options, "HPF"],
              stderr=log, stdout=log, env=env)
    for _ in range(500):
        if os.path.exists(SOCKET):
            return p
        if p.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError("xserver: " + open(LOG, encoding="utf-8").read()[-2000:])


def end(p, how=signal.SIGTERM):
    p.send_signal(how)
    t0 = time.monotonic()
    try:
        p.wait(20)
    except subprocess.TimeoutExpired:
        wrong(f"{p.args[:3]} does not end")
        p.kill()
        p.wait()
    return (time.monotonic() - t0) * 1e3


class Client:
    """priority None: without the shim."""
    children = set()                           # forked ones that live

    def __init__(self, priority, *args, level="auto", wait=True, **more):
        env = environment(**more)
        if priority is not None:
            env.update(LD_PRELOAD=SHIM, XSCHED_PRIORITY=str(priority), XSCHED_SOCKET=SOCKET,
                       XSCHED_AUTO_XQUEUE_LEVEL=level)
        self.args = args
        self.p = start([*AS_USER, CLIENT, *map(str, args)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.child = 0
        if wait:
            self.ready()

    def ready(self):
        for line in self.p.stderr:
            if line.startswith("ready"):
                self.child = int(line.split()[1])
                if self.child:
                    self.children.add(self.child)
                return self
            sys.stderr.write(line)
        raise RuntimeError(f"client {self.args} ended: {self.p.wait()}")

    def finish(self, timeout=60, how=None):
        """Its answer; {} when it was killed. A program that hangs or is wrong is noted."""
        if how:
            self.p.send_signal(how)
        try:
            text, err = self.p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            wrong(f"client {self.args} hangs")
            self.p.kill()
            self.p.communicate()
            return {}
        sys.stderr.write(err)
        if self.p.returncode not in (0, -signal.SIGKILL):
            wrong(f"client {self.args}: exit code {self.p.returncode}")
        row = json.loads(text) if text else {}
        if row.get("wrong"):
            wrong(f"client {self.args}: a result is wrong")
        return row


def calibrate():
    r = subprocess.run([*AS_USER, CLIENT, "calibrate"], stdout=subprocess.PIPE, check=True, env=environment())
    return json.loads(r.stdout)["rounds_per_ms"]


def jobs(name, row, run=0):
    if row:
        for m in ("p50", "p99", "max"):
            result(name, "high", "job_" + m, row[m], "us", row["n"], run)
        result(name, "high", "job_us", None, "us", row["n"], run, samples=row["job_us"])


def xids():
    """Lines of the kernel's log about the GPU, where it can be read."""
    r = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return None if r.returncode else r.stdout.count(b"NVRM: Xid")


# ---- parts ----

def trace():
    suite = os.path.join(BUILD, "bin/cuda_suite")
    got = {}
    for variant, env in (("native", {}), ("app", {"LD_PRELOAD": SHIM, "XSCHED_AUTO_XQUEUE": "ON"}),
                         ("local", {"LD_PRELOAD": SHIM, "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"})):
        for how in ("dlsym", "entry"):
            r = subprocess.run([suite, how], env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, timeout=40, check=False)
            got[variant, how] = r.stdout
            sys.stderr.write(r.stderr)
            if r.returncode:
                wrong(f"suite {variant} {how}: exit code {r.returncode}: {r.stdout[-300:]}")
            if r.stdout != got["native", "dlsym"]:
                wrong(f"suite {variant} {how} differs from the first:\n{r.stdout}")
    with open(os.path.join(OUT, "trace.txt"), "w", encoding="ascii") as f:
        f.write(got["native", "dlsym"])
    print(got["native", "dlsym"])
    result("all", "", "traces_equal", sum(t == got["native", "dlsym"] for t in got.values()), "1", len(got))


def kills():
    per_ms = calibrate()
    before = xids()
    daemon = low = None
    for run in range(max(6, int(20 * SCALE))):
        what = ("xserver", "low", "high", "low stopped", "low with a child", "xserver, low stopped")[run % 6]
        if daemon is None:
            daemon = server()
        if low is None:
            low = Client(0, "low", 5 if run % 2 else 20, 120, per_ms, *(["fork"] if "child" in what else []))
        elif "child" in what:
            low.finish(how=signal.SIGTERM)
            low = Client(0, "low", 20, 120, per_ms, "fork")
        high = Client(10, "high", 60, per_ms)
        time.sleep(0.25)
        if "stopped" in what:
            low.p.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
        if what.startswith("xserver"):
            reaped = end(daemon, signal.SIGKILL)
            daemon = None
        elif what.startswith("low"):
            reaped = end(low.p, signal.SIGKILL)
            low.p.communicate()
        else:
            reaped = end(high.p, signal.SIGKILL)
        row = high.finish()
        if what != "high":
            if not row:
                wrong(f"run {run}: {what}: the urgent program gave no result")
            else:
                result(what, "high", "job_max", row["max"], "us", 60, run)
        if what == "xserver, low stopped":
            low.p.send_signal(signal.SIGCONT)
        if what == "low with a child":
            after = Client(0, "low", 5, 0.2, per_ms).finish()
            if not after or after["wrong"]:
                wrong(f"run {run}: no new program works while the child lives")
            os.kill(low.child, signal.SIGKILL)
            Client.children.discard(low.child)
        if what.startswith("low"):
            low = None
        result(what, "", "reaped", round(reaped, 1), "ms", 1, run)
        if what.startswith("xserver"):             # the survivor's result, then a new one under a new xserver
            time.sleep(0.3)
            row = low.finish(how=signal.SIGTERM)
            if not row:
                wrong(f"run {run}: {what}: the background program gave no result")
            low = None
    if low:
        low.finish(how=signal.SIGTERM)
    if daemon:
        end(daemon)
    check = Client(None, "low", 1, 0.2, per_ms).finish()
    result("all", "", "device_works", int(bool(check) and not check["wrong"]), "1")
    after = xids()
    result("all", "", "xids", -1 if after is None else after - (before or 0), "1")
    if after is not None and after != before:
        wrong(f"{after - before} Xid lines in the kernel's log")


class Torch:
    def __init__(self, role, priority):
        env = environment(LD_PRELOAD=SHIM, XSCHED_PRIORITY=priority, XSCHED_SOCKET=SOCKET)
        self.p = start([sys.executable, os.path.join(HERE, "client.py"), role], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, text=True, env=env)

    def line(self):
        text = self.p.stdout.readline()
        return json.loads(text) if text else {}

    def start(self, seconds):
        self.p.stdin.write(f"run {seconds}\n")
        self.p.stdin.flush()


def kills_a():
    before = xids()
    daemon = server()
    high = Torch("high", 10)
    lows = [Torch("low", 0) for _ in range(3)]
    high_sum = high.line()["checksum"]
    sums = [p.line()["checksum"] for p in lows]
    if len(set(sums)) != 1:
        wrong(f"checksums of the background programs differ: {sums}")
    for run in range(2):
        for what in ("xserver", "low"):
            victim, other = lows[0], lows[-1]
            for p in {victim, other}:
                p.start(3)
            high.start(3)
            time.sleep(1)
            t0 = time.monotonic()
            if what == "xserver":
                end(daemon, signal.SIGKILL)
            else:
                victim.p.kill()
                victim.p.wait()
                lows.pop(0)
            reaped = (time.monotonic() - t0) * 1e3
            row = high.line()
            if not row or row["checksum"] != high_sum:
                wrong(f"run {run}: {what}: the urgent program's result: {row.get('checksum')}, not {high_sum}")
            for p in ({victim, other} if what == "xserver" else {other}):
                r = p.line()
                if not r or r["checksum"] != sums[0]:
                    wrong(f"run {run}: {what}: a background program's result: {r.get('checksum')}, not {sums[0]}")
            if row:
                result(what, "high", "requests", row["n"], "1", 1, run)
                result(what, "high", "request_max", max(row["ms"]), "ms", row["n"], run)
            result(what, "", "reaped", round(reaped, 1), "ms", 1, run)
            if what == "xserver":
                daemon = server()
                time.sleep(0.5)
    for p in [high] + lows:
        p.p.stdin.close()
        p.p.wait(30)
    end(daemon)
    after = xids()
    result("all", "", "xids", -1 if after is None else after - (before or 0), "1")
    if after is not None and after != before:
        wrong(f"{after - before} Xid lines in the kernel's log")


def parked():
    per_ms = calibrate()
    n = max(20, int(120 * SCALE))
    most = int(os.environ.get("PARKED", "64"))
    daemon = server()
    jobs("alone", Client(10, "high", n, per_ms).finish())
    there = []
    for level in (["2"] if PART == "parked2" else ["auto"]):
        for count in (1, 8, most):
            new = [Client(-256, "park", per_ms, level=level, wait=False) for _ in range(count - len(there))]
            for c in new:
                c.ready()
            there += new
            time.sleep(0.5)
            for run in range(2):
                jobs(f"{count} parked, level {level}", Client(10, "high", n, per_ms).finish(), run)
        running = [c for c in there if c.p.poll() is not None]
        if running:
            wrong(f"{len(running)} parked programs ended")
        for c in there:
            c.p.kill()
        for c in there:
            c.p.communicate()
        there = []
    jobs("alone again", Client(10, "high", n, per_ms).finish())
    end(daemon)


def slices():
    per_ms = calibrate()
    n = max(20, int(150 * SCALE))

    def scene(name, highs, lows, *others, options=()):
        daemon = server(*options)
        low = [Client(0, "low", 20, 60, per_ms, wait=False) for _ in range(lows)]
        other = [Client(p, *args, per_ms, wait=False) for p, *args in others]
        for c in low + other:
            c.ready()
        high = [Client(10, "high", n, per_ms, wait=False) for _ in range(highs)]
        for c in high:
            c.ready()
        for i, c in enumerate(high):
            jobs(name, c.finish(), i)
        for i, c in enumerate(low):
            row = c.finish(how=signal.SIGTERM)
            if row:
                result(name, "low", "share", round(row["kernels"] * 20 / 1e3 / row["seconds"], 4), "1", row["kernels"], i)
        for c in other:
            row = c.finish(how=signal.SIGTERM)
            if "contexts" in row:
                result(name, "other", "contexts", row["contexts"], "1")
        end(daemon)

    scene("alone", 1, 0)
    scene("1 urgent, 1 background", 1, 1)
    scene("2 urgent, 1 background", 2, 1)
    scene("2 urgent alone", 2, 0)
    scene("1 urgent, 2 background", 1, 2)
    scene("1 urgent, 1 background, 1 unmanaged", 1, 1, (None, "low", 20, 60))
    scene("1 urgent, 1 background, one makes contexts", 1, 1, (0, "contexts", 60))
    scene("1 urgent, one unmanaged makes contexts", 1, 0, (None, "contexts", 60))


def order():
    """What costs an urgent job a slice of the other side's in its middle: the change of that slice, and which program's
    context was made first? The last half of the jobs counts: the other program may start late."""
    per_ms = calibrate()
    n = max(40, int(300 * SCALE))

    def scene(name, low_first, options=()):
        daemon = server(*options)
        programs = {}
        for side in ("low", "high") if low_first else ("high", "low"):
            programs[side] = (Client(0, "low", 20, 60, per_ms, level="3") if side == "low"
                              else Client(10, "high", n, per_ms, level="3"))
        row = programs["high"].finish()
        programs["low"].finish(how=signal.SIGTERM)
        end(daemon)
        last = sorted(row["job_us"][n // 2:])
        slow = sum(us > 1.25 * last[0] for us in last) / len(last)
        result(name, "high", "job_p50", last[len(last) // 2], "us", len(last))
        result(name, "high", "slow", round(slow, 3), "1", len(last))

    for low_first in (True, False):
        first = "background first" if low_first else "urgent first"
        scene(first, low_first)
        scene(first + ", longer slice at once", low_first, ("--tune=lv3-busy-after-us=0",))
        scene(first + ", no longer slice", low_first, ("--tune=lv3-busy-us=0",))


def user():
    per_ms = calibrate()
    daemon = server()
    jobs("alone", Client(10, "high", 60, per_ms).finish())
    for level in ("auto", "1"):
        low = Client(0, "low", 20, 60, per_ms, level=level)
        jobs(f"beside 20 ms kernels, level {level}", Client(10, "high", 100, per_ms, level=level).finish())
        low.finish(how=signal.SIGTERM)
    low = Client(0, "low", 20, 60, per_ms)
    high = Client(10, "high", 60, per_ms)
    time.sleep(0.2)
    end(daemon, signal.SIGKILL)
    jobs("xserver killed", high.finish())
    if not low.finish(how=signal.SIGTERM):
        wrong("the background program gave no result after xserver was killed")


def names():
    def ask(visible, priority):
        c = Client(priority, "devices", wait=False, CUDA_VISIBLE_DEVICES=visible)
        return c.finish()

    try:
        r = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        uuids = [w.rstrip(")") for w in r.stdout.split() if w.startswith("GPU-") and w.endswith(")")]
    except OSError:
        uuids = []
    daemon = server()
    for visible in (*uuids[:1], "0", "", "MIG-00000000-0000-0000-0000-000000000000", "GPU-00000000"):
        a, b = ask(visible, None), ask(visible, 1)
        if a != b:
            wrong(f"CUDA_VISIBLE_DEVICES={visible}: {a} without the shim, {b} with it")
        result(f"CUDA_VISIBLE_DEVICES={visible}", "", "devices", b.get("devices"), "1", code=b.get("result"))
    # the same device by two names: the urgent program must find the other one held
    if uuids:
        per_ms = calibrate()
        low = Client(0, "low", 20, 60, per_ms, CUDA_VISIBLE_DEVICES=uuids[0])
        jobs("beside one that says UUID", Client(10, "high", 60, per_ms, CUDA_VISIBLE_DEVICES="0").finish())
        low.finish(how=signal.SIGTERM)
    end(daemon)


signal.signal(signal.SIGTERM, told_to_end)
try:
    {"trace": trace, "kills": kills, "kills_a": kills_a, "parked": parked, "parked2": parked, "slices": slices, "order": order,
     "user": user, "names": names}[PART]()
except (RuntimeError, OSError, subprocess.SubprocessError, KeyError, ValueError) as e:
    wrong(f"{type(e).__name__}: {e}")
finally:
    leave_nobody()
result("all", "", "failures", len(failures), "1", failures=failures)
if os.path.exists(LOG):
    with open(LOG, encoding="utf-8") as f, open(os.path.join(OUT, "xserver.log"), "a", encoding="utf-8") as to:
        to.write(f"== {PART}\n" + f.read()[-20000:])
print(f"{PART}: {len(failures)} failures, {time.monotonic() - began:.1f} s", flush=True)
sys.exit(1 if failures else 0)
