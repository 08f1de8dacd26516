#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program that runs beside a more important one on a lane, as every tool shows it: list, top, page, metrics, record."""
import json
import os
import re
import subprocess
import unittest

import browser
import check_metrics
import check_trace
from stage import BUILD, PATIENCE, Stage, until

GPU = "200003b00"
WIDE, NARROW, ALL = 116, 66, 132


class Beside(unittest.TestCase):
    def setUp(self):
        self.stage = Stage("--stall-ms=0")
        self.addCleanup(self.stage.close)

    def scene(self, space="7", all_of_them=ALL):
        """Both have work, which does not end, so that xserver takes neither for idle where this machine keeps it from the CPU. No
        thread of the urgent one waits for the device."""
        self.low = self.stage.actor("batch-training", space)
        self.low.tell(f"queue 0 {GPU} 1")
        self.low.tell(f"lanes 0 {WIDE} {NARROW} {all_of_them}")
        self.low.tell("inside 0")
        self.high = self.stage.actor("online-service", space)
        self.high.tell(f"queue 0 {GPU} 10")
        self.high.tell("inside 0")

    def queue(self, actor):
        answer = json.loads(self.stage.xcli("--json", "list").stdout)
        return next(q for q in answer["xqueues"] if q["pid"] == actor.pid)

    def on_wide_lane(self):
        until(lambda: self.queue(self.low)["lane"] == WIDE, "the wide lane")

    def row(self, actor, *command):
        """The cells of the program's first row, by title."""
        lines = [line.split() for line in self.stage.xcli(*command).stdout.splitlines()]
        titles = next(line for line in lines if "PID" in line)
        return dict(zip(titles, next(line for line in lines if str(actor.pid) in line)))

    def test_list_and_top(self):
        self.scene()
        self.on_wide_lane()
        self.assertEqual((self.queue(self.low)["reserve"], self.queue(self.high)["lane"], self.queue(self.high)["reserve"]),
                         (ALL - WIDE, 0, 0))
        for command in (("list",), ("top", "--once", "-f", "10")):
            low, high = self.row(self.low, *command), self.row(self.high, *command)
            self.assertEqual((low["STATE"], low["IN"], low["LANE"]), ("beside", "space", f"{WIDE}/{ALL}"), command)
            self.assertEqual((high["STATE"], high["IN"], high["LANE"]), ("running", "space", "-"), command)
        self.assertIn("2 queues: 1 running, 1 beside, 0 waiting", self.stage.xcli("top", "--once", "-f", "10").stdout)
        self.high.tell("outside 0")
        until(lambda: self.row(self.low, "list")["STATE"] == "running", "the whole device")
        self.assertEqual(self.row(self.low, "list")["LANE"], "-")

    def test_the_device_is_not_known(self):
        """A program that says nothing of the device, or nonsense."""
        for all_of_them in (0, WIDE, 2**31):
            self.scene(all_of_them=all_of_them)
            self.on_wide_lane()
            self.assertEqual(self.queue(self.low)["reserve"], 0)
            self.assertEqual(self.row(self.low, "list")["LANE"], str(WIDE))
            self.low.leave()
            self.high.leave()

    def test_in_time_nothing_is_beside(self):
        self.scene(space=None)
        until(lambda: self.row(self.low, "list")["STATE"] == "waiting", "the suspended program")
        for command in (("list",), ("top", "--once", "-f", "10")):
            self.assertEqual((self.row(self.low, *command)["IN"], self.row(self.low, *command)["LANE"]), ("time", "-"), command)
        self.assertNotIn("beside", self.stage.xcli("top", "--once", "-f", "10").stdout)

    def test_a_priority_that_mps_does_not_follow(self):
        """MPS takes the priority of a program at its start; a hint that crosses 0 is said to change nothing there."""
        programs = {name: self.stage.actor("program", "7", name) for name in ("higher", "lower")}
        for name, priority in (("higher", 5), ("lower", 0)):
            programs[name].tell(f"queue 0 {GPU} {priority}")
            programs[name].tell(f"queue 1 {GPU} {priority - 10}")    # the highest counts
        self.stage.actor("older", "7").tell(f"queue 0 {GPU} 5")
        self.stage.actor("in-time", None, "lower").tell(f"queue 0 {GPU} 5")
        self.assertEqual(self.stage.xcli("list").stderr, "")

        def hint(name, priority):
            self.stage.xcli("hint", "--pid", str(programs[name].pid), "-p", str(priority))
            until(lambda: self.queue(programs[name])["priority"] == priority, "the hint")
            return self.stage.xcli("list").stderr
        self.assertEqual(hint("higher", 1), "")
        self.assertEqual(hint("higher", -3), f"xcli: PID {programs['higher'].pid}: MPS gave it the higher priority when it started; "
                         "priority -3 would get the lower one, at its next start\n")
        self.assertEqual(len(hint("lower", 7).splitlines()), 2)
        self.assertEqual(len(hint("higher", 2).splitlines()), 1)
        self.assertEqual(hint("lower", -200), "")

    def test_metrics(self):
        self.scene()
        self.on_wide_lane()
        text = self.stage.get("/metrics").read().decode()
        self.assertEqual(check_metrics.judge_by_client(text), [])
        self.assertEqual({s: int(n) for s, n in re.findall(r'^xsched_queues\{state="(\w+)"\} (\d+)$', text, re.M)},
                         {"idle": 0, "running": 1, "beside": 1, "waiting": 0})
        for name, low in (("lane", WIDE), ("reserve", ALL - WIDE)):
            found = {int(pid): int(n) for pid, n in
                     re.findall(rf'^xsched_queue_{name}_multiprocessors\{{.*pid="(\d+)".*\}} (\d+)$', text, re.M)}
            self.assertEqual(found, {self.low.pid: low, self.high.pid: 0})
        self.assertEqual(len(re.findall(r'^xsched_process_info\{.*share="space".*\} 1$', text, re.M)), 2)

    def test_events_of_the_page(self):
        self.scene()
        self.on_wide_lane()
        with self.stage.get("/events") as answer:
            event = json.loads(next(line for line in answer if line.startswith(b"data: "))[6:])
        self.assertEqual(event["queues"], {"idle": 0, "running": 1, "beside": 1, "waiting": 0})
        programs = {p["pid"]: p for p in event["programs"]}
        low, high = programs[self.low.pid], programs[self.high.pid]
        self.assertEqual((low["state"], low["share"], high["state"], high["share"]), ("beside", "space", "run", "space"))
        self.assertEqual([(q["state"], q["lane"], q["reserve"]) for q in low["shown_queues"]], [("beside", WIDE, ALL - WIDE)])

    def test_page_in_a_browser(self):
        if not browser.path():
            self.skipTest("no chromium is installed: the page was read by a plain HTTP client only")
        self.scene()
        self.on_wide_lane()
        b = browser.Browser(f"http://127.0.0.1:{self.stage.port}/")
        self.addCleanup(b.close)
        b.wait_for("document.querySelectorAll('#programs tr').length == 2")

        def cell(label):
            return f"document.querySelector('#programs tr td[data-label=\"{label}\"]').textContent"
        b.wait_for(f"{cell('State')} == 'besidea more important one, on {WIDE} of {ALL} multiprocessors'")
        self.assertEqual(b.value(cell("Shares in")), "space")
        self.assertIn(f"beside on {WIDE} of {ALL} multiprocessors, priority 1", b.value(cell("Queues")))
        self.assertIn("beside1", b.value("document.getElementById('sums').textContent"))
        self.assertEqual(b.complaints, [])

    def test_record(self):
        """Slices of the batch program: beside on the wide lane, then it has the device; no slice of another name has a lane."""
        file = os.path.join(self.stage.folder, "trace")
        self.scene()
        self.on_wide_lane()
        self.high.tell("outside 0")
        until(lambda: self.queue(self.low)["lane"] == 0, "the whole device")
        p = subprocess.Popen([f"{BUILD}/bin/xsched", "record", "-o", file, "--for", "4000ms"], env=self.stage.environment,
                             stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.stderr.close)
        until(lambda: json.loads(self.stage.get("/timeline").read())["next"] > 0, "the recording")
        until(lambda: os.path.exists(file), "its file")
        self.high.tell("inside 0")
        self.on_wide_lane()
        self.high.tell("outside 0")
        self.assertEqual(p.wait(PATIENCE), 0)
        with open(file, encoding="utf-8") as f:
            trace = json.load(f)
        self.assertEqual(check_trace.judge(trace), [])
        slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == self.low.pid and e["cat"] == "queue"]
        names = [(e["name"], e["args"].get("multiprocessors")) for e in slices]
        self.assertIn(("beside", WIDE), names)
        self.assertLessEqual({n for n, m in names if m}, {"beside"})
        self.assertEqual(names[-1], ("run", None))       # the first slice may have begun before the recording
        # the device's track names both while one is beside
        both = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "device" and " + " in e["name"]]
        self.assertTrue(both, names)


if __name__ == "__main__":
    unittest.main()
