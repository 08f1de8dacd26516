# SPDX-License-Identifier: Apache-2.0
"""Queue: the XQueue of a stream; Command: a function that it launches."""
from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any, Callable, Iterator, List, Optional, Union

from ._calls import XSched, queue_of
from ._errors import InvalidValueError, check
from ._library import quick
from ._streams import Stream, resolve
from ._types import (PRIORITY_MAX, PRIORITY_MIN, PRIORITY_NO_EXECUTE, XQueueResumeFlag, XQueueState, XQueueSuspendFlag,
                     XResult)

_MAKERS = {"cuda": "CudaQueueCreate", "hip": "HipQueueCreate", "opencl": "OclQueueCreate"}


def integer(value: Any, least: int, most: int, what: str, unit: str = "") -> int:
    """value as an int, if it is one within the range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidValueError(f"{what} is {value!r}", f"it is an integer from {least} to {most}{unit}",
                                XResult.kXSchedErrorInvalidValue)
    number = int(value.__index__())
    if not least <= number <= most:
        raise InvalidValueError(f"{what} is {number}", f"it is an integer from {least} to {most}{unit}",
                                XResult.kXSchedErrorInvalidValue)
    return number


def priority_value(value: Any) -> int:
    return integer(value, PRIORITY_NO_EXECUTE, PRIORITY_MAX, "the priority", "; larger is more urgent, -256 never runs")


def _from_environment(offset: int) -> Optional[int]:
    """The priority that the shim would have given to the queue, when it makes queues by itself."""
    automatic = os.environ.get("XSCHED_AUTO_XQUEUE", "").upper()
    short = os.environ.get("XSCHED_PRIORITY")
    if automatic not in ("ON", "1") and (short is None or automatic in ("OFF", "0")):
        return None
    try:
        base = int(os.environ.get("XSCHED_AUTO_XQUEUE_PRIORITY") or short or 0)
    except ValueError:
        return None
    return base if base == PRIORITY_NO_EXECUTE else max(PRIORITY_MIN, min(PRIORITY_MAX, base + offset))


class Command:
    """A function that was given to Queue.submit."""

    def __init__(self, queue: Queue, function: Callable[[], Any]) -> None:
        self._queue = queue
        self._error: Optional[BaseException] = None
        self._done = False
        #: what the function returned, after it was launched
        self.value: Any = None

        def launch(_hwq: int, _data: Optional[int]) -> int:
            try:
                self.value = function()
                return 0
            except BaseException as error:
                self._error = error
                return int(XResult.kXSchedErrorUnknown)

        result, self.handle = XSched.HwCommandCreateCallback(launch)
        check(result, "HwCommandCreateCallback")

    def wait(self) -> Any:
        """Waits until what the function launched is complete; returns what the function returned, or raises what it
        raised. A second call does not wait."""
        if not self._done:
            result = XSched.XQueueWait(self._queue.handle, self.handle)
            self._done = True
            if self._error is None:
                check(result, "XQueueWait")
        if self._error is not None:
            raise self._error
        return self.value


class Queue:
    """The XQueue of a stream. Making it twice gives the same XQueue; it lives on when this object is gone.

    :param stream: a stream of PyTorch, CuPy, Numba, pyopencl, ..., or its handle as an integer
    :param level: 1, 2 or 3; None: the highest that the platform has
    :param platform: "cuda", "hip" or "opencl", for integers where it is not clear
    """

    def __init__(self, stream: Any, *, level: Optional[int] = None, platform: Optional[str] = None) -> None:
        #: the object that it was made of, which it keeps alive
        self.stream = stream
        self._open(resolve(stream, platform), level)

    @classmethod
    def _of(cls, stream: Stream) -> Queue:
        queue = cls.__new__(cls)
        queue.stream = stream.handle
        queue._open(stream, None)
        return queue

    def _open(self, stream: Stream, level: Optional[int]) -> None:
        self._line: Any = None  # what xsched.priority() remembers of it
        if level is not None:
            integer(level, 1, 3, "the level")
        self.platform = stream.platform
        what = f"{stream.handle:#x}"
        result, self.hw_handle = queue_of(_MAKERS[stream.platform], stream.handle)
        check(result, _MAKERS[stream.platform], what)
        result, self.handle = XSched.XQueueGet(self.hw_handle)
        if result != XResult.kXSchedSuccess:
            result, self.handle = XSched.XQueueCreate(self.hw_handle, 1, 0)
            check(result, "XQueueCreate", what)
            usual = _from_environment(stream.offset)
            if usual is not None:
                check(XSched.XHintPriority(self.handle, usual), "XHintPriority")
            for better in (3, 2) if level is None else ():
                if XSched.XQueueSetPreemptLevel(self.handle, better) == XResult.kXSchedSuccess:
                    break
        if level is not None:
            self.set_level(level)

    def __repr__(self) -> str:
        return f"<xsched.Queue {self.handle:#x} ({self.platform})>"

    # hints
    def set_priority(self, value: int) -> None:
        """Larger is more urgent: -255 to 255; -256 never runs."""
        check(quick().XHintPriority(ctypes.c_uint64(self.handle), priority_value(value)), "XHintPriority")

    def swap_priority(self, value: int) -> int:
        """Sets the priority and returns the one that was in force."""
        result, old = XSched.XHintSwapPriority(self.handle, priority_value(value))
        check(result, "XHintSwapPriority")
        return old

    def set_utilization(self, percent: int) -> None:
        """Share of the device, 0 to 100 (policies UP, PUP, SPUP)."""
        check(XSched.XHintUtilization(self.handle, integer(percent, 0, 100, "the utilization", " percent")),
              "XHintUtilization")

    def set_deadline(self, deadline_us: Optional[int]) -> None:
        """Microseconds from becoming ready (policy KEDF); None: no deadline."""
        value = -1 if deadline_us is None else integer(deadline_us, 1, (1 << 63) - 1, "the deadline", " microseconds")
        check(XSched.XHintDeadline(self.handle, value), "XHintDeadline")

    def set_laxity(self, laxity_us: Optional[int], lax_priority: int = 0, critical_priority: int = 0) -> None:
        """Priority lax_priority until ready for so long, then critical_priority (policy LAX); None: no laxity."""
        value = -1 if laxity_us is None else integer(laxity_us, 0, (1 << 63) - 1, "the laxity", " microseconds")
        check(XSched.XHintLaxity(self.handle, value, priority_value(lax_priority), priority_value(critical_priority)),
              "XHintLaxity")

    def set_level(self, level: int) -> None:
        """Preemption level 1 (what was not launched waits), 2 (what has not started) or 3 (what runs)."""
        check(XSched.XQueueSetPreemptLevel(self.handle, integer(level, 1, 3, "the level")), "XQueueSetPreemptLevel")

    def set_launch_config(self, threshold: int = 0, batch_size: int = 0) -> None:
        """Most commands in flight, and commands between two completion marks; 0 keeps a value."""
        check(XSched.XQueueSetLaunchConfig(self.handle, threshold, batch_size), "XQueueSetLaunchConfig")

    # state
    @property
    def idle(self) -> bool:
        """Whether everything submitted is complete. Does not wait."""
        result, state = XSched.XQueueQuery(self.handle)
        check(result, "XQueueQuery")
        return state == XQueueState.kQueueStateIdle

    @property
    def commands(self) -> int:
        """Commands submitted so far, those of the shim included."""
        result, count = XSched.XQueueProfileHwCommandCount(self.handle)
        check(result, "XQueueProfileHwCommandCount")
        return count

    # control
    def suspend(self, *, sync: bool = False) -> None:
        """Commands that were not started do not start any more. sync: returns when what was launched is complete.

        Under the shim this holds plain launches too, inside the framework's call. One that keeps the interpreter lock
        meanwhile (pyopencl's; not PyTorch's or CuPy's) stops every thread of the program, also the one that would resume:
        use submit() there.
        """
        flags = XQueueSuspendFlag.kQueueSuspendFlagSyncHwQueue if sync else XQueueSuspendFlag.kQueueSuspendFlagNone
        check(XSched.XQueueSuspend(self.handle, flags), "XQueueSuspend")

    def resume(self, *, drop: bool = False) -> None:
        """Commands may start again. drop: forgets those that submit() was given and that still wait."""
        flags = XQueueResumeFlag.kQueueResumeFlagDropCommands if drop else XQueueResumeFlag.kQueueResumeFlagNone
        check(XSched.XQueueResume(self.handle, flags), "XQueueResume")

    @contextlib.contextmanager
    def suspended(self, *, sync: bool = True) -> Iterator[Queue]:
        """Suspended inside the with-block."""
        self.suspend(sync=sync)
        try:
            yield self
        finally:
            self.resume()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Command:
        """Has function(*arguments) called when the queue may launch: at once in this thread if it may now, else later
        in a worker thread, in order of submission. The function launches work on the stream; it must not wait for it.
        """
        def call() -> Any:
            return function(*arguments)

        command = Command(self, call)
        result = XSched.XQueueSubmit(self.handle, command.handle)
        if result != XResult.kXSchedSuccess:
            XSched.HwCommandDestroy(command.handle)
            check(result, "XQueueSubmit")
        return command

    def wait(self) -> None:
        """Waits until everything submitted so far is complete."""
        check(XSched.XQueueWaitAll(self.handle), "XQueueWaitAll")

    def destroy(self) -> None:
        """Waits, then frees the XQueue and the hardware queue; the vendor's stream is untouched."""
        check(XSched.XQueueDestroy(self.handle), "XQueueDestroy")
        XSched.HwQueueDestroy(self.hw_handle)


Target = Union[Queue, Any]


def queue_for(target: Any, platform: Optional[str] = None) -> Queue:
    return target if isinstance(target, Queue) else Queue(target, platform=platform)


__all__: List[str] = ["Command", "Queue"]
