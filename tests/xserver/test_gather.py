#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An urgent program whose commands gather while another one computes, as every tool shows it: list, top, page, metrics, doctor,
record. The scheduler lets commands of each step gather (gather=3)."""
import json
import os
import re
import subprocess
import unittest

import check_metrics
import check_trace
from stage import BUILD, PATIENCE, Stage, until

GPU = "200003b00"


class Gather(unittest.TestCase):
    def setUp(self):
        self.stage = Stage("--tune=gather=3")
        self.addCleanup(self.stage.close)
        self.low = self.stage.actor("batch-training")
        self.low.tell(f"gated 0 {GPU} 0")
        self.low.tell("work 0 100")
        self.high = self.stage.actor("online-service")
        self.high.tell(f"gated 0 {GPU} 10")
        self.high.tell("steps 0 20")
        until(lambda: self.queue(self.high)["gathered_us"] > 20000, "commands that gather")

    def queue(self, actor):
        answer = json.loads(self.stage.xcli("--json", "list").stdout)
        return next(q for q in answer["xqueues"] if q["pid"] == actor.pid)

    def test_it_runs(self):
        """It neither waits nor is preempted, and the time in which its commands gather has a line of its own."""
        before = self.queue(self.high)
        for _ in range(20):
            self.assertFalse(self.queue(self.high)["suspended"])
        until(lambda: self.queue(self.high)["gathered_us"] > before["gathered_us"] + 50000, "more of them")
        after = self.queue(self.high)
        self.assertIn(after["gather"], ("learns", "gathers", "no use"))
        self.assertLess(after["waiting_us"], after["gathered_us"] / 4)
        self.assertEqual(after["preemptions"], 0)
        self.assertEqual(self.queue(self.low)["gathered_us"], 0)
        self.assertNotIn("gather", self.queue(self.low))

    def test_metrics_and_doctor(self):
        text = self.stage.get("/metrics").read().decode()
        self.assertEqual(check_metrics.judge_by_client(text), [])
        found = {int(pid): float(s) for pid, s in
                 re.findall(r'^xsched_process_gathered_seconds_total\{.*pid="(\d+)".*\} ([\d.e+-]+)$', text, re.M)}
        self.assertGreater(found[self.high.pid], 0.02)
        self.assertEqual(found[self.low.pid], 0)
        doctor = subprocess.run([f"{BUILD}/bin/xsched", "doctor", str(self.high.pid)], env=self.stage.environment, text=True,
                                capture_output=True, timeout=PATIENCE, check=False)
        self.assertRegex(doctor.stdout, r"queue 0x\w+ .*gather.*; others computed for \d+\.\d s meanwhile")

    def test_record(self):
        """It runs on: no slice of it is called preempted or waiting for that."""
        file = os.path.join(self.stage.folder, "trace")
        subprocess.run([f"{BUILD}/bin/xsched", "record", "-o", file, "--for", "1000ms"], env=self.stage.environment, check=True,
                       capture_output=True, timeout=PATIENCE)
        with open(file, encoding="utf-8") as f:
            trace = json.load(f)
        self.assertEqual(check_trace.judge(trace), [])
        slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "queue"]
        high = [e["name"] for e in slices if e["pid"] == self.high.pid]
        self.assertIn("run", high)
        self.assertEqual(set(high) - {"run"}, set(), high)
        self.assertIn("preempted", [e["name"] for e in slices if e["pid"] == self.low.pid])


if __name__ == "__main__":
    unittest.main()
