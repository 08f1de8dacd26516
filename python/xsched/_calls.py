# SPDX-License-Identifier: Apache-2.0
"""class XSched: one static method for each call of libpreempt."""
from __future__ import annotations

import atexit
import ctypes
from typing import Any, Callable, Dict, Optional, Tuple

from ._errors import to_result
from ._library import LaunchCallback, functions
from ._types import XQueueState, XResult

_kept: Dict[int, Any] = {}  # command handle -> its callback, which must outlive the command
_queues: Dict[int, None] = {}  # XQueues that have got such a command


def _u64(call: str, *arguments: int) -> Tuple[XResult, int]:
    out = ctypes.c_uint64()
    return to_result(functions[call](ctypes.byref(out), *arguments)), out.value


def _at_exit() -> None:
    # Commands that still wait would call back into an interpreter that is gone.
    for handle in list(_queues):
        functions["XQueueResume"](handle, 1)


class XSched:
    """The calls of the C interface. Each returns the XResult, and with it what the call puts out, if anything.

    The first call loads the libraries. A missing library raises xsched.LibraryError.
    """

    @staticmethod
    def XQueueCreate(hwq: int, level: int, flags: int = 0) -> Tuple[XResult, int]:
        """Makes an XQueue on a hardware queue, or gives the one that it has."""
        return _u64("XQueueCreate", hwq, level, flags)

    @staticmethod
    def XQueueDestroy(xq: int) -> XResult:
        """Waits until all submitted commands are complete, then frees the XQueue."""
        return to_result(functions["XQueueDestroy"](xq))

    @staticmethod
    def XQueueGet(hwq: int) -> Tuple[XResult, int]:
        """The XQueue of a hardware queue."""
        return _u64("XQueueGet", hwq)

    @staticmethod
    def XQueueSubmit(xq: int, hw_cmd: int) -> XResult:
        """Hands a command over; does not wait."""
        if hw_cmd in _kept:
            if not _queues:
                atexit.register(_at_exit)
            _queues[xq] = None
        return to_result(functions["XQueueSubmit"](xq, hw_cmd))

    @staticmethod
    def XQueueWait(xq: int, hw_cmd: int) -> XResult:
        """Waits until the command is complete, returns its error and frees the handle."""
        result = to_result(functions["XQueueWait"](xq, hw_cmd))
        if result != XResult.kXSchedErrorNotFound:
            _kept.pop(hw_cmd, None)
        return result

    @staticmethod
    def XQueueWaitAll(xq: int) -> XResult:
        """Waits until everything submitted so far is complete."""
        return to_result(functions["XQueueWaitAll"](xq))

    @staticmethod
    def XQueueQuery(xq: int) -> Tuple[XResult, XQueueState]:
        """Whether the queue is idle. Does not wait."""
        state = ctypes.c_int32()
        result = to_result(functions["XQueueQuery"](xq, ctypes.byref(state)))
        return result, XQueueState(state.value)

    @staticmethod
    def XQueueProfileHwCommandCount(xq: int) -> Tuple[XResult, int]:
        """The number of commands submitted so far."""
        count = ctypes.c_int64()
        result = to_result(functions["XQueueProfileHwCommandCount"](xq, ctypes.byref(count)))
        return result, count.value

    @staticmethod
    def XQueueSuspend(xq: int, flags: int = 0) -> XResult:
        """Commands that have not started do not start any more."""
        return to_result(functions["XQueueSuspend"](xq, flags))

    @staticmethod
    def XQueueResume(xq: int, flags: int = 0) -> XResult:
        """Commands may start again."""
        return to_result(functions["XQueueResume"](xq, flags))

    @staticmethod
    def XQueueSetPreemptLevel(xq: int, level: int) -> XResult:
        """Changes the level for later commands."""
        return to_result(functions["XQueueSetPreemptLevel"](xq, level))

    @staticmethod
    def XQueueSetLaunchConfig(xq: int, threshold: int, batch_size: int) -> XResult:
        """Bounds the commands in flight on the device by count; a value <= 0 keeps the present one."""
        return to_result(functions["XQueueSetLaunchConfig"](xq, threshold, batch_size))

    @staticmethod
    def HwQueueDestroy(hwq: int) -> XResult:
        """Forgets a hardware queue; the vendor's stream stays as it is."""
        return to_result(functions["HwQueueDestroy"](hwq))

    @staticmethod
    def HwQueueLaunch(hwq: int, hw_cmd: int) -> XResult:
        """Launches a command at once, past any XQueue."""
        return to_result(functions["HwQueueLaunch"](hwq, hw_cmd))

    @staticmethod
    def HwQueueSynchronize(hwq: int) -> XResult:
        """Waits until everything launched on the hardware queue is complete."""
        return to_result(functions["HwQueueSynchronize"](hwq))

    @staticmethod
    def HwCommandCreateCallback(launch: Callable[[int, Optional[int]], int],
                                data: Optional[int] = None) -> Tuple[XResult, int]:
        """Makes a command out of a function. The thread that launches the command calls launch(hwq, data), which
        returns an XResult. An exception in it counts as kXSchedErrorUnknown."""

        def guarded(hwq: int, data: Optional[int]) -> int:
            try:
                return int(launch(hwq, data) or 0)
            except BaseException:  # nothing may pass through the C frames below
                return int(XResult.kXSchedErrorUnknown)

        callback = LaunchCallback(guarded)
        out = ctypes.c_uint64()
        result = to_result(functions["HwCommandCreateCallback"](ctypes.byref(out), callback, data))
        if result == XResult.kXSchedSuccess:
            _kept[out.value] = callback
        return result, out.value

    @staticmethod
    def HwCommandDestroy(hw_cmd: int) -> XResult:
        """Frees a command."""
        result = to_result(functions["HwCommandDestroy"](hw_cmd))
        if result in (XResult.kXSchedSuccess, XResult.kXSchedErrorNotFound):
            _kept.pop(hw_cmd, None)
        return result

    @staticmethod
    def XHintPriority(xq: int, prio: int) -> XResult:
        """Larger is more urgent; PRIORITY_NO_EXECUTE never runs."""
        return to_result(functions["XHintPriority"](xq, prio))

    @staticmethod
    def XHintSwapPriority(xq: int, prio: int) -> Tuple[XResult, int]:
        """Sets the priority and gives the one that was in force."""
        old = ctypes.c_int32()
        result = to_result(functions["XHintSwapPriority"](xq, prio, ctypes.byref(old)))
        return result, old.value

    @staticmethod
    def XHintUtilization(xq: int, util: int) -> XResult:
        """Share of the device in percent."""
        return to_result(functions["XHintUtilization"](xq, util))

    @staticmethod
    def XHintTimeslice(ts_us: int) -> XResult:
        """Length of a slice in microseconds, for the scheduler as a whole."""
        return to_result(functions["XHintTimeslice"](ts_us & 0xFFFFFFFFFFFFFFFF))

    @staticmethod
    def XHintLaxity(xq: int, lax_us: int, lax_prio: int, crit_prio: int) -> XResult:
        """Priority lax_prio until ready for lax_us, then crit_prio."""
        return to_result(functions["XHintLaxity"](xq, lax_us, lax_prio, crit_prio))

    @staticmethod
    def XHintDeadline(xq: int, ddl_us: int) -> XResult:
        """Microseconds from becoming ready, or NO_DEADLINE."""
        return to_result(functions["XHintDeadline"](xq, ddl_us))

    @staticmethod
    def XHintKDeadline(k: int) -> XResult:
        """How many queues KEDF runs at a time."""
        return to_result(functions["XHintKDeadline"](k))

    @staticmethod
    def XHintSetScheduler(scheduler: int, policy: int) -> XResult:
        """Changes the scheduler of this process; the policy is for the local one."""
        return to_result(functions["XHintSetScheduler"](scheduler, policy))


def queue_of(call: str, stream: int) -> Tuple[XResult, int]:
    """CudaQueueCreate and the like."""
    return _u64(call, stream)


def hint_by_number(xq: int, number: int, value: int) -> XResult:
    """Sets the hint with that number of hints.def."""
    return to_result(functions["xsched_priv_hint"](xq, number, value))


def as_the_shim_would(hwq: int, offset: int) -> XResult:
    """Gives a hardware queue an XQueue with what the environment says of automatic ones, and the vendor's own priority
    added. kXSchedErrorNotAllowed: it does not ask for any."""
    return to_result(functions["xsched_priv_auto_queue"](hwq, offset))
