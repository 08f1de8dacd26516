#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page: its files, its stream of events, who is refused, and a real browser where one is installed."""
import json
import re
import socket
import unittest
import urllib.error

import browser
import check_metrics
from stage import Stage, until

GPU = "200003b00"
NAME = "<b>batch</b>"  # a name that would be markup
MAX_WATCHERS = 16


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

    def events(self, answer, count):
        found = []
        for line in answer:
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
                if len(found) == count:
                    return found
        self.fail("the stream ended")

    def test_files_need_nothing_from_elsewhere(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            with self.stage.get(path) as answer:
                text = answer.read().decode()
                self.assertEqual(answer.headers["Content-Type"], kind + "; charset=utf-8")
                self.assertTrue(answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'"))
                self.assertNotRegex(text, r"https?://|//[a-z]+\.|<script>|\sstyle=|\son\w+=|innerHTML")
            for use in re.findall(r'(?:src|href)="([^"]*)"', text):
                self.assertEqual(self.code(use), 200, use)

    def test_events(self):
        self.batch.tell("work 0 90")
        with self.stage.get("/events", {"Sec-Fetch-Site": "same-origin"}) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
            first, second = self.events(answer, 2)
        self.assertGreater(second["status"]["uptime_us"], first["status"]["uptime_us"])
        self.assertEqual(second["queues"], {"idle": 0, "running": 1, "waiting": 0})
        program = second["programs"][0]
        self.assertEqual((program["pid"], program["priority"], program["level"], program["state"]),
                         (self.batch.pid, 7, 1, "run"))
        self.assertGreater(program["service_us"], first["programs"][0]["service_us"])

    def test_others_are_refused(self):
        for path in ("/", "/events", "/page.js", "/metrics"):
            for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{self.stage.port}"},
                            {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                            {"Sec-Fetch-Site": "same-site"}):
                self.assertEqual(self.code(path, headers), 403, (path, headers))
        request = f"POST %s HTTP/1.1\r\nHost: 127.0.0.1:{self.stage.port}\r\nSec-Fetch-Site: %s\r\nContent-Length: 0\r\n\r\n"
        self.assertTrue(self.raw(request % ("/policy?policy=1", "same-origin")).startswith("HTTP/1.1 403"))
        self.assertTrue(self.raw(request % ("/policy?policy=1", "none")).startswith("HTTP/1.1 200"))
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
        self.assertIn(r'command="a\"b ', text)
        self.assertIn(r'command="back\\slash ', text)
        self.assertIn(r'command="two?lines\", pid=\"1 ', text)
        self.assertIn('command="\u00e4\u20ac ', text)

    def test_many_watchers(self):
        watchers = [self.stage.get("/events") for _ in range(MAX_WATCHERS)]
        for w in watchers:
            self.events(w, 1)
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

    def test_in_a_browser(self):
        if not browser.path():
            print("no chromium is installed: the page is not tested in a browser")
            self.skipTest("no chromium is installed: the page was read by a plain HTTP client only")
        self.batch.tell("work 0 90")
        b = browser.Browser(f"http://127.0.0.1:{self.stage.port}/")
        self.addCleanup(b.close)
        b.wait_for("document.querySelectorAll('#programs tr').length == 1")
        b.wait_for("+document.querySelectorAll('#programs td')[4].textContent > 20")  # needs a second event
        cells = b.value("[...document.querySelectorAll('#programs td')].map(td => td.textContent)")
        self.assertEqual(cells[:4], [str(self.batch.pid), "run", "7", "1"])
        self.assertIn(NAME, cells[-1])  # as text
        self.assertEqual(b.value("document.querySelectorAll('#programs b').length"), 0)
        self.assertIn("HPF", b.value("document.getElementById('sums').textContent"))
        self.batch.leave()
        b.wait_for("!document.getElementById('none').hidden")
        self.stage.server.terminate()
        b.wait_for("document.getElementById('state').className == 'gone'")


if __name__ == "__main__":
    unittest.main()
