# SPDX-License-Identifier: Apache-2.0
"""xsched.ray without Ray: a few modules with the members that are used stand for it. tests/ray runs Ray itself."""
import json
import os
import shlex
import subprocess
import sys
import time
import types
import warnings

import pytest

import xsched
from conftest import BUILD, FAKE, PACKAGE


class Options:
    """What Ray's options() returns, and an actor class or a remote function in one."""

    def __init__(self, made, **defaults):
        self.made, self._default_options = made, defaults

    def options(self, **more):
        return Options(self.made, **{**self._default_options, **more})

    def remote(self, *arguments, **named):
        self.made.append((self._default_options, arguments, named))
        return self.made[-1]


class Deployment:
    def __init__(self, ray_actor_options=None):
        self.ray_actor_options = ray_actor_options

    def options(self, **more):
        return Deployment(**more)


@pytest.fixture
def ray(monkeypatch):
    """A Ray that is connected to a job with such a runtime_env."""
    module = types.ModuleType("ray")
    module.job = {}
    module.is_initialized = lambda: True
    module.get_runtime_context = lambda: types.SimpleNamespace(runtime_env=module.job)
    monkeypatch.setitem(sys.modules, "ray", module)
    return module


@pytest.fixture
def xr(ray):
    import xsched.ray
    return xsched.ray


def test_the_decorator_adds_to_what_is_there(ray, xr):
    made = []
    actor = xr.priority(10)(Options(made, num_gpus=0.5, runtime_env={"env_vars": {"LD_PRELOAD": "/mine.so"}, "working_dir": "s3://x"}))
    actor.remote(1, two=2)
    options, arguments, named = made.pop()
    assert (arguments, named, options["num_gpus"]) == ((1,), {"two": 2}, 0.5)
    env = options["runtime_env"]
    assert env["working_dir"] == "s3://x" and env["env_vars"]["LD_PRELOAD"] == "/mine.so"
    assert env["env_vars"]["XSCHED_RAY_OPTIONS"] == "--priority=10" and env["env_vars"]["XSCHED_RAY_NOTE"] == ""
    # options of one call replace the runtime_env of the class, as in Ray, and the priority stays
    actor.options(name="a", runtime_env={"env_vars": {"A": "1"}}).remote()
    env = made.pop()[0]["runtime_env"]
    assert env["env_vars"]["A"] == "1" and "LD_PRELOAD" not in env["env_vars"]
    assert env["env_vars"]["XSCHED_RAY_OPTIONS"] == "--priority=10" and "py_executable" in env
    assert xr.options(5, num_cpus=1)["num_cpus"] == 1


def test_deployments_and_what_is_neither(ray, xr):
    d = xr.priority(3)(Deployment({"num_gpus": 0.5}))
    assert d.ray_actor_options["num_gpus"] == 0.5
    assert d.ray_actor_options["runtime_env"]["env_vars"]["XSCHED_RAY_OPTIONS"] == "--priority=3"
    assert xr.priority(3)(Deployment()).ray_actor_options["runtime_env"]
    for wrong in (lambda: None, type("Plain", (), {})):
        with pytest.raises(TypeError, match="above @ray.remote"):
            xr.priority(1)(wrong)


@pytest.mark.parametrize("asked, becomes", [(255, 255), (256, 255), (-255, -255), (-256, -256), (-1000, -255), (1 << 40, 255)])
def test_limits(ray, xr, asked, becomes):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        xsched._scope._said.clear()
        variables = xr.runtime_env(asked)["env_vars"]
    assert variables["XSCHED_RAY_OPTIONS"] == f"--priority={becomes}"
    assert bool(variables["XSCHED_RAY_NOTE"]) == (asked != becomes) == bool(said)


@pytest.mark.parametrize("wrong", ["10", 1.5, None])
def test_what_is_no_number_is_refused(ray, xr, wrong):
    with pytest.raises((TypeError, xsched.InvalidValueError)):
        xr.priority(wrong)


def test_whose_interpreter(ray, xr):
    def python(env=None):
        return xr.runtime_env(1, env)["env_vars"]["XSCHED_RAY_PYTHON"]
    assert python() == ""
    assert python({"pip": ["numpy"]}) == "python" == python({"conda": "base"})
    assert python({"py_executable": "/opt/python -X dev"}) == "/opt/python -X dev"
    ray.job = {"py_executable": "uv run"}
    assert python() == "uv run" and python({"pip": ["a"]}) == "python"
    ray.job = xr.runtime_env(7, {"env_vars": {"A": "1"}})  # inside a worker that has a priority
    assert python() == "uv run"
    ray.job = {}
    ray.is_initialized = lambda: False
    assert python() == ""


def test_a_worker_that_starts_by_itself_is_left_alone(ray, xr, caplog):
    env = {"nsight": "default", "env_vars": {"A": "1"}}
    assert xr.runtime_env(1, env) == env
    assert "nsight starts its workers by itself" in caplog.text.replace("a runtime_env with ", "")
    ray.job = {"image_uri": "x"}
    assert xr.runtime_env(1) == {}


# ---- the node's side: what the command does, as Ray's shell runs it ----

WORKER = """import json, os, sys
print(json.dumps({"argv": sys.argv, "path": sys.path[0], "main": __name__, "priority": os.environ.get("XSCHED_PRIORITY"),
                  "preload": os.environ.get("LD_PRELOAD", "")}))"""


def start(tmp_path, path, env, **more):
    from xsched import _ray_start
    worker = tmp_path / "default_worker.py"
    worker.write_text(more.get("code", WORKER))
    e = {k: v for k, v in os.environ.items() if not k.startswith("XSCHED_") or k in ("XSCHED_BUILD_DIR", "XSCHED_FAKE_CUDA")}
    e.update(env, PATH=path)
    e.setdefault("XSCHED_SOCKET", str(tmp_path / "none"))
    command = f"exec {_ray_start.command()} {shlex.quote(str(worker))} --node=a 'b c'"
    return subprocess.run(["bash", "-c", command], env=e, capture_output=True, text=True, timeout=60)


def test_a_worker_begins_under_the_launcher(tmp_path):
    p = start(tmp_path, f"{BUILD}/bin:/usr/bin:/bin",
              {"XSCHED_RAY_OPTIONS": "--priority=-7", "XSCHED_RAY_PYTHON": sys.executable, "PYTHONPATH": PACKAGE, "LD_PRELOAD": "libm.so.6"})
    said = json.loads(p.stdout)
    assert said["argv"] == [str(tmp_path / "default_worker.py"), "--node=a", "b c"] and said["main"] == "__main__"
    assert said["path"] == str(tmp_path) and said["priority"] == "-7"
    assert said["preload"].startswith("libm.so.6") and "libshimcuda.so" in said["preload"]
    assert "no metrics" not in p.stderr


def test_a_worker_begins_without_xsched_too(tmp_path):
    path = tmp_path / "bin"
    path.mkdir()
    for tool in ("bash", "python3"):
        (path / tool).symlink_to(f"/usr/bin/{tool}")
    p = start(tmp_path, str(path), {"XSCHED_RAY_OPTIONS": "--priority=5", "XSCHED_RAY_NOTE": "priority 300 is too much", "PYTHONPATH": ""})
    said = json.loads(p.stdout)
    assert said["argv"][1:] == ["--node=a", "b c"]
    assert "priority 300 is too much" in p.stderr and "no metrics and no later priorities" in p.stderr
    if not any(os.path.exists(f"{place}/xsched") for place in ("/usr/bin", "/usr/local/bin")):
        assert said["priority"] is None and said["preload"] == ""
        assert "XSched is not installed on this node: the worker runs unscheduled" in p.stderr


def test_an_interpreter_with_arguments(tmp_path):
    p = start(tmp_path, f"{BUILD}/bin:/usr/bin:/bin", {"XSCHED_RAY_OPTIONS": "--priority=1", "XSCHED_RAY_PYTHON": f"{sys.executable} -B"})
    assert json.loads(p.stdout)["priority"] == "1", p.stderr


# ---- beside a worker ----

RAY = r"""
import ctypes, os, sys, threading, time, types
kept, metrics, said = dict(a.split("=") for a in sys.argv[1:]), {}, []
def module(name, **members):
    m = sys.modules[name] = types.ModuleType(name)
    m.__dict__.update(members)
    return m
class Metric:
    def __init__(self, name, description="", tag_keys=()):
        self.name, self.keys = name, tag_keys
        assert description
    def note(self, value, tags):
        assert tuple(tags) == self.keys and tags["ActorId"] == "ab12" and tags["ActorClass"] == "Model", tags
        metrics[self.name] = value
class Gauge(Metric):
    set = Metric.note
class Counter(Metric):
    def inc(self, value, tags): self.note(metrics.get(self.name, 0) + value, tags)
connected = threading.Event()
module("ray", is_initialized=connected.is_set, get_runtime_context=lambda: types.SimpleNamespace(get_actor_id=lambda: "ab12"))
module("ray.util"); module("ray.util.metrics", Gauge=Gauge, Counter=Counter); module("ray._private")
module("ray._private.state", actors=lambda i: {"ActorClassName": "Model", "Name": "", "NumRestarts": 1})
module("ray.experimental")
module("ray.experimental.internal_kv", _internal_kv_get=lambda key, namespace: kept.get(key.split(":")[0] if namespace == "xsched" else "", "").encode())
from xsched import _ray_worker
_ray_worker.EVERY_S = 0.1
_ray_worker.begin()
time.sleep(0.3); connected.set()
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream, nop = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
end, want = time.monotonic() + 30, int(kept.get("want", "-1"))
while time.monotonic() < end and not (metrics.get("xsched_actor_commands", 0) >= 3 and metrics.get("xsched_actor_priority") == want):
    cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    cu.cuStreamSynchronize(stream)
    time.sleep(0.05)
    if want < 0 and time.monotonic() > end - 27: break
print(sorted(metrics.items()))
os._exit(0)
"""


def beside(server, env, *kept):
    e = dict(os.environ, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}", XSCHED_SOCKET=server, **env)
    return subprocess.run([f"{BUILD}/bin/xsched", "run", "--no-server", "-p", "6", "--", sys.executable, "-c", RAY, *kept], env=e,
                          capture_output=True, text=True, timeout=120)


def test_metrics_of_an_actor(server):
    p = beside(server, {}, "want=6")
    values = dict(eval(p.stdout))  # what the program above printed
    assert values["xsched_actor_priority"] == 6 and values["xsched_actor_queues"] == 1, p.stderr
    assert values["xsched_actor_commands"] >= 3
    assert p.stderr == ""


def test_a_restarted_actor_has_the_priority_that_was_set(server):
    p = beside(server, {}, "want=31", "priority=31")
    assert dict(eval(p.stdout))["xsched_actor_priority"] == 31
    assert "this actor has priority 31, set before its restart" in p.stderr


def test_without_xserver_it_is_said_once(tmp_path):
    p = beside(str(tmp_path / "none.sock"), {})
    assert p.stdout == "[]\n"
    assert p.stderr.count("no xserver answers: this worker runs unscheduled until one does") == 1


def test_counters_never_go_down():
    from xsched._ray_worker import Sums

    def queue(handle, commands):
        return types.SimpleNamespace(handle=handle, waiting_us=0, running_us=0, commands=commands, suspensions=0)
    sums = Sums()
    assert sums.add([queue(1, 5), queue(2, 1)])["commands"] == 6
    assert sums.add([queue(1, 7)])["commands"] == 2
    assert sums.add([queue(1, 3)])["commands"] == 0


# ---- changes while it runs ----

def test_set_priority(ray, xr, monkeypatch):
    kept, asked, state = {}, [], {"State": "ALIVE", "Pid": 42, "Address": {"NodeID": "n1"}}

    def remote(**options):
        assert options == {"num_cpus": 0}
        return lambda f: Options(asked, f=f)
    ray.remote = remote
    ray.get = lambda call, timeout: (call[1][0],)
    handle = types.SimpleNamespace(_actor_id=b"\xab\x12")
    ray.get_actor = lambda name: {"model": handle}[name]
    for name, members in {"ray.experimental": {}, "ray._private": {}, "ray.util": {},
                          "ray.experimental.internal_kv": {"_internal_kv_put": lambda k, v, namespace: kept.update({(namespace, k): v})},
                          "ray._private.state": {"actors": lambda actor_id: state if actor_id == "ab12" else {}},
                          "ray.util.scheduling_strategies": {"NodeAffinitySchedulingStrategy": lambda node_id, soft: (node_id, soft)}}.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    xr._teller.cache_clear()
    assert xr.set_priority(handle, 20) == (42,)
    assert kept == {("xsched", "priority:ab12"): "20"}
    options, arguments, _ = asked.pop()
    assert options["scheduling_strategy"] == ("n1", False) and arguments == (42, 20)
    state["State"] = "RESTARTING"
    assert xr.set_priority("model", 21) == () and not asked and kept == {("xsched", "priority:ab12"): "21"}
    state["State"] = "ALIVE"

    def lost(call, timeout):
        raise TimeoutError("the node is gone")
    ray.get = lost
    assert xr.set_priority(handle, 22) == ()
    xr._teller.cache_clear()


def test_a_limit_of_xserver_is_said(capsys, monkeypatch):
    from xsched._ray_worker import Watcher
    for kept, asked, in_force, said in ((None, 10, 5, "the worker asks for priority 10, 5 is in force: xserver's priority-limits"),
                                        (None, 5, 5, ""), (None, None, 5, ""), (5, 10, 5, "")):
        watcher = Watcher(asked)
        monkeypatch.setattr(watcher, "_kept", lambda k=kept: k)
        watcher._compare(in_force)
        err = capsys.readouterr().err
        assert err.startswith(f"xsched: {said}") if said else err == ""
