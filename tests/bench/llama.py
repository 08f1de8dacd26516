#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client of llama.cpp's server, with a server that answers as that one does: llama.py ROOT

A request's tokens have their times; other tokens than the first answer's are counted as wrong; a server that ends, or says an
error, is told as the client's error; and the measured process is the server."""
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = sys.argv[1]
CLIENT = os.path.join(ROOT, "bench", "clients", "llama_client.py")
# llama-server: a line of "data: " for each token, 2 ms apart, behind a prompt of 10 ms; WHAT says how it is wrong from the fifth
# request on
SERVER = r"""#!%s -S
import http.server, json, os, sys, time
asked = 0
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_POST(self):
        global asked
        asked += 1
        o = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = os.environ["WHAT"] if asked > 4 else ""
        if what == "ends":
            os._exit(3)
        if what == "refuses":
            self.send_error(500, "no memory")
            return
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        time.sleep(0.01)
        n = o["n_predict"] - (what == "short")
        for i in range(n):
            if i:
                time.sleep(0.002)
            row = {"content": "w", "tokens": [i * i %% 97 + (what == "wrong" and i == 5)]}
            self.wfile.write(b"data: " + json.dumps(row).encode() + b"\n\n")
            self.wfile.flush()
        row = {"content": "", "tokens": [], "stop": True, "tokens_predicted": n}
        self.wfile.write(b"data: " + json.dumps(row).encode() + b"\n\n")
        self.close_connection = True
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer).serve_forever()
""" % sys.executable


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def run(program, what, *lines):
    """@return the rows that it said, and its exit status"""
    with subprocess.Popen([sys.executable, CLIENT, program, "model.gguf", "high"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env=dict(os.environ, WHAT=what)) as p:
        rows = [json.loads(p.stdout.readline())]
        if lines:
            need(os.readlink(f"/proc/{rows[0]['worker']}/exe") == os.path.realpath(sys.executable), f"{rows[0]}")
        for line in lines:
            start = time.monotonic_ns() + 10_000_000
            seconds = 2 if line == "closed" else 60          # the others end after their last request
            p.stdin.write(f"run high {line} start={start} end={start + seconds * 10**9}\n")
            p.stdin.flush()
            rows.append(json.loads(p.stdout.readline()))
        p.stdin.close()
        return rows, p.wait(20)


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "llama-server")
        with open(program, "w", encoding="utf-8") as f:
            f.write(SERVER)
        os.chmod(program, 0o755)
        rows, status = run(program, "", "gap at=1000,1000,1000", "closed", "open at=0,200000")
        need(status == 0 and rows[0]["ready"], f"{status}: {rows[0]}")
        for row, n in zip(rows[1:], (3, None, 2)):
            need(row["role"] == "high" and not row["wrong"] and (row["n"] == n if n else row["n"] >= 2), f"{row}")
        for row in (rows[1], rows[3]):
            need(len(row["tokens_us"]) == 63 * row["n"] and min(row["tokens_us"]) > 0, f"{len(row['tokens_us'])} tokens")
            for due, begun, first, end in row["requests_us"]:
                need(due <= begun and begun + 10_000 <= first and first + 63 * 2_000 <= end, f"{row['requests_us']}")
        need(len(rows[2]["ends_us"]) == rows[2]["n"], f"{rows[2]}")
        rows, status = run(program, "wrong", "gap at=0,0,0")
        need(rows[1]["wrong"] == 2 and status == 0, f"wrong tokens: {rows[1]}")     # of the three requests the last two
        for what, word in (("ends", ""), ("refuses", "500"), ("short", "63 tokens of 64")):
            rows, status = run(program, what, "gap at=0,0,0")
            need("error" in rows[1] and word in rows[1]["error"] and status == 1, f"{what}: {rows[1]}, {status}")
        rows, status = run("/nonexistent/llama-server", "")
        need("error" in rows[0] and status == 1, f"{rows[0]}")
        rows, status = run("/bin/false", "")
        need("ended with status 1" in rows[0]["error"] and status == 1, f"{rows[0]}")


main()
