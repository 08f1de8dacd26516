# SPDX-License-Identifier: Apache-2.0
"""Priorities of Ray's actors, tasks and Serve deployments.

    @xsched.ray.priority(10)                  # above @ray.remote or @serve.deployment
    @ray.remote(num_gpus=0.5)
    class Model: ...

    Model.options(**xsched.ray.options(10))   # or for one actor
    xsched.ray.set_priority(actor, 20)        # while it runs, also while a method of it does

Each node schedules its own workers by its own xserver; Ray needs no setup. A worker on a node without XSched or
without xserver runs unscheduled, and Ray's log says so (the raylet's standard error and the worker's, which Ray shows
the driver). A worker without a priority stays as it is; tasks and actors of a prioritised one inherit its
runtime_env, as always in Ray.
"""
from __future__ import annotations

import functools
import importlib
import logging
from typing import Any, Callable, Dict, Optional, Tuple

from . import _ray_start
from ._programs import hint
from ._queue import integer
from ._scope import say_once
from ._types import PRIORITY_MAX, PRIORITY_MIN, PRIORITY_NO_EXECUTE

NAMESPACE = "xsched"
_OWN = frozenset({"nsight", "rocprof_sys", "image_uri", "container"})  # these start the worker by a command of their own
_log = logging.getLogger("ray.xsched")


def _ray() -> Any:
    return importlib.import_module("ray")  # not above: other programs import this package too


def _key_of(actor_id: str) -> str:
    """The place where Ray keeps the priority that a caller set for a running actor, for the actor's restart."""
    return "priority:" + actor_id


def _within_limits(value: Any) -> Tuple[int, str]:
    """The nearest priority that there is, and a warning about it."""
    number = integer(value, -(1 << 63), (1 << 63) - 1, "the priority", "")
    nearest = number if number == PRIORITY_NO_EXECUTE else max(PRIORITY_MIN, min(PRIORITY_MAX, number))
    if nearest == number:
        return number, ""
    note = f"priority {number} is beyond the limits {PRIORITY_MIN} to {PRIORITY_MAX}: it is {nearest}"
    say_once(note, note)
    return nearest, note


def _inherited() -> Dict[str, Any]:
    """The runtime_env into which Ray merges the request: the job's, or that of the worker in which this runs."""
    ray = _ray()
    return dict(ray.get_runtime_context().runtime_env) if ray.is_initialized() else {}


def _python(env: Dict[str, Any], inherited: Dict[str, Any]) -> str:
    """The command of the interpreter, if the runtime_env decides upon it; "": the node does."""
    for level in (env, inherited):
        own = str(level.get("py_executable") or "")
        if own and not _ray_start.is_command(own):
            return own
        if any(level.get(field) for field in ("pip", "uv", "conda")):
            return "python"  # of the environment that Ray activates before
        if own:
            return str(level.get("env_vars", {}).get("XSCHED_RAY_PYTHON", ""))
    return ""


def runtime_env(value: int, env: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A runtime_env whose workers have this priority: -255 to 255, larger is more urgent; -256 never runs. A priority
    beyond the range becomes the nearest, with a warning.

    With env, a runtime_env of the user's, that one with the priority added. All of it stays in force: an LD_PRELOAD in its
    env_vars stays, and the node adds XSched's libraries to it.
    """
    theirs = dict(env or {})
    nearest, note = _within_limits(value)
    inherited = _inherited()
    own = sorted(_OWN & {field for level in (theirs, inherited) for field, content in level.items() if content})
    if own:
        _log.warning("xsched: a runtime_env with %s starts its workers by itself: they run unscheduled", own[0])
        return theirs
    variables = {"XSCHED_RAY_OPTIONS": f"--priority={nearest}", "XSCHED_RAY_PYTHON": _python(theirs, inherited),
                 "XSCHED_RAY_NOTE": note}
    return {**theirs, "py_executable": _ray_start.command(), "env_vars": {**(theirs.get("env_vars") or {}), **variables}}


def options(value: int, **more: Any) -> Dict[str, Any]:
    """Options of an actor, a task or a Serve deployment (ray_actor_options) with this priority; more are further ones."""
    return {**more, "runtime_env": runtime_env(value, more.get("runtime_env"))}


class _Prioritized:
    """An actor class or a remote function whose actors or tasks have a priority, also with options of their own."""

    def __init__(self, inner: Any, value: int, more: Optional[Dict[str, Any]] = None) -> None:
        self._inner, self._value, self._more = inner, value, more or {}

    def _ready(self) -> Any:
        env = self._more.get("runtime_env", getattr(self._inner, "_default_options", {}).get("runtime_env"))
        return self._inner.options(**{**self._more, "runtime_env": runtime_env(self._value, env)})

    def options(self, **more: Any) -> "_Prioritized":
        return _Prioritized(self._inner, self._value, {**self._more, **more})

    def remote(self, *arguments: Any, **named: Any) -> Any:
        return self._ready().remote(*arguments, **named)

    def bind(self, *arguments: Any, **named: Any) -> Any:
        return self._ready().bind(*arguments, **named)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._inner(*arguments, **named)  # an error of Ray's that says what to do

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":  # as pickle looks for them
            raise AttributeError(name)
        return getattr(self._inner, name)


def priority(value: int) -> Callable[[Any], Any]:
    """A decorator above @ray.remote or @serve.deployment; see runtime_env() for the value."""
    _within_limits(value)

    def decorate(target: Any) -> Any:
        if hasattr(target, "ray_actor_options"):
            return target.options(ray_actor_options=options(value, **(target.ray_actor_options or {})))
        if not hasattr(target, "remote") or not hasattr(target, "options"):
            raise TypeError(f"@xsched.ray.priority stands above @ray.remote or @serve.deployment, not below it: "
                            f"{target!r} is neither an actor class, a remote function nor a deployment")
        return _Prioritized(target, value)

    return decorate


def _hint_on_node(pid: int, value: int) -> Tuple[int, ...]:
    return hint(pid, priority=value, children=True, strict=False)


@functools.lru_cache(maxsize=None)
def _teller() -> Any:
    return _ray().remote(num_cpus=0)(_hint_on_node)


def set_priority(actor: Any, value: int, *, timeout_s: float = 30.0) -> Tuple[int, ...]:
    """The priority of an actor from now on, also while a method of it runs, and after a restart on any node.

    actor is a handle, or the name of a named actor. Returns the numbers of the actor's processes that got
    the priority on its node. An actor that has not used its device yet, or restarts now, has none: it then begins with
    this priority.
    """
    ray = _ray()
    handle = ray.get_actor(actor) if isinstance(actor, str) else actor
    nearest, _ = _within_limits(value)
    actor_id = handle._actor_id.hex()
    importlib.import_module("ray.experimental.internal_kv")._internal_kv_put(_key_of(actor_id), str(nearest),
                                                                             namespace=NAMESPACE)
    where = importlib.import_module("ray._private.state").actors(actor_id)
    if where.get("State") != "ALIVE" or not where.get("Pid"):
        return ()
    affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    there = affinity(node_id=where["Address"]["NodeID"], soft=False)
    told = _teller().options(scheduling_strategy=there).remote(where["Pid"], nearest)
    try:
        return tuple(ray.get(told, timeout=timeout_s))
    except Exception as error:  # the node went away, or has no such package; the actor's work goes on
        _log.warning("xsched: priority %d of actor %s: its node did not get it: %s", nearest, actor_id, error)
        return ()


__all__ = ["options", "priority", "runtime_env", "set_priority"]
