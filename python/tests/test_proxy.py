# SPDX-License-Identifier: Apache-2.0
"""integration/proxy: the priority of a server follows the requests that it works on."""
import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import time

import pytest
import xsched
from conftest import BUILD, FAKE, PACKAGE, ROOT

PROXY = os.path.join(ROOT, "integration/proxy/xsched_proxy.py")

# A server with a process of its own for the device, as vLLM has it. GET /wait answers when the file is there.
BACKEND = r"""
import ctypes, http.server, os, sys, time
if os.fork() == 0:
    cu = ctypes.CDLL("libcuda.so.1")
    ctx, stream, nop = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
    cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
    parent = os.getppid()
    while os.getppid() == parent:
        cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
        cu.cuStreamSynchronize(stream)
        time.sleep(0.02)
    os._exit(0)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        while not os.path.exists(body.decode()):
            time.sleep(0.01)
        assert "X-Priority" not in self.headers
        self.send_response(200); self.end_headers(); self.wfile.write(b"done " + body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def proxy(request, server, tmp_path, monkeypatch):
    monkeypatch.setenv("XSCHED_SOCKET", server)
    env = dict(os.environ, PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (tmp_path / "backend.py").write_text(BACKEND)
    p = subprocess.Popen([sys.executable, PROXY, "--listen", "0", "--to", f"127.0.0.1:{port}", "--idle", "1",
                          "--default", "2", "--quiet", *getattr(request, "param", []), "--", sys.executable, str(tmp_path / "backend.py"), str(port)],
                         env=env, stdout=subprocess.PIPE, text=True)
    listens = int(re.search(r":(\d+) ->", p.stdout.readline()).group(1))
    for _ in range(400):
        with socket.socket() as s:
            if xsched.status().queues and s.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.025)
    yield listens
    p.terminate()
    p.wait(20)


def ask(port, body, priority=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", "/wait", body, {} if priority is None else {"X-Priority": str(priority)})
    r = c.getresponse()
    return r.status, r.read().decode()


def in_force(want):
    for _ in range(400):
        if {q.priority for q in xsched.status().queues} == {want}:
            return True
        time.sleep(0.02)
    return [q.priority for q in xsched.status().queues]


def test_priority_follows_the_requests(proxy, tmp_path):
    assert in_force(1) is True
    answers, files = [], [tmp_path / n for n in ("a", "b", "c")]
    threads = [threading.Thread(target=lambda f=f, p=p: answers.append(ask(proxy, str(f), p)))
               for f, p in zip(files, (None, 30, 20))]
    threads[0].start()
    assert in_force(2) is True
    threads[1].start()
    assert in_force(30) is True
    threads[2].start()
    time.sleep(0.1)
    assert in_force(30) is True
    files[1].touch()
    assert in_force(20) is True
    files[2].touch()
    assert in_force(2) is True
    files[0].touch()
    assert in_force(1) is True
    [t.join(20) for t in threads]
    assert sorted(answers) == sorted((200, f"done {f}") for f in files)
    assert ask(proxy, "x", "urgent") == (400, "X-Priority is no integer\n")


@pytest.mark.parametrize("proxy", [["--body-timeout", "2", "--answer-timeout", "3"]], indirect=True)
def test_a_body_that_never_comes_has_no_priority(proxy, tmp_path):
    assert in_force(1) is True
    with socket.create_connection(("127.0.0.1", proxy), 60) as s:
        s.sendall(b"POST /wait HTTP/1.1\r\nHost: x\r\nX-Priority: 90\r\nContent-Length: 1000\r\n\r\nhalf")
        assert in_force(90) is True
        began = time.monotonic()
        assert s.recv(100).startswith(b"HTTP/1.1 408 ") and time.monotonic() - began < 10
    assert in_force(1) is True
    with socket.create_connection(("127.0.0.1", proxy), 60) as s:   # a client that leaves in the middle
        s.sendall(b"POST /wait HTTP/1.1\r\nHost: x\r\nX-Priority: 80\r\nContent-Length: 1000\r\n\r\nhalf")
        assert in_force(80) is True
    assert in_force(1) is True
    assert ask(proxy, str(tmp_path / "never"), 70) == (504, "the server does not answer\n")
    assert in_force(1) is True


@pytest.mark.parametrize("headers", [b"Content-Length: 1\r\nContent-Length: 1\r\n", b"Content-Length: +1\r\n",
                                     b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"])
def test_ambiguous_requests_are_refused(proxy, headers):
    with socket.create_connection(("127.0.0.1", proxy), 60) as s:
        s.sendall(b"POST /wait HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\nx")
        assert s.recv(100).split(b" ", 1)[1].startswith(b"400 ")


@pytest.mark.parametrize("wrong", ["--body-timeout=0", "--answer-timeout=soon", "--to=18083", "--to=localhost:http", "--to=::1:18083", "--to=[::1]", "--to=:18083",
                                   "--to=a:70000", "--default=300", "--idle=-256", "--idle=high", "--listen=-1"])
def test_wrong_options_are_refused(wrong, tmp_path):
    p = subprocess.run([sys.executable, PROXY, "--listen=0", "--to=127.0.0.1:1", wrong, "--", "touch", str(tmp_path / "started")],
                       env=dict(os.environ, PYTHONPATH=PACKAGE), capture_output=True, text=True, timeout=60)
    assert p.returncode == 2 and f"argument {wrong.split('=')[0]}: " in p.stderr and "Traceback" not in p.stderr, p.stderr
    assert not (tmp_path / "started").exists()


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(os.path.dirname(PROXY))
    import xsched_proxy
    return xsched_proxy


def test_where_the_server_is(module):
    assert [module.place(t) for t in ("[::1]:28085", "a.b:80", "127.0.0.1:1")] == [("::1", 28085), ("a.b", 80), ("127.0.0.1", 1)]


def test_a_container_is_said_once(monkeypatch):
    """Where process numbers are not xserver's, nothing is changed, and that is said once."""
    from xsched import _scope, _server
    monkeypatch.setattr(_server, "ask", lambda *_, **__: ("there", {"clients": [{"pid": 1}]}))
    monkeypatch.setattr(_server, "_outside", lambda where: where == "there")
    _scope._said.pop("outside", None)
    with pytest.warns(xsched.XSchedWarning, match="outside of this container") as said:
        assert [xsched.hint(1 << 22, priority=n, children=True) for n in range(3)] == [()] * 3
    assert len(said) == 1
    _scope._said.pop("outside", None)


def test_connections_are_kept(proxy, tmp_path):
    """Several requests on one, whichever way the server ends its answers."""
    assert in_force(1) is True
    (tmp_path / "there").touch()
    c = http.client.HTTPConnection("127.0.0.1", proxy, timeout=60)
    for n in range(3):
        c.request("POST", "/wait", str(tmp_path / "there"), {"X-Priority": str(n + 5)})
        used = c.sock
        r = c.getresponse()
        assert (r.status, r.read().decode()) == (200, f"done {tmp_path / 'there'}")
        assert c.sock is used and used is not None
    c.close()


def test_a_client_that_leaves_ends_its_priority(proxy, tmp_path):
    assert in_force(1) is True
    with socket.create_connection(("127.0.0.1", proxy), 60) as s:   # it was all sent, and the server works on it
        body = str(tmp_path / "never").encode()
        s.sendall(b"POST /wait HTTP/1.1\r\nHost: x\r\nX-Priority: 60\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert in_force(60) is True
    assert in_force(1) is True


def test_a_connection_without_a_request_is_ended(proxy):
    with socket.create_connection(("127.0.0.1", proxy), 60) as s:
        s.sendall(b"POST /wait HTTP/1.1\r\nHost")
        assert s.recv(100).startswith(b"HTTP/1.1 408 ")
