# SPDX-License-Identifier: Apache-2.0
"""The agent without a runtime: what pods get, metrics, the API server, and device plugins before a fake kubelet that speaks
the real protocol."""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent import futures

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
grpc = pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")

import fakeapi  # noqa: E402
from node import wait_for  # noqa: E402
from xsched_kube import apiserver, cdi, metrics, nri, settings  # noqa: E402
from xsched_kube.deviceplugin import COUNT, DEVICE_PLUGIN, Plugins  # noqa: E402
from xsched_kube.messages import NRI, TTRPC, Messages  # noqa: E402
from xsched_kube.node import Container, Node, PodSeen  # noqa: E402

XSCHED = os.path.join(os.environ["XSCHED_BUILD_DIR"], "bin", "xsched")
UID = "0b1c9f5e-0d1f-4d9a-8f0e-7a4f0a7a4b11"


# ---- settings ----

TABLE = settings.read_table("""
[namespace small]
most = 5
[namespace *]
least = -50
[namespace usual]
priority = -20
[priority-class batch]
priority = low
""")


@pytest.mark.parametrize("namespace, annotations, priority_class, want, reasons", [
    ("a", {}, "", None, []),
    ("a", {"priority": "10"}, "", 10, []),
    ("a", {"priority": "-200"}, "", -50, ["PriorityLimited"]),
    ("kube-system", {"priority": "-200"}, "", -200, []),  # * does not hold there
    ("small", {"priority": "255"}, "", 5, ["PriorityLimited"]),
    ("small", {"priority": "-200"}, "", -200, []),  # its own row, not *
    ("usual", {}, "", -20, []),
    ("usual", {}, "batch", -10, []),
    ("usual", {}, "other", -20, []),
    ("usual", {"priority": "3"}, "batch", 3, ["TwoPriorities"]),
    ("usual", {"priority": "-10"}, "batch", -10, []),
    ("usual", {"priority": "x"}, "batch", -10, ["InvalidAnnotation"]),
    ("a", {"priority": "256"}, "", None, ["InvalidAnnotation"]),
    ("a", {"priority": "-256"}, "", None, ["InvalidAnnotation"]),  # never to run is no priority that a pod may ask for
    ("a", {"priority": "1e1"}, "", None, ["InvalidAnnotation"]),
    ("a", {"priority": "\u0661"}, "", None, ["InvalidAnnotation"]),
    ("a", {"Priority": "1"}, "", None, ["UnknownAnnotation"]),
    ("a", {"priority.c": "7", "priority": "1"}, "", 7, []),
    ("a", {"priority.d": "7", "priority": "1"}, "", 1, []),
    ("a", {"memory": "50%"}, "", 0, []),
    ("small", {"memory": "1G", "priority": "?"}, "", 0, ["InvalidAnnotation"]),
])
def test_settings(namespace, annotations, priority_class, want, reasons):
    got, notes = settings.settings_of(namespace, {"xsched.dev/" + k: v for k, v in annotations.items()} | {"other.org/x": "y"},
                                      priority_class, TABLE, "c")
    assert (got.priority, [n.reason for n in notes]) == (want, reasons)


@pytest.mark.parametrize("text", ["[namespace]\n", "[space x]\n", "[namespace x]\nceiling = 1\n", "[namespace x]\nmost = 300\n",
                                  "[namespace x]\nleast = 2\nmost = 1\n", "[priority-class x]\n", "most = 1\n", "[namespace x\n",
                                  "[namespace x]\nmost = 1\n[namespace x]\n", "[namespace x]\nmost = %(y)s\n"])
def test_wrong_tables_are_refused(text):
    with pytest.raises(ValueError):
        settings.read_table(text)


# ---- the node ----

def test_limits_are_written_once_all_pods_are_known(tmp_path):
    path = str(tmp_path / "limits")
    node = Node("", path)
    node.set_table(TABLE)
    node.saw_pod(PodSeen(UID, "p", "small", {}, None))
    assert not os.path.exists(path)
    node.all_seen()
    assert open(path, encoding="ascii").read() == f"{UID} -255..5\n"
    node.server_must_read = False
    node.saw_pod(PodSeen("b" + UID[1:], "q", "other", {}, None))
    assert open(path, encoding="ascii").read().count("\n") == 2 and not node.server_must_read
    node.saw_container(UID, Container("c" * 64, "c", ""))
    node.set_table(settings.read_table("[namespace small]\nmost = 6\n"))  # a program may have joined
    assert open(path, encoding="ascii").read() == f"{UID} -255..6\n" and node.server_must_read
    node.lost_pod(UID)
    assert open(path, encoding="ascii").read() == ""


def test_the_api_server_knows_better_than_the_runtime():
    node = Node("", "")
    node.saw_pod(PodSeen(UID, "p", "a", {"xsched.dev/priority": "1"}, None))
    node.saw_pod(PodSeen(UID, "p", "a", {"xsched.dev/priority": "2"}, ""))
    node.saw_pod(PodSeen(UID, "p", "a", {"xsched.dev/priority": "1"}, None))
    given = node.create_container(UID, "i", "c", [])
    assert given and given.devices[0] == "xsched.dev/pod=priority-2"


def test_without_nri_an_annotation_alone_is_said_to_do_nothing():
    node = Node("", "")
    asks = {"xsched.dev/priority": "1"}
    node.saw_pod(PodSeen(UID, "p", "a", asks, ""))
    node.saw_pod(PodSeen("b" + UID[1:], "q", "a", asks, "", True))
    node.saw_pod(PodSeen("c" + UID[1:], "r", "a", {}, ""))
    assert not any(p.said for p in node.pods.values())  # not known yet
    node.set_nri(False)
    assert [p.seen.name for p in node.pods.values() if p.said] == ["p"]
    node.saw_pod(PodSeen("d" + UID[1:], "s", "a", asks, ""))
    assert [n.reason for n in node.pods["d" + UID[1:]].said] == ["NotInjected"]
    for spec, want in (({"containers": [{"resources": {"limits": {"xsched.dev/low": 1}}}]}, True), ({"containers": [{}]}, False),
                       ({"containers": [{"resources": None}], "initContainers": [{"resources": {"limits": {"cpu": 1}}}]}, False)):
        assert apiserver._requests_us(spec) is want


# ---- metrics ----

def test_metrics_have_names_and_are_fast():
    node = Node("", "")
    text = ['# HELP xsched_process_info pod="x"', 'xsched_queues{state="idle"} 0', "xsched_uptime_seconds 3.5",
            'xsched_process_info{pid="1",command="a,pod=",cmdline="x \\",container=\\"\\",pod=\\"y"} 1']
    for i in range(1000):
        uid = f"{i:08x}" + UID[8:]
        node.saw_pod(PodSeen(uid, f"pod{i}", "team", {}, None))
        node.saw_container(uid, Container(f"{i:012x}" + "0" * 52, "main", ""))
        labels = f'pid="{i}",session="1",command="prog",user="root",container="{i:012x}",pod="{uid}"'
        text += [f"xsched_process_m{k}{{{labels}}} {k}" for k in range(9)]
        text += [f'xsched_queue_m{k}{{gpu="0",UUID="GPU-1",queue="{i}",{labels}}} {k}' for k in range(13)]
    whole = "\n".join(text) + "\n"
    begin = time.process_time()
    out = metrics.rewrite(whole, metrics.names(node)).split("\n")
    took = time.process_time() - begin
    print(f"1000 pods: {1000 * took:.0f} ms")
    assert out[:4] == text[:4]
    assert out[4] == (f'xsched_process_m0{{pid="0",session="1",command="prog",user="root",container="main",pod="pod0",'
                      f'namespace="team",pod_uuid="00000000{UID[8:]}"}} 0')
    assert 'gpu_uuid="GPU-1"' in out[20] and "UUID=" not in out[20].replace("gpu_uuid=", "")
    assert len(out) == len(text) + 1 and took < 0.5  # 50 ms on an idle machine


# ---- what comes over NRI's socket ----

class Runtime:
    """The other end, as bytes."""

    def __init__(self, path):
        self.types, self.ttrpc = Messages("nri2", NRI), Messages("ttrpc2", TTRPC)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.listener.settimeout(10)
        self.stream = 0

    def accept(self):
        self.peer, _ = self.listener.accept()
        self.peer.settimeout(10)
        connection, body = self.receive()
        request = self.ttrpc.Request.FromString(body)
        assert (connection, request.method) == (2, "RegisterPlugin")
        self.send(2, 1, 2, self.ttrpc.Response(payload=b""))
        assert self.call("Configure", self.types.ConfigureRequest(runtime_name="fake"), self.types.ConfigureResponse).events
        self.call("Synchronize", self.types.SynchronizeRequest(more=False), self.types.SynchronizeResponse)

    def take(self, size):
        data = b""
        while len(data) < size:
            part = self.peer.recv(size - len(data))
            assert part, "the agent closed the connection"
            data += part
        return data

    def receive(self):
        connection, length = struct.unpack(">II", self.take(8))
        return connection, self.take(length)[10:]

    def send(self, connection, stream, kind, message, part=0):
        body = message.SerializeToString()
        whole = struct.pack(">IIBB", len(body), stream, kind, 0) + body
        for at in range(0, len(whole), part or len(whole)):
            piece = whole[at:at + (part or len(whole))]
            self.peer.sendall(struct.pack(">II", connection, len(piece)) + piece)

    def call(self, method, message, answer, part=0):
        self.stream += 2
        self.send(1, self.stream, 1, self.ttrpc.Request(service="nri.pkg.api.v1alpha1.Plugin", method=method,
                                                        payload=message.SerializeToString()), part)
        response = self.ttrpc.Response.FromString(self.receive()[1])
        assert response.status.code == 0
        return answer.FromString(response.payload)

    def create(self, annotations, part=0):
        t = self.types
        pod = t.PodSandbox(id="s", name="p", uid=UID, namespace="a", annotations=[t.Pair(key=k, value=v) for k, v in annotations])
        return self.call("CreateContainer", t.CreateContainerRequest(pod=pod, container=t.Container(id="i", name="c")),
                         t.CreateContainerResponse, part)


def test_nri_in_pieces_with_errors_and_anew(tmp_path):
    path = str(tmp_path / "nri.sock")
    runtime, node = Runtime(path), Node("/lib/a.so", "")
    plugin = nri.Plugin(node, path)
    thread = threading.Thread(target=plugin.run, daemon=True)
    thread.start()
    runtime.accept()
    for part in (0, 1, 7):
        answer = runtime.create([("xsched.dev/priority", "4")], part)
        assert [d.name for d in answer.adjust.CDI_devices] == ["xsched.dev/pod=priority-4", "xsched.dev/pod=preload"]
        node.lost_pod(UID)
    assert not runtime.create([]).HasField("adjust")
    create, node.create_container = node.create_container, None  # any defect of ours
    assert not runtime.create([("xsched.dev/priority", "4")]).HasField("adjust")
    node.create_container = create
    assert runtime.call("Something", runtime.types.Empty(), runtime.types.Empty) is not None
    runtime.peer.sendall(struct.pack(">II", 1, 1 << 31))  # no message is so long
    runtime.accept()
    runtime.peer.close()
    runtime.accept()
    assert runtime.create([("xsched.dev/priority", "5")]).adjust.CDI_devices[0].name == "xsched.dev/pod=priority-5"
    plugin.stopped.set()
    runtime.peer.close()
    thread.join(10)
    assert not thread.is_alive()


# ---- the API server ----

def test_the_api_server_is_watched_and_told():
    api, node = fakeapi.FakeApi(), Node("", "")
    api.put(UID, "first", {"xsched.dev/priority": "x"}, containers=[("main", "a" * 64)])
    apiserver.Api(node, api.url, "node1").start()
    event = wait_for(lambda: api.events and api.events[0], "the event", 10)
    assert (event["reason"], event["involvedObject"]["uid"], event["type"]) == ("InvalidAnnotation", UID, "Warning")
    assert list(node.pods[UID].containers) == ["a" * 64]
    api.put(UID, "first", {"xsched.dev/priority": "9"}, priority_class="fast")
    wait_for(lambda: node.settings(node.pods[UID], "main").priority == 9, "the change", 10)
    other = "c" + UID[1:]
    api.put(other, "second")
    wait_for(lambda: other in node.pods, "the second pod", 10)


# ---- device plugins ----

class Kubelet:
    """Its registry, and what it then asks a plugin."""

    def __init__(self, folder):
        self.folder, self.types, self.registered = str(folder), Messages("kubelet", DEVICE_PLUGIN), {}
        self.server = None

    def start(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))

        def register(request, _):
            assert request.version == "v1beta1"
            self.registered[request.resource_name] = os.path.join(self.folder, request.endpoint)
            return self.types.Empty()
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.Registration", {
            "Register": grpc.unary_unary_rpc_method_handler(register, request_deserializer=self.types.RegisterRequest.FromString,
                                                            response_serializer=lambda m: m.SerializeToString())}),))
        assert self.server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        self.server.start()

    def restart(self):
        """As a kubelet does: what lies in its folder is removed."""
        self.server.stop(0).wait()
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        self.registered = {}
        self.start()

    def ask(self, resource, devices):
        """@return how many devices it offers, what a container with these gets"""
        t = self.types
        with grpc.insecure_channel("unix:" + self.registered[resource]) as channel:
            def method(name, kind, answer):
                return kind(f"/v1beta1.DevicePlugin/{name}", request_serializer=lambda m: m.SerializeToString(),
                            response_deserializer=answer.FromString)
            assert not method("GetDevicePluginOptions", channel.unary_unary, t.DevicePluginOptions)(t.Empty(), timeout=10).pre_start_required
            stream = method("ListAndWatch", channel.unary_stream, t.ListAndWatchResponse)(t.Empty(), timeout=10)
            listed = next(stream).devices
            assert {d.health for d in listed} == {"Healthy"} and set(devices) <= {d.ID for d in listed}
            request = t.AllocateRequest(container_requests=[t.ContainerAllocateRequest(devicesIDs=devices)])
            answer = method("Allocate", channel.unary_unary, t.AllocateResponse)(request, timeout=10)
            stream.cancel()
        return len(listed), answer.container_responses


def test_device_plugins(tmp_path):
    given = cdi.libraries(XSCHED, str(tmp_path), "")
    kubelet, minor = Kubelet(tmp_path), [20]
    plugins = Plugins(str(tmp_path), given, lambda: minor[0])
    plugins.step()  # no kubelet yet
    kubelet.start()
    plugins.step()
    assert sorted(kubelet.registered) == ["xsched.dev/high", "xsched.dev/low", "xsched.dev/normal"]
    count, (one,) = kubelet.ask("xsched.dev/low", ["low-7"])
    environment = {p.key: p.value for p in one.envs}
    assert count == COUNT and environment["XSCHED_PRIORITY"] == "-10" and "libshimcuda.so" in environment["LD_PRELOAD"]
    assert all(m.read_only and os.path.exists(m.host_path) for m in one.mounts) and not one.cdi_devices
    assert {m.container_path for m in one.mounts} >= {"/run/xsched", "/opt/xsched/lib/libpreempt.so.1"}
    minor[0] = 31
    kubelet.restart()
    plugins.step()
    _, (one,) = kubelet.ask("xsched.dev/high", ["high-0"])
    assert [d.name for d in one.cdi_devices] == ["xsched.dev/pod=priority-10", "xsched.dev/pod=preload"] and not one.envs
    served = plugins.servers
    plugins.step()  # the same kubelet
    assert plugins.servers is served
    plugins._stop()
    kubelet.server.stop(0)


# ---- CDI ----

def test_the_specification_is_whole_and_written_once(tmp_path):
    given = cdi.libraries(XSCHED, str(tmp_path), "/host/lib")
    assert all(here.startswith("/host/lib/") for here, inside in given.mounts if inside != "/run/xsched")
    assert ("/host/lib/xsched/libshimcuda.so", "/opt/xsched/lib/xsched/libshimcuda.so") in given.mounts
    assert cdi.write(str(tmp_path), given)
    path = tmp_path / cdi.FILE
    spec = json.loads(path.read_text())
    assert len(spec["devices"]) == 512 and {d["name"] for d in spec["devices"]} >= {"preload", "priority--255", "priority-0"}
    assert not any(v.startswith("LD_PRELOAD") for v in spec["containerEdits"]["env"])
    before = path.stat()
    assert cdi.write(str(tmp_path), given) and path.stat() == before
    assert not cdi.write("/proc/no", given)


def test_libraries_are_copied_beside_those_in_use(tmp_path):
    cdi.copy_libraries(XSCHED, str(tmp_path), str(tmp_path / "lib"))
    library = tmp_path / "lib" / "libpreempt.so.1"
    inode = library.stat().st_ino
    assert (tmp_path / "lib" / "xsched" / "libshimcuda.so").exists()
    cdi.copy_libraries(XSCHED, str(tmp_path), str(tmp_path / "lib"))
    assert library.stat().st_ino == inode
    with open(library, "rb") as used:
        library.write_bytes(b"older")
        os.rename(library, tmp_path / "older")
        os.link(tmp_path / "older", library)
        cdi.copy_libraries(XSCHED, str(tmp_path), str(tmp_path / "lib"))
        assert used.read(5) == b"older" and library.stat().st_size > 1000


# ---- the command ----

def test_top_and_why_without_an_agent(tmp_path):
    done = subprocess.run([sys.executable, "-B", "-m", "xsched_kube", "--socket", str(tmp_path / "s"), "why", "x"], text=True,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and "no agent answers" in done.stderr
