# SPDX-License-Identifier: Apache-2.0
"""with xsched.priority(5): ...

A queue that a block is open on has the block's priority. Blocks of one thread nest: the one entered last counts. When
several threads have blocks open on the same queue, the highest of theirs counts. At the end of the last block the
queue gets back the priority that it had before the first. If somebody else has changed it meanwhile (xcli, another
part of the program), that change stays.
"""
from __future__ import annotations

import ctypes
import sys
import threading
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _streams
from ._errors import InvalidValueError, LibraryError, XSchedWarning, check
from ._library import mapped, quick
from ._queue import Queue, priority_value, queue_for
from ._server import passed_over
from ._streams import Key, current_keys, stream_of_key
from ._types import PRIORITY_MAX, PRIORITY_NO_EXECUTE

_NOT_FOUND = 3
_ident = threading.get_ident
_swap: Optional[Callable[[Any, Any, Any], int]] = None
_numbers: Dict[int, Any] = {}   # each priority as an argument that ctypes passes on as it is
_said: Dict[str, None] = {}


def say_once(key: str, text: str) -> None:
    """In the name of the first caller outside this package."""
    if key in _said:
        return
    _said[key] = None
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, XSchedWarning, stacklevel=level)


def say_unscheduled(platform: str) -> None:
    """Hints without a shim have no effect on what frameworks launch: said once."""
    if platform not in _said:
        if not mapped(f"libshim{platform}.so"):
            say_once(platform, f"libshim{platform}.so is not loaded: launches of this program do not pass through XSched, "
                     "and priorities have no effect on them; start it with `python -m xsched run` or `xsched run`")
        _said[platform] = None


class _Line:
    """A queue with the blocks that are open on it.

    A thread that changes it has its key: a list's pop and append are atomic, and take a quarter of a lock's time. A
    thread keeps it for a call that does not wait, so another thread hardly ever finds it gone, and looks again then.
    """

    __slots__ = ("handle", "name", "take", "give", "first", "thread", "more", "base", "now", "out", "at")

    def __init__(self, handle: int) -> None:
        keys = [0]
        self.handle = handle
        self.name = ctypes.c_uint64.from_param(handle)
        self.take, self.give = keys.pop, keys.append
        self.first: Optional[priority] = None                # the block that began first, and its thread
        self.thread = 0
        self.more: List[Tuple[int, priority]] = []           # the others, in order of entering
        self.base = 0                                        # before the first block
        self.now = 0                                         # what we set
        self.out = ctypes.c_int32()
        self.at = ctypes.byref(self.out)

    def wait(self) -> int:
        """The key, which another thread has."""
        while True:
            time.sleep(0.00005)
            try:
                return self.take()
            except IndexError:
                pass

    @property
    def open(self) -> List[priority]:
        """The blocks that are open."""
        return [] if self.first is None else [self.first, *(block for _, block in self.more)]

    def wanted(self) -> int:
        if self.first is None:
            return self.base
        top = {self.thread: self.first.value}
        for thread, block in self.more:
            top[thread] = block.value
        return max(top.values())

    def enter(self, block: priority) -> int:
        """The result of the call."""
        try:
            key = self.take()
        except IndexError:
            key = self.wait()
        try:
            if self.first is None:
                result = _swap(self.name, block._number, self.at)  # type: ignore[misc]
                if not result:
                    self.first, self.thread = block, _ident()
                    self.base, self.now = self.out.value, block.value
                return result
            self.more.append((_ident(), block))
            value = self.wanted()
            result = 0 if value == self.now else _swap(self.name, _numbers[value], self.at)  # type: ignore[misc]
            if result:
                self.more.pop()
            else:
                self.now = value
            return result
        finally:
            self.give(key)

    def leave(self, block: priority) -> None:
        """With the key."""
        if self.first is not block:
            self.more = [m for m in self.more if m[1] is not block]
        elif self.more:
            self.thread, self.first = self.more.pop(0)
        else:
            self.first = None
        value = self.wanted()
        if value == self.now:
            return
        if _swap(self.name, _numbers[value], self.at) == 0 and self.out.value != self.now:  # type: ignore[misc]
            value = self.out.value  # changed by somebody else: that stays
            _swap(self.name, _numbers[value], self.at)  # type: ignore[misc]
        self.now = value


_lines: Dict[int, _Line] = {}      # by XQueue
_current: Dict[Key, _Line] = {}    # by current stream
_get = _current.get
_device: Optional[Callable[[], int]] = None      # PyTorch's, where that is all there is: see _shorten()
_raw: Callable[[int], int] = abs
_modules: Dict[str, Any] = {}
_OTHER = _streams.OTHER


def _number(value: int) -> Any:
    if not _numbers:
        _numbers.update((n, ctypes.c_int32.from_param(n)) for n in range(PRIORITY_NO_EXECUTE, PRIORITY_MAX + 1))
    return _numbers[value]


def _line(queue: Queue) -> _Line:
    global _swap
    if _swap is None:
        _number(0)
        _swap = quick().XHintSwapPriority
    line = queue._line = _lines.setdefault(queue.handle, _Line(queue.handle))
    return line


def _line_of_key(key: Key) -> _Line:
    line = _current.get(key)
    if line is None:
        stream = stream_of_key(key)
        say_unscheduled(stream.platform)
        line = _line(Queue._of(stream))
        if key[2] != 2:  # 2 is a different stream in each thread
            _current[key] = line
    return line


def _shorten() -> None:
    """Where there is PyTorch alone, this finds its current stream without a list of keys."""
    global _device, _raw, _modules
    torch = _streams.only_torch()
    if torch is not None:
        _device, _raw, _modules = torch


def _forget() -> None:
    global _device
    _device = None
    _current.clear()


_streams.on_forget.append(_forget)


class _Many(Tuple[Any, ...]):
    """Several named streams."""


class _Current:
    """Without a named stream."""

    def __repr__(self) -> str:
        return "the current streams"


_CURRENT = _Current()


class priority:
    """Launches of this thread on its current streams inside the with-block have this priority.

    Without a stream, the block means the current streams of the calling thread, of PyTorch and of CuPy, as far as the
    program has imported them. It does not mean streams that become current inside it. With streams, or Queue objects,
    it means just those. The priority counts at a launch, and at levels above 1 until the work is complete: synchronise
    inside the block where the end matters too. One thread at a time may enter an object again after it has left it.

        with xsched.priority(5):
            y = model(x)
            torch.cuda.current_stream().synchronize()
    """

    # A block is to cost no more than a microsecond. The usual one, on one queue without another open block, makes two
    # calls into the library with arguments made beforehand, and nothing else that it could leave out.
    __slots__ = ("value", "_number", "_stream", "_held", "_strict")

    def __init__(self, value: int, stream: Any = _CURRENT, *more: Any, strict: bool = True) -> None:
        number = _numbers.get(value) if type(value) is int else None
        if number is None:
            value = priority_value(value)
            number = _number(value)
        self.value = value
        self._number = number
        self._stream = _Many((stream, *more)) if more else stream
        self._held: Any = None  # None, a line, or a list of lines
        self._strict = strict

    def __enter__(self) -> priority:
        stream = self._stream
        if type(stream) is Queue:
            line = stream._line
        elif stream is _CURRENT and _device is not None and _OTHER not in _modules:
            number = _device()
            line = _get(("torch", number, _raw(number)))
        else:
            line = None
        if line is not None and self._held is None:
            try:
                key = line.take()
            except IndexError:
                key = line.wait()
            try:
                if line.first is None and not _swap(line.name, self._number, line.at):  # type: ignore[misc]
                    line.first = self
                    self._held = line
                    line.thread = _ident()
                    line.now = self.value
                    line.base = line.out.value
                    return self
            finally:
                line.give(key)
        self._enter_all()
        return self

    def __exit__(self, kind: object = None, error: object = None, trace: object = None) -> None:
        line = self._held
        self._held = None
        if type(line) is _Line:
            try:
                key = line.take()
            except IndexError:
                key = line.wait()
            try:
                if line.first is self and not line.more and line.base != line.now:
                    line.first = None
                    if not _swap(line.name, _numbers[line.base], line.at) and line.out.value != line.now:  # type: ignore[misc]
                        _swap(line.name, _numbers[line.out.value], line.at)  # type: ignore[misc]  # changed by somebody else
                else:
                    line.leave(self)
            finally:
                line.give(key)
        elif line:
            for one in line:
                try:
                    key = one.take()
                except IndexError:
                    key = one.wait()
                try:
                    one.leave(self)
                finally:
                    one.give(key)

    def _enter_all(self) -> None:
        if self._held is not None:
            raise InvalidValueError("this block is open already", "make one for each with: xsched.priority(...)")
        entered: List[_Line] = []
        self._held = entered
        try:
            if self._stream is not _CURRENT:
                for queue in self._queues():
                    self._enter(queue._line or _line(queue), entered)
                return
            keys = current_keys()
            for key in keys:
                line = _current.get(key) or _line_of_key(key)
                if self._enter(line, entered, True):
                    continue
                _current.pop(key, None)  # another stream has come to this address
                _lines.pop(line.handle, None)
                self._enter(_line_of_key(key), entered)
            if not keys:
                say_once("no stream", "XSched knows no current stream here, so xsched.priority() has no effect: initialise the "
                         "framework first (torch.cuda.init()), or name the stream: xsched.priority(5, stream)")
            elif _device is None:
                _shorten()
        except LibraryError as error:
            if self._strict:
                self.__exit__()
            passed_over(self._strict, error)
        except BaseException:
            self.__exit__()
            raise

    def _enter(self, line: _Line, entered: List[_Line], may_be_gone: bool = False) -> bool:
        result = line.enter(self)
        if result == _NOT_FOUND and may_be_gone:
            return False
        check(result, "XHintSwapPriority")
        entered.append(line)
        return True

    def _queues(self) -> Tuple[Queue, ...]:
        """The named queues; looked up once."""
        if self._stream.__class__ is not _Many:
            self._stream = _queue_said(self._stream)
            return (self._stream,)
        self._stream = _Many([_queue_said(s) for s in self._stream])
        return self._stream


def _queue_said(target: Any) -> Queue:
    queue = queue_for(target)
    if queue is not target:
        say_unscheduled(queue.platform)
    return queue
