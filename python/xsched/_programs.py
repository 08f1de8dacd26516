# SPDX-License-Identifier: Apache-2.0
"""hint("serve.py", priority=10) and the like: other programs, by number or by name, as xserver knows them."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Union

from . import _server
from ._errors import InvalidValueError, NotFoundError, ServerError
from ._policies import POLICIES
from ._queue import hint_named, integer, priority_value
from ._scope import say_once
from ._server import Status, passed_over
from ._types import XResult

Program = Union[int, str]
_SELF = 0  # this process, whose number at xserver is another one than here


def names_of(cmdline: str) -> Set[str]:
    """A program's name: its file, and for an interpreter the first argument that is no option as well."""
    words = cmdline.split()
    if not words:
        return set()
    names = {os.path.basename(words[0])}
    names.update(os.path.basename(w) for w in [w for w in words[1:] if not w.startswith("-")][:1])
    return names


def _number(target: Program) -> int:
    return integer(target, 1, 0x7fffffff, "the number of a process", "")


def _pids(target: Program, children: bool) -> List[int]:
    """The programs that are meant and have joined xserver, by its numbers; in a container of other numbers none but this one,
    as _SELF."""
    where, answer = _server.ask("GET", "/clients")
    clients: List[Dict[str, Any]] = answer.get("clients", [])
    if isinstance(target, str):
        return sorted({int(c["pid"]) for c in clients if target in names_of(str(c.get("cmdline", "")))})
    number = _number(target)
    if not _server._outside(where):
        return sorted({int(c["pid"]) for c in clients
                       if c["pid"] == number or children and _server._descends(int(c["pid"]), number)})
    if number == os.getpid() or children and _server._descends(os.getpid(), number):
        return [_SELF]
    say_once("outside", "xserver is outside of this container and knows its processes by other numbers: nothing changes for them; "
             "run the container in the host's PID namespace")
    return []


def _change(target: Program, children: bool, path: str, bodies: List[Dict[str, Any]]) -> Tuple[int, ...]:
    told = []
    for pid in _pids(target, children):
        if all(_server._has_joined(lambda b=body, p=pid: _of(p, path, b)) for body in bodies):  # type: ignore[misc]
            told.append(pid or os.getpid())
    if not told and not children:
        what = f"program named {target!r}" if isinstance(target, str) else f"process {target}"
        raise NotFoundError(f"no {what} has joined xserver", "`xcli list` shows what there is", XResult.kXSchedErrorNotFound)
    return tuple(told)


def _of(pid: int, path: str, body: Dict[str, Any]) -> None:
    if pid == _SELF and path == "/hint":
        _server.hint_this_process(body)
    else:
        _server.ask("POST", path, {**body, "pid": pid or _server._pid_at_server()})


def _unless_lenient(strict: bool, call: Callable[[], Tuple[int, ...]]) -> Tuple[int, ...]:
    try:
        return call()
    except (ServerError, NotFoundError) as error:
        passed_over(strict, error)
        return ()


def hint(target: Program, *, priority: Optional[int] = None, utilization: Optional[int] = None,
         deadline_us: Optional[int] = None, children: bool = False, strict: bool = True, **more: int) -> Tuple[int, ...]:
    """Priority, share in percent or deadline (NO_DEADLINE: none) of a program, for all its queues, also later ones; or any
    other hint by its name, as `xcli hint --help` lists them.

    The program is named by its process number or by its name: that of its file, or of the script that it runs. With
    children, this means the programs that it started as well, as far as they have joined xserver, and none is no
    error. Returns the numbers of those that got it.
    """
    bodies: List[Dict[str, Any]] = []
    if priority is not None:
        bodies.append({"hint_type": 1, "priority": priority_value(priority)})
    if utilization is not None:
        bodies.append({"hint_type": 2, "utilization": integer(utilization, 0, 100, "the utilization", " percent")})
    if deadline_us is not None:
        bodies.append({"hint_type": 4, "deadline": integer(deadline_us, -1, (1 << 63) - 1, "the deadline", " microseconds")})
    bodies += [{"hint_type": hint_named(name).number, name: hint_named(name).value(value)} for name, value in more.items()]
    if not bodies:
        raise InvalidValueError("give a hint", "pass priority, utilization or deadline_us",
                                XResult.kXSchedErrorInvalidValue)
    return _unless_lenient(strict, lambda: _change(target, children, "/hint", bodies))


def suspend(target: Program, for_s: Optional[float] = None, *, children: bool = False, strict: bool = True) -> Tuple[int, ...]:
    """Suspends all queues of a program, by number or name as in hint(), until resume() or for a time, which xserver ends.
    Returns the numbers of the suspended ones."""
    body: Dict[str, Any] = {}
    if for_s is not None:
        body["for_ms"] = integer(round(for_s * 1000), 1, 30 * 24 * 3600 * 1000, "the time", " milliseconds")
    return _unless_lenient(strict, lambda: _change(target, children, "/suspend", [body]))


def resume(target: Program, *, children: bool = False, strict: bool = True) -> Tuple[int, ...]:
    """Ends what suspend() or `xcli suspend` began. Returns the numbers of the resumed ones."""
    return _unless_lenient(strict, lambda: _change(target, children, "/resume", [{}]))


def policy(name: Optional[str] = None, *, strict: bool = True) -> str:
    """The name of xserver's policy; with a name ("PUP"), changes to it first. "" where strict is False and no xserver answers."""
    kind = POLICIES.get(str(name).upper()) if name is not None else None
    if name is not None and kind is None:
        raise InvalidValueError(f"there is no policy {name!r}", f"policies are {', '.join(POLICIES)}",
                                XResult.kXSchedErrorInvalidValue)
    try:
        if kind is not None:
            _server.ask("POST", f"/policy?policy={kind.value}")
        return str(_server.ask("GET", "/policy")[1].get("name", ""))
    except ServerError as error:
        passed_over(strict, error)
        return ""


def status(timeout_s: float = 5.0, *, strict: bool = True) -> Status:
    """What xserver schedules now. Raises ServerError when none answers; where strict is False, the status is empty then."""
    try:
        return _server.status(timeout_s)
    except ServerError as error:
        passed_over(strict, error)
        return Status("", "", "", 0, (), ())
