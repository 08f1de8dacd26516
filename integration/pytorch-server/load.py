#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load.py PORT SECONDS [--check]: clients of several priorities, one request after another each, and their latencies."""
import http.client
import json
import sys
import threading
import time


def client(port, priority, end, out):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            c.request("POST", "/infer", "", {"X-Priority": str(priority)})
        except ConnectionRefusedError:
            return
        answer = json.loads(c.getresponse().read())
        out.setdefault(answer["priority"], []).append((time.monotonic() - began) * 1e3)
        time.sleep(0.01 if priority else 0)  # the urgent ones come now and then


def main(port="", seconds="5", check=""):
    if not port.isdigit():
        return __doc__
    out, end = {}, time.monotonic() + float(seconds)
    threads = [threading.Thread(target=client, args=(int(port), p, end, out)) for p in (0, 0, 0, 20)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if not out:
        return f"no answer from 127.0.0.1:{port}: is server.py running there?"
    c = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    c.request("GET", "/")
    state = json.loads(c.getresponse().read())["classes"]
    median = {}
    for priority, ms in sorted(out.items()):
        ms.sort()
        median[priority] = ms[len(ms) // 2]
        print(f"priority {priority:3}: {len(ms)} requests, P50 {median[priority]:.2f} ms, P99 {ms[int(len(ms) * 0.99)]:.2f} ms")
    wrong = [s for s in state if s["right"] is False]
    print("results are right" if not wrong else f"WRONG: {wrong}")
    return 1 if wrong or (check and not median[20] < median[0]) else 0


sys.exit(main(*sys.argv[1:]))
