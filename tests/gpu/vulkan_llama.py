# SPDX-License-Identifier: Apache-2.0
"""run_vulkan's part `llama`: llama.cpp's server on Vulkan, by itself and beside a training on CUDA.

The server under XSched has libshimcuda preloaded, as `xsched run` does it, so that it may have level 3. Each server and each training
is a process that lives as long as the part, and only those of a turn work: so the ways are compared in the same processes. A way
is (name, server, training): the server natively or under XSched at a level, none, and so the training.
A request is a prompt of 512 tokens and 64 more (bench/clients/llama_client.py), the next one comes 5 ms after its end on average; the
training is ResNet-50's (bench/clients/torch_client.py), batch 64. One row a way and turn; the times of all requests and tokens
go to OUT/llama.jsonl. All servers must say the same.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(HERE, "..", "..", "bench", "clients")
SECONDS = float(os.environ.get("LLAMA_SECONDS", "4"))
TURNS = int(os.environ.get("LLAMA_TURNS", "7"))
LEVELS = os.environ.get("LLAMA_LEVELS", "auto 1 2 3").split()
READY_S = 180
WAYS = [("native alone", "native", None), ("xsched alone", "auto", None), ("native beside", "native", "native"),
        *((f"xsched {level} beside", level, "auto" if level == "3" else level) for level in LEVELS),
        ("training native alone", None, "native"), ("training xsched alone", None, "auto")]


class Client:
    """A client of the suite: lines go in, a JSON object comes for each."""

    def __init__(self, name, out, env, *command):
        with open(os.path.join(out, f"llama_{name}.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.name = name

    def answer(self, seconds):
        done = threading.Timer(seconds, self.process.kill)
        done.start()
        text = self.process.stdout.readline()
        done.cancel()
        row = json.loads(text) if text else {"error": f"it ended with {self.process.wait()}"}
        if "error" in row:
            raise RuntimeError(f"{self.name}: {row['error']}")
        return row

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, len(values) * p // 100)] if values else None


def summary(got):
    if not got:
        return {}
    tokens = got["tokens_us"]
    first = [r[2] - r[1] for r in got["requests_us"]]
    return {"requests": got["n"], "tokens": len(tokens), "tokens_per_s": round(1e6 * len(tokens) / sum(tokens), 1),
            "token_p50_us": percentile(tokens, 50), "token_p90_us": percentile(tokens, 90), "token_p99_us": percentile(tokens, 99),
            "prompt_p50_us": round(statistics.median(first), 1), "wrong": got["wrong"], "checksum": got["checksum"]}


def turn(v, number, way, servers, trainings):
    name, server, training = way
    up, down = servers.get(server), trainings.get(training)
    start = time.monotonic_ns() + 100_000_000
    end = start + int(SECONDS * 1e9)
    if down:
        down.ask(f"run low closed start={start} end={end}")
    if up:
        gaps = random.Random(number)
        at = ",".join(str(round(gaps.uniform(0, 10_000))) for _ in range(2000))
        up.ask(f"run high gap start={start} end={end} at={at}")
    got = up.answer(SECONDS + 60) if up else None
    low = down.answer(SECONDS + 60) if down else None
    v.row(what="llama", how=name, turn=number, **summary(got),
          training_per_s=low and round(low["n"] / low["seconds"], 2), training_wrong=low and low["wrong"])
    with open(os.path.join(v.OUT, "llama.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps({"how": name, "turn": number, "requests_us": got and got["requests_us"],
                            "tokens_us": got and got["tokens_us"], "low_ends_us": low and low["ends_us"]}) + "\n")
    return (got["wrong"] if got else 0) + (low["wrong"] if low else 0)


def start(v, server, folder):
    """@return (servers, trainings), by level, not yet ready"""
    llama = [sys.executable, "-B", os.path.join(CLIENTS, "llama_client.py"), os.path.join(folder, "llama-server"),
             os.path.join(folder, "model.gguf"), "high"]
    torch = os.environ.get("LLAMA_TRAINER", f"{sys.executable} -B {CLIENTS}/torch_client.py low=train-resnet50@64").split()
    servers = {"native": Client("server_native", v.OUT, v.native(), *llama)}
    trainings = {"native": Client("training_native", v.OUT, v.native(), *torch)}
    for level in LEVELS:
        servers[level] = Client(f"server_{level}", v.OUT, server.cuda_env(10, level), *llama)
        if level != "3":          # auto means that
            trainings[level] = Client(f"training_{level}", v.OUT, server.cuda_env(-10, level), *torch)
    return servers, trainings


def run(v, folder):
    """@param v  the module vulkan.py @param folder  llama-server and model.gguf @return how much went wrong"""
    bad = 0
    with v.Server() as server:
        servers, trainings = start(v, server, folder)
        everyone = [*servers.values(), *trainings.values()]
        try:
            ready = {c.name: c.answer(READY_S) for c in everyone}
            v.row(what="llama ready", once_ms={n: next(iter(r["roles"].values()))["once_ms"] for n, r in ready.items()},
                  checksums={n: r["roles"]["high"]["checksum"] for n, r in ready.items() if "high" in r["roles"]})
            bad += len({r["roles"]["high"]["checksum"] for r in ready.values() if "high" in r["roles"]}) != 1
            left = WAYS[:]
            for number in range(TURNS):
                random.Random(100 + number).shuffle(left)
                for way in left[:]:
                    try:
                        bad += turn(v, number, way, servers, trainings)
                    except (RuntimeError, OSError, ValueError) as e:    # the other ways go on
                        bad += 1
                        left.remove(way)
                        v.row(what="llama", how=way[0], turn=number, error=f"{type(e).__name__}: {e}")
        finally:
            for c in everyone:
                c.end()
    return bad


def prepare(v):
    """@return a folder with llama-server and model.gguf; None: DIR has no llama.cpp"""
    if os.path.exists(os.path.join(v.DIR, "vulkan", "llama-server")):
        return os.path.join(v.DIR, "vulkan")
    packed = os.path.join(v.DIR, "vulkan", "llama")
    if not os.path.isdir(packed):
        return None
    folder = os.environ.get("LLAMA_FOLDER") or tempfile.mkdtemp()
    subprocess.run([os.path.join(HERE, "pack_vulkan_llama"), packed, folder], check=True)
    return folder
