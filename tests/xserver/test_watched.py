#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever watches costs the programs that are watched nothing: no system call on the way of a launch, while metrics
are scraped, top looks and a timeline is recorded; and the server's counts are those of the program."""
import json
import os
import re
import subprocess
import threading
import unittest

from stage import BUILD, PATIENCE, Stage, until

LAUNCHES = 2000000


class Watched(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def program(self, *more):
        p = subprocess.Popen([f"{BUILD}/tests/xserver/watched", str(LAUNCHES), *more], env=self.stage.environment, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(p.stdout.close)
        self.assertEqual(p.stdout.readline(), "ready\n")
        until(lambda: json.loads(self.stage.xcli("--json", "status").stdout)["queues"] == 1, "the program")
        return p

    def go(self, p):
        p.stdin.write("go\n")
        p.stdin.close()
        line = p.stdout.readline()
        if p.wait(PATIENCE) == 77:
            self.skipTest("the kernel has no filters of system calls")
        self.assertEqual(p.returncode, 0)
        return [int(word) for word in line.split()]

    def test_calls_are_seen(self):
        self.assertEqual(self.go(self.program("probe")), [1, LAUNCHES])

    def test_nobody_watches(self):
        self.assertEqual(self.go(self.program()), [0, LAUNCHES])

    def test_everybody_watches(self):
        p = self.program()
        trace = os.path.join(self.stage.folder, "trace")
        record = subprocess.Popen([f"{BUILD}/bin/xsched", "record", "-q", "-o", trace], env=self.stage.environment)
        top = subprocess.Popen([f"{BUILD}/bin/xcli", "top", "-f", "50"], env=self.stage.environment,
                               stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        page = self.stage.get("/events")
        stop, scrapes = threading.Event(), []

        def scrape():
            while not stop.is_set():
                scrapes.append(self.stage.get("/metrics").read().decode())
        thread = threading.Thread(target=scrape)
        thread.start()
        try:
            until(lambda: len(scrapes) > 3 and os.path.exists(trace), "the watchers")
            before = len(scrapes)
            self.assertEqual(self.go(p), [0, LAUNCHES])
            until(lambda: len(scrapes) > before, "another scrape")
        finally:
            stop.set()
            thread.join()
            for watcher in (record, top):
                watcher.terminate()
                watcher.wait(PATIENCE)
            page.close()
        commands = [int(m) for s in scrapes for m in re.findall(r"^xsched_queue_commands_total\{.*\} (\d+)$", s, re.M)]
        self.assertEqual(commands, sorted(commands))
        ended = json.loads(self.stage.xcli("--json", "list", "--ended").stdout)["ended"]
        self.assertEqual([c["commands"] for c in ended if "watched" in c["cmdline"]], [LAUNCHES + 1000])


if __name__ == "__main__":
    unittest.main()
