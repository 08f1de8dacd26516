#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pods on containerd 2 with NRI, over its real CRI socket, with the agent and xserver: containerd.py BUILD_DIR [FOLDER]
KUBE_CASE names one case (costs: what is judged by the clock); without it all others run.

FOLDER has containerd, containerd-shim-runc-v2, ctr and runc (below bin/); without one packages.sh fetches them into
BUILD_DIR/kube. A pod's programs run on PoCL. Exit status 77: skipped (the reason is printed)."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import node as n
from node import wait_for

LOOK = ["/usr/bin/sh", "-c", "env; sed -n 's/.* \\/\\(.*\\.so.*\\)/map=\\/\\1/p' /proc/self/maps | sort -u"]
SHIM = "libshimcuda.so"


RESULTS = ("annotation_gives_priority", "ways_together", "bad_input_starts", "static_programs_start", "containers_differ",
           "ceilings_hold", "running_pods_follow", "metrics_name_pods", "agent_away", "answers_are_no_errors", "containerd_restarts")


class Seen:
    """What a container's program saw."""

    def __init__(self, client, container):
        status, lines = client.output(container)
        assert status == 0, (status, lines)
        self.env = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("map="))
        self.maps = [line[4:] for line in lines if line.startswith("map=")]
        self.priority = self.env.get("XSCHED_PRIORITY")

    def has_shim(self):
        return any(SHIM in m for m in self.maps)


class Cases:
    """In order: each leaves the node as it found it, unless it says so."""

    def __init__(self, node, client, api):
        self.node, self.client, self.api = node, client, api

    def look(self, annotations=None, namespace="default", known=True, container_annotations=None, **more):
        """A pod that shows what it got."""
        pod = self.client.pod(annotations, namespace)
        if known:
            self.api.put_pod(pod, annotations)
        seen = Seen(self.client, self.client.start(pod, LOOK, annotations=container_annotations, **more))
        seen.notes = [(x["reason"], x["text"]) for x in self.pods().get(pod.uid, {"notes": []})["notes"]]
        self.client.remove(pod)
        return seen

    def pods(self):
        """What the agent knows, by UID."""
        from xsched_kube import answers
        try:
            return {p["uid"]: p for p in answers.fetch("/run/xsched-kube/kube.sock")["pods"]}
        except OSError:
            return {}

    def load(self, pod, **more):
        """A program on PoCL that goes on until it is stopped."""
        return self.client.start(pod, ["/usr/bin/env", "POCL_MAX_PTHREAD_COUNT=1", "POCL_CACHE_DIR=/tmp/pocl", "HOME=/tmp",
                                       self.node.build + "/demo/oclload", "stream", "--iterations", "20000", "--in-flight", "8",
                                       "--seconds", "120"], mounts=(self.node.build,), **more)

    def programs(self):
        """What xserver knows: (pod, container) -> priorities of its queues"""
        from xsched_kube.xserver import XServer
        server = XServer("/run/xsched/http.sock")
        by_pid = {}
        try:
            for q in server.queues():
                by_pid.setdefault(q["pid"], []).append(q["priority"])
            return {(c["pod"], c["container"]): by_pid.get(c["pid"], []) for c in server.clients()}
        except OSError:
            return {}

    def in_force(self, pod, container, priority, seconds=30):
        try:
            wait_for(lambda: self.programs().get((pod.uid, container.id[:12])) == [priority], f"priority {priority}", seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}: {pod.uid} {container.id}: {self.programs()}") from None

    # ---- the cases ----

    def annotation_gives_priority(self):
        for text, want in (("10", "10"), ("-7", "-7"), ("high", "10"), (" +3 ", "3")):
            seen = self.look({"xsched.dev/priority": text})
            assert seen.priority == want and seen.has_shim(), (text, seen.env, seen.maps)
        seen = self.look({"xsched.dev/share": "30%", "xsched.dev/memory": "8Gi", "xsched.dev/sharing": "time",
                          "xsched.dev/swap": "on"})
        got = {k: v for k, v in seen.env.items() if k.startswith("XSCHED_")}
        assert got == {"XSCHED_PRIORITY": "0", "XSCHED_AUTO_XQUEUE_UTILIZATION": "30", "XSCHED_MEM_LIMIT": "8G",
                       "XSCHED_SHARE": "TIME", "XSCHED_SWAP": "ON"}, got
        seen = self.look()
        assert seen.priority is None and not seen.has_shim(), seen.env

    def ways_together(self):
        with open("/run/cdi/other.json", "wb") as f:
            f.write(subprocess.run([self.node.build + "/bin/xsched", "cdi", "--socket-folder=/run/xsched"], check=True,
                                   stdout=subprocess.PIPE).stdout)
        low = ["xsched.dev/queue=low"]
        assert self.look(devices=low).priority == "-10"
        by_annotation = {"cdi.k8s.io/x": "xsched.dev/queue=background"}
        ten = {"xsched.dev/priority": "10"}
        for more in ({"devices": low}, {"env": {"XSCHED_PRIORITY": "50"}}, {"container_annotations": by_annotation},
                     {"devices": low, "env": {"XSCHED_PRIORITY": "50"}}):
            seen = self.look(ten, **more)
            assert seen.priority == "10" and seen.has_shim(), (more, seen.env)
        own = "/usr/lib/x86_64-linux-gnu/libm.so.6"
        seen = self.look(ten, env={"LD_PRELOAD": own})
        assert seen.env["LD_PRELOAD"].endswith(":" + own) and seen.has_shim() and any("libm.so.6" in m for m in seen.maps), seen.env
        seen = self.look(ten, restricted=True)
        assert seen.priority == "10" and seen.has_shim(), seen.env
        os.unlink("/run/cdi/other.json")

    def bad_input_starts(self):
        for key, text, reason in (("priority", "ten", "InvalidAnnotation"), ("priority", "999", "InvalidAnnotation"),
                                  ("priority", "", "InvalidAnnotation"), ("priority", "1\n2", "InvalidAnnotation"),
                                  ("priorty", "10", "UnknownAnnotation"), ("memory", "lots", "InvalidAnnotation"),
                                  ("share", "0", "InvalidAnnotation"), ("sharing", "both", "InvalidAnnotation"), ("swap", "yes", "InvalidAnnotation")):
            seen = self.look({"xsched.dev/" + key: text})
            assert seen.priority is None and not seen.has_shim(), (key, text, seen.env)
            assert [r for r, _ in seen.notes] == [reason], (key, text, seen.notes)
        seen = self.look({"xsched.dev/priority": "7", "xsched.dev/priority.other": "x", "xsched.dev/memory": "?"})
        assert seen.priority == "7" and len(seen.notes) == 1, (seen.env, seen.notes)
        wait_for(lambda: [e for e in self.api.events if e["reason"] == "UnknownAnnotation"], "an event")
        event = self.api.events[-1]
        assert event["involvedObject"]["kind"] == "Pod" and "memory" in event["message"], event

    def static_programs_start(self):
        """Nothing can be preloaded into them."""
        pod = self.client.pod({"xsched.dev/priority": "10"})
        c = self.client.start(pod, ["/pause"], image="localhost/pause:1")
        time.sleep(0.3)
        assert self.client.is_running(c)
        self.client.remove(pod)

    def containers_differ(self):
        pod = self.client.pod({"xsched.dev/priority": "5", "xsched.dev/priority.first": "20"})
        a = Seen(self.client, self.client.start(pod, LOOK, name="first"))
        b = Seen(self.client, self.client.start(pod, LOOK, name="second"))
        assert (a.priority, b.priority) == ("20", "5"), (a.env, b.env)
        self.client.remove(pod)

    def ceilings_hold(self):
        self.node.table("[namespace small]\nmost = 5\n[namespace usual]\npriority = -20\n[priority-class batch]\npriority = -30\n")
        seen = self.look({"xsched.dev/priority": "50"}, "small")
        assert seen.priority == "5" and [r for r, _ in seen.notes] == ["PriorityLimited"], (seen.env, seen.notes)
        assert self.look({}, "usual").priority == "-20"
        # a program that says a priority itself, past the agent
        pod = self.client.pod({}, "small")
        with open("/run/cdi/other.json", "wb") as f:
            f.write(subprocess.run([self.node.build + "/bin/xsched", "cdi", "--socket-folder=/run/xsched"], check=True,
                                   stdout=subprocess.PIPE).stdout)
        c = self.load(pod, devices=["xsched.dev/queue=urgent"])
        self.in_force(pod, c, 5)
        self.client.remove(pod)
        os.unlink("/run/cdi/other.json")

    def running_pods_follow(self):
        pod = self.client.pod({"xsched.dev/priority": "10"}, "small2")
        self.api.put_pod(pod, {"xsched.dev/priority": "10"})
        c = self.load(pod)
        self.in_force(pod, c, 10)
        begin = time.monotonic()
        self.api.put_pod(pod, {"xsched.dev/priority": "-3"})
        self.in_force(pod, c, -3)
        print(f"a changed annotation is in force after {time.monotonic() - begin:.2f} s")
        self.api.put_pod(pod, {"xsched.dev/priority": "wrong"})
        self.in_force(pod, c, 0)
        self.api.put_pod(pod, {"xsched.dev/priority": "80"})
        self.in_force(pod, c, 80)
        self.node.table("[namespace small2]\nmost = 30\n")  # a ceiling that comes later
        self.in_force(pod, c, 30)
        wait_for(lambda: [e for e in self.api.events if e["reason"] == "PriorityLimited" and e["metadata"]["namespace"] == "small2"],
                 "the event")
        self.api.put_pod(pod, {}, priority_class="fast")
        self.node.table("[priority-class fast]\npriority = 44\n")
        self.in_force(pod, c, 44)
        # another xserver: programs join it, and it hears the changed priority again
        self.node.end("xserver", signal.SIGKILL)
        assert self.client.is_running(c)
        assert self.look({"xsched.dev/priority": "10"}).has_shim()  # starts where no xserver is, too
        self.node.xserver()
        self.in_force(pod, c, 44)
        # another agent: what it finds, it makes so again
        self.node.end("agent", signal.SIGKILL)
        self.api.put_pod(pod, {"xsched.dev/priority": "21"})
        self.node.agent(*self.node.agent_arguments)
        self.in_force(pod, c, 21)
        assert self.client.is_running(c)
        self.client.remove(pod)

    def metrics_name_pods(self):
        import urllib.request
        pod = self.client.pod({"xsched.dev/priority": "10"}, "team", "named")
        c = self.load(pod)
        self.in_force(pod, c, 10)

        def get(path):
            with urllib.request.urlopen("http://127.0.0.1:9465" + path, timeout=10) as answer:
                return answer.read().decode()
        labels = f'container="{c.name}",pod="named",namespace="team",pod_uuid="{pod.uid}"'
        text = get("/metrics")
        for name in ("xsched_process_device_seconds_total", "xsched_queue_priority", "xsched_queue_preemptions_total"):
            assert re.search(f"^{name}{{.*{labels}.*}} ", text, re.M), [x for x in text.splitlines() if name in x]
        assert json.loads(get("/admission?priority=20&share=0.9"))["admitted"] in (True, False)
        for path in ("/pods", "/hint", "/admission", "/clients"):
            try:
                get(path)
            except OSError as e:
                assert "404" in str(e), (path, e)
            else:
                raise AssertionError(f"the port answers {path}")
        self.client.remove(pod)

    def agent_away(self):
        ten = {"xsched.dev/priority": "10"}
        self.node.end("agent", signal.SIGKILL)
        assert self.look(ten).priority is None  # it starts all the same
        late = self.client.pod(ten)
        c = self.client.start(late, ["/usr/bin/sleep", "60"])
        self.node.agent(*self.node.agent_arguments)
        wait_for(lambda: self.pods().get(late.uid), "the pod of before")
        assert [x["reason"] for x in self.pods()[late.uid]["notes"]] == ["NotInjected"], self.pods()[late.uid]
        assert self.client.is_running(c)
        self.client.remove(late)
        assert self.look(ten).priority == "10"
        # stopped: the runtime waits for it two seconds, then goes on without it
        times = self.node.log("agent").count("registered with the runtime")
        self.node.send("agent", signal.SIGSTOP)
        begin = time.monotonic()
        pod = self.client.pod(ten)
        seen = Seen(self.client, self.client.start(pod, LOOK))
        assert seen.priority is None and time.monotonic() - begin < 10, (seen.env, time.monotonic() - begin)
        print(f"beside a stopped agent a pod's first container started after {time.monotonic() - begin:.1f} s")
        self.client.remove(pod)
        self.node.send("agent", signal.SIGCONT)
        self.node.registered(times)
        assert self.look(ten).priority == "10"

    def answers_are_no_errors(self):
        """What the agent cannot do is its own affair: the container starts."""
        spec = "/run/cdi/xsched-pod.json"
        os.rename("/run/xsched-kube/limits", "/run/xsched-kube/before")
        os.mkdir("/run/xsched-kube/limits")  # nothing can take this name
        self.node.table("[namespace tight]\nmost = 3\n")
        assert self.look({"xsched.dev/priority": "10"}, "tight").priority == "3"
        os.rmdir("/run/xsched-kube/limits")
        self.node.table("")
        assert os.path.exists(spec)

    def containerd_restarts(self):
        ten = {"xsched.dev/priority": "10"}
        pod = self.client.pod(ten)
        c = self.load(pod)
        self.in_force(pod, c, 10)
        times = self.node.log("agent").count("registered with the runtime")
        self.node.end("containerd")
        self.node.containerd()
        self.client.wait()
        self.node.registered(times)
        assert self.client.is_running(c)
        assert self.look(ten).priority == "10"
        self.in_force(pod, c, 10)
        self.client.remove(pod)

    def costs(self):
        """Time of CreateContainer and StartContainer with and without a priority; the agent's memory and idle CPU time."""
        times = {}
        plain, asks = self.client.pod({}), self.client.pod({"xsched.dev/priority": "1"})
        for i in range(13):
            for name, pod in (("plain", plain), ("asks", asks)):
                self.client.output(self.client.start(pod, ["/usr/bin/true"]))
                if i:
                    times.setdefault(name, []).append(1000 * (self.client.created_s + self.client.started_s))
        more = min(times["asks"]) - min(times["plain"])  # what else the machine does adds to some of them
        print(f"create and start: {min(times['plain']):.0f} ms, with a priority {min(times['asks']):.0f} ms")
        assert more < 50, times
        self.client.remove(plain)
        self.client.remove(asks)

        def ticks():
            with open(f"/proc/{self.node.running['agent'].pid}/stat", encoding="ascii") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        time.sleep(0.5)
        before = ticks()
        time.sleep(6)
        used = ticks() - before
        with open(f"/proc/{self.node.running['agent'].pid}/status", encoding="ascii") as f:
            rss = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024
        print(f"the agent: {rss:.0f} MB, {used * 10} ms of CPU time in 6 idle seconds")
        assert rss < 40 and used <= 1, (rss, used)


def inside(work, binaries, build, only):
    n.enter()
    import fakeapi
    node = n.Node(binaries, build, work)
    begin = time.monotonic()
    try:
        node.containerd()
        client = node.client()
        print(client.wait(), f"answers after {time.monotonic() - begin:.2f} s")
        node.images()
        api = fakeapi.FakeApi()
        node.xserver()
        node.agent(f"--api-server={api.url}", "--metrics-port=9465")
        print(f"the first pod can come after {time.monotonic() - begin:.2f} s")
        cases = Cases(node, client, api)
        for name in RESULTS if only == "results" else (only,):
            begin = time.monotonic()
            getattr(cases, name)()
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    except BaseException:
        for name in ("agent", "xserver", "containerd"):
            if os.path.exists(os.path.join(work, name + ".log")):
                print(f"---- {name}\n" + node.log(name)[-4000:])
        raise
    finally:
        node.clean()
    return 0


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def main(build, binaries=""):
    if os.getuid() != 0:
        skip("containerd needs root")
    try:
        import google.protobuf  # noqa: F401  pylint: disable=unused-import
        import grpc  # noqa: F401  pylint: disable=unused-import
    except ImportError as e:
        skip(f"{e.name} is not installed (python3-grpcio, python3-protobuf)")
    if not os.path.exists(os.path.join(build, "demo", "oclload")):
        skip("no OpenCL client was built")
    if not binaries:
        binaries = os.path.join(build, "kube")
        done = subprocess.run([os.path.join(n.HERE, "packages.sh"), binaries], check=False)
        if done.returncode:
            sys.exit(done.returncode)
    work = tempfile.mkdtemp(prefix="xsched-kube-")
    os.chmod(work, 0o755)
    only = os.environ.get("KUBE_CASE", "results")
    sys.exit(n.outside(os.path.abspath(__file__), [os.path.join(binaries, "bin"), build, only], work))


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        sys.exit(inside(*sys.argv[2:]))
    main(os.path.abspath(sys.argv[1]), *map(os.path.abspath, sys.argv[2:]))
