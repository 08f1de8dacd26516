# SPDX-License-Identifier: Apache-2.0
"""Programs of running pods follow changed annotations: the main thread asks xserver which programs a pod has, and tells it
their priority.

A container whose priority is that of its start needs nothing, so an idle node costs nothing. While one differs, a program
that joins later must get the changed one too: then the agent asks every two seconds."""
from __future__ import annotations

import logging
from typing import Dict, Optional, Tuple

from .node import Node
from .xserver import XServer

EVERY_S = 2.0

log = logging.getLogger("follow")


class Follower:
    """Main thread."""

    def __init__(self, node: Node, server: XServer) -> None:
        self.node, self.server = node, server
        self.changed: Dict[str, int] = {}  # container -> priority, of those that ever differed from their start
        self.told: Dict[Tuple[int, int, int], int] = {}  # (pid, session, when it joined) -> priority
        self.said = ""

    def _wanted(self) -> Dict[str, int]:
        wanted: Dict[str, int] = {}
        with self.node.lock:
            for pod in self.node.pods.values():
                for c in pod.containers.values():
                    if c.began_with == "":
                        continue
                    got = self.node.settings(pod, c.name)
                    if got.priority is None and c.began_with is None:
                        continue  # nobody asks for anything
                    priority = 0 if got.priority is None else got.priority
                    if c.id in self.changed or c.began_with != str(priority):
                        wanted[c.id] = priority
        return wanted

    def step(self) -> Optional[float]:
        """@return seconds after which to come again; None: when something changes"""
        try:
            if self.node.server_must_read:
                self.node.server_must_read = False
                self.server.reload()
            self.changed = self._wanted()
            if self.changed:
                self._tell()
            self.said = ""
        except (OSError, ValueError) as e:
            if str(e) != self.said:
                log.warning("%s", e)
                self.said = str(e)
            return EVERY_S
        return EVERY_S if self.changed else None

    def _tell(self) -> None:
        by_short = {identifier[:12]: priority for identifier, priority in self.changed.items()}
        told: Dict[Tuple[int, int, int], int] = {}
        for client in self.server.clients():
            priority = by_short.get(client.get("container", ""))
            if priority is None:
                continue
            key = (int(client["pid"]), int(client["session"]), int(client["joined"]))
            if self.told.get(key) != priority:
                self.server.set_priority(key[0], priority)
                log.info("pid %d of pod %s: priority %d", key[0], client.get("pod", ""), priority)
            told[key] = priority
        self.told = told
