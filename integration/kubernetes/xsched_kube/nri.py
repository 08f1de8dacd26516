# SPDX-License-Identifier: Apache-2.0
"""The plugin for NRI, the Node Resource Interface of containerd and CRI-O: each container that is about to be made passes by.

The runtime waits for the answer, so nothing here asks another program. A plugin that answers late or with an error does
harm: late, the runtime closes the connection and starts containers without it; with an error, the container fails. So each
call is answered at once, what went wrong is logged, and a closed connection is made anew."""
from __future__ import annotations

import logging
import threading
from typing import Any, List

from .messages import NRI, Messages, pairs
from .node import Container, Node, PodSeen
from .ttrpc import RESPONSE, RUNTIME, Connection, Message

RUN_POD, REMOVE_POD, CREATE_CONTAINER, REMOVE_CONTAINER = 1, 3, 4, 11  # events of api.proto
SERVICE = "nri.pkg.api.v1alpha1.Runtime"
NAME, INDEX = "xsched", "90"  # late: a CDI device that a later plugin adds has the last word on a variable
REGISTER_S = 5.0
RETRY_S = (0.2, 5.0)

log = logging.getLogger("nri")


class Plugin:
    """One thread: it connects, registers and answers, again and again."""

    def __init__(self, node: Node, path: str) -> None:
        self.node, self.path = node, path
        self.types = Messages("nri.pkg.api.v1alpha1", NRI)
        self.stopped = threading.Event()
        self.registered = False
        self.pods: List[Any] = []  # of a list that comes in parts
        self.containers: List[Any] = []

    def run(self) -> None:
        """Until the process ends."""
        pause = RETRY_S[0]
        said = ""
        while not self.stopped.wait(pause):
            try:
                self._session()
            except (OSError, EOFError, ValueError) as e:
                why = f"{self.path}: {e}"
            else:
                why = "the runtime says that it ends"
            pause = RETRY_S[0] if self.registered else min(2 * pause, RETRY_S[1])
            self.registered = False
            if why != said:  # a runtime that is away for hours is one line
                log.warning("%s; trying again", why)
                said = why

    def _session(self) -> None:
        connection = Connection(self.path, REGISTER_S)
        try:
            connection.call(1, SERVICE, "RegisterPlugin", self.types.RegisterPluginRequest(plugin_name=NAME, plugin_idx=INDEX))
            while True:
                message = connection.receive()
                if message.connection == RUNTIME:
                    self._registered(connection, message)
                elif not self._answer(connection, message):
                    return
        finally:
            connection.close()

    def _registered(self, connection: Connection, message: Message) -> None:
        if message.kind != RESPONSE:
            return
        status = connection.types.Response.FromString(message.body).status
        if status.code:
            raise EOFError(f"it refuses the plugin: {status.message}")

    def _answer(self, connection: Connection, message: Message) -> bool:
        request = connection.types.Request.FromString(message.body)
        answer = self.types.Empty()
        try:
            answer = self._call(request.method, request.payload)
        except Exception:  # pylint: disable=broad-except  # an error would fail the container
            log.exception("%s", request.method)
            if request.method == "CreateContainer":
                answer = self.types.CreateContainerResponse()
        connection.answer(message, answer)
        if request.method == "Synchronize" and not self.registered:
            self.registered = True
            self.node.set_nri(True)
            connection.wait_for_ever()
            log.info("registered with the runtime at %s", self.path)
        return str(request.method) != "Shutdown"

    def _call(self, method: str, payload: bytes) -> Any:
        types = self.types
        if method == "Configure":
            return types.ConfigureResponse(events=sum(1 << (e - 1) for e in (RUN_POD, REMOVE_POD, CREATE_CONTAINER,
                                                                             REMOVE_CONTAINER)))
        if method == "Synchronize":
            return self._synchronize(types.SynchronizeRequest.FromString(payload))
        if method == "CreateContainer":
            return self._create(types.CreateContainerRequest.FromString(payload))
        if method == "StateChange":
            event = types.StateChangeEvent.FromString(payload)
            if event.event == RUN_POD:
                self.node.saw_pod(_seen(event.pod))
            elif event.event == REMOVE_POD:
                self.node.lost_pod(event.pod.uid)
            elif event.event == REMOVE_CONTAINER:
                self.node.lost_container(event.pod.uid, event.container.id)
        return types.Empty()

    def _synchronize(self, request: Any) -> Any:
        self.pods += request.pods
        self.containers += request.containers
        if not request.more:
            pods, containers, self.pods, self.containers = self.pods, self.containers, [], []
            uid_of = {p.id: p.uid for p in pods}
            for pod in pods:
                self.node.saw_pod(_seen(pod))
            for c in containers:
                self.node.saw_container(uid_of.get(c.pod_sandbox_id, ""), Container(c.id, c.name, _priority_in(c.env)))
            self.node.all_seen()
        return self.types.SynchronizeResponse(more=request.more)

    def _create(self, request: Any) -> Any:
        response = self.types.CreateContainerResponse()
        self.node.saw_pod(_seen(request.pod))
        given = self.node.create_container(request.pod.uid, request.container.id, request.container.name,
                                           list(request.container.env))
        if given is not None:
            for device in given.devices:
                response.adjust.CDI_devices.add(name=device)
            for name, value in given.environment.items():
                response.adjust.env.add(key=name, value=value)
        return response


def _seen(pod: Any) -> PodSeen:
    return PodSeen(pod.uid, pod.name, pod.namespace, pairs(pod.annotations), None)


def _priority_in(env: Any) -> str:
    for entry in env:
        if entry.startswith("XSCHED_PRIORITY="):
            return str(entry.partition("=")[2])
    return ""
