# SPDX-License-Identifier: Apache-2.0
"""vLLM's scheduler, which besides tells XSched how urgent the requests are that it works on.

    PYTHONPATH=integration/vllm xsched run --priority 0 -- \\
        vllm serve MODEL --scheduling-policy priority --scheduler-cls xsched_vllm.AsyncPriorityScheduler

A request's `priority` orders it inside vLLM, where smaller is more urgent. Against other programs on the GPU the whole server
then is as urgent as its most urgent request: XSCHED_VLLM_BASE (default 0) less that request's priority, within -255 to 255.
Without a request it has XSCHED_VLLM_IDLE (default: the base). Nothing of vLLM is patched; it is told in a thread of its own,
at most once per change, and a missing xserver changes nothing.

PriorityScheduler goes with --no-async-scheduling, AsyncPriorityScheduler with vLLM's default.
"""
import os
import threading

import xsched
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

AGAIN_S = 1.0   # workers join when they first use the device, which may be after the first request


class Teller(threading.Thread):
    """Tells xserver the last of the values that were set, for this process and those that it started."""

    def __init__(self):
        super().__init__(name="xsched", daemon=True)
        self.wanted = self.told = None
        self.changed = threading.Event()

    def set(self, value):
        if value != self.wanted:
            self.wanted = value
            self.changed.set()

    def run(self):
        while True:
            if not self.changed.wait(AGAIN_S):
                self.told = None
            self.changed.clear()
            value = self.wanted
            if value is None or value == self.told:
                continue
            # no server: the program runs as it would without XSched
            if xsched.hint(os.getpid(), priority=value, children=True, strict=False):
                self.told = value


class Urgent:
    """What is added to a scheduler of vLLM."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.xsched_base = int(os.environ.get("XSCHED_VLLM_BASE", "0"))
        self.xsched_idle = int(os.environ.get("XSCHED_VLLM_IDLE", str(self.xsched_base)))
        self.xsched_teller = Teller()
        self.xsched_teller.start()

    def xsched_tell(self):
        requests = self.requests.values()
        value = self.xsched_base - min(r.priority for r in requests) if requests else self.xsched_idle
        self.xsched_teller.set(max(xsched.PRIORITY_MIN, min(xsched.PRIORITY_MAX, value)))

    def schedule(self, *arguments, **named):
        self.xsched_tell()      # before the step is launched
        return super().schedule(*arguments, **named)

    def update_from_output(self, *arguments, **named):
        result = super().update_from_output(*arguments, **named)
        self.xsched_tell()      # some have ended
        return result


class PriorityScheduler(Urgent, Scheduler):
    """With --no-async-scheduling."""


class AsyncPriorityScheduler(Urgent, AsyncScheduler):
    """With asynchronous scheduling, which is vLLM's default."""
