# SPDX-License-Identifier: Apache-2.0
"""Beside a worker of Ray that has a priority: a thread that publishes in Ray's metrics how XSched treats the worker's
queues. It says in the worker's log which request is not in force, and gives a restarted actor its earlier
priority."""
from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from typing import Any, Dict, Iterable, Optional, Tuple

from . import _server
from ._errors import XSchedError
from ._programs import hint
from ._server import QueueStatus

EVERY_S = 5.0
_GAUGES = {"queues": "XQueues of the actor", "queues_suspended": "XQueues of the actor that are suspended now",
           "priority": "priority in force, the highest of its XQueues"}
_COUNTERS = {"waiting_seconds": "time that work of the actor's XQueues waited for others",
             "running_seconds": "time that the actor's XQueues had work and a permit",
             "commands": "commands that the actor submitted", "preemptions": "suspensions of the actor's XQueues"}


def _say(text: str) -> None:
    print(f"xsched: {text}", file=sys.stderr, flush=True)


class Sums:
    """Counters over all queues of a process, also over those that are gone."""

    def __init__(self) -> None:
        self._last: Dict[int, Tuple[float, ...]] = {}

    def add(self, queues: Iterable[QueueStatus]) -> Dict[str, float]:
        """The growth since the last call."""
        sums = [0.0] * len(_COUNTERS)
        now: Dict[int, Tuple[float, ...]] = {}
        for q in queues:
            values = (q.waiting_us / 1e6, q.running_us / 1e6, float(q.commands), float(q.suspensions))
            before = self._last.get(q.handle, (0.0,) * len(values))
            sums = [s + max(0.0, v - b) for s, v, b in zip(sums, values, before)]
            now[q.handle] = values
        self._last = now
        return dict(zip(_COUNTERS, sums))


class Publisher:
    """Ray's metrics of one worker."""

    def __init__(self, tags: Dict[str, str]) -> None:
        metrics: Any = importlib.import_module("ray.util.metrics")
        names = tuple(tags)
        self._tags = tags
        self._gauges = {n: metrics.Gauge(f"xsched_actor_{n}", text, names) for n, text in _GAUGES.items()}
        self._counters = {n: metrics.Counter(f"xsched_actor_{n}", text, names) for n, text in _COUNTERS.items()}
        self._sums = Sums()

    def publish(self, queues: Tuple[QueueStatus, ...]) -> None:
        now = {"queues": len(queues), "queues_suspended": sum(q.suspended for q in queues),
               "priority": max((q.priority for q in queues), default=0)}
        for name, value in now.items():
            self._gauges[name].set(value, self._tags)
        for name, more in self._sums.add(queues).items():
            if more > 0:
                self._counters[name].inc(more, self._tags)


def own_queues() -> Tuple[QueueStatus, ...]:
    """Those of this process. In a container of other process numbers, those of its number there."""
    status = _server.status()
    outside = status.server.startswith("/") and _server._outside(status.server)
    return status.of(_server._pid_at_server() if outside else os.getpid())


class Watcher:
    """What the thread does, a step at a time."""

    def __init__(self, asked: Optional[int]) -> None:
        self.asked = asked
        self.actor = ""
        self.publisher: Optional[Publisher] = None
        self.joined = self.missed = False
        self.restarts = 0

    def _begin(self, ray: Any) -> None:
        context = ray.get_runtime_context()
        self.actor = context.get_actor_id() or ""
        about: Dict[str, Any] = {}
        if self.actor:
            about = importlib.import_module("ray._private.state").actors(self.actor)
        self.publisher = Publisher({"ActorId": self.actor, "ActorClass": str(about.get("ActorClassName", "")),
                                    "ActorName": str(about.get("Name", ""))})
        self.restarts = int(about.get("NumRestarts") or 0)

    def _kept(self) -> Optional[int]:
        """The priority that a caller set while the actor ran, before its restart or before it used the device."""
        from .ray import NAMESPACE, _key_of
        if not self.actor:
            return None
        kept = importlib.import_module("ray.experimental.internal_kv")._internal_kv_get(_key_of(self.actor), namespace=NAMESPACE)
        return int(kept) if kept else None

    def _compare(self, in_force: int) -> None:
        """When the process has just joined xserver."""
        kept = self._kept()
        if kept is not None and kept != in_force:
            hint(os.getpid(), priority=kept, children=True, strict=False)
            before = "before its restart" if self.restarts else "before it used the device"
            _say(f"this actor has priority {kept}, set {before}")
        elif kept is None and self.asked is not None and self.asked != in_force:
            _say(f"the worker asks for priority {self.asked}, {in_force} is in force: xserver's priority-limits "
                 "allow no other, or somebody changed it")

    def step(self, ray: Any) -> None:
        try:
            queues = own_queues()
        except XSchedError as error:
            if not self.missed and not self.joined:
                _say(f"{os.uname().nodename}: no xserver answers: this worker runs unscheduled until one does ({error.reason})")
            self.missed = True
            return
        self.missed = False
        if not queues and not self.joined:
            return
        if not self.joined:
            self.joined = True
            self._begin(ray)
            self._compare(max(q.priority for q in queues))
        if self.publisher is not None:
            self.publisher.publish(queues)


def _loop(watcher: Watcher) -> None:
    ray: Any = None
    while ray is None or not getattr(ray, "is_initialized", lambda: False)():
        time.sleep(0.2)  # the worker's own thread imports Ray and connects
        ray = sys.modules.get("ray")
    wait_s = 0.5
    while ray.is_initialized():
        try:
            watcher.step(ray)
        except Exception as error:  # the worker's work goes on, also without metrics
            _say(f"no metrics and no later priorities of this worker: {error!r}")
            return
        time.sleep(EVERY_S if watcher.joined else wait_s)
        wait_s = min(wait_s * 1.5, EVERY_S)


def begin() -> None:
    """In the worker's process, before Ray connects it."""
    text = os.environ.get("XSCHED_PRIORITY", "")
    asked = int(text) if text.lstrip("-").isdigit() else None
    threading.Thread(target=_loop, args=(Watcher(asked),), name="xsched-ray", daemon=True).start()
