#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client of vLLM, with an engine that answers as vLLM's does: vllm.py ROOT

The client gives the engine as many prompts as asked for, and says when each step ended. In mode closed it counts steps. It ends what
that mode left before the next request. It counts other tokens than the first request's as wrong, and tells an error."""
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = sys.argv[1]
CLIENT = os.path.join(ROOT, "bench", "clients", "vllm_client.py")
# vllm: a step takes 2 ms and gives each request one more token; the first one gives none (asynchronous scheduling). WHAT says how
# the engine is wrong from the fifth round on
VLLM = r"""
import os, time, types
__version__ = "stand-in"
class Engine:
    def __init__(self):
        self.of, self.rounds = {}, 0
    def add_request(self, name, prompt, params):
        if name.endswith("-0"):
            self.rounds += 1
        self.of[name] = [len(prompt["prompt_token_ids"]), params.max_tokens, [], False]
    def has_unfinished_requests(self):
        return bool(self.of)
    def step(self):
        time.sleep(0.002)
        what = os.environ["WHAT"] if self.rounds > 4 else ""
        if what == "raises":
            raise RuntimeError("no memory")
        out = []
        for name, state in list(self.of.items()):
            if not state[3]:
                state[3] = True
                continue
            state[2].append(state[0] + len(state[2]) + (what == "wrong"))
            finished = len(state[2]) == state[1]
            out.append(types.SimpleNamespace(request_id=name, finished=finished, outputs=[types.SimpleNamespace(token_ids=tuple(state[2]))]))
            if finished:
                del self.of[name]
        return out
class LLM:
    def __init__(self, **more):
        assert os.path.exists(os.path.join(more["model"], "config.json")) and os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
        self.llm_engine = Engine()
    def apply_model(self, function):
        assert function.__name__ == "seeded"
class SamplingParams:
    def __init__(self, temperature, max_tokens, **_):
        assert temperature == 0
        self.max_tokens = max_tokens
"""
PARAMS = "class RequestOutputKind:\n    CUMULATIVE = 0\n"


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def run(site, what, *lines, shape="3x20+8"):
    """@return the rows that it said, and its exit status"""
    with subprocess.Popen([sys.executable, CLIENT, site, "high", shape], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, env=dict(os.environ, WHAT=what)) as p:
        rows = []
        for line in ("", *lines):
            if line:
                start = time.monotonic_ns() + 10_000_000
                p.stdin.write(f"run high {line} start={start} end={start + (5 * 10**7 if line == 'closed' else 60 * 10**9)}\n")
                p.stdin.flush()
            text = p.stdout.readline()
            if not text:
                break
            rows.append(json.loads(text))
        p.stdin.close()
        return rows, p.wait(20)


def main():
    with tempfile.TemporaryDirectory() as site:
        os.mkdir(os.path.join(site, "vllm"))
        for name, text in (("__init__.py", VLLM), ("sampling_params.py", PARAMS)):
            with open(os.path.join(site, "vllm", name), "w", encoding="utf-8") as f:
                f.write(text)
        rows, status = run(site, "", "gap at=1000,1000", "closed", "open at=0,100000")
        need(status == 0 and rows[0]["ready"] and rows[0]["roles"]["high"]["batch"] == 3, f"{status}: {rows[0]}")
        for row, n in zip(rows[1:], (2, None, 2)):
            need(row["role"] == "high" and not row["wrong"] and (row["n"] == n if n else row["n"] >= 5), f"{row}")
            need(row["checksum"] == rows[0]["roles"]["high"]["checksum"], f"{row}")
        for row in (rows[1], rows[3]):
            need(len(row["tokens_us"]) == 7 * row["n"] and min(row["tokens_us"]) >= 1900, f"{row['tokens_us']}")
            for due, begun, first, end in row["requests_us"]:
                need(due <= begun and begun + 4_000 <= first and first + 7 * 2_000 <= end, f"{row['requests_us']}")
        need(len(rows[2]["ends_us"]) == rows[2]["n"], f"{rows[2]}")
        rows, status = run(site, "wrong", "gap at=0,0,0")
        need(rows[1]["wrong"] == 2 and status == 0, f"wrong tokens: {rows[1]}")       # of the three requests the last two
        rows, status = run(site, "raises", "gap at=0,0,0")
        need(rows[-1].get("error") == "RuntimeError: no memory" and status == 1, f"{rows}, {status}")
        rows, status = run(site, "", shape="8")
        need(not rows and status == 2, f"{rows}, {status}")
    with tempfile.TemporaryDirectory() as nothing:
        rows, status = run(nothing, "")
        need("vllm" in rows[0].get("error", "") and status == 1, f"{rows}, {status}")


main()
