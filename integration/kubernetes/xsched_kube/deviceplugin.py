# SPDX-License-Identifier: Apache-2.0
"""Resources xsched.dev/high, normal and low, for runtimes without NRI: a pod that requests one gets XSched with that priority.

They are no devices: a node offers more of each than it runs pods. The kubelet gets CDI devices where it takes them (1.29),
else variables and mounts. It forgets its plugins when it restarts, so the agent looks at its socket."""
from __future__ import annotations

import importlib
import logging
import os
import threading
from concurrent import futures
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import cdi
from .messages import DEVICE_PLUGIN, Messages
from .settings import NAMES

RESOURCES = ("high", "normal", "low")
COUNT = 1000
KUBELET = "kubelet.sock"
CDI_SINCE = 29  # minor version of the kubelet
PACKAGE = "v1beta1"

log = logging.getLogger("deviceplugin")


class Plugins:
    """Main thread, but for the calls of the kubelet."""

    def __init__(self, folder: str, given: cdi.Libraries, kubelet_minor: Callable[[], int]) -> None:
        self.folder, self.given, self.kubelet_minor = folder, given, kubelet_minor
        self.grpc = importlib.import_module("grpc")
        self.types = Messages(PACKAGE, DEVICE_PLUGIN)
        self.servers: List[Tuple[Any, threading.Event]] = []
        self.seen: Optional[Tuple[int, int]] = None
        self.by_cdi = False
        self.said = ""

    def step(self) -> None:
        """Registers with a kubelet that is new."""
        try:
            st = os.stat(os.path.join(self.folder, KUBELET))
        except OSError:
            self.seen = None
            return
        now = (st.st_ino, st.st_ctime_ns)
        if now == self.seen:
            return
        try:
            self._stop()
            self.by_cdi = self.kubelet_minor() >= CDI_SINCE
            for name in RESOURCES:
                self._serve(name)
            self._register()
            self.seen, self.said = now, ""
        except (OSError, RuntimeError, self.grpc.RpcError) as e:
            why = e.details() if isinstance(e, self.grpc.RpcError) and hasattr(e, "details") else str(e)
            if why != self.said:
                log.warning("the kubelet at %s: %s; trying again", self.folder, why)
                self.said = why

    def _stop(self) -> None:
        for server, stopped in self.servers:
            stopped.set()
            server.stop(0)
        self.servers = []

    def _serve(self, name: str) -> None:
        path = os.path.join(self.folder, f"xsched-{name}.sock")
        if os.path.exists(path):
            os.unlink(path)
        stopped = threading.Event()
        server = self.grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        types, grpc = self.types, self.grpc

        def listed(_request: Any, context: Any) -> Iterator[Any]:
            context.add_callback(stopped.set)
            answer = types.ListAndWatchResponse()
            for i in range(COUNT):
                answer.devices.add(ID=f"{name}-{i}", health="Healthy")
            yield answer
            stopped.wait()

        def one(function: Callable[[Any], Any], request: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda r, _: function(r), request_deserializer=request.FromString,
                                                       response_serializer=_bytes)
        empty = types.Empty
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"{PACKAGE}.DevicePlugin", {
            "GetDevicePluginOptions": one(lambda _: types.DevicePluginOptions(), empty),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(listed, request_deserializer=empty.FromString,
                                                                 response_serializer=_bytes),
            "Allocate": one(lambda r: self.allocate(r, name), types.AllocateRequest),
            "PreStartContainer": one(lambda _: empty(), empty),
        }),))
        if not server.add_insecure_port("unix:" + path):
            raise OSError(f"{path} cannot be made")
        server.start()
        self.servers.append((server, stopped))

    def _register(self) -> None:
        with self.grpc.insecure_channel("unix:" + os.path.join(self.folder, KUBELET)) as channel:
            register = channel.unary_unary(f"/{PACKAGE}.Registration/Register", request_serializer=_bytes,
                                           response_deserializer=self.types.Empty.FromString)
            for name in RESOURCES:
                register(self.types.RegisterRequest(version=PACKAGE, endpoint=f"xsched-{name}.sock",
                                                    resource_name=f"xsched.dev/{name}"), timeout=5)
        log.info("registered with the kubelet: xsched.dev/%s by %s", "|".join(RESOURCES),
                 "CDI" if self.by_cdi else "variables and mounts")

    def allocate(self, request: Any, name: str) -> Any:
        """What a container gets that requests the resource."""
        answer = self.types.AllocateResponse()
        for _ in request.container_requests:
            one = answer.container_responses.add()
            if self.by_cdi:
                for device in (cdi.priority_device(NAMES[name]), cdi.device("preload")):
                    one.cdi_devices.add(name=device)
                continue
            environment: Dict[str, str] = {**self.given.environment, "XSCHED_PRIORITY": str(NAMES[name])}
            for variable, value in environment.items():
                one.envs.add(key=variable, value=value)
            for here, inside in self.given.mounts:
                one.mounts.add(container_path=inside, host_path=here, read_only=True)
        return answer


def _bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString())
