# SPDX-License-Identifier: Apache-2.0
"""One side of a benchmark: llama.cpp's own server, asked by HTTP as its users ask it.

  llama_client.py SERVER MODEL ROLE

Starts SERVER (llama-server) with MODEL, a GGUF file, and all layers on the device. A request is a prompt of 512 tokens and 64 more,
the likeliest ones; its first token's time is that of the prompt. The program obeys lines as bench/clients/load.c says (modes open,
gap and closed; fields start, end, fill_us, at) and answers with the same JSON lines. Times are CLOCK_MONOTONIC. The environment is
the server's too, so that it is scheduled; `worker` in the first line names its process.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zlib

from answers import obey, say

PROMPT, TOKENS = 512, 64
START_S = 100                # within which the server has read the model
ASK = json.dumps({"prompt": [1000 + i * 37 % 20000 for i in range(PROMPT)], "n_predict": TOKENS, "temperature": 0, "seed": 1,
                  "ignore_eos": True, "cache_prompt": False, "stream": True, "return_tokens": True})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program, model):
        self.port, self.checksum, self.wrong = free_port(), None, 0
        self.process = subprocess.Popen(
            [program, "-m", model, "-ngl", "99", "-c", "2048", "-np", "1", "--host", "127.0.0.1", "--port", str(self.port),
             "--no-webui", "--no-warmup"], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        deadline = time.monotonic() + START_S
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(f"llama-server ended with status {self.process.returncode}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"llama-server does not answer after {START_S} s")
            try:
                http_ = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                http_.request("GET", "/health")
                if http_.getresponse().status == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)

    def request(self):
        """@return when each token came, in ns"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)     # it closes each
        connection.request("POST", "/completion", ASK, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"llama-server: status {answer.status}: {answer.read(200)!r}")
        times, tokens, made = [], [], 0
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            now, row = time.monotonic_ns(), json.loads(line[6:])
            if row.get("tokens"):
                times.append(now)
                tokens += row["tokens"]
            made = row.get("tokens_predicted", made)    # a part of a character is kept back, and counted
        if made != TOKENS or not times:
            raise RuntimeError(f"llama-server gave {made} tokens of {TOKENS}")
        found = zlib.crc32(json.dumps(tokens).encode())
        self.checksum = found if self.checksum is None else self.checksum
        self.wrong += found != self.checksum
        return times

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    program, model, role = sys.argv[1:]
    server = None
    try:
        server = Server(program, model)
        server.request()
        server.checksum = None       # a server's first answer is not the judge of the others
        server.request()
        began = time.monotonic()
        server.request()
        say({"ready": True, "worker": server.process.pid, "framework": "llama.cpp",
             "roles": {role: {"checksum": server.checksum, "once_ms": round(1e3 * (time.monotonic() - began), 3), "model": os.path.basename(model)}}})
        for line in sys.stdin:
            if not obey(line, role, server.request, server.request, lambda: (server.checksum, server.wrong)):
                return 2
    except (OSError, RuntimeError, http.client.HTTPException) as e:
        say({"role": role, "error": f"{type(e).__name__}: {e}"})
        return 1
    finally:
        if server:
            server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
