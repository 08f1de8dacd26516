#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page by a plain HTTP client: its files, its stream of events, who is refused."""
import json
import os
import pwd
import re
import socket
import unittest
import urllib.error

import check_metrics
from stage import Stage, until

GPU = "200003b00"
NAME = "<b>batch</b>"  # a name that would be markup
MAX_WATCHERS = 16


def events(answer, count):
    """@return the first COUNT events of the stream ANSWER"""
    found = []
    for line in answer:
        if line.startswith(b"data: "):
            found.append(json.loads(line[6:]))
            if len(found) == count:
                return found
    raise AssertionError("the stream ended")


class Page(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        self.batch = self.stage.actor(NAME)
        self.batch.tell(f"queue 0 {GPU} 7")

    def code(self, path, headers=None):
        try:
            with self.stage.get(path, headers) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            with e:
                return e.code

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.stage.port), timeout=30) as s:
            s.sendall(request.encode())
            s.settimeout(30)
            return s.recv(65536).decode()

    def test_files_need_nothing_from_elsewhere(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript"),
                           ("/dygraph.min.js", "text/javascript"), ("/dygraph.min.css", "text/css")):
            with self.stage.get(path) as answer:
                text = answer.read().decode()
                self.assertEqual(answer.headers["Content-Type"], kind + "; charset=utf-8")
                self.assertTrue(answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'"))
                if path.startswith("/dygraph"):
                    continue  # names its authors' addresses in comments
                self.assertNotRegex(text, r"https?://|//[a-z]+\.|<script>|\sstyle=|\son\w+=|innerHTML")
            for use in re.findall(r'(?:src|href)="([^"]*)"', text):
                self.assertEqual(self.code(use), 200, use)

    def test_events(self):
        self.batch.tell("work 0 90")
        with self.stage.get("/events", {"Sec-Fetch-Site": "same-origin"}) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
            first, second = events(answer, 2)
        self.assertGreater(second["status"]["uptime_us"], first["status"]["uptime_us"])
        self.assertEqual(second["queues"], {"idle": 0, "running": 1, "beside": 0, "waiting": 0})
        program = second["programs"][0]
        self.assertEqual((program["pid"], program["priority"], program["level"], program["state"]),
                         (self.batch.pid, 7, 1, "run"))
        self.assertEqual(program["user"], pwd.getpwuid(os.getuid()).pw_name)
        self.assertEqual([(q["device"], q["state"]) for q in program["shown_queues"]], [(int(GPU, 16), "run")])
        self.assertEqual([(d["device"], d["queues"]) for d in second["devices"]], [(int(GPU, 16), 1)])
        self.assertGreater(program["service_us"], first["programs"][0]["service_us"])
        self.assertIn("history", first)  # what was before; the page keeps the rest itself
        self.assertNotIn("history", second)

    def test_others_are_refused(self):
        for path in ("/", "/events", "/page.js", "/metrics"):
            for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{self.stage.port}"},
                            {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                            {"Sec-Fetch-Site": "same-site"}):
                self.assertEqual(self.code(path, headers), 403, (path, headers))
        request = f"POST %s HTTP/1.1\r\nHost: 127.0.0.1:{self.stage.port}\r\nSec-Fetch-Site: %s\r\nContent-Length: 0\r\n\r\n"
        self.assertTrue(self.raw(request % ("/policy?policy=1", "same-origin")).startswith("HTTP/1.1 403"))
        refused = self.raw(request % ("/policy?policy=1", "none"))
        self.assertTrue(refused.startswith("HTTP/1.1 403"))
        self.assertIn("needs the token", refused)
        self.assertTrue(self.raw(request % ("/events", "none")).startswith("HTTP/1.1 405"))
        self.assertTrue(self.raw(request % ("/", "none")).startswith("HTTP/1.1 405"))

    def test_metrics_of_a_strange_name(self):
        """A command line becomes a label, whatever is in it."""
        for name in ('a"b', "back\\slash", 'two\nlines", pid="1', "{}", "\u00e4\u20ac", "tab\there"):
            self.stage.actor(name)
        text = self.stage.get("/metrics").read().decode()
        known = check_metrics.rows(text.replace("# TYPE xsched_", "M_X(").replace(" gauge\n", ", gauge,\n")
                                   .replace(" counter\n", ", counter,\n").replace(" histogram\n", ", histogram,\n"))
        self.assertEqual(check_metrics.judge_text(text, known) + check_metrics.judge_by_client(text), [])
        self.assertIn(r'cmdline="a\"b ', text)
        self.assertIn(r'cmdline="back\\slash ', text)
        self.assertIn(r'cmdline="two?lines\", pid=\"1 ', text)
        self.assertIn('cmdline="\u00e4\u20ac ', text)

    def test_many_watchers(self):
        watchers = [self.stage.get("/events") for _ in range(MAX_WATCHERS)]
        for w in watchers:
            events(w, 1)
        self.assertEqual(self.code("/events"), 503)
        self.assertEqual(self.code("/status"), 200)
        watchers.pop().close()
        until(lambda: self.code_of_one_look() == 200, "a free place")
        for w in watchers[::2]:
            w.close()
        self.stage.server.terminate()  # with the others still looking
        self.assertEqual(self.stage.server.wait(30), 0)
        for w in watchers[1::2]:
            w.close()

    def code_of_one_look(self):
        try:
            with self.stage.get("/events") as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            with e:
                return e.code


if __name__ == "__main__":
    unittest.main()
