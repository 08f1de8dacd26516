# SPDX-License-Identifier: Apache-2.0
"""HTTP: /metrics for Prometheus and /admission for schedulers of the cluster on a port of the pod, and /pods on a Unix socket for
`xsched-kube top` and `why`."""
from __future__ import annotations

import http.server
import json
import logging
import os
import socket
import socketserver
import threading
from typing import Any, Dict, List

from . import metrics
from .node import Node
from .xserver import XServer, ask

log = logging.getLogger("http")


def pods(node: Node, server: XServer) -> Dict[str, Any]:
    """All that is known of the node's pods, with their programs."""
    answer: Dict[str, Any] = {"pods": [], "xserver": ""}
    programs: Dict[str, List[Dict[str, Any]]] = {}
    try:
        priorities: Dict[int, int] = {}
        for q in server.queues():
            priorities[q["pid"]] = max(q["priority"], priorities.get(q["pid"], -256))
        for p in server.clients():
            programs.setdefault(p.get("pod", ""), []).append(
                {"pid": p["pid"], "command": p["cmdline"], "container": p["container"], "priority": priorities.get(p["pid"]),
                 "device_us": p["service_us"], "waiting_us": p["waiting_us"], "preemptions": p["preemptions"]})
    except OSError as e:
        answer["xserver"] = str(e)
    with node.lock:
        for uid, pod in node.pods.items():
            containers = {c.name: {"id": c.id[:12], "began_with": c.began_with, **node.settings(pod, c.name)._asdict()}
                          for c in pod.containers.values()}
            answer["pods"].append({"namespace": pod.seen.namespace, "pod": pod.seen.name, "uid": uid,
                                   "priority_class": pod.seen.priority_class, "containers": containers,
                                   "notes": [n._asdict() for n in sorted(pod.said)], "programs": programs.get(uid, [])})
    return answer


def _handler(node: Node, server: XServer, all_of: bool) -> type:
    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:  # pylint: disable=invalid-name
            """The name is the library's."""
            try:
                if self.path == "/metrics":
                    self._send("text/plain; version=0.0.4", metrics.rewrite(server.metrics(), metrics.names(node)))
                elif self.path.startswith("/admission?"):
                    self._send("application/json", server.admission(self.path))
                elif self.path == "/pods" and all_of:
                    self._send("application/json", json.dumps(pods(node, server)))
                else:
                    self.send_error(404)
            except OSError as e:
                self.send_error(503, explain=str(e))

        def _send(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "peer"

        def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
            log.debug(format, *args)

    return Handler


class _OnPath(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _OnPort(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)  # HTTPServer's asks a name server for our name


def serve(node: Node, server: XServer, path: str, port: int) -> None:
    """@param port  0: no metrics on a port"""
    if os.path.exists(path):
        os.unlink(path)
    mask = os.umask(0o177)
    try:
        servers: List[socketserver.BaseServer] = [_OnPath(path, _handler(node, server, True))]
    finally:
        os.umask(mask)
    if port:
        servers.append(_OnPort(("::", port), _handler(node, server, False)))
    for s in servers:
        # nobody ends it, so it need not look whether somebody has
        threading.Thread(target=s.serve_forever, kwargs={"poll_interval": 3600.0}, daemon=True).start()


def fetch(path: str) -> Dict[str, Any]:
    """What the agent at that socket says."""
    return dict(json.loads(ask(path, "GET", "/pods")))
