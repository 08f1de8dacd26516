# SPDX-License-Identifier: Apache-2.0
"""The cluster's API server: the pods of this node as they change, and events about them. Without one, or while it does not
answer, the node works on with what the runtime says."""
from __future__ import annotations

import datetime
import http.client
import json
import logging
import os
import queue
import ssl
import threading
import time
import uuid
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, urlsplit

from .node import Container, Node, PodSeen
from .settings import PREFIX, Note

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TIMEOUT_S = 10.0
WATCH_S = 300
RETRY_S = (1.0, 30.0)
EVENTS_MOST = 1000  # that wait for the API server

log = logging.getLogger("apiserver")


def address() -> str:
    """The one of the pod's environment, "" where the agent runs in no cluster."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class Api:
    """Two threads: one watches, one sends events."""

    def __init__(self, node: Node, server: str, node_name: str, account: str = ACCOUNT) -> None:
        self.node, self.server, self.node_name, self.account = node, urlsplit(server), node_name, account
        self.events: "queue.Queue[Tuple[PodSeen, Note]]" = queue.Queue(EVENTS_MOST)
        node.on_note = self._note

    def start(self) -> None:
        """From now on."""
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        threading.Thread(target=self._send_events, name="events", daemon=True).start()

    # ---- HTTP ----

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        host, port = self.server.hostname or "", self.server.port
        if self.server.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        authority = os.path.join(self.account, "ca.crt")
        context = ssl.create_default_context(cafile=authority if os.path.exists(authority) else None)
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)

    def _headers(self) -> Dict[str, str]:
        headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "xsched-kube"}
        try:  # it is replaced before it runs out
            with open(os.path.join(self.account, "token"), encoding="ascii") as f:
                headers["Authorization"] = "Bearer " + f.read().strip()
        except OSError:
            pass
        return headers

    def ask(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """@raise OSError"""
        connection = self._connect(TIMEOUT_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self._headers())
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise OSError(f"{method} {path}: {answer.status} {content[:200].decode(errors='replace')}")
            found = json.loads(content)
            return found if isinstance(found, dict) else {}
        except (http.client.HTTPException, ValueError) as e:
            raise OSError(f"{method} {path}: {e!r}") from e
        finally:
            connection.close()

    def kubelet_minor(self) -> int:
        """The minor version of this node's kubelet; 0: not known."""
        try:
            version = self.ask("GET", f"/api/v1/nodes/{quote(self.node_name)}")["status"]["nodeInfo"]["kubeletVersion"]
            return int(str(version).split(".")[1])
        except (OSError, KeyError, IndexError, ValueError, TypeError):
            return 0

    # ---- pods ----

    def _watch(self) -> None:
        pause, said = RETRY_S[0], ""
        while True:
            try:
                self._watch_once()
                pause, said = RETRY_S[0], ""
            except (OSError, KeyError, TypeError, ValueError, http.client.HTTPException) as e:
                if str(e) != said:
                    log.warning("pods: %s; trying again", e)
                    said = str(e)
                time.sleep(pause)
                pause = min(2 * pause, RETRY_S[1])

    def _watch_once(self) -> None:
        pods = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{quote(self.node_name)}"
        listed = self.ask("GET", pods)
        there = set()
        for item in listed.get("items") or []:
            there.add(item["metadata"]["uid"])
            self._take(item)
        with self.node.lock:
            gone = [uid for uid, pod in self.node.pods.items() if pod.seen.priority_class is not None and uid not in there]
        for uid in gone:
            self.node.lost_pod(uid)
        self.node.all_seen()
        version = listed["metadata"]["resourceVersion"]
        connection = self._connect(WATCH_S + TIMEOUT_S)
        try:
            connection.request("GET", f"{pods}&watch=1&resourceVersion={quote(version)}&timeoutSeconds={WATCH_S}",
                               headers=self._headers())
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"watch: {answer.status}")
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return  # the version is too old: list anew
                if event["type"] == "DELETED":
                    self.node.lost_pod(event["object"]["metadata"]["uid"])
                else:
                    self._take(event["object"])
        finally:
            connection.close()

    def _take(self, item: Dict[str, Any]) -> None:
        meta, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
        if status.get("phase") in ("Succeeded", "Failed"):
            self.node.lost_pod(meta["uid"])
            return
        self.node.saw_pod(PodSeen(meta["uid"], meta["name"], meta["namespace"], meta.get("annotations") or {},
                                  spec.get("priorityClassName") or "", _requests_us(spec)))
        for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
            for c in status.get(kind) or []:
                identifier = str(c.get("containerID") or "").rpartition("/")[2]
                if identifier:
                    self.node.saw_container(meta["uid"], Container(identifier, c["name"], None))

    # ---- events ----

    def _note(self, pod: PodSeen, note: Note) -> None:
        try:
            self.events.put_nowait((pod, note))
        except queue.Full:
            log.warning("too many events wait for the API server")

    def _send_events(self) -> None:
        while True:
            pod, note = self.events.get()
            pause = RETRY_S[0]
            for _ in range(5):
                try:
                    self.ask("POST", f"/api/v1/namespaces/{quote(pod.namespace)}/events", event_of(pod, note, self.node_name))
                    break
                except OSError as e:
                    log.warning("event: %s", e)
                    time.sleep(pause)
                    pause = min(2 * pause, RETRY_S[1])


def _requests_us(spec: Dict[str, Any]) -> bool:
    return any(name.startswith(PREFIX) for kind in ("initContainers", "containers") for c in spec.get(kind) or []
               for name in (c.get("resources") or {}).get("limits") or {})


def event_of(pod: PodSeen, note: Note, node_name: str) -> Dict[str, Any]:
    """As `kubectl describe pod` shows it."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"apiVersion": "v1", "kind": "Event",
            "metadata": {"name": f"{pod.name[:200]}.{uuid.uuid4().hex[:16]}", "namespace": pod.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "type": "Warning", "reason": note.reason, "message": note.text[:1024], "count": 1,
            "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "xsched-kube", "host": node_name}}
