# SPDX-License-Identifier: Apache-2.0
"""The node's xserver, over HTTP on its Unix socket (xserver(8))."""
from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import struct
from typing import Any, Dict, List

TIMEOUT_S = 5.0


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(self.path)


def ask(path: str, method: str, what: str, body: "str | None" = None) -> bytes:
    """Over a connection of its own: who restarts is another server. @raise OSError"""
    connection = _Unix(path)
    try:
        connection.request(method, what, body)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise OSError(f"{path}: {what}: {answer.status} {content.decode(errors='replace').strip()[:200]}")
        return content
    except http.client.HTTPException as e:
        raise OSError(f"{path}: {what}: {e!r}") from e
    finally:
        connection.close()


class XServer:
    """What the agent asks of it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _ask(self, method: str, what: str, body: "str | None" = None) -> bytes:
        return ask(self.path, method, what, body)

    def clients(self) -> List[Dict[str, Any]]:
        """The programs that have joined."""
        return list(json.loads(self._ask("GET", "/clients"))["clients"])

    def queues(self) -> List[Dict[str, Any]]:
        """Their queues."""
        return list(json.loads(self._ask("GET", "/xqueues"))["xqueues"])

    def metrics(self) -> str:
        """The text for Prometheus."""
        return self._ask("GET", "/metrics").decode()

    def admission(self, question: str) -> str:
        """Whether the node has place for a program: xserver(8), /admission."""
        return self._ask("GET", question).decode()

    def set_priority(self, pid: int, priority: int) -> None:
        """Of a program, its later queues too."""
        self._ask("POST", "/hint", json.dumps({"hint_type": 1, "pid": pid, "priority": priority}))

    def reload(self) -> None:
        """Has it read its configuration, and with it the limits of pods."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(TIMEOUT_S)
            s.connect(self.path)
            pid = int(struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[0])
        if pid <= 0:
            raise OSError("xserver is in a PID namespace that the agent does not see (hostPID)")
        os.kill(pid, signal.SIGHUP)
