# SPDX-License-Identifier: Apache-2.0
"""Looks at an xserver as an operator's tools do: /metrics once a second as Prometheus would, and what `xcli top` asks for
twice a second. watch.py SOCKET; says "ready" after the first look, ends when its input does and prints what it took."""
import http.client
import json
import select
import socket
import sys
import time

LOOKS = (("/metrics", 1.0), ("/xqueues", 0.5), ("/status", 0.5))


def ask(path, what):
    c = http.client.HTTPConnection("localhost", timeout=10)
    c.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    c.sock.settimeout(10)
    c.sock.connect(path)
    try:
        c.request("GET", what)
        answer = c.getresponse()
        size = len(answer.read())
        assert answer.status == 200, f"{what}: {answer.status}"
        return size
    finally:
        c.close()


def main(path):
    due = {what: time.monotonic() for what, _ in LOOKS}
    row = {"scrapes": 0, "bytes": 0, "longest_ms": 0.0}
    while True:
        for what, period in LOOKS:
            begin = time.monotonic()
            if begin < due[what]:
                continue
            size = ask(path, what)
            due[what] += period
            if what == "/metrics":
                row["scrapes"] += 1
                row["bytes"] = size
                row["longest_ms"] = max(row["longest_ms"], round(1e3 * (time.monotonic() - begin), 3))
                if row["scrapes"] == 1:
                    print("ready", flush=True)
        if select.select([sys.stdin], [], [], max(0.0, min(due.values()) - time.monotonic()))[0]:
            break
    print(json.dumps(row), flush=True)


main(sys.argv[1])
