# SPDX-License-Identifier: Apache-2.0
"""set_priority(stream, 5) and the like."""
from __future__ import annotations

from typing import Any, Callable, Optional

from ._calls import XSched
from ._errors import InvalidValueError, LibraryError, NotSupportedError, check
from ._policies import POLICIES
from ._queue import Queue, hint_named, integer, priority_value
from ._scope import _queue_said
from ._types import TIMESLICE_MAX, TIMESLICE_MIN, TIMESLICE_UNLIMITED, XResult, XSchedulerType


class _Process:
    def __repr__(self) -> str:
        return "xsched.PROCESS"


#: All queues of this process, also later ones: for frameworks that do not tell their streams.
#: Asks xserver each time, so it needs the global scheduler.
PROCESS = _Process()

_SCHEDULERS = {"app": XSchedulerType.kSchedulerAppManaged, "local": XSchedulerType.kSchedulerLocal,
               "global": XSchedulerType.kSchedulerGlobal}


def _said(target: Any, strict: bool, call: Callable[[Queue], None]) -> None:
    from ._server import passed_over
    try:
        call(_queue_said(target))
    except LibraryError as error:
        passed_over(strict, error)


def set_priority(target: Any, value: int, *, strict: bool = True) -> None:
    """Priority of a stream, a Queue or PROCESS: -255 to 255, larger is more urgent; -256 never runs."""
    if target is PROCESS:
        from ._server import hint_process
        hint_process(1, strict, priority=priority_value(value))
    else:
        _said(target, strict, lambda q: q.set_priority(value))


def set_utilization(target: Any, percent: int, *, strict: bool = True) -> None:
    """Share of the device in percent, of a stream, a Queue or PROCESS (policies UP, PUP, SPUP)."""
    if target is PROCESS:
        from ._server import hint_process
        hint_process(2, strict, utilization=integer(percent, 0, 100, "the utilization", " percent"))
    else:
        _said(target, strict, lambda q: q.set_utilization(percent))


def set_deadline(target: Any, deadline_us: Optional[int], *, strict: bool = True) -> None:
    """Microseconds from becoming ready, of a stream, a Queue or PROCESS (policy KEDF); None: no deadline."""
    if target is PROCESS:
        from ._server import hint_process
        hint_process(4, strict, deadline=-1 if deadline_us is None else
                     integer(deadline_us, 1, (1 << 63) - 1, "the deadline", " microseconds"))
    else:
        _said(target, strict, lambda q: q.set_deadline(deadline_us))


def set_laxity(target: Any, laxity_us: Optional[int], lax_priority: int = 0, critical_priority: int = 0, *,
               strict: bool = True) -> None:
    """Priority lax_priority until ready for so long, then critical_priority (policy LAX); None: no laxity."""
    if target is PROCESS:
        raise NotSupportedError("laxity is set by stream", "pass a stream, or set XSCHED_AUTO_XQUEUE_LAXITY",
                                XResult.kXSchedErrorNotSupported)
    _said(target, strict, lambda q: q.set_laxity(laxity_us, lax_priority, critical_priority))


def set_hint(target: Any, name: str, value: Optional[int], *, strict: bool = True) -> None:
    """Any hint of a stream, a Queue or PROCESS by its name, as `xcli hint --help` lists them; None: none."""
    if target is PROCESS:
        from ._server import hint_process
        hint = hint_named(name)
        hint_process(hint.number, strict, **{name: hint.value(value)})
    else:
        _said(target, strict, lambda q: q.set_hint(name, value))


def set_timeslice(timeslice_us: Optional[int]) -> None:
    """Length of a slice, 100 to 10,000,000 microseconds, for the scheduler as a whole; None: unlimited."""
    value = TIMESLICE_UNLIMITED if timeslice_us is None else \
        integer(timeslice_us, TIMESLICE_MIN, TIMESLICE_MAX, "the slice", " microseconds")
    check(XSched.XHintTimeslice(value), "XHintTimeslice")


def set_scheduler(scheduler: str, policy: str = "HPF") -> None:
    """Chooses the scheduler of this process from now on: "app" (its own suspend and resume), "local" (a policy inside the
    process, by name) or "global" (xserver)."""
    kind = _SCHEDULERS.get(scheduler)
    policy_type = POLICIES.get(str(policy).upper())
    if kind is None or policy_type is None:
        raise InvalidValueError(f"scheduler {scheduler!r} with policy {policy!r}",
                                f"schedulers are {', '.join(_SCHEDULERS)}; policies {', '.join(POLICIES)}",
                                XResult.kXSchedErrorInvalidValue)
    check(XSched.XHintSetScheduler(kind, policy_type), "XHintSetScheduler")


__all__ = ["PROCESS", "Queue", "set_deadline", "set_hint", "set_laxity", "set_priority", "set_scheduler", "set_timeslice",
           "set_utilization"]
