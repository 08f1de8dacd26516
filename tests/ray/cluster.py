#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Priorities of Ray's actors and tasks on several raylets of one machine: cluster.py BUILD_DIR FOLDER [RESULTS]

The head and the node `far` have no xserver, `left` and `right` have one each. Shown: an actor's priority on each node, beside a
background actor there (PoCL with one thread, each node on a core of its own); a priority that is changed while a method runs, and that
stays when the actor is restarted on another node; Ray's metrics; what an actor's start takes; and jobs that run all the same: without
xserver, without XSched, with an LD_PRELOAD of their own, with a priority beyond the limits, without a priority.
"""
import contextlib
import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

import ray
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import xsched
import xsched.ray

BUILD, FOLDER = sys.argv[1:3]
RESULTS = open(sys.argv[3], "w", encoding="utf-8") if len(sys.argv) > 3 else None
NODES = ("left", "right")
CORES = sorted(os.sched_getaffinity(0))
KERNEL_US, KERNELS, PERIOD_S, COUNT = 1000, 8, 0.03, 60
HIGH, LOW = 40, -10
SOURCE = """__kernel void spin(__global float *x, int n) {
    float a = x[get_global_id(0)];
    for (int i = 0; i < n; i++) a = a * 1.0001f + 0.5f;
    x[get_global_id(0)] = a;
}"""
failed = []


def socket_of(node):
    return f"{FOLDER}/{node}/xserver.sock"


@contextlib.contextmanager
def step(text):
    begin = time.monotonic()
    try:
        yield
    except Exception as error:  # the others are looked at all the same
        failed.append(text)
        print(f"FAILED  {text}: {type(error).__name__}: {error}", flush=True)
    else:
        print(f"ok      {text} ({time.monotonic() - begin:.1f} s)", flush=True)


def record(workload, variant, metric, value, unit, **more):
    if RESULTS:
        print(json.dumps({"workload": workload, "variant": variant, "metric": metric, "value": round(value, 3), "unit": unit, **more}),
              file=RESULTS, flush=True)


def wait_for(what, condition, seconds=40):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


def status(node):
    os.environ["XSCHED_SOCKET"] = socket_of(node)
    try:
        return xsched.status()
    finally:
        os.environ["XSCHED_SOCKET"] = socket_of("none")


def priorities(node, pid):
    return {q.priority for q in status(node).of(pid)}


def logged(text):
    return [f for f in glob.glob(f"{FOLDER}/ray/session_latest/logs/*") if os.path.isfile(f) and text in open(f, errors="replace").read()]


class Load:
    """A client of the node's device, which is one core."""

    def __init__(self, core=None):
        if core is not None:
            os.sched_setaffinity(0, {core})
            with contextlib.suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, 0, -15)
        self.queue = None

    def begin(self):
        import numpy
        import pyopencl as cl
        if self.queue is None:
            context = cl.Context([p for p in cl.get_platforms() if "Portable" in p.name][0].get_devices())
            self.cl, self.queue = cl, cl.CommandQueue(context)
            self.buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64 * 4)
            cl.enqueue_copy(self.queue, self.buffer, numpy.zeros(64, numpy.float32))
            self.kernel = cl.Program(context, SOURCE).build().spin
        return os.getpid()

    def launch(self, iterations):
        import numpy
        self.kernel.set_args(self.buffer, numpy.int32(iterations))
        return self.cl.enqueue_nd_range_kernel(self.queue, self.kernel, (64,), (64,))

    def calibrate(self):
        self.begin()
        took, n = 1.0, 20000
        for _ in range(4):
            times = []
            for _ in range(9):
                begin = time.perf_counter()
                self.launch(n)
                self.queue.finish()
                times.append(time.perf_counter() - begin)
            took = min(times)
            n = max(100, int(n * KERNEL_US / 1e6 / took))
        return n

    def requests(self, iterations, count=COUNT):
        """Milliseconds of each."""
        self.begin()
        times = []
        for i in range(count + 5):
            begin = time.perf_counter()
            for _ in range(KERNELS):
                self.launch(iterations)
            self.queue.finish()
            took = time.perf_counter() - begin
            times.append(took * 1e3)
            time.sleep(max(0.0, PERIOD_S - took))
        return times[5:]

    def stream(self, iterations, until):
        """Kernels without a pause until a file is there."""
        self.begin()
        launched, events = 0, []
        while not os.path.exists(until):
            events.append(self.launch(iterations))
            launched += 1
            if len(events) == 16:
                events.pop(0).wait()
        self.queue.finish()
        return launched

    def facts(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            shims = "libshimopencl" in maps.read()
        return {"pid": os.getpid(), "priority": os.environ.get("XSCHED_PRIORITY"), "preload": os.environ.get("LD_PRELOAD", ""),
                "shims": shims, "node": ray.get_runtime_context().get_node_id(), "mine": os.environ.get("MINE")}

    def leave(self):
        os._exit(1)


def on(cluster_node):
    return NodeAffinitySchedulingStrategy(node_id=cluster_node.node_id, soft=False)


def start_xserver(node):
    os.makedirs(f"{FOLDER}/{node}", exist_ok=True)
    quick = ["nice", "-n", "-19"] if os.geteuid() == 0 else []
    with open(f"{FOLDER}/{node}/log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([*quick, f"{BUILD}/bin/xserver", "--socket", socket_of(node), "--port", "0"], stderr=log)
    wait_for("xserver", lambda: os.path.exists(f"{FOLDER}/{node}/http.sock"))
    return process


def median_ms(actor, iterations):
    times = ray.get(actor.requests.remote(iterations), timeout=120)
    return statistics.median(times), times


def beside(node, cluster_node, core):
    """Alone, beside a background actor, and what becomes of it when the background actor's priority is changed."""
    high = xsched.ray.priority(HIGH)(ray.remote(num_cpus=0)(Load)).options(scheduling_strategy=on(cluster_node)).remote(core)
    low = xsched.ray.priority(LOW)(ray.remote(num_cpus=0, name=f"low-{node}")(Load)).options(
        scheduling_strategy=on(cluster_node), name=f"low-{node}").remote(core)
    pids = ray.get([high.begin.remote(), low.begin.remote()], timeout=120)
    wait_for("their priorities", lambda: [priorities(node, pid) for pid in pids] == [{HIGH}, {LOW}])
    assert not set(pids) & {p.pid for other in NODES if other != node for p in status(other).processes}, "at another node's xserver"
    iterations = ray.get(high.calibrate.remote(), timeout=120)
    for attempt in range(4):  # something else may have the core meanwhile
        stop = f"{FOLDER}/stop-{node}-{attempt}"
        alone, alone_times = median_ms(high, iterations)
        work = low.stream.remote(iterations, stop)
        try:
            before = sum(q.commands for q in status(node).of(pids[1]))
            wait_for("the background actor", lambda: sum(q.commands for q in status(node).of(pids[1])) > before + 100)
            with_low, low_times = median_ms(high, iterations)
            told = xsched.ray.set_priority(f"low-{node}", HIGH + 10)
            assert told == (pids[1],), f"told {told}, not {pids[1]}"
            assert priorities(node, pids[1]) == {HIGH + 10}
            waiting = high.requests.remote(iterations, 5)  # a third of a second, natively a whole one at most
            assert not ray.wait([waiting], timeout=3)[0], "a change of the priority changed nothing"
            xsched.ray.set_priority(low, LOW)
            wait_for("the old priority", lambda: priorities(node, pids[1]) == {LOW})
        finally:
            open(stop, "w", encoding="utf-8").close()
        assert ray.get(work, timeout=120) > 100
        ray.get(waiting, timeout=60)
        print(f"        {node}: a request takes {alone:.1f} ms alone, {with_low:.1f} ms beside the background actor (P50)", flush=True)
        record("ray-actors", "alone", "p50", alone, "ms", side="high", node=node, n=COUNT, run=attempt, samples=[round(t, 2) for t in alone_times])
        record("ray-actors", "xsched", "p50", with_low, "ms", side="high", node=node, n=COUNT, run=attempt, samples=[round(t, 2) for t in low_times])
        if with_low <= 1.3 * alone:
            return high, low
    raise AssertionError(f"{with_low:.1f} ms beside, {alone:.1f} ms alone")


def native(cluster_node, core):
    """The same two without priorities: the measure of what the test can see."""
    plain = ray.remote(num_cpus=0)(Load).options(scheduling_strategy=on(cluster_node))
    one, two = plain.remote(core), plain.remote(core)
    facts = ray.get(one.facts.remote(), timeout=120)
    assert not facts["shims"] and facts["priority"] is None, f"scheduled without having asked: {facts}"
    iterations = ray.get(one.calibrate.remote(), timeout=120)
    for attempt in range(4):  # something else may have the core meanwhile
        stop = f"{FOLDER}/stop-native-{attempt}"
        alone = statistics.quantiles(median_ms(one, iterations)[1], n=10)[0]  # what it takes where nothing else disturbs it
        work = two.stream.remote(iterations, stop)
        time.sleep(2)
        both, times = median_ms(one, iterations)
        open(stop, "w", encoding="utf-8").close()
        ray.get(work, timeout=60)
        print(f"        without priorities {both:.1f} ms (P50), {alone:.1f} ms alone (P10)", flush=True)
        record("ray-actors", "native", "p50", both, "ms", side="high", node="left", n=COUNT, run=attempt, samples=[round(t, 2) for t in times])
        if both > 1.3 * alone:
            break
    else:
        raise AssertionError("two actors do not disturb each other here")
    assert all(p.pid != facts["pid"] for p in status("left").processes)
    ray.kill(one)
    ray.kill(two)


def starts(cluster_node, least_rounds=8, most_rounds=24):
    """The least of several, by turns with a runtime_env that has nothing of XSched: whatever else the machine does only adds, and
    more rounds take that away."""
    took = {"plain": [], "priority": []}
    for i in range(most_rounds):
        if i >= least_rounds and min(took["priority"]) - min(took["plain"]) <= 100:
            break
        for kind, extra in took.items():
            env = {"env_vars": {"ROUND": f"{kind}-{i}"}}
            if kind == "priority":
                env = xsched.ray.runtime_env(5, env)
            begin = time.perf_counter()
            actor = ray.remote(num_cpus=0)(Load).options(scheduling_strategy=on(cluster_node), runtime_env=env).remote()
            ray.get(actor.facts.remote(), timeout=120)
            extra.append((time.perf_counter() - begin) * 1e3)
            ray.kill(actor)
    least = {kind: min(values) for kind, values in took.items()}
    for kind, values in took.items():
        record("ray-start", "xsched" if kind == "priority" else "native", "min", least[kind], "ms", n=len(values), samples=[round(v, 1) for v in values])
    print(f"        an actor runs after {least['priority']:.0f} ms, with another runtime_env after {least['plain']:.0f} ms", flush=True)
    assert least["priority"] - least["plain"] <= 100


def metrics_of(node_id):
    node = next(n for n in ray.nodes() if n["NodeID"] == node_id)
    url = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return [line for line in answer.read().decode().splitlines() if "xsched_actor" in line and not line.startswith("#")]


def published(actor, node_id):
    actor_id = actor._actor_id.hex()
    lines = [line for line in metrics_of(node_id) if actor_id in line]
    values = {line.split("{")[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
    assert all('ActorClass="Load"' in line for line in lines), lines
    # what is published each few seconds is of now only after a while
    ready = values.get("ray_xsched_actor_waiting_seconds_total", 0) > 0 and values.get("ray_xsched_actor_priority") == LOW
    return values if ready else None


def main():
    servers = [start_xserver(node) for node in NODES]
    os.environ["XSCHED_SOCKET"] = socket_of("none")  # the head's and the driver's
    os.environ["RAY_TMPDIR"] = FOLDER
    os.mkdir(FOLDER + "/ray")
    cluster = None
    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": False})
        left, right = (cluster.add_node(num_cpus=4, resources={"device": 2}, env_vars={"XSCHED_SOCKET": socket_of(n)}) for n in NODES)
        ray.init(address=cluster.address, log_to_driver=True, logging_level="ERROR")
        scenes(cluster, left, right)
    finally:
        with contextlib.suppress(Exception):
            ray.shutdown()
        if cluster:
            cluster.shutdown()
        for server in servers:
            server.terminate()
            server.wait(10)
    print(f"{len(failed)} failed" if failed else "all right")
    return 1 if failed else 0


def scenes(cluster, left, right):
    with step("two actors without a priority are left alone, and disturb each other"):
        native(left, CORES[0])
    pairs = {}
    for node, where, core in (("left", left, CORES[0]), ("right", right, CORES[-1])):
        with step(f"{node}: an urgent actor beside a background one, P50 at most 1.3 times alone; priorities changed while they run"):
            pairs[node] = beside(node, where, core)
    with step("queues and waits of each actor in Ray's metrics"):
        for node, where in (("left", left), ("right", right)):
            values = wait_for(f"metrics of {node}", lambda n=node, w=where: published(pairs[n][1], w.node_id), 60)
            assert values["ray_xsched_actor_queues"] == 1, values
            assert values["ray_xsched_actor_preemptions_total"] > 0 and values["ray_xsched_actor_commands_total"] > 100, values
    for pair in pairs.values():
        for actor in pair:
            ray.kill(actor)
    with step("a task has a priority"):
        task = xsched.ray.priority(7)(ray.remote(num_cpus=0)(lambda: os.environ.get("XSCHED_PRIORITY")))
        assert ray.get(task.options(scheduling_strategy=on(right)).remote(), timeout=120) == "7"
    with step("a Serve deployment has a priority"):
        replicas(right)
    with step("a runtime_env with an LD_PRELOAD and a variable of its own keeps both"):
        mine = next(p for p in glob.glob("/lib/*-linux-gnu/libSegFault.so") + glob.glob("/lib/*-linux-gnu/libm.so.6"))
        actor = xsched.ray.priority(3)(ray.remote(num_cpus=0)(Load)).options(
            scheduling_strategy=on(left), runtime_env={"env_vars": {"LD_PRELOAD": mine, "MINE": "1"}}).remote()
        facts = ray.get(actor.facts.remote(), timeout=120)
        assert mine in facts["preload"].split(":") and "libshimopencl.so" in facts["preload"], facts
        assert facts["shims"] and facts["mine"] == "1" and facts["priority"] == "3", facts
        ray.kill(actor)
    with step("a priority beyond the limits is the nearest, and Ray's log says so"):
        actor = ray.remote(num_cpus=0)(Load).options(scheduling_strategy=on(left), **xsched.ray.options(1000)).remote()
        pid = ray.get(actor.begin.remote(), timeout=120)
        wait_for("priority 255", lambda: priorities("left", pid) == {255})
        assert wait_for("the log", lambda: logged("priority 1000 is beyond the limits -255 to 255: it is 255"))
        ray.kill(actor)
    with step("on a node without xserver an actor runs, and Ray's log says why it is not scheduled"):
        head = NodeAffinitySchedulingStrategy(node_id=cluster.head_node.node_id, soft=False)
        actor = ray.remote(num_cpus=0)(Load).options(scheduling_strategy=head, **xsched.ray.options(9)).remote()
        assert ray.get(actor.calibrate.remote(), timeout=120) > 0
        assert wait_for("the log", lambda: [f for f in logged("no xserver answers: this worker runs unscheduled") if "worker-" in f])
        assert ray.get(actor.facts.remote())["node"] == cluster.head_node.node_id
        ray.kill(actor)
    with step("an actor's start takes at most 100 ms longer"):
        starts(left)
    with step("an actor that is restarted on another node keeps the priority that was set"):
        actor = xsched.ray.priority(HIGH)(ray.remote(num_cpus=0, resources={"device": 1}, max_restarts=2)(Load)).options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=left.node_id, soft=True)).remote()
        pid = ray.get(actor.begin.remote(), timeout=120)
        wait_for("its priority", lambda: priorities("left", pid) == {HIGH})
        assert xsched.ray.set_priority(actor, 12) == (pid,)
        cluster.remove_node(left)
        again = wait_for("the restart", lambda: began_anew(actor, pid), 120)
        wait_for("its priority on the other node", lambda: priorities("right", again) == {12})
        assert wait_for("the log", lambda: logged("this actor has priority 12, set before its restart"))
        ray.kill(actor)
    with step("on a node without XSched an actor runs, and Ray's log says so"):
        if any(os.access(f"{place}/xsched", os.X_OK) for place in ("/usr/bin", "/usr/local/bin")):
            print("        not looked at: XSched is installed on this machine")
        else:
            far = cluster.add_node(num_cpus=2, env_vars={"PATH": "/usr/bin:/bin", "PYTHONPATH": ""})
            actor = ray.remote(num_cpus=0)(Load).options(scheduling_strategy=on(far), **xsched.ray.options(9)).remote()
            assert ray.get(actor.calibrate.remote(), timeout=120) > 0
            facts = ray.get(actor.facts.remote())
            assert not facts["shims"] and facts["priority"] is None, facts
            assert wait_for("the log", lambda: logged("XSched is not installed on this node: the worker runs unscheduled"))
            assert xsched.ray.set_priority(actor, 4) == ()


def replicas(cluster_node):
    from ray import serve

    class Answers:
        def __call__(self):
            return os.environ.get("XSCHED_PRIORITY")

    serve.start(proxy_location="Disabled")
    try:
        deployment = xsched.ray.priority(8)(serve.deployment(Answers, ray_actor_options={"num_cpus": 0, "resources": {"device": 0.1}}))
        handle = serve.run(deployment.bind())
        assert handle.remote().result(timeout_s=120) == "8"
        name = next(n["name"] for n in ray.util.list_named_actors(all_namespaces=True) if "Answers" in n["name"])
        assert xsched.ray.set_priority(ray.get_actor(name, namespace="serve"), 9) == ()  # it has not used the device
    finally:
        serve.shutdown()


def began_anew(actor, pid):
    with contextlib.suppress(Exception):
        now = ray.get(actor.begin.remote(), timeout=20)
        return now if now != pid else None
    return None


if __name__ == "__main__":
    signal.alarm(1500)
    sys.exit(main())
