# SPDX-License-Identifier: Apache-2.0
"""One side of a benchmark, or several as threads of one process: an ordinary PyTorch program that knows nothing of
a scheduler.

  torch_client.py probe
  torch_client.py [--created] ROLE=MODEL[@BATCH][:PRIORITY[:GREEN[:DEVICE]]]...

--created: each role has a stream of its own, with the vendor's stream priority if PRIORITY is not 0 (larger is more
urgent); otherwise all use the default stream. GREEN: the percentage of the device that the role's green context
has, 0 for none. DEVICE: which of those that the process sees. Then it obeys lines as bench/clients/load.c says (modes open, gap and
closed; fields start, end, fill_us, at; and pause_us, for which a closed loop waits after each request) and answers with the
same JSON lines. Times are CLOCK_MONOTONIC.
"""
import json
import os
import resource
import sys
import threading
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else os.environ.get("BENCH_TORCH_DEVICE", "")
torch.backends.cudnn.benchmark = False
torch.set_grad_enabled(False)
out = threading.Lock()


def say(row):
    text = json.dumps(row, separators=(",", ":"))
    with out:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.current_stream().synchronize()


def sleep_until(ns):
    while True:
        left = ns - time.monotonic_ns()
        if left <= 0:
            return
        time.sleep(left / 1e9)


class Role(threading.Thread):
    def __init__(self, text, created):
        super().__init__(daemon=True)
        self.role, _, rest = text.partition("=")
        model, priority, green, device = (rest.split(":") + ["", "", ""])[:4]
        self.model, _, batch = model.partition("@")
        self.batch = int(batch or 0)
        self.priority = int(priority or 0)
        self.green = int(green or 0)
        self.device = int(device or 0)
        self.created = created
        self.wake = threading.Condition()
        self.todo = None
        self.ready = threading.Event()
        self.error = None
        self.alone = False

    def run(self):
        try:
            if DEVICE == "cuda":
                torch.cuda.set_device(self.device)      # of this thread
            stream = None
            if self.created and DEVICE == "cuda":   # before a green context is current: who asks first makes those of all threads
                stream = torch.cuda.Stream(priority=-self.priority) if self.priority else torch.cuda.Stream()
            if self.green:
                sms = torch.cuda.get_device_properties(0).multi_processor_count * self.green // 100 // 8 * 8
                from torch.cuda.green_contexts import GreenContext
                self.context = GreenContext.create(sms, 0)
                self.context.set_context()          # and this thread uses that context's default stream
            elif stream:
                torch.cuda.set_stream(stream)
            with torch.no_grad():
                self.prepare()
                self.ready.set()
                while True:
                    with self.wake:
                        while self.todo is None:
                            self.wake.wait()
                        todo, self.todo = self.todo, None
                    self.obey(*todo)
        except Exception as e:  # said to the driver, which skips what needs this client
            self.error = f"{type(e).__name__}: {e}"
            self.ready.set()
            say({"role": self.role, "error": self.error})

    def prepare(self):
        from torch_models import build
        while True:
            self.work, self.batch = build(self.model, self.batch, DEVICE)
            try:
                self.checksum = self.work.verify()
                break
            except RuntimeError as e:
                if "out of memory" not in str(e) or self.batch < 2:
                    raise
                self.batch //= 2
                if DEVICE == "cuda":
                    torch.cuda.empty_cache()
        synchronize()
        took = []
        began = time.monotonic()
        while len(took) < 3 or (len(took) < 30 and time.monotonic() - began < 1.5):
            t = time.monotonic()
            self.work.once()
            synchronize()
            took.append(time.monotonic() - t)
        self.once_ms = sorted(took)[len(took) // 2] * 1e3
        self.release()

    def release(self):
        """What others of this device may want; only where there is much of it, and nobody else of this process."""
        if DEVICE == "cuda" and self.alone and torch.cuda.memory_reserved() > 2 << 30:
            torch.cuda.empty_cache()

    def request(self, timed):
        """@return when the first part of the answer was there (a decoder's first token), and the tokens' times"""
        if not self.work.steps or not timed:
            self.work.once()
            synchronize()
            return None, None
        prompt, decode, tokens = self.work.steps
        prompt()
        synchronize()
        first = last = time.monotonic_ns()
        took = []
        for _ in range(tokens - 1):
            decode()
            synchronize()
            now = time.monotonic_ns()
            took.append(round((now - last) / 1e3, 1))
            last = now
        return first, took

    def obey(self, mode, o):
        start, end, fill_ns = int(o["start"]), int(o["end"]), int(float(o.get("fill_us", 0)) * 1e3)
        pause_s = float(o.get("pause_us", 0)) / 1e6
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        row = {"role": self.role}
        done, tokens = [], []
        sleep_until(start)
        if mode == "closed":
            while time.monotonic_ns() < end:
                self.work.once()
                synchronize()
                done.append(round((time.monotonic_ns() - start) / 1e3))
                if pause_s:
                    time.sleep(pause_s)
            row["ends_us"] = done[:4000]
            buckets = [0] * (done[-1] // 100000 + 1 if done else 0)
            for t in done:
                buckets[t // 100000] += 1
            row["per_100ms"] = buckets[:600]
        else:
            for text in o.get("at", "").split(","):
                if not text:
                    break
                due = (time.monotonic_ns() if mode == "gap" else start) + int(float(text) * 1e3)
                if due >= end and done:     # who begins so late has one all the same
                    break
                while fill_ns and due > time.monotonic_ns() + 3 * fill_ns:
                    self.request(False)
                    time.sleep(fill_ns / 1e9)
                sleep_until(due)
                begun = time.monotonic_ns()
                first, took = self.request(True)
                ended = time.monotonic_ns()
                done.append([round((t - start) / 1e3, 1) if t else 0 for t in (due, begun, first, ended)])
                tokens += took or []
            row["requests_us"] = done
            if tokens:
                row["tokens_us"] = tokens
        row["n"] = len(done)
        row["seconds"] = (time.monotonic_ns() - start) / 1e9
        row["checksum"] = self.work.verify()
        row["wrong"] = int(row["checksum"] != self.checksum)
        after = resource.getrusage(resource.RUSAGE_SELF)
        row["cpu_ms"] = round(1e3 * (after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime), 1)
        self.release()
        say(row)

    def give(self, mode, options):
        with self.wake:
            self.todo = (mode, options)
            self.wake.notify()


def about():
    row = {"ready": True, "worker": os.getpid(), "framework": "PyTorch " + torch.__version__}
    if DEVICE == "cuda":
        p = torch.cuda.get_device_properties(0)
        row["devices"] = torch.cuda.device_count()
        hip = getattr(torch.version, "hip", None)
        row.update(device=p.name, memory_gib=round(p.total_memory / 2**30, 2),
                   driver=f"HIP {hip}" if hip else f"CUDA {torch.version.cuda}")
    else:
        row.update(device="CPU", memory_gib=4, driver="none", devices=2)
    return row


def main():
    words = sys.argv[1:]
    if words == ["probe"]:
        say(about())
        return 0
    created = "--created" in words
    roles = [Role(w, created) for w in words if not w.startswith("--")]
    if not roles or not DEVICE:
        print(__doc__ if DEVICE else "torch_client: PyTorch sees no GPU", file=sys.stderr)
        return 2 if DEVICE else 77
    roles[0].alone = len(roles) == 1
    for r in roles:              # one after the other: the seed of the weights belongs to the process
        r.start()
        r.ready.wait()
        if r.error:
            return 1
    say(dict(about(), roles={r.role: {"checksum": r.checksum, "once_ms": round(r.once_ms, 4), "batch": r.batch,
                                      "model": r.model} for r in roles}))
    by_name = {r.role: r for r in roles}
    for line in sys.stdin:
        words = line.split()
        if words[:1] != ["run"] or words[1] not in by_name:
            print(f"torch_client: not understood: {line[:80]}", file=sys.stderr)
            return 2
        by_name[words[1]].give(words[2], dict(w.split("=", 1) for w in words[3:]))
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)               # threads that wait hold nothing
