# SPDX-License-Identifier: Apache-2.0
"""with xsched.priority(5): ...

A queue that a block is open on has the block's priority. Blocks of one thread nest: the one entered last counts. When
several threads have blocks open on the same queue, the highest of theirs counts. When the last block is left, the queue
gets back the priority that it had before the first; if somebody else has changed it meanwhile (xcli, another part of
the program), that change stays.
"""
from __future__ import annotations

import ctypes
import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._errors import InvalidValueError, XSchedWarning, check
from ._library import mapped, quick
from ._queue import Queue, priority_value, queue_for
from ._streams import Key, current_keys, stream_of_key

_NOT_FOUND = 3
_ident = threading.get_ident
_swap: Optional[Callable[[Any, Any, Any], int]] = None
_numbers: Dict[int, ctypes.c_int32] = {}
_said: Dict[str, None] = {}


def say_once(key: str, text: str) -> None:
    if key not in _said:
        _said[key] = None
        warnings.warn(text, XSchedWarning, stacklevel=4)


def say_unscheduled(platform: str) -> None:
    """Hints without a shim have no effect on what frameworks launch: said once."""
    if platform not in _said:
        if not mapped(f"libshim{platform}.so"):
            say_once(platform, f"libshim{platform}.so is not loaded: launches of this program do not pass through XSched, "
                     "and priorities have no effect on them; start it with `python -m xsched run` or `xsched run`")
        _said[platform] = None


class _Line:
    """A queue with the blocks that are open on it."""

    __slots__ = ("handle", "name", "lock", "open", "base", "now", "out", "at", "alone")

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.name = ctypes.c_uint64(handle)
        self.lock = threading.Lock()
        self.open: List[Tuple[int, int, object]] = []  # thread, priority, block; in order of entering
        self.base = 0                                   # before the first block
        self.now = 0                                    # what we set
        self.out = ctypes.c_int32()
        self.at = ctypes.byref(self.out)
        self.alone = (self,)

    def wanted(self) -> int:
        top: Dict[int, int] = {}
        for thread, value, _ in self.open:
            top[thread] = value
        return max(top.values())

    def enter(self, value: int, number: ctypes.c_int32, block: object) -> int:
        with self.lock:
            if not self.open:
                result = _swap(self.name, number, self.at)  # type: ignore[misc]
                if result:
                    return result
                self.base = self.out.value
                self.now = value
                self.open.append((_ident(), value, block))
            else:
                self.open.append((_ident(), value, block))
                value = self.wanted()
                if value != self.now:
                    self.now = value
                    return _swap(self.name, _number(value), self.at)  # type: ignore[misc]
            return 0

    def leave(self, block: object) -> None:
        with self.lock:
            open_ = self.open
            if len(open_) == 1:
                open_.clear()
                value = self.base
            else:
                self.open = [o for o in open_ if o[2] is not block]
                value = self.wanted()
            if value == self.now:
                return
            if _swap(self.name, _numbers.get(value) or _number(value), self.at) == 0 and self.out.value != self.now:  # type: ignore[misc]
                value = self.out.value  # changed by somebody else: that stays
                _swap(self.name, _number(value), self.at)  # type: ignore[misc]
            self.now = value


_lines: Dict[int, _Line] = {}      # by XQueue
_current: Dict[Key, _Line] = {}    # by current stream


def _number(value: int) -> ctypes.c_int32:
    number = _numbers.get(value)
    if number is None:
        number = _numbers[value] = ctypes.c_int32(value)
    return number


def _line(queue: Queue) -> _Line:
    global _swap
    if _swap is None:
        _swap = quick().XHintSwapPriority
    return _lines.setdefault(queue.handle, _Line(queue.handle))


def _line_of_key(key: Key) -> _Line:
    line = _current.get(key)
    if line is None:
        stream = stream_of_key(key)
        say_unscheduled(stream.platform)
        line = _line(Queue._of(stream))
        if key[2] != 2:  # 2 is a different stream in each thread
            _current[key] = line
    return line


class priority:
    """What this thread launches on its current streams inside the with-block has this priority.

    Without a stream, the current streams of the calling thread are meant, of PyTorch and of CuPy, as far as the program
    has imported them; streams that are made current inside the block are not. With streams, or Queue objects, just
    those. The priority counts when work is launched, and at levels above 1 until it is complete: synchronise inside
    the block where the end matters too. An object may be entered again after it was left, by one thread at a time.

        with xsched.priority(5):
            y = model(x)
            torch.cuda.current_stream().synchronize()
    """

    __slots__ = ("value", "_as_c", "_queues", "_open", "_fixed", "_line")

    def __init__(self, value: int, *streams: Any) -> None:
        number = _numbers.get(value) if value.__class__ is int else None
        if number is None:  # the first time
            number = _number(priority_value(value))
        self.value = value
        self._as_c = number
        self._queues = streams
        self._fixed: Optional[Tuple[_Line, ...]] = None
        self._open: Optional[Sequence[_Line]] = None
        self._line: Optional[_Line] = None
        if streams and len(streams) == 1 and streams[0].__class__ is Queue:
            self._line = _lines.get(streams[0].handle)

    def __enter__(self) -> priority:
        if self._open is not None:
            raise InvalidValueError("this block is open already", "make one for each with: xsched.priority(...)")
        line = self._line
        if line is not None and not line.open:  # one queue, and no other block on it: the same as below in fewer steps
            with line.lock:
                if not line.open and not _swap(line.name, self._as_c, line.at):  # type: ignore[misc]
                    line.base = line.out.value
                    line.now = self.value
                    line.open.append((_ident(), self.value, self))
                    self._open = line.alone
                    return self
        entered: List[_Line] = []
        self._open = entered
        try:
            if self._queues:
                fixed = self._fixed
                if fixed is None:
                    fixed = self._fixed = tuple([_lines.get(s.handle) or _line(s) if s.__class__ is Queue
                                                 else _line(_queue_said(s)) for s in self._queues])
                    self._line = fixed[0] if len(fixed) == 1 else None
                for line in fixed:
                    result = line.enter(self.value, self._as_c, self)
                    if result:
                        check(result, "XHintSwapPriority")
                    entered.append(line)
                return self
            keys = current_keys()
            for key in keys:
                line = _current.get(key) or _line_of_key(key)
                result = line.enter(self.value, self._as_c, self)
                if result == _NOT_FOUND:  # another stream has come to this address
                    _current.pop(key, None)
                    _lines.pop(line.handle, None)
                    line = _line_of_key(key)
                    result = line.enter(self.value, self._as_c, self)
                if result:
                    check(result, "XHintSwapPriority")
                entered.append(line)
            if not keys:
                say_once("no stream", "no current stream is known here, so xsched.priority() has no effect: initialise the "
                         "framework first (torch.cuda.init()), or name the stream: xsched.priority(5, stream)")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind: object = None, error: object = None, trace: object = None) -> None:
        entered = self._open
        self._open = None
        if entered:
            for line in entered:
                line.leave(self)


def _queue_said(target: Any) -> Queue:
    queue = queue_for(target)
    if queue is not target:
        say_unscheduled(queue.platform)
    return queue
