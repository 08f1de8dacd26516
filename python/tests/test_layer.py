# SPDX-License-Identifier: Apache-2.0
"""The natural layer on the fake CUDA driver: queues, hints, scopes, commands, bad input."""
import asyncio
import ctypes
import gc
import sys
import threading
import time
import types
import warnings
import weakref

import pytest
import xsched
from conftest import in_force
from xsched import _calls, _queue, _scope, _streams


@pytest.fixture(autouse=True)
def quiet():
    warnings.simplefilter("ignore", xsched.XSchedWarning)


@pytest.fixture
def queue(stream):
    q = xsched.Queue(stream)
    q.set_priority(2)
    return q


def test_a_queue_is_made_once(stream):
    a, b = xsched.Queue(stream), xsched.Queue(ctypes.c_void_p(stream), platform="cuda")
    assert a.handle == b.handle != 0 and a.platform == "cuda"
    assert a.idle and a.commands == 0
    a.destroy()
    with pytest.raises(xsched.NotFoundError):
        b.set_priority(1)
    assert xsched.Queue(stream).handle != a.handle


def test_hints(queue):
    queue.set_utilization(50)
    queue.set_deadline(1000)
    queue.set_deadline(None)
    queue.set_laxity(1000, 0, 5)
    queue.set_laxity(None)
    queue.set_launch_config(8, 4)
    queue.set_level(1)
    xsched.set_priority(queue, 9)
    assert queue.swap_priority(3) == 9 and in_force(queue) == 3
    xsched.set_utilization(queue, 10)
    xsched.set_deadline(queue, 5)
    xsched.set_laxity(queue, 5)
    queue.set_hint("utilization", 20)
    queue.set_hint("deadline", None)
    queue.set_hint("laxity", 0)
    queue.set_hint("priority", 4)
    assert queue.swap_priority(5) == 4
    xsched.set_hint(queue, "priority", 3)
    assert in_force(queue) == 3
    xsched.set_timeslice(1000)
    xsched.set_timeslice(None)
    xsched.set_timeslice(5000)


@pytest.mark.parametrize("call", [
    lambda q: q.set_priority(256), lambda q: q.set_priority(-257), lambda q: q.set_priority("5"),
    lambda q: q.set_priority(5.0), lambda q: q.set_priority(True), lambda q: q.set_priority(1 << 32),
    lambda q: q.set_utilization(101), lambda q: q.set_deadline(0), lambda q: q.set_deadline(1 << 63),
    lambda q: q.set_laxity(-2), lambda q: q.set_hint("deadline", 0), lambda q: q.set_hint("weather", 1),
    lambda q: q.set_hint("priority", None), lambda q: q.set_hint("timeslice", 1000), lambda q: xsched.set_hint(q, "utilization", 101), lambda q: q.set_level(4), lambda q: q.set_launch_config(2, 4), lambda q: xsched.priority(256),
    lambda q: xsched.priority("high"), lambda q: xsched.set_timeslice(1), lambda q: xsched.set_scheduler("local", "NONE"),
    lambda q: xsched.set_scheduler("best"), lambda q: xsched.Queue(q.stream, level=0)])
def test_values_out_of_range(queue, call):
    with pytest.raises(xsched.InvalidValueError) as e:
        call(queue)
    assert e.value.remedy and e.value.result == xsched.XResult.kXSchedErrorInvalidValue and isinstance(e.value, ValueError)
    assert in_force(queue) == 2


@pytest.mark.parametrize("what", [None, True, "stream", object(), -1, 1 << 64, 3.5, [1]])
def test_no_streams(what):
    with pytest.raises(xsched.StreamTypeError) as e:
        xsched.set_priority(what, 1)
    assert isinstance(e.value, TypeError) and e.value.remedy


def test_a_pointer_that_is_no_stream():
    with pytest.raises((xsched.InvalidValueError, xsched.NotFoundError)):
        xsched.Queue(0x1234, platform="cuda")
    with pytest.raises(xsched.StreamTypeError):
        xsched.Queue(1, platform="abacus")


def test_scope_sets_and_takes_back(queue):
    with xsched.priority(5, queue):
        assert in_force(queue) == 5
        with xsched.priority(-1, queue):
            assert in_force(queue) == -1
        assert in_force(queue) == 5
    assert in_force(queue) == 2


def test_scope_by_stream_and_twice(stream):
    q = xsched.Queue(stream)
    scope = xsched.priority(8, stream)
    for _ in range(2):
        with scope:
            assert in_force(q) == 8
            with pytest.raises(xsched.InvalidValueError):
                scope.__enter__()
            assert in_force(q) == 8
        assert in_force(q) == 0


def test_scope_after_an_exception(queue):
    with pytest.raises(KeyError):
        with xsched.priority(5, queue):
            raise KeyError
    assert in_force(queue) == 2


def test_scope_over_several_streams(cuda):
    queues = [xsched.Queue(cuda.stream()) for _ in range(3)]
    with xsched.priority(4, *queues):
        assert [in_force(q) for q in queues] == [4, 4, 4]
    assert [in_force(q) for q in queues] == [0, 0, 0]
    queues[2].destroy()
    with pytest.raises(xsched.NotFoundError):
        with xsched.priority(4, *queues):
            pass
    assert [in_force(q) for q in queues[:2]] == [0, 0]


def test_a_change_by_others_stays(queue):
    with xsched.priority(5, queue):
        queue.set_priority(77)
    assert in_force(queue) == 77


def test_costs_two_calls_and_none_for_nothing(queue):
    calls = []
    real = _scope._line(queue) and _scope._swap

    def counted(*a):
        calls.append(next(value for value, number in _scope._numbers.items() if number is a[1]))
        return real(*a)

    _scope._swap = counted
    try:
        for _ in range(10):
            with xsched.priority(5, queue):
                with xsched.priority(5, queue):
                    pass
        assert len(calls) == 20
        del calls[:]
        with xsched.priority(2, queue):
            pass
        assert calls == [2]
    finally:
        _scope._swap = real


def steps_of(function):
    """Functions of Python that it calls, and those in C."""
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen.count("call") - 1, seen.count("c_call") - 1


def test_takes_few_steps(queue, torch):
    """What keeps it under a microsecond: bench/run --only python-block has the time."""
    again = xsched.priority(5, queue)

    def named():
        with xsched.priority(5, queue):
            pass

    def used_again():
        with again:
            pass

    def current():
        with xsched.priority(5):
            pass

    for function in (named, used_again, current):
        function()
    assert steps_of(used_again)[0] == 2 and steps_of(used_again)[1] <= 7
    assert steps_of(named)[0] == 3 and steps_of(named)[1] <= 10
    python, c = steps_of(current)
    assert python - 2 <= 4 and c <= 12     # the stand-in's two functions are Python's


def test_threads_the_highest_counts(queue):
    steps = threading.Barrier(2)

    def other():
        with xsched.priority(9, queue):
            steps.wait(20)   # both are inside
            steps.wait(20)   # the first has left
        steps.wait(20)

    t = threading.Thread(target=other)
    with xsched.priority(5, queue):
        t.start()
        steps.wait(20)
        assert in_force(queue) == 9
        with xsched.priority(1, queue):
            assert in_force(queue) == 9
    assert in_force(queue) == 9
    steps.wait(20)
    steps.wait(20)
    t.join(20)
    assert in_force(queue) == 2


def test_many_threads_leave_no_trace(queue):
    def work(n):
        for i in range(300):
            with xsched.priority((n * 7 + i) % 11, queue):
                pass

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)     # between any two steps
    try:
        [t.start() for t in threads]
        [t.join(60) for t in threads]
    finally:
        sys.setswitchinterval(interval)
    assert not any(t.is_alive() for t in threads)
    assert in_force(queue) == 2 and not _scope._lines[queue.handle].open


def test_tasks_that_interleave(queue):
    async def one(value, rounds):
        for _ in range(rounds):
            with xsched.priority(value, queue):
                await asyncio.sleep(0)

    async def both():
        await asyncio.gather(one(3, 50), one(4, 33), one(5, 20))

    asyncio.run(both())
    assert in_force(queue) == 2 and not _scope._lines[queue.handle].open


def test_commands_run_in_order_with_results(queue):
    ran = []
    with queue.suspended():
        commands = [queue.submit(lambda i: ran.append(i) or i * i, i) for i in range(10)]
        assert not queue.idle and ran == []
    assert [c.wait() for c in commands] == [i * i for i in range(10)] and ran == list(range(10))
    assert commands[3].wait() == 9
    queue.wait()
    assert queue.commands == 10 and queue.idle


def test_an_exception_in_a_command_comes_out_of_wait(queue):
    def bad():
        raise ZeroDivisionError("no")

    command = queue.submit(bad)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            command.wait()


def test_a_suspension_that_fails_holds_nothing(queue, monkeypatch):
    real = xsched.XSched.XQueueSuspend

    def fails(xq, flags=0):
        assert real(xq, flags) == 0
        return xsched.XResult.kXSchedErrorHardware

    monkeypatch.setattr(xsched.XSched, "XQueueSuspend", staticmethod(fails))
    with pytest.raises(xsched.HardwareError):
        with queue.suspended():
            assert False
    ran = []
    queue.submit(ran.append, 1)
    assert ran == [1]


def test_an_interrupt_in_a_function_is_not_kept_for_later(queue):
    def interrupted():
        raise KeyboardInterrupt

    before = set(_calls._kept)
    with pytest.raises(KeyboardInterrupt):
        queue.submit(interrupted)
    with queue.suspended():
        command = queue.submit(interrupted)     # not in this thread
    with pytest.raises(KeyboardInterrupt):
        command.wait()
    del command
    assert not kept_beyond(before)


def test_suspended_blocks_nest(queue):
    ran = []
    with queue.suspended():
        with xsched.Queue(queue.stream).suspended():
            pass
        command = queue.submit(ran.append, 1)
        with pytest.raises(KeyError):
            with queue.suspended():
                raise KeyError
        assert not queue.idle and ran == []
    command.wait()
    assert ran == [1]
    with queue.suspended():     # its end resumes again
        pass
    assert queue.submit(int).wait() == 0 and not _queue._blocks


def test_dropped_commands(queue):
    ran = []
    queue.suspend()
    queue.submit(ran.append, 1)
    queue.resume(drop=True)
    queue.wait()
    assert ran == []


class Tensor:
    """What a function is given."""


def kept_beyond(before):
    """Callbacks of commands that came since then and are still kept."""
    gc.collect()
    return set(_calls._kept) - before


def test_commands_that_nobody_waits_for_by_themselves_are_freed(queue):
    before, tensor = set(_calls._kept), Tensor()
    alive = weakref.ref(tensor)
    held = [queue.submit(lambda t: None, tensor)]
    for _ in range(10000):
        held[1:] = [queue.submit(lambda t: 7, tensor)]     # all but the first and the last are given up
    del tensor
    queue.wait()
    assert alive() is None and not kept_beyond(before)
    assert not _queue._submitted[queue.handle] and not _queue._left.get(queue.handle)
    assert [c.wait() for c in held] == [None, 7]


def test_arguments_are_held_until_the_function_is_called(queue):
    tensor = Tensor()
    alive = weakref.ref(tensor)
    command = queue.submit(lambda t: 7, tensor)
    del tensor
    assert command.value == 7 and alive() is None
    command.wait()


def test_wait_frees_what_was_launched_by_the_worker(queue):
    before, tensor = set(_calls._kept), Tensor()
    alive = weakref.ref(tensor)
    with queue.suspended():
        kept = queue.submit(lambda t: t and 7, tensor)
        for _ in range(100):
            queue.submit(lambda t: None, tensor)
        del tensor
        assert alive() is not None and len(kept_beyond(before)) == 101
    queue.wait()
    assert alive() is None and not kept_beyond(before)
    assert kept.wait() == 7 and kept.value == 7


def test_what_is_given_up_while_held_is_freed_by_later_submits(queue):
    before = set(_calls._kept)
    with queue.suspended():
        for _ in range(50):
            queue.submit(int)
        last = queue.submit(int)
    last.wait()
    queue.submit(int).wait()
    assert not kept_beyond(before)


def test_commands_that_fail_and_are_given_up_are_freed(queue):
    """Their errors refer to the frames from which they were submitted, and so to the Commands."""
    before = set(_calls._kept)

    def submit():
        command = queue.submit(lambda: 1 // 0)
        return command.value

    for _ in range(5):
        assert submit() is None
        xsched.XSched.XQueueWaitAll(queue.handle)     # as a framework's own call would, which frees nothing
    assert not kept_beyond(before)


def test_what_is_given_up_is_freed_with_the_queue(queue):
    before = set(_calls._kept)
    with queue.suspended():
        for _ in range(3):
            queue.submit(int)
        assert len(_queue._left[queue.handle]) == 3
    xsched.XSched.XQueueWaitAll(queue.handle)     # launched by now, and still there
    assert len(kept_beyond(before)) == 3
    queue.destroy()
    assert not kept_beyond(before)


def test_dropped_and_destroyed_commands_are_freed(queue):
    before, tensor = set(_calls._kept), Tensor()
    alive = weakref.ref(tensor)
    queue.suspend()
    dropped = [queue.submit(lambda t: None, tensor) for _ in range(3)]
    del tensor
    queue.resume(drop=True)
    for _ in range(2):
        with pytest.raises(xsched.NotFoundError):
            dropped[0].wait()
    queue.wait()
    with pytest.raises(xsched.NotFoundError):
        dropped[1].wait()
    assert alive() is None and not kept_beyond(before)
    command = queue.submit(lambda: 5)
    queue.destroy()
    assert command.wait() == 5 and not kept_beyond(before) and queue.handle not in _queue._submitted


def test_one_command_is_waited_for_in_several_ways_at_once(queue, monkeypatch):
    before, seen, waits, steps = set(_calls._kept), [], [], threading.Barrier(5)
    real = xsched.XSched.XQueueWait

    def slow(*a):
        waits.append(a)
        time.sleep(0.05)     # so that all are here, if they come
        return real(*a)

    monkeypatch.setattr(xsched.XSched, "XQueueWait", staticmethod(slow))

    def wait(call):
        steps.wait(20)
        seen.append(call())

    queue.suspend()
    command = queue.submit(lambda: 3)
    calls = [command.wait, command.wait, queue.wait, queue.wait]
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
    [t.start() for t in threads]
    steps.wait(20)
    queue.resume()
    [t.join(20) for t in threads]
    assert sorted(seen, key=str) == [3, 3, None, None] and len(waits) == 1 and not kept_beyond(before)


def test_a_destroyed_stream(cuda):
    s = cuda.stream()
    q = xsched.Queue(s)
    q.destroy()
    cuda.destroy(s)
    with pytest.raises(xsched.NotFoundError) as e:
        q.set_priority(1)
    assert "destroyed" in e.value.remedy


# -- frameworks, as they look from outside

@pytest.fixture
def torch(cuda, monkeypatch):
    streams = {"now": cuda.stream(), "ready": True}
    module = types.ModuleType("torch")

    class Stream:
        __module__ = "torch.cuda.streams"

        def __init__(self, handle, priority=0):
            self.cuda_stream, self.priority, self.device_index = handle, priority, 0

    module.cuda = types.SimpleNamespace(is_initialized=lambda: streams["ready"], Stream=Stream,
                                        current_stream=lambda: Stream(streams["now"], -2))
    module._C = types.SimpleNamespace(_cuda_getDevice=lambda: 0, _cuda_getCurrentRawStream=lambda d: streams["now"])
    module.version = types.SimpleNamespace(hip=None)
    module.streams = streams
    monkeypatch.setitem(sys.modules, "torch", module)
    _streams.forget_frameworks()
    yield module
    _streams.forget_frameworks()
    _scope._current.clear()


def test_current_stream_of_torch(torch):
    with xsched.priority(6):
        assert in_force(xsched.Queue(torch.streams["now"])) == 6
    assert in_force(xsched.Queue(torch.streams["now"])) == 0


def test_an_open_block_is_not_entered_on_another_stream(torch, cuda):
    first, second = torch.streams["now"], cuda.stream()
    block = xsched.priority(6)
    for _ in range(2):      # the second time in the short way
        with block:
            torch.streams["now"] = second
            with pytest.raises(xsched.InvalidValueError, match="open already"):
                block.__enter__()
            assert in_force(xsched.Queue(first)) == 6
        assert [in_force(xsched.Queue(s)) for s in (first, second)] == [0, 0]
        with xsched.priority(7):    # on the second: known from now on
            pass
        torch.streams["now"] = first


def test_current_stream_without_private_functions(torch):
    del torch._C._cuda_getDevice
    with xsched.priority(6):
        assert in_force(xsched.Queue(torch.streams["now"])) == 6


def test_stream_of_torch_with_a_vendor_priority(torch, cuda, monkeypatch):
    monkeypatch.setenv("XSCHED_PRIORITY", "10")
    monkeypatch.delenv("XSCHED_AUTO_XQUEUE", raising=False)
    s = torch.cuda.Stream(cuda.stream(), -3)
    assert in_force(xsched.Queue(s)) == 13
    monkeypatch.setenv("XSCHED_AUTO_XQUEUE", "OFF")
    assert in_force(xsched.Queue(torch.cuda.Stream(cuda.stream(), -3))) == 0


def test_another_stream_at_the_same_address(torch):
    with xsched.priority(6):
        pass
    xsched.Queue(torch.streams["now"]).destroy()
    with xsched.priority(7):
        assert in_force(xsched.Queue(torch.streams["now"])) == 7
    assert in_force(xsched.Queue(torch.streams["now"])) == 0


def test_before_torch_is_initialised(torch):
    torch.streams["ready"] = False
    _scope._said.clear()
    with pytest.warns(xsched.XSchedWarning, match="initialise the framework first"):
        with xsched.priority(6):
            pass


def test_without_a_shim_it_is_said_once(torch):
    _scope._said.clear()
    _scope._current.clear()
    with pytest.warns(xsched.XSchedWarning, match="python -m xsched run"):
        with xsched.priority(6):
            pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xsched.priority(6):
            pass


def test_other_frameworks(cuda, monkeypatch):
    def make(module, **attributes):
        return type("Stream", (), dict(attributes, __module__=module))()

    s = cuda.stream()
    for obj in (make("cupy.cuda.stream", ptr=s), make("numba.cuda.cudadrv.driver", __int__=lambda self: s),
                make("numba.cuda.cudadrv.driver", handle=ctypes.c_void_p(s)), make("pycuda._driver", handle=s),
                make("any.where", __cuda_stream__=lambda self: (0, s)), make("cuda.bindings.driver", __int__=lambda self: s)):
        assert _streams.resolve(obj) == ("cuda", s, 0), type(obj).__module__
        xsched.set_priority(obj, 4)
    assert in_force(xsched.Queue(s)) == 4
    with pytest.raises(xsched.StreamTypeError, match="xsched.PROCESS"):
        xsched.set_priority(make("jaxlib.xla_extension"), 1)

    class Mine(type(make("torch.cuda.streams", cuda_stream=s))):
        pass

    assert _streams.resolve(Mine()).handle == s
    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=s),
                                      runtime=types.SimpleNamespace(getDevice=lambda: 0, is_hip=False))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    _streams.forget_frameworks()
    with xsched.priority(21):
        assert in_force(xsched.Queue(s)) == 21
    assert in_force(xsched.Queue(s)) == 4
    cupy.cuda.runtime.is_hip = True
    assert _streams.resolve(make("cupy.cuda.stream", ptr=s)).platform == "hip"
    _streams.forget_frameworks()
    _scope._current.clear()


def test_rocm_build_of_torch(torch):
    torch.version.hip = "6.4"
    assert _streams.resolve(torch.cuda.Stream(64)).platform == "hip"
    assert _streams.resolve(64).platform == "hip"
