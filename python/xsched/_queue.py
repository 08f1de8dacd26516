# SPDX-License-Identifier: Apache-2.0
"""Queue: the XQueue of a stream; Command: a function that it launches."""
from __future__ import annotations

import collections
import contextlib
import ctypes
import sys
import threading
import weakref
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple, Union

from ._calls import XSched, as_the_shim_would, hint_by_number, queue_of
from ._errors import InvalidValueError, check
from ._hint_table import OF_QUEUE, Hint
from ._library import quick
from ._platforms import PLATFORMS
from ._streams import Stream, resolve
from ._types import (PRIORITY_MAX, PRIORITY_NO_EXECUTE, XQueueResumeFlag, XQueueState, XQueueSuspendFlag, XResult)


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


def hint_named(name: str) -> Hint:
    """The row of a queue's hint."""
    hint = OF_QUEUE.get(name)
    if hint is None:
        raise InvalidValueError(f"there is no hint {name!r} of a queue", f"hints are {', '.join(OF_QUEUE)}",
                                XResult.kXSchedErrorInvalidValue)
    return hint


def priority_value(value: Any) -> int:
    return integer(value, PRIORITY_NO_EXECUTE, PRIORITY_MAX, "the priority", "; larger is more urgent, -256 never runs")


class _Launch:
    """What libpreempt's callback holds: the work until its launch, and nothing afterwards. An error refers by its
    traceback to the frames of the submitter, and these to the Command, which has to go away all the same."""

    __slots__ = ("work",)

    def __init__(self, work: _Work) -> None:
        self.work: Optional[_Work] = work

    def __call__(self, _hwq: int, _data: Optional[int]) -> int:
        work, self.work = self.work, None
        return work.launch() if work is not None else int(XResult.kXSchedErrorUnknown)


class _Work:
    """What a command does and how it ended."""

    __slots__ = ("function", "value", "error", "result", "lock", "__weakref__")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function: Optional[Callable[[], Any]] = function  # until the call: it holds the arguments
        self.value: Any = None
        self.error: Optional[BaseException] = None
        self.result: Optional[XResult] = None  # how it ended, once its handle is freed
        self.lock = threading.Lock()           # the thread that waits for it frees its handle

    def launch(self) -> int:
        function, self.function = self.function, None
        try:
            self.value = function() if function is not None else None
            return 0
        except BaseException as error:
            self.error = error
            return int(XResult.kXSchedErrorUnknown)

    def wait(self, xq: int, handle: int) -> XResult:
        """Until it is complete; then frees the handle, once."""
        with self.lock:
            if self.result is None:
                result = XSched.XQueueWait(xq, handle)
                if result == XResult.kXSchedErrorNotFound:  # dropped, or the queue is gone
                    XSched.HwCommandDestroy(handle)
                self._end(xq, handle, result)
            assert self.result is not None
            return self.result

    def queue_gone(self, xq: int, handle: int) -> None:
        """The queue is gone: its end waited for all launched commands."""
        with self.lock:
            if self.result is None:
                ran = self.function is None
                XSched.HwCommandDestroy(handle)
                self._end(xq, handle, XResult.kXSchedSuccess if ran else XResult.kXSchedErrorNotFound)

    def _end(self, xq: int, handle: int, result: XResult) -> None:
        self.result = result
        self.function = None
        _forget(xq, handle)


_submitted: Dict[int, Dict[int, weakref.ref[_Work]]] = {}  # XQueue -> command -> those that nobody has waited for
_left: Dict[int, Deque[int]] = {}  # XQueue -> commands, in order: not launched when nobody referred to them any more


_blocks: Dict[int, int] = {}     # XQueue -> blocks of suspended() that are open
_blocks_lock = threading.Lock()


def _submitted_to(xq: int) -> List[Tuple[int, _Work]]:
    pairs = ((handle, ref()) for handle, ref in _submitted.get(xq, {}).copy().items())
    return [(handle, work) for handle, work in pairs if work is not None]


def _forget(xq: int, handle: int) -> None:
    works = _submitted.get(xq)
    if works is not None:
        works.pop(handle, None)


def _free(xq: int, handle: int) -> bool:
    """Frees a command that nobody refers to; false: it waits for its launch."""
    if XSched.HwCommandDestroy(handle) == XResult.kXSchedErrorNotAllowed:
        return False
    _forget(xq, handle)
    return True


def _free_left(xq: int) -> None:
    """Those of them that libpreempt has launched meanwhile."""
    left = _left.get(xq)
    while left:
        try:
            handle = left.popleft()
        except IndexError:  # another thread was faster
            return
        if not _free(xq, handle):
            left.appendleft(handle)
            return


class Command:
    """A function that Queue.submit took."""

    def __init__(self, queue: Queue, function: Callable[[], Any]) -> None:
        self._queue = queue
        self._work = _Work(function)
        result, self.handle = XSched.HwCommandCreateCallback(_Launch(self._work))
        check(result, "HwCommandCreateCallback")

    @property
    def value(self) -> Any:
        """The function's return value, after its launch."""
        return self._work.value

    def wait(self) -> Any:
        """Waits until what the function launched is complete; returns what the function returned, or raises what it
        raised. A second call does not wait."""
        result = self._work.wait(self._queue.handle, self.handle)
        if self._work.error is not None:
            raise self._work.error
        check(result, "XQueueWait")
        return self._work.value

    def __del__(self) -> None:
        work = getattr(self, "_work", None)
        if work is not None and work.result is None and hasattr(self, "handle") and not sys.is_finalizing():
            xq = self._queue.handle
            if not _free(xq, self.handle):
                _left.setdefault(xq, collections.deque()).append(self.handle)


class Queue:
    """The XQueue of a stream. Making it twice gives the same XQueue; it lives on when this object is gone.

    :param stream: a stream of PyTorch, CuPy, Numba, pyopencl, ..., or its handle as an integer
    :param level: 1, 2 or 3; None: the highest that the platform has, or where the program runs under `xsched run`, what
        that was told
    :param platform: its name ("cuda", ...), for integers where it is not clear
    """

    def __init__(self, stream: Any, *, level: Optional[int] = None, platform: Optional[str] = None) -> None:
        #: the object behind it, which it keeps alive
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
        maker = PLATFORMS[stream.platform].maker
        result, self.hw_handle = queue_of(maker, stream.handle)
        check(result, maker, what)
        result, self.handle = XSched.XQueueGet(self.hw_handle)
        if result != XResult.kXSchedSuccess:
            self._make(stream, level, what)
        if level is not None:
            self.set_level(level)

    def _make(self, stream: Stream, level: Optional[int], what: str) -> None:
        """Where the shim makes queues, at the first command of a stream, this one is as it would be: with the level, the
        hints and the bounds of the environment."""
        result = as_the_shim_would(self.hw_handle, stream.offset)
        if result != XResult.kXSchedErrorNotAllowed:
            check(result, "XQueueCreate", what)
            result, self.handle = XSched.XQueueGet(self.hw_handle)
            check(result, "XQueueGet", what)
            return
        result, self.handle = XSched.XQueueCreate(self.hw_handle, 1, 0)
        check(result, "XQueueCreate", what)
        for better in (3, 2) if level is None else ():
            if XSched.XQueueSetPreemptLevel(self.handle, better) == XResult.kXSchedSuccess:
                break

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

    def set_hint(self, name: str, value: Optional[int]) -> None:
        """Any hint by its name, as `xcli hint --help` lists them; None: none."""
        hint = hint_named(name)
        check(hint_by_number(self.handle, hint.number, hint.value(value)), "xsched_priv_hint", name)

    def set_level(self, level: int) -> None:
        """The preemption level: a suspension stops commands before their launch (1), before their start (2), or while they run (3)."""
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
        """Commands that have not started do not start any more. sync: returns when all launched commands are complete.

        Under the shim this holds plain launches too, inside the framework's call. One that keeps the interpreter lock
        meanwhile (pyopencl's; not PyTorch's or CuPy's) stops every thread of the program, also the one that would resume:
        use submit() there.
        """
        flags = XQueueSuspendFlag.kQueueSuspendFlagSyncHwQueue if sync else XQueueSuspendFlag.kQueueSuspendFlagNone
        check(XSched.XQueueSuspend(self.handle, flags), "XQueueSuspend")

    def resume(self, *, drop: bool = False) -> None:
        """Commands may start again. drop: forgets commands of submit() that still wait."""
        flags = XQueueResumeFlag.kQueueResumeFlagDropCommands if drop else XQueueResumeFlag.kQueueResumeFlagNone
        check(XSched.XQueueResume(self.handle, flags), "XQueueResume")

    @contextlib.contextmanager
    def suspended(self, *, sync: bool = True) -> Iterator[Queue]:
        """Suspended inside the with-block. Several blocks may be open at once, nested or in several threads: the last one
        to end resumes."""
        with _blocks_lock:
            _blocks[self.handle] = _blocks.get(self.handle, 0) + 1
        try:
            self.suspend(sync=sync)  # may close the queue and then fail, for an error of the device
            yield self
        finally:
            with _blocks_lock:  # also around resume(), which does not wait: a block that begins now suspends after it
                _blocks[self.handle] -= 1
                if not _blocks[self.handle]:
                    del _blocks[self.handle]
                    self.resume()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Command:
        """Has function(*arguments) called when the queue may launch: at once in this thread if it may now, else later
        in a worker thread, in order of submission. The function launches work on the stream; it must not wait for it.
        """
        def call() -> Any:
            return function(*arguments)

        _free_left(self.handle)
        command = Command(self, call)
        check(XSched.XQueueSubmit(self.handle, command.handle), "XQueueSubmit")
        stop = command._work.error
        if stop is not None and not isinstance(stop, Exception):  # Ctrl-C, while the function ran in this thread
            raise stop
        _submitted.setdefault(self.handle, {})[command.handle] = weakref.ref(command._work)
        return command

    def wait(self) -> None:
        """Waits until everything submitted so far is complete."""
        works = _submitted_to(self.handle)
        result = XSched.XQueueWaitAll(self.handle)
        for handle, work in works:
            work.wait(self.handle, handle)
        _free_left(self.handle)
        check(result, "XQueueWaitAll")

    def destroy(self) -> None:
        """Waits, then frees the XQueue and the hardware queue; the vendor's stream stays as it is."""
        works = _submitted_to(self.handle)
        check(XSched.XQueueDestroy(self.handle), "XQueueDestroy")
        for handle, work in works:
            work.queue_gone(self.handle, handle)
        _free_left(self.handle)
        _submitted.pop(self.handle, None)
        _left.pop(self.handle, None)
        XSched.HwQueueDestroy(self.hw_handle)


Target = Union[Queue, Any]


def queue_for(target: Any, platform: Optional[str] = None) -> Queue:
    return target if isinstance(target, Queue) else Queue(target, platform=platform)


__all__: List[str] = ["Command", "Queue"]
