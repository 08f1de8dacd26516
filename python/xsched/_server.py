# SPDX-License-Identifier: Apache-2.0
"""What xserver says, over its HTTP interface: on its Unix socket, or on the loopback."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ._errors import ServerError, XSchedError
from ._types import XResult


class QueueStatus(NamedTuple):
    """One XQueue, as xserver sees it."""

    handle: int
    pid: int
    device: int
    platform: str
    level: int
    priority: int
    utilization: int
    ready: bool
    suspended: bool
    commands: int
    running_us: int
    waiting_us: int
    suspensions: int


class ProcessStatus(NamedTuple):
    """One program that has joined xserver."""

    pid: int
    cmdline: str
    uid: int
    queues: int
    held: bool


class Status(NamedTuple):
    """Answer of status()."""

    server: str  # where it answered
    version: str
    policy: str
    uptime_us: int
    queues: Tuple[QueueStatus, ...]
    processes: Tuple[ProcessStatus, ...]

    def of(self, pid: int) -> Tuple[QueueStatus, ...]:
        """The queues of one process."""
        return tuple(q for q in self.queues if q.pid == pid)


def sockets() -> List[str]:
    """Where HTTP sockets of xserver may be, in the order in which programs look for the server."""
    named = os.environ.get("XSCHED_SOCKET")
    if named:
        return [_http_socket(named)]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folders = [f"/run/user/{os.getuid()}/xsched", "/run/xsched", f"/tmp/xsched-{os.geteuid()}"]
    if runtime.startswith("/") and os.path.join(runtime, "xsched") != folders[0]:
        folders.insert(0, os.path.join(runtime, "xsched"))
    return [os.path.join(f, "http.sock") for f in folders if _believable(f)]


def _http_socket(server: str) -> str:
    """The HTTP socket beside a socket of xserver, as src/transport/http_socket.c names it."""
    folder, name = os.path.split(server)
    if name == "xserver.sock":
        return os.path.join(folder, "http.sock")
    return os.path.join(folder, name[:-5] + ".http.sock" if name.endswith(".sock") else name + ".http")


def _believable(folder: str) -> bool:
    """Anybody may make a folder in /tmp: it counts only when it is ours and nobody else writes there."""
    if not folder.startswith("/tmp/"):
        return True
    try:
        st = os.lstat(folder)
    except OSError:
        return False
    return st.st_uid == os.geteuid() and not st.st_mode & 0o022


def _peer(connection: Any) -> int:
    """The process that made the other end of a Unix socket; 0: it has no number here."""
    import socket
    import struct
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def _refuse_stopped(where: str, pid: int) -> None:
    """The kernel takes connections for a stopped server, too: it would answer nothing."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            state = f.read().rsplit(")", 1)[-1].split()[0]
    except (OSError, IndexError):
        return
    if state in ("T", "t"):
        raise ServerError(f"no xserver answers: the one at {where} (PID {pid}) is stopped (by a signal or a debugger)",
                          f"`kill -CONT {pid}` continues it; what a debugger stopped, that continues", XResult.kXSchedErrorNotFound)


def _connections(timeout_s: float) -> List[Tuple[str, Any]]:
    import http.client
    import socket

    class Unix(http.client.HTTPConnection):
        def __init__(self, path: str) -> None:
            super().__init__("localhost", timeout=timeout_s)
            self.path = path

        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(timeout_s)
            self.sock.connect(self.path)
            _refuse_stopped(self.path, _peer(self.sock))

    places: List[Tuple[str, Any]] = [(p, Unix(p)) for p in sockets()]
    if not os.environ.get("XSCHED_SOCKET"):
        places.append(("127.0.0.1:50000", http.client.HTTPConnection("127.0.0.1", 50000, timeout=timeout_s)))
    return places


def ask(method: str, path: str, body: Optional[Dict[str, Any]] = None, timeout_s: float = 5.0) -> Tuple[str, Dict[str, Any]]:
    """One exchange with the first server that answers: where it is, and its answer."""
    import http.client
    import json

    data = json.dumps(body) if body is not None else None
    for where, connection in _connections(timeout_s):
        try:
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
        except OSError:
            continue
        except http.client.HTTPException:  # what answers speaks something else, or stops in the middle
            text = b""
        finally:
            connection.close()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ServerError(f"{where} answers with something else than xserver's JSON", "is another program there?",
                              XResult.kXSchedErrorBadResponse)
        if response.status != 200:
            result = {404: XResult.kXSchedErrorNotFound, 403: XResult.kXSchedErrorNotAllowed,
                      400: XResult.kXSchedErrorInvalidValue}.get(response.status, XResult.kXSchedErrorUnknown)
            raise ServerError(f"xserver refuses {method} {path}: {answer.get('error', response.status)}",
                              "`xcli list` shows what there is", result)
        return where, answer
    raise ServerError("no xserver answers", "start one (`xserver`, or any program with `xsched run`), or name its socket in "
                      "XSCHED_SOCKET", XResult.kXSchedErrorNotFound)


def status(timeout_s: float = 5.0) -> Status:
    """What xserver schedules now. Raises ServerError when none answers."""
    where, state = ask("GET", "/status", timeout_s=timeout_s)
    _, lists = ask("GET", "/xqueues", timeout_s=timeout_s)
    try:
        queues = tuple(QueueStatus(*(q[name] for name in QueueStatus._fields)) for q in lists["xqueues"])
        processes = tuple(ProcessStatus(*(p[name] for name in ProcessStatus._fields)) for p in lists["processes"])
        return Status(where, state["version"], state["policy_name"], state["uptime_us"], queues, processes)
    except (KeyError, TypeError) as error:
        raise ServerError(f"xserver's answer lacks {error}", "use a package and a server of one version",
                          XResult.kXSchedErrorBadResponse) from None


def passed_over(strict: bool, error: XSchedError) -> None:
    """The one mode of all calls: strict raises an error for each failure, lenient says it once for each call and goes
    on."""
    if strict:
        raise error
    from ._scope import say_once
    say_once(f"lenient {error.result}", f"{error}; passed over, since strict is False")


def hint_process(kind: int, strict: bool = True, **values: int) -> None:
    """A hint for all queues of this process, also later ones."""
    try:
        hint_this_process({"hint_type": kind, **values})
    except ServerError as error:
        passed_over(strict, error)


def hint_this_process(body: Dict[str, Any]) -> None:
    """For the asker: the server knows that on its Unix socket."""
    try:
        ask("POST", "/hint", body)
    except ServerError as error:
        if error.result == XResult.kXSchedErrorNotFound and "no xserver" not in error.reason:
            raise _not_joined() from None
        if error.result != XResult.kXSchedErrorInvalidValue:
            raise
        ask("POST", "/hint", {**body, "pid": _pid_at_server()})  # an older server, or one behind TCP


def _has_joined(hint: Callable[[], object]) -> bool:
    """Whether there is still a program that the hint is for."""
    try:
        hint()
    except ServerError as error:
        if error.result != XResult.kXSchedErrorNotFound:
            raise
        return False
    return True


def _outside(where: str) -> bool:
    """Whether xserver's processes have other numbers than ours: the one that made its socket has none here."""
    import socket
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(where)
            return _peer(s) == 0
    except OSError:  # TCP does not tell it
        return False


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 0:  # 1 may be the program of a container
        if pid == ancestor:
            return True
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            return False
    return False


def _pid_at_server() -> int:
    """Inside a container the server knows this process by another number. Two containers may have one number each."""
    pids = [int(c["pid"]) for c in ask("GET", "/clients")[1].get("clients", [])
            if c.get("pid_in_namespace") == os.getpid() and c.get("uid") == os.geteuid()]
    if not pids:
        raise _not_joined()
    if len(set(pids)) > 1:
        raise ServerError(f"several programs that have joined xserver are number {os.getpid()} in their containers",
                          "let this one see xserver's http.sock, which tells the asker", XResult.kXSchedErrorNotAllowed)
    return pids[0]


def _not_joined() -> ServerError:
    return ServerError("this process has not joined xserver",
                       "it joins when it first uses a device under `xsched run` or with XSCHED_PRIORITY set",
                       XResult.kXSchedErrorNotFound)
