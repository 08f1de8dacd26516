# SPDX-License-Identifier: Apache-2.0
"""run_vulkan's part `level3`: what the channel groups of a Vulkan program do on NVIDIA's driver, by vulkan_level3.c, with no
scheduler. Each step writes a row; a step that fails writes why, and the next ones have fresh programs."""
import json
import os
import subprocess
import threading
import time

SHORT_US, LONG_US = 50, 50000
LIMIT = os.environ.get("LEVEL3_ROUNDS")    # lavapipe's
N = int(os.environ.get("LEVEL3_COUNT", "1000"))


class Work:
    """vulkan_level3, which is ready when this is made."""

    def __init__(self, v, log):
        self.process = subprocess.Popen([os.path.join(v.DIR, "vulkan", "vulkan_level3"), *([LIMIT] if LIMIT else [])], env=v.native(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.per_ms = self.answer(60)["rounds_per_ms"]

    def answer(self, seconds):
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        text = self.process.stdout.readline()
        timer.cancel()
        if not text:
            raise RuntimeError(f"the program ended with {self.process.wait()}")
        return json.loads(text)

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def ask(self, words, seconds=30):
        self.tell(words)
        return self.answer(seconds)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


def groups(v, a, b):
    del b
    return a.ask("one 1000") | a.ask("groups")


def shares(v, a, b):
    """How far both get in 0.6 s where one has a short slice and the other a long one."""
    rows = []
    for w in (a, b):
        w.ask("pipe 100 4 0")
    for first, second in ((0, 0), (SHORT_US, LONG_US), (LONG_US, SHORT_US), (0, 0)):
        set_ = [a.ask(f"slice {first}")["result"], b.ask(f"slice {second}")["result"]]
        time.sleep(0.15)
        before = [w.ask("count")["done"] for w in (a, b)]
        time.sleep(0.6)
        after = [w.ask("count")["done"] for w in (a, b)]
        rows.append({"slices": [first, second], "set": set_, "completed": [y - x for x, y in zip(before, after)]})
    return {"rows": rows, "stopped": [w.ask("stop", 60) for w in (a, b)]}


def latency(us, wide):
    def step(v, a, b):
        """Single submissions of 1 ms of one, beside dispatches of `us` of the other."""
        rows = {"alone": a.ask("bursts 1000 150 7000")}
        b.ask(f"pipe {us} 2 {wide}")
        for name, own, other in (("driver's slices", 0, 0), ("short for the other", 0, SHORT_US), ("short and long", LONG_US, SHORT_US)):
            set_ = [a.ask(f"slice {own}")["result"], b.ask(f"slice {other}")["result"]]
            before, since = b.ask("count")["done"], time.monotonic()
            rows[name] = a.ask("bursts 1000 150 7000", 60) | {"set": set_}
            rows[name]["background_per_s"] = round((b.ask("count")["done"] - before) / (time.monotonic() - since), 2)
        a.ask("slice 0")
        b.ask("slice 0")
        return rows | {"right": b.ask("stop", 60)["right"]}
    return step


def cuda_beside(v, a, b):
    """The CUDA program's jobs beside dispatches of 20 ms that fill the device."""
    del b
    rows = {"alone": v.Cuda(v.native(), "high", 150).answer()}
    a.ask("pipe 20000 2 1")
    for name, us in (("driver's slice", 0), ("short", SHORT_US)):
        set_ = a.ask(f"slice {us}")["result"]
        rows[name] = v.Cuda(v.native(), "high", 150).answer() | {"set": set_}
    a.ask("slice 0")
    return {k: {"p50": r["p50"], "p99": r["p99"], "set": r.get("set")} for k, r in rows.items()} | {"right": a.ask("stop", 60)["right"]}


def toggled(v, a, b):
    del b
    a.ask("pipe 1000 4 0")
    return a.ask(f"toggle {SHORT_US} {N}", 60)


def switched_off(v, a, b):
    del b
    a.ask("pipe 1000 4 0")
    return a.ask(f"off 1000 {N}", 60)


def off_during(v, a, b):
    del b
    return {"rows": [a.ask("during 30000 40000") for _ in range(10)]}


def wrong(got):
    """How many results in a row are not right."""
    if isinstance(got, dict):
        return sum(wrong(v) for v in got.values()) + (got.get("right") in (0, False)) + (got.get("wrong") or 0)
    return sum(map(wrong, got)) if isinstance(got, list) else 0


def kernel_says():
    text = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [line for line in text.splitlines() if "Xid" in line][-10:]


def run(v):
    """@param v  the module vulkan.py @return how much went wrong"""
    steps = [("groups", groups), ("shares", shares), ("latency 20 ms", latency(20000, 0)), ("latency 20 ms, wide", latency(20000, 1)),
             ("latency 2 ms, wide", latency(2000, 1)), ("cuda beside", cuda_beside), ("slices toggled", toggled),
             ("channels off", switched_off), ("off during a dispatch", off_during), ("afterwards", groups)]
    bad, pair = 0, None
    with open(os.path.join(v.OUT, "level3.log"), "a", encoding="utf-8") as log:
        for name, step in steps:
            try:
                if name == "afterwards" and pair:
                    for w in pair:
                        w.end()
                    pair = None
                pair = pair or (Work(v, log), Work(v, log))
                got = step(v, *pair)
                v.row(what="level3", step=name, **got)
                bad += wrong(got)
            except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as e:
                bad += 1
                v.row(what="level3", step=name, error=f"{type(e).__name__}: {e}")
                for w in pair or ():
                    w.process.kill()
                    w.end()
                pair = None
    for w in pair or ():
        w.end()
    v.row(what="level3", step="kernel", xids=kernel_says())
    return bad
