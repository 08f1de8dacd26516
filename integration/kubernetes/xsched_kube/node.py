# SPDX-License-Identifier: Apache-2.0
"""The pods of this node, and what each container of theirs gets.

Facts come from the runtime (nri.py) and from the API server (apiserver.py), in any order; either may be missing. Threads of
both call in; the main thread does what must ask xserver (follow.py)."""
from __future__ import annotations

import logging
import os
import threading
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Set

from . import cdi
from .settings import PRIORITY_MAX, PRIORITY_MIN, Note, Settings, Table, settings_of

log = logging.getLogger("node")


class PodSeen(NamedTuple):
    """A pod as one of the two sides knows it."""

    uid: str
    name: str
    namespace: str
    annotations: Mapping[str, str]
    priority_class: Optional[str]  # None: the runtime does not know it
    by_resource: bool = False  # a container requests xsched.dev/high, normal or low


class Container(NamedTuple):
    """One container; its program has had this priority from its start ("": no XSched; None: nobody told us)."""

    id: str
    name: str
    began_with: Optional[str]


class Given(NamedTuple):
    """What a new container gets."""

    devices: List[str]
    environment: Dict[str, str]


class Pod:
    """What is known of a pod."""

    def __init__(self, seen: PodSeen) -> None:
        self.seen = seen
        self.containers: Dict[str, Container] = {}
        self.said: Set[Note] = set()


class Node:
    """All pods. Any thread."""

    def __init__(self, preload: str, limits_path: str) -> None:
        self.preload, self.limits_path = preload, limits_path  # preload: LD_PRELOAD of a container
        self.lock = threading.RLock()
        self.table = Table()
        self.pods: Dict[str, Pod] = {}
        self.limits: Optional[Dict[str, str]] = None  # as written; None: not yet
        self.injects = True
        self.has_nri: Optional[bool] = None  # None: not known yet
        self.wake = threading.Event()  # for the main thread
        self.server_must_read = False
        self.on_note: Callable[[PodSeen, Note], None] = lambda pod, note: None

    # ---- facts that come in ----

    def set_table(self, table: Table) -> None:
        """The file of the ConfigMap, when it has changed."""
        with self.lock:
            self.table = table
            for pod in self.pods.values():
                self._look(pod)
            if self.limits is not None:
                self._write_limits()
        self.wake.set()

    def saw_pod(self, seen: PodSeen) -> None:
        """A pod is there, or has changed. The API server's word is newer than the runtime's: it knows changed annotations."""
        with self.lock:
            pod = self.pods.get(seen.uid)
            if pod is None:
                pod = self.pods[seen.uid] = Pod(seen)
            elif seen.priority_class is None and pod.seen.priority_class is not None:
                return
            elif pod.seen == seen:
                return
            pod.seen = seen
            self._look(pod)
            if self.limits is not None:
                self._write_limits()
        self.wake.set()

    def saw_container(self, uid: str, container: Container) -> None:
        """One is there. What it began with stays known."""
        with self.lock:
            pod = self.pods.get(uid)
            if pod is None:
                return
            known = pod.containers.get(container.id)
            if known is None or (known.began_with is None and container.began_with is not None):
                pod.containers[container.id] = container
                self._look(pod)
        self.wake.set()

    def lost_container(self, uid: str, container: str) -> None:
        """It has been removed."""
        with self.lock:
            pod = self.pods.get(uid)
            if pod is not None:
                pod.containers.pop(container, None)

    def lost_pod(self, uid: str) -> None:
        """It has been removed."""
        with self.lock:
            if self.pods.pop(uid, None) is not None and self.limits is not None:
                self._write_limits()

    def set_nri(self, there: bool) -> None:
        """Whether containers pass by before they are made. Without that, a pod that asks by annotation alone gets nothing."""
        with self.lock:
            if self.has_nri != there:
                self.has_nri = there
                for pod in self.pods.values():
                    self._look(pod)

    def all_seen(self) -> None:
        """The list of pods is whole: from now on, limits are written."""
        with self.lock:
            if self.limits is None:
                self.limits = {}
                self._write_limits()
        self.wake.set()

    # ---- what a container gets ----

    def settings(self, pod: Pod, container: str) -> Settings:
        """What a container of the pod is to have now."""
        return self._settings(pod, container)[0]

    def _settings(self, pod: Pod, container: str = "") -> "tuple[Settings, List[Note]]":
        seen = pod.seen
        return settings_of(seen.namespace, seen.annotations, seen.priority_class or "", self.table, container)

    def create_container(self, uid: str, identifier: str, name: str, env: List[str]) -> Optional[Given]:
        """A container is about to be made, with this environment. @return None: it gets nothing"""
        variables = dict(entry.partition("=")[::2] for entry in env)
        with self.lock:
            pod = self.pods[uid]
            got = self.settings(pod, name)
            began = str(got.priority) if got.any() else variables.get("XSCHED_PRIORITY", "")
            if got.any() and not self.injects:
                self._say(pod, Note("NotInjected", "the node has no files of XSched for containers: the pod runs without it"))
                got, began = Settings(), variables.get("XSCHED_PRIORITY", "")
            pod.containers[identifier] = Container(identifier, name, began)
        if not got.any() or got.priority is None:
            return None
        given = Given([cdi.priority_device(got.priority)], got.environment())
        own = variables.get("LD_PRELOAD", "")
        if own and own != self.preload:
            given.environment["LD_PRELOAD"] = f"{self.preload}:{own}"
        else:
            given.devices.append(cdi.device("preload"))
        return given

    # ---- notes and limits ----

    def _look(self, pod: Pod) -> None:
        """Says what the pod does not get."""
        for name in ["", *(c.name for c in pod.containers.values())]:
            for note in self._settings(pod, name)[1]:
                self._say(pod, note)
        if self.has_nri is False and not pod.seen.by_resource and self.settings(pod, "").any():
            self._say(pod, Note("NotInjected", "the runtime of this node has no NRI: an annotation alone brings XSched into no "
                                "container; let one request xsched.dev/high, normal or low"))
        for c in pod.containers.values():
            if c.began_with == "" and self.settings(pod, c.name).any():
                self._say(pod, Note("NotInjected", f"the container {c.name} began without XSched, which comes into a container "
                                    "at its start: delete the pod and let it be made anew"))

    def _say(self, pod: Pod, note: Note) -> None:
        if note not in pod.said:
            pod.said.add(note)
            log.warning("%s/%s: %s: %s", pod.seen.namespace, pod.seen.name, note.reason, note.text)
            self.on_note(pod.seen, note)

    def _write_limits(self) -> None:
        """The file that xserver reads before a program joins, in one step."""
        limits = {}
        for uid, pod in self.pods.items():
            row = self.table.of(pod.seen.namespace)
            if (row.least, row.most) != (PRIORITY_MIN, PRIORITY_MAX):
                limits[uid] = f"{row.least}..{row.most}"
        before = self.limits or {}
        if limits == self.limits or not self.limits_path:
            self.limits = limits
            return
        temporary = f"{self.limits_path}.{os.getpid()}"
        try:
            with open(temporary, "w", encoding="ascii", errors="replace") as f:
                f.writelines(f"{uid} {limit}\n" for uid, limit in sorted(limits.items()))
            os.rename(temporary, self.limits_path)
        except OSError as e:
            log.error("limits of priority are not in force: %s", e)
            return
        self.limits = limits
        # a program of a new pod joins after this and xserver looks by itself; programs that have joined need a reload
        self.server_must_read = self.server_must_read or any(
            before.get(uid) != limits.get(uid) and self.pods[uid].containers for uid in {*before, *limits} & self.pods.keys())
