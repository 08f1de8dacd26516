# SPDX-License-Identifier: Apache-2.0
"""status() and PROCESS against an xserver of the test's own; programs that run under the shim."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import xsched
from conftest import BUILD, FAKE, PACKAGE, python

PROGRAM = r"""
import ctypes, os, sys, time
sys.path.insert(0, sys.argv[1])
import xsched
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream, work = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(work), None, b"work")
ns, log, tag = ctypes.c_uint64(100000), ctypes.c_void_p(), ctypes.c_uint32(1)
params = (ctypes.c_void_p * 3)(*(ctypes.addressof(x) for x in (ns, log, tag)))
def launch():
    assert cu.cuLaunchKernel(work, 1, 1, 1, 1, 1, 1, 0, stream, params, None) == 0
    assert cu.cuStreamSynchronize(stream) == 0
launch()
def seen(want):
    for _ in range(200):
        queues = xsched.status().of(os.getpid())
        if queues and all(q.priority == want for q in queues):
            return queues
        time.sleep(0.02)
    raise SystemExit(f"priority {want} is not in force: {queues}")
queues = seen(5)
assert len(queues) == 1 and queues[0].platform == "CUDA" and queues[0].commands >= 1, queues
q = xsched.Queue(stream.value)
assert q.handle == queues[0].handle
with xsched.priority(50, stream.value):
    launch()
    seen(50)
seen(5)
xsched.set_priority(q, 6)
seen(6)
xsched.set_priority(xsched.PROCESS, 30)
seen(30)
xsched.set_utilization(xsched.PROCESS, 70)
xsched.set_deadline(xsched.PROCESS, 1000)
xsched.set_hint(xsched.PROCESS, "laxity", 70)
assert xsched.hint(os.getpid(), laxity=700), "this process"
assert [q["laxity"] for q in xsched._server.ask("GET", "/xqueues")[1]["xqueues"]] == [700]
with xsched.priority(40, q):
    seen(40)
seen(30)
for i in range(60):               # hints that follow each other wake the control thread once: the last one is told
    for j in range(i * 7):
        with xsched.priority(100 + j % 50, q):
            pass
    xsched.set_priority(q, 40 + i)
    seen(40 + i)
xsched.set_priority(xsched.PROCESS, 30)
seen(30)
me = [p for p in xsched.status().processes if p.pid == os.getpid()]
assert len(me) == 1 and me[0].queues == 1
print("in force")
"""


def test_what_is_set_is_in_force_at_the_server(server, tmp_path):
    env = dict(os.environ, XSCHED_SOCKET=server, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}",
               PYTHONWARNINGS="error::RuntimeWarning")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    p = subprocess.run([sys.executable, "-m", "xsched", "run", "--priority", "5", "-q", str(script), PACKAGE], env=env,
                       capture_output=True, text=True, timeout=120)
    assert p.returncode == 0 and p.stdout == "in force\n", p.stderr


def test_status_without_programs(server, monkeypatch):
    monkeypatch.setenv("XSCHED_SOCKET", server)
    s = xsched.status()
    assert s.policy == "HPF" and s.queues == () and s.processes == () and s.version == xsched.__version__
    with pytest.raises(xsched.ServerError):
        xsched.set_priority(xsched.PROCESS, 5)
    p = subprocess.run([sys.executable, "-m", "xsched", "status"], capture_output=True, text=True,
                       env=dict(os.environ, PYTHONPATH=PACKAGE))
    assert p.returncode == 0 and "policy HPF" in p.stdout, p.stderr


OTHERS = r"""
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream, nop = (ctypes.c_void_p() for _ in range(3))
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
print("launched", flush=True)
sys.stdin.readline()
"""


def test_other_programs_by_number_and_by_name(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XSCHED_SOCKET", server)
    env = dict(os.environ, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    started = []

    def wait_for(what):
        for _ in range(500):
            if what():
                return True
            time.sleep(0.02)
        return False

    def priorities():
        return [{q.priority for q in xsched.status().of(p.pid)} for p in started]

    try:
        for name in ("train.py", "serve.py"):
            (tmp_path / name).write_text(OTHERS)
            started.append(subprocess.Popen([sys.executable, "-m", "xsched", "run", "-q", str(tmp_path / name)], env=env,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            assert started[-1].stdout.readline() == "launched\n"
        train, serve = started
        assert wait_for(lambda: priorities() == [{0}, {0}])
        assert xsched.hint("serve.py", priority=10) == (serve.pid,)
        assert xsched.hint(train.pid, priority=-5) == (train.pid,)
        assert wait_for(lambda: priorities() == [{-5}, {10}])
        assert set(xsched.hint(os.getpid(), priority=7, utilization=40, children=True)) == {train.pid, serve.pid}
        assert wait_for(lambda: priorities() == [{7}, {7}])
        assert xsched.suspend("train.py") == (train.pid,)
        assert [p.held for p in xsched.status().processes if p.pid == train.pid] == [True]
        assert xsched.resume(train.pid) == (train.pid,)
        assert [p.held for p in xsched.status().processes if p.pid == train.pid] == [False]
        assert xsched.suspend(train.pid, for_s=0.05) == (train.pid,)
        assert wait_for(lambda: not any(p.held for p in xsched.status().processes))     # xserver ends it
        assert (xsched.policy(), xsched.policy("pup"), xsched.policy()) == ("HPF", "PUP", "PUP")
        for call in (lambda: xsched.hint("nobody.py", priority=1), lambda: xsched.suspend(1), lambda: xsched.resume("nobody.py")):
            with pytest.raises(xsched.NotFoundError, match="has joined xserver"):
                call()
        for wrong in (lambda: xsched.policy("NONE"), lambda: xsched.hint("serve.py"), lambda: xsched.hint(0, priority=1),
                      lambda: xsched.hint(1, priority=300), lambda: xsched.suspend(1, for_s=-1)):
            with pytest.raises(xsched.InvalidValueError):
                wrong()
    finally:
        for p in started:
            p.communicate("\n", timeout=60)


def test_lenient_everywhere(tmp_path):
    """Without xserver and without libraries: each call says it and goes on, and with strict each raises."""
    p = python("import warnings, xsched\n"
               "calls = {'hint': lambda s: xsched.hint('a', priority=1, strict=s), 'suspend': lambda s: xsched.suspend(1, strict=s),\n"
               "         'resume': lambda s: xsched.resume(1, strict=s), 'policy': lambda s: xsched.policy(strict=s),\n"
               "         'status': lambda s: xsched.status(strict=s).queues,\n"
               "         'process': lambda s: xsched.set_priority(xsched.PROCESS, 1, strict=s)}\n"
               "warnings.simplefilter('error')\n"
               "for name, call in calls.items():\n"
               "    try: call(True); print(name, 'did not raise')\n"
               "    except xsched.XSchedError as e: assert 'no xserver' in e.reason, e\n"
               "warnings.simplefilter('always')\n"
               "with warnings.catch_warnings(record=True) as said:\n"
               "    print([call(False) for call in calls.values()])\n"
               "print(len(said), said[0].category.__name__)\n",
               env={"XSCHED_SOCKET": str(tmp_path / "none.sock")})
    assert p.stdout == "[(), (), (), '', (), None]\n1 XSchedWarning\n", p.stdout + p.stderr


@pytest.mark.parametrize("cmdline, names", [("/usr/bin/python3 -u /a/serve.py --x y", {"python3", "serve.py"}), ("./load", {"load"}),
                                            ("", set()), ("torchrun --nproc 2 train.py", {"torchrun", "2"})])
def test_names_of_programs(cmdline, names):
    from xsched import _programs
    assert _programs.names_of(cmdline) == names


def test_no_server(tmp_path):
    p = python("import xsched\n"
               "try: xsched.status()\nexcept xsched.ServerError as e: print(e.reason, '|', e.remedy)",
               env={"XSCHED_SOCKET": str(tmp_path / "none.sock")})
    assert p.stdout.startswith("no xserver answers | start one"), p.stderr


def test_a_server_that_is_stopped(server):
    """It takes connections and answers nothing. It is named, and nobody waits for it."""
    listening = subprocess.run(["pgrep", "-o", "-f", f"xserver --socket {server}"], capture_output=True, text=True, check=True)
    pid = int(listening.stdout)
    os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(400):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                if ") T " in f.read():
                    break
            time.sleep(0.025)
        p = python("import xsched\n"
                   "try: xsched.status()\nexcept xsched.ServerError as e: print(e.reason, '|', e.remedy)", env={"XSCHED_SOCKET": server})
    finally:
        os.kill(pid, signal.SIGCONT)
    assert f"(PID {pid}) is stopped" in p.stdout and f"| `kill -CONT {pid}` continues it" in p.stdout, (p.stdout, p.stderr)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.9\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
                                  b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"])
def test_somebody_else_answers(tmp_path, said):
    def answer():
        peer, _ = listener.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(said)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(30)
        listener.bind(str(tmp_path / "http.sock"))
        listener.listen(1)
        thread = threading.Thread(target=answer)
        thread.start()
        p = subprocess.run([sys.executable, "-m", "xsched", "status"], capture_output=True, text=True, timeout=60,
                           env=dict(os.environ, PYTHONPATH=PACKAGE, XSCHED_SOCKET=str(tmp_path / "xserver.sock")))
        thread.join(40)
    assert p.returncode == 1 and p.stdout == "" and p.stderr.count("\n") == 1 and "something else" in p.stderr, p.stderr


@pytest.mark.parametrize("server, http", [("/a/xserver.sock", "/a/http.sock"), ("/a/b.sock", "/a/b.http.sock"),
                                          ("/a/b", "/a/b.http")])
def test_each_server_has_its_http_socket(monkeypatch, server, http):
    """As xs_http_socket() has it."""
    from xsched import _server
    monkeypatch.setenv("XSCHED_SOCKET", server)
    assert _server.sockets() == [http]


@pytest.mark.parametrize("runtime, first", [(None, []), ("", []), ("relative", []), ("/run/user/1234", []),
                                            ("/other", ["/other/xsched/http.sock"])])
def test_servers_are_looked_for_where_programs_do(monkeypatch, runtime, first):
    """As xs_socket_path() has it."""
    from xsched import _server
    monkeypatch.delenv("XSCHED_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert _server.sockets() == [*first, "/run/user/1234/xsched/http.sock", "/run/xsched/http.sock"]


DESTROYED = r"""
import ctypes, sys
import xsched
cu = ctypes.CDLL("libcuda.so.1")
primary, context, stream, nop = (ctypes.c_void_p() for _ in range(4))
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0)
assert cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
assert cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None) == 0
q, block = xsched.Queue(stream.value), xsched.priority(5, stream.value)
with block:
    pass
assert cu.cuCtxDestroy_v2(context) == 0
cu.cuCtxSetCurrent(primary)
for call in (lambda: q.set_priority(5), lambda: xsched.priority(5, q).__enter__(), block.__enter__, q.wait):
    try:
        sys.exit(f"no exception: {call()}")
    except xsched.NotFoundError as e:
        assert "destroyed" in e.remedy and e.reason, e
with xsched.priority(5, xsched.Queue(0, platform="cuda")):  # of the context that is current now
    pass
print("went on")
"""


def test_a_stream_of_a_destroyed_context(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(DESTROYED)
    env = dict(os.environ, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    p = subprocess.run([sys.executable, "-m", "xsched", "run", "--local-policy", "HPF", "--no-server", "-q", str(script)], env=env,
                       capture_output=True, text=True, timeout=120)
    assert p.returncode == 0 and p.stdout == "went on\n", p.stderr


IN_CONTAINER = r"""
import ctypes, os, time
import xsched
from xsched._server import ask
assert os.getpid() < 100, os.getpid()
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream, nop = (ctypes.c_void_p() for _ in range(3))
assert xsched.hint(os.getpid(), priority=30, children=True) == ()       # not joined yet
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
assert cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None) == 0
for _ in range(500):
    if xsched.status().queues:
        break
    time.sleep(0.02)
before = [c["pid_in_namespace"] for c in ask("GET", "/clients")[1]["clients"]]
print(before == [os.getpid()], len(xsched.hint(os.getpid(), priority=31, children=True)), [q.priority for q in xsched.status().queues])
"""


def test_a_program_in_a_container_is_told_of_by_itself(server, tmp_path):
    in_container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        if subprocess.run([*in_container, "true"], capture_output=True).returncode:
            pytest.skip("this machine lets nobody make a PID namespace")
    except OSError:
        pytest.skip("there is no unshare")
    script = tmp_path / "program.py"
    script.write_text(IN_CONTAINER)
    env = dict(os.environ, XSCHED_SOCKET=server, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    p = subprocess.run([*in_container, sys.executable, "-m", "xsched", "run", "--priority", "5", "-q", str(script)], env=env,
                       capture_output=True, text=True, timeout=120)
    assert p.stdout == "True 1 [31]\n", p.stderr


def test_those_that_end_meanwhile_are_no_error(monkeypatch):
    from xsched import _server
    told = []

    def ask(method, path, body=None, timeout_s=5.0):
        if path == "/clients":
            return "here", {"clients": [{"pid": os.getpid()}, {"pid": child.pid}, {"pid": 1}]}
        told.append(body)
        if len(told) == 1:
            raise xsched.ServerError("no process is joined", "", xsched.XResult.kXSchedErrorNotFound)
        return "here", {}

    monkeypatch.setattr(_server, "ask", ask)
    with subprocess.Popen(["sleep", "60"]) as child:
        assert len(xsched.hint(os.getpid(), priority=3, children=True)) == 1
        child.kill()
    assert sorted(t["pid"] for t in told) == sorted([os.getpid(), child.pid])


NAMED_FIRST = r"""
import ctypes, os, sys, time
import xsched
from xsched._server import ask
cu = ctypes.CDLL("libcuda.so.1")
ctx, nop = ctypes.c_void_p(), ctypes.c_void_p()
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
streams = [ctypes.c_void_p() for _ in range(2)]
for stream in streams:
    assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
named = xsched.Queue(streams[0].value)     # before its first command; the shim makes the other one
for stream in streams:
    assert cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None) == 0
of = {}
for _ in range(500):
    of = {q["handle"]: q for q in ask("GET", "/xqueues")[1]["xqueues"] if q["pid"] == os.getpid()}
    if len(of) == 2 and named.handle in of:
        break
    time.sleep(0.02)
ours, shims = of.pop(named.handle), of.popitem()[1]
names = ["level", "threshold", "batch_size", "priority", "utilization", "deadline", "laxity", "lax_priority", "critical_priority"]
print([ours[n] for n in names], [shims[n] for n in names], sep="\n")
"""


@pytest.mark.parametrize("options, in_force", [
    ("-p 5 -u 30 -d 700 -x 900 -l 1 -t 6", [1, 6, 6, 5, 30, 700, 900, 0, 5]),
    ("-p 7 -t 20 -b 3 -l 2", [2, 20, 3, 7, 100, -1, -1, 0, 0]), ("-p -3 -b 5", [1, 16, 5, -3, 100, -1, -1, 0, 0])])
def test_a_queue_that_is_named_before_its_first_command(server, tmp_path, options, in_force):
    """It is as the shim would have made it."""
    script = tmp_path / "program.py"
    script.write_text(NAMED_FIRST)
    env = dict(os.environ, XSCHED_SOCKET=server, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    p = subprocess.run([sys.executable, "-m", "xsched", "run", *options.split(), "-q", str(script)], env=env,
                       capture_output=True, text=True, timeout=120)
    assert p.stdout == f"{in_force}\n{in_force}\n", p.stderr


SAME_NUMBER = r"""
import ctypes, os, sys, time
import xsched
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream, nop = (ctypes.c_void_p() for _ in range(3))
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
assert cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None) == 0
me = os.getpid()
def priorities(pid):
    return [q.priority for q in xsched.status().of(pid)]
for _ in range(500):
    if priorities(me) == [5]:
        break
    time.sleep(0.02)
if len(sys.argv) == 1:            # the first: stays until it is told
    print(me, flush=True)
    sys.stdin.readline()
else:                             # the second: by its own account it has the first one's number
    other = int(sys.argv[1])
    os.getpid = lambda: other
    xsched.set_priority(xsched.PROCESS, 31)
    print(priorities(me), priorities(other))
"""


def test_two_programs_of_one_number(server, tmp_path):
    """As in two containers, each of which has a program with number 1."""
    script = tmp_path / "program.py"
    script.write_text(SAME_NUMBER)
    env = dict(os.environ, XSCHED_SOCKET=server, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    run = [sys.executable, "-m", "xsched", "run", "--priority", "5", "-q", str(script)]
    with subprocess.Popen(run, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        number = first.stdout.readline().strip()
        second = subprocess.run([*run, number], env=env, capture_output=True, text=True, timeout=120)
        first.communicate("\n", timeout=60)
    assert second.stdout == "[31] [5]\n" and first.returncode == 0, second.stderr


@pytest.mark.parametrize("uids, says", [((0, 1), None), ((0, 0), "several programs"), ((1, 1), "has not joined")])
def test_a_server_that_does_not_know_who_asks(monkeypatch, uids, says):
    """An older one, or over TCP: the program looks for itself among those that have joined."""
    from xsched import _server
    pids, done = (300, 301), []

    def ask(method, path, body=None, timeout_s=5.0):
        if path == "/clients":
            return "here", {"clients": [{"pid": pid, "pid_in_namespace": os.getpid(), "uid": os.geteuid() + uid}
                                        for pid, uid in zip(pids, uids)] +
                            [{"pid": os.getpid(), "pid_in_namespace": 7, "uid": os.geteuid()}]}
        if "pid" not in body:
            raise xsched.ServerError("xserver refuses POST /hint: handle or pid is required", "",
                                     xsched.XResult.kXSchedErrorInvalidValue)
        done.append(body)
        return "here", {}

    monkeypatch.setattr(_server, "ask", ask)
    if says:
        with pytest.raises(xsched.ServerError, match=says):
            xsched.set_priority(xsched.PROCESS, 5)
    else:
        xsched.set_priority(xsched.PROCESS, 5)
    assert done == ([] if says else [{"hint_type": 1, "priority": 5, "pid": 300}])
