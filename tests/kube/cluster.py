#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster of one node, on this machine, with the manifests of integration/kubernetes: cluster.py BUILD_DIR FOLDER

FOLDER has bin/ with etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubelet, kubectl, containerd,
containerd-shim-runc-v2, ctr and runc, and cni/ with bridge, host-local and loopback. It comes from outside: XSCHED_KUBE_CLUSTER
names it for `make test`. All programs run in namespaces of their own (mounts, processes, network), with a root of control groups of
their own; kernel settings that the kubelet makes stay in files over /proc/sys.

The DaemonSet is that of the manifests, but for its image: it runs what BUILD_DIR has, on this machine's /usr. Pods run oclload
on PoCL. KUBE_MEASURE=FILE measures latencies instead and writes them there. KUBE_IMAGE=FILE is an archive with the image of
integration/container, named docker.io/library/xsched with the manifests' tag: then the DaemonSet runs that.
Exit status 77: skipped (the reason is printed)."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import yaml

import node as n
from node import wait_for

ADDRESS, SERVICE = "192.168.77.2", "10.0.0.1"
TOKEN = "the-tests-own"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet", "kubectl", "containerd",
            "containerd-shim-runc-v2", "ctr", "runc")
# what the kubelet wants, and writes where it is not so
SETTINGS = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
            "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000"}
CONTAINERD = """version = 2
root = '{w}/root'
state = '/run/containerd'
disabled_plugins = ['io.containerd.snapshotter.v1.btrfs', 'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs', 'io.containerd.snapshotter.v1.aufs', 'io.containerd.tracing.processor.v1.otlp']
[debug]
level = 'warn'
[grpc]
address = '/run/containerd/containerd.sock'
[plugins.'io.containerd.grpc.v1.cri']
sandbox_image = 'localhost/pause:1'
restrict_oom_score_adj = true
[plugins.'io.containerd.grpc.v1.cri'.cni]
conf_dir = '{w}/cni'
bin_dir = '{cni}'
[plugins.'io.containerd.grpc.v1.cri'.containerd]
snapshotter = 'native'
[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]
BinaryName = '{bin}/runc'
"""
HOST = ("/usr", "/etc")


def sh(*command, **more):
    return subprocess.run(command, check=True, **more)


def enter(work):
    """More of the node's own than node.enter() makes."""
    n.enter()
    for folder in ("/opt", "/var/lib/kubelet", "/var/log/pods", "/var/log/containers"):
        os.makedirs(folder, exist_ok=True)
        sh("mount", "-t", "tmpfs", "tmpfs", folder)
    for name, value in SETTINGS.items():
        path = os.path.join(work, name.replace("/", "_"))
        with open(path, "w", encoding="ascii") as f:
            f.write(value + "\n")
        sh("mount", "--bind", path, "/proc/sys/" + name)
    sh("ip", "link", "add", "xs0", "type", "bridge")
    sh("ip", "link", "set", "xs0", "up")
    sh("ip", "address", "add", ADDRESS + "/24", "dev", "xs0")
    sh("ip", "route", "add", "default", "via", "192.168.77.1", "dev", "xs0", "onlink")
    sh("ip", "address", "add", SERVICE + "/32", "dev", "lo")  # in place of kube-proxy


def cgroup_root(name):
    """In each hierarchy."""
    for hierarchy in os.listdir("/sys/fs/cgroup"):
        top = os.path.join("/sys/fs/cgroup", hierarchy)
        if not os.path.isdir(top) or os.path.islink(top):
            continue
        folder = os.path.join(top, name)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            continue
        for file in ("cpuset.cpus", "cpuset.mems"):
            if os.path.exists(os.path.join(top, file)) and os.path.exists(os.path.join(folder, file)):
                with open(os.path.join(top, file), encoding="ascii") as f, open(os.path.join(folder, file), "w", encoding="ascii") as to:
                    to.write(f.read())


class Cluster(n.Node):
    """All programs, and kubectl."""

    import_by: "list[str]" = []  # ctr 1.6 knows no other way

    def __init__(self, folder, build, work):
        super().__init__(os.path.join(folder, "bin"), build, work)
        self.cgroup = f"xsched-1-{self.env['XS_OUTER']}"
        with open(os.path.join(work, "config.toml"), "w", encoding="utf-8") as f:
            f.write(CONTAINERD.format(w=work, bin=self.bin, cni=os.path.join(folder, "cni")))
        with open(os.path.join(work, "cni", "10-bridge.conf"), "w", encoding="utf-8") as f:
            json.dump({"cniVersion": "0.3.1", "name": "pods", "type": "bridge", "bridge": "cni0", "isDefaultGateway": True,
                       "ipam": {"type": "host-local", "subnet": "10.244.0.0/24"}}, f)
        os.makedirs(os.path.join(work, "bin"), exist_ok=True)
        for name, line in (("xserver", f"exec {build}/bin/xserver"), ("xsched", f"exec {build}/bin/xsched"),
                           ("xsched-kube", f"PYTHONPATH={n.ROOT}/integration/kubernetes exec /usr/bin/python3 -B -m xsched_kube")):
            path = os.path.join(work, "bin", name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{line} \"$@\"\n")
            os.chmod(path, 0o755)
        self.config = self.file("kubeconfig", self.kubeconfig(TOKEN))
        self.env["KUBECONFIG"] = self.config
        self.env["PATH"] = f"{n.ROOT}/integration/kubernetes:{self.env['PATH']}"

    def file(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    @staticmethod
    def kubeconfig(token):
        return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                               "clusters": [{"name": "c", "cluster": {"server": f"https://{SERVICE}:443", "insecure-skip-tls-verify": True}}],
                               "users": [{"name": "u", "user": {"token": token}}],
                               "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})

    def start(self):
        """Everything, until the node is ready."""
        w = self.work
        self.begin("etcd", os.path.join(self.bin, "etcd"), "--data-dir", w + "/etcd", "--unsafe-no-fsync")
        self.containerd()
        sh("openssl", "genrsa", "-out", w + "/sa.key", "2048", stderr=subprocess.DEVNULL)
        tokens = self.file("tokens", f"{TOKEN},admin,admin,system:masters\nnode-{TOKEN},system:node:node1,node1,system:nodes\n")
        self.begin("kube-apiserver", os.path.join(self.bin, "kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379",
                   "--secure-port=443", "--bind-address=0.0.0.0", f"--advertise-address={ADDRESS}", f"--cert-dir={w}/certs",
                   f"--service-cluster-ip-range={SERVICE}/24", f"--token-auth-file={tokens}", "--authorization-mode=Node,RBAC",
                   f"--service-account-key-file={w}/sa.key", f"--service-account-signing-key-file={w}/sa.key",
                   "--service-account-issuer=https://kubernetes.default.svc", "--kubelet-preferred-address-types=InternalIP",
                   "--allow-privileged=true")
        self.images(path=w + "/bin")
        wait_for(lambda: self.kubectl("get", "--raw", "/readyz", check=False) == "ok", "the API server", 60)
        self.begin("kube-controller-manager", os.path.join(self.bin, "kube-controller-manager"), f"--kubeconfig={self.config}",
                   f"--service-account-private-key-file={w}/sa.key", f"--root-ca-file={w}/certs/apiserver.crt", "--leader-elect=false",
                   "--use-service-account-credentials=true", f"--cert-dir={w}/certs-cm")
        self.begin("kube-scheduler", os.path.join(self.bin, "kube-scheduler"), f"--kubeconfig={self.config}", "--leader-elect=false")
        self.kubelet()
        wait_for(lambda: "True" in self.kubectl("get", "node", "node1", "-o", "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}",
                                                check=False), "the node", 60)

    def kubelet(self):
        cgroup_root(self.cgroup)
        config = self.file("kubelet.yaml", yaml.safe_dump({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs",
            "cgroupRoot": "/" + self.cgroup, "failSwapOn": False, "syncFrequency": "2s", "nodeStatusUpdateFrequency": "2s",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "evictionHard": {"memory.available": "1Mi"}}))
        self.begin("kubelet", os.path.join(self.bin, "kubelet"), f"--config={config}",
                   f"--kubeconfig={self.file('kubeconfig-node', self.kubeconfig('node-' + TOKEN))}", "--container-runtime=remote",
                   "--container-runtime-endpoint=unix:///run/containerd/containerd.sock", "--hostname-override=node1",
                   f"--node-ip={ADDRESS}", "--node-labels=nvidia.com/gpu.present=true", "--runtime-cgroups=/", "--v=1")

    def kubectl(self, *arguments, check=True, text=None):
        """@return its output"""
        done = subprocess.run([os.path.join(self.bin, "kubectl"), *arguments], env=self.env, input=text, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if done.returncode and check:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def mounts(self, container, spec, *folders):
        """This machine's programs in a container."""
        for folder in folders:
            name = re.sub("[^a-z0-9]+", "-", "host" + folder.lower()).strip("-")
            container.setdefault("volumeMounts", []).append({"name": name, "mountPath": folder, "readOnly": True})
            if name not in [v["name"] for v in spec.setdefault("volumes", [])]:
                spec["volumes"].append({"name": name, "hostPath": {"path": folder}})

    def deploy(self):
        """The manifests, with this machine's programs in place of the image."""
        documents = list(yaml.safe_load_all(self.kubectl("kustomize", os.path.join(n.ROOT, "integration", "kubernetes"))))
        image = os.environ.get("KUBE_IMAGE")
        if image:
            sh(os.path.join(self.bin, "ctr"), "-n", "k8s.io", "images", "import", "--snapshotter", "native", image, stdout=subprocess.DEVNULL)
        for d in documents:
            if d["kind"] == "DaemonSet" and not image:
                spec = d["spec"]["template"]["spec"]
                for c in spec["containers"]:
                    c["image"], c["imagePullPolicy"] = n.IMAGE, "Never"
                    c["command"] = [self.work + "/bin/" + os.path.basename(c["command"][0])]
                    self.mounts(c, spec, "/usr", self.work + "/bin", self.build, n.ROOT + "/integration")
        self.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(documents))
        self.kubectl("-n", "xsched", "rollout", "status", "daemonset/xsched", "--timeout=50s")

    def pod(self, name, command, annotations=None, resources=None, namespace="default", priority_class=None):
        """Made; its container is named main."""
        container = {"name": "main", "image": n.IMAGE, "imagePullPolicy": "Never", "command": command,
                     "resources": {"limits": resources or {}},
                     "env": [{"name": k, "value": v} for k, v in (("POCL_MAX_PTHREAD_COUNT", "1"), ("POCL_CACHE_DIR", "/tmp/pocl"),
                                                                  ("HOME", "/tmp"))]}
        spec = {"containers": [container], "hostNetwork": True, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
        if priority_class:
            spec["priorityClassName"] = priority_class
        self.mounts(container, spec, *HOST, self.build)
        self.kubectl("apply", "-f", "-", text=yaml.safe_dump({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
            "spec": spec}))

    def load(self, *arguments):
        """The command of a pod that computes, on one core."""
        return ["/usr/bin/taskset", "-c", "0", self.build + "/demo/oclload", *arguments]

    def phase(self, name, namespace="default"):
        return self.kubectl("-n", namespace, "get", "pod", name, "-o", "jsonpath={.status.phase}")

    def log_of(self, name):
        return self.kubectl("logs", name)

    def in_force(self, name, priority, namespace="default", seconds=60):
        """Waits for the priority of the pod's queues."""
        from xsched_kube.xserver import XServer
        uid = self.kubectl("-n", namespace, "get", "pod", name, "-o", "jsonpath={.metadata.uid}")
        server = XServer("/run/xsched/http.sock")

        def found():
            try:
                pids = {c["pid"] for c in server.clients() if c["pod"] == uid}
                return [q["priority"] for q in server.queues() if q["pid"] in pids] == [priority]
            except OSError:
                return False
        wait_for(found, f"priority {priority} of {name}", seconds)

    def event(self, name, reason, namespace="default"):
        wait_for(lambda: name in self.kubectl("-n", namespace, "get", "events", "--field-selector", f"reason={reason}", "-o",
                                              "jsonpath={.items[*].involvedObject.name}"), f"event {reason} of {name}", 30)


def trial(c):
    """The manifests, resources, annotations, limits, events and restarts."""
    begin = time.monotonic()
    c.deploy()
    print(f"the DaemonSet is ready after {time.monotonic() - begin:.1f} s")
    wait_for(lambda: c.kubectl("get", "node", "node1", "-o", "jsonpath={.status.allocatable.xsched\\.dev/high}") == "1k", "resources")
    busy = c.load("stream", "--iterations", "20000", "--in-flight", "8", "--seconds", "600")
    c.pod("low", busy, resources={"xsched.dev/low": 1})
    c.in_force("low", -10)
    c.pod("high", busy, resources={"xsched.dev/high": 1}, annotations={"xsched.dev/priority": "20"})
    c.in_force("high", 20)  # the annotation comes after the resource
    c.pod("wrong", ["/usr/bin/sleep", "600"], annotations={"xsched.dev/priority": "much"})
    c.event("wrong", "InvalidAnnotation")
    wait_for(lambda: c.phase("wrong") == "Running", "the pod with a malformed annotation")

    begin = time.monotonic()
    c.kubectl("annotate", "--overwrite", "pod", "low", "xsched.dev/priority=3")
    c.in_force("low", 3)
    print(f"a changed annotation is in force after {time.monotonic() - begin:.2f} s, kubectl's own time with it")
    begin = time.monotonic()
    c.kubectl("-n", "xsched", "patch", "configmap", "xsched-table", "-p",
              json.dumps({"data": {"table": "[namespace default]\nmost = 15\n[priority-class fast]\npriority = 9\n"}}))
    c.in_force("high", 15, seconds=120)
    print(f"a changed ConfigMap is in force after {time.monotonic() - begin:.1f} s")
    c.event("high", "PriorityLimited")
    c.kubectl("create", "priorityclass", "fast", "--value=1000")
    c.pod("classed", busy, resources={"xsched.dev/normal": 1}, priority_class="fast")
    c.in_force("classed", 9)
    why = subprocess.run(["kubectl-xsched", "why", "high"], env=c.env, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "priority 15" in why and "PriorityLimited" in why, why
    top = subprocess.run(["kubectl-xsched", "top"], env=c.env, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"default +high +15 ", top) and re.search(r"default +low +3 ", top), top
    print(why + "\n" + top)

    running = {name: c.kubectl("get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].containerID}") for name in ("low", "high")}
    c.kubectl("-n", "xsched", "delete", "pod", "-l", "app.kubernetes.io/name=xsched", "--wait=true")  # agent and xserver
    c.kubectl("-n", "xsched", "rollout", "status", "daemonset/xsched", "--timeout=50s")
    c.in_force("low", 3)
    c.in_force("high", 15)
    c.end("kubelet")
    c.kubelet()
    wait_for(lambda: c.kubectl("get", "node", "node1", "-o", "jsonpath={.status.allocatable.xsched\\.dev/low}") == "1k", "resources", 60)
    c.pod("later", busy, resources={"xsched.dev/low": 1})
    c.in_force("later", -10)
    for name, identifier in running.items():
        assert c.phase(name) == "Running" and identifier == c.kubectl(
            "get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].containerID}"), name
    c.kubectl("delete", "pod", "--all", "--wait=true")


def measure(c, path):
    """Latencies of requests, each of four kernels of 1 ms, every 20 ms: alone, beside a busy pod natively, and with priorities."""
    c.deploy()
    weight = f"/sys/fs/cgroup/cpu/{c.cgroup}/cpu.shares"  # what else this machine does is no part of it
    if os.path.exists(weight):
        with open(weight, "w", encoding="ascii") as f:
            f.write("200000")
    c.pod("calibrate", c.load("calibrate", "--kernel-us", "1000"))
    wait_for(lambda: c.phase("calibrate") == "Succeeded", "calibration", 60)
    iterations = re.search(r"iterations=(\d+)", c.log_of("calibrate"))[1]
    requests = c.load("requests", "--iterations", iterations, "--kernels", "4", "--period-us", "20000", "--count", "300",
                      "--out", "/dev/stdout")
    busy = c.load("stream", "--iterations", iterations, "--in-flight", "64", "--seconds", "300")
    rows = []
    for way, high, low in (("alone", {}, None), ("natively", {}, {}), ("xsched", {"xsched.dev/high": 1}, {"xsched.dev/low": 1}),
                           ("alone", {}, None), ("natively", {}, {}), ("xsched", {"xsched.dev/high": 1}, {"xsched.dev/low": 1})):
        if low is not None:
            c.pod("busy", busy, resources=low)
            wait_for(lambda: c.phase("busy") == "Running", "the busy pod", 60)
            time.sleep(3)
        c.pod("requests", requests, resources=high)
        wait_for(lambda: c.phase("requests") in ("Succeeded", "Failed"), "requests", 120)
        text = c.log_of("requests")
        assert c.phase("requests") == "Succeeded", text[-500:]
        rows.append((way, latencies(text)))
        c.kubectl("delete", "pod", "--all", "--wait=true")
    with open(path, "w", encoding="utf-8") as f:
        f.write("way,requests,p50_us,p99_us\n")
        for way, values in rows:
            values.sort()
            f.write(f"{way},{len(values)},{values[len(values) // 2]:.0f},{values[len(values) * 99 // 100]:.0f}\n")


def latencies(text):
    """Of oclload's lines, in us."""
    found = []
    for line in text.splitlines():
        row = line.split(",")  # request, intended, begin, end
        if len(row) == 4 and row[0].isdigit():
            found.append((int(row[3]) - int(row[1])) / 1000)
    assert len(found) > 100, text[:500]
    return found


def inside(work, folder, build):
    enter(work)
    c = Cluster(folder, build, work)
    begin = time.monotonic()
    try:
        c.start()
        print(f"the node is ready after {time.monotonic() - begin:.1f} s", flush=True)
        wait_for(lambda: c.kubectl("get", "serviceaccount", "default", check=False), "the service account", 30)
        c.pod("first", ["/usr/bin/sleep", "600"])
        wait_for(lambda: c.phase("first") == "Running", "the first pod", 60)
        print(f"from nothing to the first pod: {time.monotonic() - begin:.1f} s", flush=True)
        if os.environ.get("KUBE_MEASURE"):
            measure(c, os.environ["KUBE_MEASURE"])
        else:
            trial(c)
    except BaseException:
        print(c.kubectl("get", "pods", "-A", check=False), c.kubectl("get", "events", "-A", check=False)[-3000:])
        print(c.kubectl("-n", "xsched", "logs", "daemonset/xsched", "-c", "agent", check=False)[-3000:])
        for name in ("kubelet", "containerd", "kube-apiserver", "kube-controller-manager"):
            if os.path.exists(os.path.join(work, name + ".log")):
                print(f"---- {name}\n" + "\n".join(x[:400] for x in c.log(name).splitlines()[-8:]))
        raise
    finally:
        c.clean()
    return 0


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def main(build, folder=""):
    if not folder:
        skip("no folder with a cluster's programs (XSCHED_KUBE_CLUSTER)")
    if os.getuid() != 0:
        skip("a kubelet needs root")
    for name in PROGRAMS:
        if not os.access(os.path.join(folder, "bin", name), os.X_OK):
            skip(f"{folder}/bin has no {name}")
    work = tempfile.mkdtemp(prefix="xsched-kube-")
    os.chmod(work, 0o755)
    sys.exit(n.outside(os.path.abspath(__file__), [folder, build], work))


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        sys.exit(inside(*sys.argv[2:]))
    main(os.path.abspath(sys.argv[1]), *[os.path.abspath(p) for p in sys.argv[2:] if p])
