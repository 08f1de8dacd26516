#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A signal stops an urgent program inside a call: others get the device long before the stall time, until it goes on."""
import json
import os
import signal
import time
import unittest

from stage import Stage, until

GPU = "200003b00"


class Stopped(unittest.TestCase):
    def setUp(self):
        self.stage = Stage("--stall-ms=60000")
        self.addCleanup(self.stage.close)
        self.low, self.high = self.stage.actor("batch-training"), self.stage.actor("online-service")
        self.low.tell(f"queue 0 {GPU} 1")
        self.low.tell("inside 0")            # xserver does not take it for idle, however quiet it is
        self.high.tell(f"queue 0 {GPU} 10")

    def suspended(self):
        answer = json.loads(self.stage.xcli("--json", "list").stdout)
        return next(q for q in answer["xqueues"] if q["pid"] == self.low.pid)["suspended"]

    def test_stopped(self):
        self.high.tell("inside 0")
        until(self.suspended, "the suspension")
        time.sleep(1)                        # it is not stopped: others wait
        self.assertTrue(self.suspended())
        os.kill(self.high.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.high.pid, signal.SIGCONT)  # before the stage ends it
        until(lambda: not self.suspended(), "the device for the other one", 30)
        time.sleep(0.5)
        self.assertFalse(self.suspended())
        os.kill(self.high.pid, signal.SIGCONT)
        self.high.tell("inside 0")           # it submits again, and completes what it had
        self.high.tell("outside 0")
        until(self.suspended, "the suspension after that")
        self.high.tell("outside 0")
        until(lambda: not self.suspended(), "the device, when it has no work")


if __name__ == "__main__":
    unittest.main()
