# SPDX-License-Identifier: Apache-2.0
"""Messages of the protocols that the agent speaks: only the fields that it uses.

A protocol-buffers reader keeps fields that it does not know, so a table of the known ones is enough, and no compiler of
protocols is needed. Names and numbers are those of
 - NRI: github.com/containerd/nri, pkg/api/api.proto (0.8.0)
 - ttrpc: github.com/containerd/ttrpc, request.proto (1.2)
 - device plugins: k8s.io/kubelet, pkg/apis/deviceplugin/v1beta1/api.proto (1.34)"""
from __future__ import annotations

import importlib
from typing import Any, Dict, Tuple

# A type with * before it is repeated; one that is no scalar is a message of the same table. A map is a repeated Pair: that
# is how it travels.
Fields = Dict[str, Tuple[int, str]]
_PAIR: Fields = {"key": (1, "string"), "value": (2, "string")}

NRI: Dict[str, Fields] = {
    "Pair": _PAIR,
    "Empty": {},
    "RegisterPluginRequest": {"plugin_name": (1, "string"), "plugin_idx": (2, "string")},
    "ConfigureRequest": {"runtime_name": (2, "string"), "runtime_version": (3, "string")},
    "ConfigureResponse": {"events": (2, "int32")},
    "PodSandbox": {"id": (1, "string"), "name": (2, "string"), "uid": (3, "string"), "namespace": (4, "string"),
                   "annotations": (6, "*Pair")},
    "Container": {"id": (1, "string"), "pod_sandbox_id": (2, "string"), "name": (3, "string"), "env": (8, "*string")},
    "SynchronizeRequest": {"pods": (1, "*PodSandbox"), "containers": (2, "*Container"), "more": (3, "bool")},
    "SynchronizeResponse": {"more": (2, "bool")},
    "CreateContainerRequest": {"pod": (1, "PodSandbox"), "container": (2, "Container")},
    "CDIDevice": {"name": (1, "string")},
    "ContainerAdjustment": {"env": (4, "*Pair"), "CDI_devices": (8, "*CDIDevice")},
    "CreateContainerResponse": {"adjust": (1, "ContainerAdjustment")},
    "StateChangeEvent": {"event": (1, "int32"), "pod": (2, "PodSandbox"), "container": (3, "Container")},
}

TTRPC: Dict[str, Fields] = {
    "Status": {"code": (1, "int32"), "message": (2, "string")},
    "Request": {"service": (1, "string"), "method": (2, "string"), "payload": (3, "bytes"), "timeout_nano": (4, "int64")},
    "Response": {"status": (1, "Status"), "payload": (2, "bytes")},
}

DEVICE_PLUGIN: Dict[str, Fields] = {
    "Pair": _PAIR,
    "Empty": {},
    "RegisterRequest": {"version": (1, "string"), "endpoint": (2, "string"), "resource_name": (3, "string")},
    "DevicePluginOptions": {"pre_start_required": (1, "bool")},
    "Device": {"ID": (1, "string"), "health": (2, "string")},
    "ListAndWatchResponse": {"devices": (1, "*Device")},
    "ContainerAllocateRequest": {"devicesIDs": (1, "*string")},
    "AllocateRequest": {"container_requests": (1, "*ContainerAllocateRequest")},
    "Mount": {"container_path": (1, "string"), "host_path": (2, "string"), "read_only": (3, "bool")},
    "CDIDevice": {"name": (1, "string")},
    "ContainerAllocateResponse": {"envs": (1, "*Pair"), "mounts": (2, "*Mount"), "cdi_devices": (5, "*CDIDevice")},
    "AllocateResponse": {"container_responses": (1, "*ContainerAllocateResponse")},
}


class Messages:
    """The classes of a table, as attributes."""

    def __init__(self, package: str, table: Dict[str, Fields]) -> None:
        descriptors = importlib.import_module("google.protobuf.descriptor_pb2")
        pools = importlib.import_module("google.protobuf.descriptor_pool")
        factory = importlib.import_module("google.protobuf.message_factory")
        kind = descriptors.FieldDescriptorProto
        described = descriptors.FileDescriptorProto(name=package + ".proto", package=package, syntax="proto3")
        for name, fields in table.items():
            message = described.message_type.add(name=name)
            for field, (number, type_name) in fields.items():
                repeated = type_name.startswith("*")
                type_name = type_name.lstrip("*")
                added = message.field.add(name=field, number=number,
                                          label=kind.LABEL_REPEATED if repeated else kind.LABEL_OPTIONAL)
                if type_name in table:
                    added.type, added.type_name = kind.TYPE_MESSAGE, f".{package}.{type_name}"
                else:
                    added.type = getattr(kind, "TYPE_" + type_name.upper())
        pool = pools.DescriptorPool()
        pool.Add(described)
        for name in table:
            of = pool.FindMessageTypeByName(f"{package}.{name}")
            setattr(self, name, factory.GetMessageClass(of) if hasattr(factory, "GetMessageClass")
                    else factory.MessageFactory(pool).GetPrototype(of))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def pairs(repeated: Any) -> Dict[str, str]:
    """A map field as a dictionary."""
    return {p.key: p.value for p in repeated}
