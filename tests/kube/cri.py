# SPDX-License-Identifier: Apache-2.0
"""A small client of the Container Runtime Interface: what a kubelet asks of containerd, and the fields that it needs.

Names and numbers are those of k8s.io/cri-api, pkg/apis/runtime/v1/api.proto (0.36)."""
import os
import time
import uuid

import grpc

from xsched_kube.messages import Messages

TABLE = {
    "Pair": {"key": (1, "string"), "value": (2, "string")},
    "Empty": {},
    "VersionResponse": {"runtime_version": (3, "string")},
    "PodSandboxMetadata": {"name": (1, "string"), "uid": (2, "string"), "namespace": (3, "string")},
    "NamespaceOption": {"network": (1, "int32"), "pid": (2, "int32"), "ipc": (3, "int32")},
    "LinuxSandboxSecurityContext": {"namespace_options": (1, "NamespaceOption")},
    "LinuxPodSandboxConfig": {"cgroup_parent": (1, "string"), "security_context": (2, "LinuxSandboxSecurityContext")},
    "PodSandboxConfig": {"metadata": (1, "PodSandboxMetadata"), "log_directory": (3, "string"), "annotations": (7, "*Pair"),
                         "linux": (8, "LinuxPodSandboxConfig")},
    "RunPodSandboxRequest": {"config": (1, "PodSandboxConfig")},
    "RunPodSandboxResponse": {"pod_sandbox_id": (1, "string")},
    "OfPod": {"pod_sandbox_id": (1, "string")},
    "ContainerMetadata": {"name": (1, "string")},
    "ImageSpec": {"image": (1, "string")},
    "Variable": {"key": (1, "string"), "value": (2, "string")},
    "Mount": {"container_path": (1, "string"), "host_path": (2, "string"), "readonly": (3, "bool")},
    "LinuxContainerResources": {"cpu_shares": (3, "int64"), "cpuset_cpus": (6, "string")},
    "Number": {"value": (1, "int64")},
    "LinuxContainerSecurityContext": {"namespace_options": (3, "NamespaceOption"), "run_as_user": (5, "Number"),
                                      "readonly_rootfs": (7, "bool"), "no_new_privs": (11, "bool")},
    "LinuxContainerConfig": {"resources": (1, "LinuxContainerResources"),
                             "security_context": (2, "LinuxContainerSecurityContext")},
    "CDIDevice": {"name": (1, "string")},
    "ContainerConfig": {"metadata": (1, "ContainerMetadata"), "image": (2, "ImageSpec"), "command": (3, "*string"),
                        "envs": (6, "*Variable"), "mounts": (7, "*Mount"), "annotations": (10, "*Pair"),
                        "log_path": (11, "string"), "linux": (15, "LinuxContainerConfig"), "CDI_devices": (17, "*CDIDevice")},
    "CreateContainerRequest": {"pod_sandbox_id": (1, "string"), "config": (2, "ContainerConfig"),
                               "sandbox_config": (3, "PodSandboxConfig")},
    "OfContainer": {"container_id": (1, "string"), "timeout": (2, "int64")},
    "ContainerStatus": {"state": (3, "int32"), "exit_code": (7, "int32")},
    "ContainerStatusResponse": {"status": (1, "ContainerStatus")},
}
T = Messages("cri", TABLE)
NODE, CONTAINER, POD = 2, 1, 0  # of NamespaceMode
EXITED = 2


class Pod:
    """A sandbox."""

    def __init__(self, name, identifier, config):
        self.name, self.id, self.config = name, identifier, config
        self.uid, self.namespace = config.metadata.uid, config.metadata.namespace


class Container:
    """One of a pod."""

    def __init__(self, identifier, name, log):
        self.id, self.name, self.log = identifier, name, log


class Client:
    """To the socket of a runtime. The time that CreateContainer took last is `created_s`."""

    def __init__(self, socket, logs, image, mounts, cgroup):
        self.socket, self.logs, self.image, self.mounts, self.cgroup = socket, logs, image, mounts, cgroup
        self.count, self.created_s, self.started_s = 0, 0.0, 0.0
        self.channel = None

    def call(self, method, request, answer):
        """Over one channel, which is made anew with another runtime."""
        if self.channel is None:
            self.channel = grpc.insecure_channel("unix:" + self.socket)
        return self.channel.unary_unary(f"/runtime.v1.RuntimeService/{method}", request_serializer=lambda m: m.SerializeToString(),
                                        response_deserializer=answer.FromString)(request, timeout=30)

    def wait(self, seconds=20):
        """Until the runtime answers. @return its version"""
        until = time.monotonic() + seconds
        while True:
            try:
                return self.call("Version", T.Empty(), T.VersionResponse).runtime_version
            except grpc.RpcError:
                self.channel.close()
                self.channel = None
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def pod(self, annotations=None, namespace="default", name=None):
        """@return a running sandbox on the node's own network"""
        self.count += 1
        name = name or f"pod{self.count}"
        uid = str(uuid.uuid4())
        options = T.NamespaceOption(network=NODE, pid=CONTAINER, ipc=POD)
        config = T.PodSandboxConfig(
            metadata=T.PodSandboxMetadata(name=name, uid=uid, namespace=namespace), log_directory=self.logs,
            annotations=[T.Pair(key=k, value=v) for k, v in (annotations or {}).items()],
            linux=T.LinuxPodSandboxConfig(cgroup_parent=f"{self.cgroup}/pod{uid}",
                                          security_context=T.LinuxSandboxSecurityContext(namespace_options=options)))
        answer = self.call("RunPodSandbox", T.RunPodSandboxRequest(config=config), T.RunPodSandboxResponse)
        return Pod(name, answer.pod_sandbox_id, config)

    def start(self, pod, command, env=None, devices=(), annotations=None, mounts=(), cpus="", name=None, restricted=False,
              image=""):
        """@param restricted  as a pod of the Pod Security Standard of this name
        @return a started container"""
        self.count += 1
        name = name or f"c{self.count}"
        options = T.NamespaceOption(network=NODE, pid=CONTAINER, ipc=POD)
        log = f"{pod.name}-{name}.log"
        config = T.ContainerConfig(
            metadata=T.ContainerMetadata(name=name), image=T.ImageSpec(image=image or self.image), command=command, log_path=log,
            envs=[T.Variable(key=k, value=v) for k, v in (env or {}).items()],
            mounts=[T.Mount(container_path=p, host_path=p, readonly=True) for p in (*self.mounts, *mounts)],
            annotations=[T.Pair(key=k, value=v) for k, v in (annotations or {}).items()],
            CDI_devices=[T.CDIDevice(name=d) for d in devices],
            linux=T.LinuxContainerConfig(resources=T.LinuxContainerResources(cpu_shares=512, cpuset_cpus=cpus),
                                         security_context=T.LinuxContainerSecurityContext(
                                             namespace_options=options, readonly_rootfs=restricted, no_new_privs=restricted,
                                             run_as_user=T.Number(value=1000 if restricted else 0))))
        begin = time.monotonic()
        identifier = self.call("CreateContainer", T.CreateContainerRequest(
            pod_sandbox_id=pod.id, config=config, sandbox_config=pod.config), T.OfContainer).container_id
        self.created_s = time.monotonic() - begin
        begin = time.monotonic()
        self.call("StartContainer", T.OfContainer(container_id=identifier), T.Empty)
        self.started_s = time.monotonic() - begin
        return Container(identifier, name, os.path.join(self.logs, log))

    def is_running(self, container):
        """Whether its program has not ended."""
        return self.call("ContainerStatus", T.OfContainer(container_id=container.id), T.ContainerStatusResponse).status.state != EXITED

    def output(self, container, seconds=30):
        """Waits for its end. @return exit status, lines"""
        until = time.monotonic() + seconds
        while True:
            status = self.call("ContainerStatus", T.OfContainer(container_id=container.id), T.ContainerStatusResponse).status
            if status.state == EXITED:
                break
            if time.monotonic() > until:
                raise AssertionError(f"{container.name} does not end")
            time.sleep(0.02)
        lines = []
        if os.path.exists(container.log):
            with open(container.log, encoding="utf-8", errors="replace") as f:
                lines = [line.split(" ", 3)[3].rstrip("\n") for line in f]
        return status.exit_code, lines

    def stop(self, container):
        """Ends it at once."""
        self.call("StopContainer", T.OfContainer(container_id=container.id, timeout=0), T.Empty)

    def remove(self, pod):
        """Ends a pod and all of it."""
        self.call("StopPodSandbox", T.OfPod(pod_sandbox_id=pod.id), T.Empty)
        self.call("RemovePodSandbox", T.OfPod(pod_sandbox_id=pod.id), T.Empty)
