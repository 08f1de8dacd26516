#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plain inference server in which each request has a priority (header X-Priority): a stream and a worker thread for each
class of priority, with the priority set on the stream. Standard library and PyTorch; without a GPU it computes on PoCL.

    python -m xsched run --intra server.py --port 8000 --classes 0,10,20
    curl -H 'X-Priority: 20' -X POST http://127.0.0.1:8000/infer

--intra makes the priorities act between the streams of this program as well as beside other programs.
"""
import argparse
import concurrent.futures
import http.server
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "examples", "python", "common"))
import xsched  # noqa: E402
from device import open_device  # noqa: E402


class Class:
    """One class of priority: a stream, its queue, a thread, a copy of the model."""

    def __init__(self, device, priority):
        self.priority, self.stream = priority, device.stream()
        self.model = device.work("infer", self.stream)
        self.queue = xsched.Queue(self.stream)
        self.queue.set_priority(priority)
        self.worker = concurrent.futures.ThreadPoolExecutor(1)
        # pyopencl holds the interpreter lock while it launches: a launch that waits is better handed over
        self.hand_over = device.name == "opencl"

    def infer(self):
        if not self.hand_over:
            self.model.unit()
            return
        for _ in range(self.model.kernels):
            command = self.queue.submit(self.model.enqueue)
        command.wait()

    def state(self):
        return {"priority": self.priority, "launches": self.model.launches, "commands": self.queue.commands,
                "right": self.model.verify() if self.model.launches else None}

    def submit(self, work):
        """All that touches the model is done by its one thread, so that what is verified is not being computed anew."""
        return self.worker.submit(work)


class Handler(http.server.BaseHTTPRequestHandler):
    classes = []
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body go by themselves: the body would wait 40 ms for the client's word on the head

    def answer(self, status, **body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/infer":
            return self.answer(404, error="POST /infer")
        try:
            wanted = int(self.headers.get("X-Priority", 0))
        except ValueError:
            return self.answer(400, error="X-Priority is no integer")
        # the most urgent class that the request may use
        mine = max((c for c in self.classes if c.priority <= wanted), key=lambda c: c.priority, default=self.classes[0])
        began = time.monotonic()
        mine.submit(mine.infer).result()
        self.answer(200, priority=mine.priority, ms=round((time.monotonic() - began) * 1e3, 3))

    def do_GET(self):
        self.answer(200, classes=[c.submit(c.state).result() for c in self.classes])

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one and says which")
    parser.add_argument("--classes", default="0,10,20", help="priorities, comma separated (default 0,10,20)")
    options = parser.parse_args()
    device = open_device()
    Handler.classes = [Class(device, p) for p in sorted(int(c) for c in options.classes.split(","))]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"device {device.name}, http://127.0.0.1:{server.server_port}/infer", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
