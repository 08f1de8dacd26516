# SPDX-License-Identifier: Apache-2.0
"""The original's names and values, and that a script which uses only those runs unchanged."""
import inspect
import os
import re

import xsched
from conftest import ROOT, python

SCRIPT = r"""
import sys
from xsched import (XSched, XResult, XPreemptLevel, XQueueState, XQueueCreateFlag, XQueueSuspendFlag, XQueueResumeFlag,
                    XSchedulerType, XPolicyType, PRIORITY_MAX, TIMESLICE_UNLIMITED, HwQueueHandle)
from xsched.cuda import XSchedCuda
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
ctx, stream = ctypes.c_void_p(), ctypes.c_void_p()
cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
cu.cuStreamCreate(ctypes.byref(stream), 1)

res, hwq = XSchedCuda.CudaQueueCreate(stream.value)
assert res == XResult.kXSchedSuccess and isinstance(res, XResult) and hwq != 0
res, again = XSchedCuda.CudaQueueGet(stream.value)
assert (res, again) == (XResult.kXSchedSuccess, hwq)
res, xq = XSched.XQueueCreate(hwq, XPreemptLevel.kPreemptLevelBlock, XQueueCreateFlag.kQueueCreateFlagNone)
assert res == XResult.kXSchedSuccess
assert XSched.XQueueGet(hwq) == (XResult.kXSchedSuccess, xq)
ok = XResult.kXSchedSuccess
assert XSched.XHintSetScheduler(XSchedulerType.kSchedulerLocal, XPolicyType.kPolicyHighestPriorityFirst) == ok
assert XSched.XHintPriority(xq, PRIORITY_MAX) == ok
assert XSched.XHintUtilization(xq, 50) == ok
assert XSched.XHintTimeslice(5000) == ok and XSched.XHintTimeslice(TIMESLICE_UNLIMITED) == ok
assert XSched.XHintLaxity(xq, 1000, 0, 5) == ok and XSched.XHintDeadline(xq, 1000) == ok and XSched.XHintKDeadline(2) == ok
assert XSched.XQueueSetPreemptLevel(xq, 1) == ok and XSched.XQueueSetLaunchConfig(xq, 8, 4) == ok
assert XSched.XQueueSuspend(xq, XQueueSuspendFlag.kQueueSuspendFlagSyncHwQueue) == ok
assert XSched.XQueueResume(xq, XQueueResumeFlag.kQueueResumeFlagNone) == ok
assert XSched.XQueueQuery(xq) == (ok, XQueueState.kQueueStateIdle)
assert XSched.XQueueProfileHwCommandCount(xq) == (ok, 0)
assert XSched.XQueueWaitAll(xq) == ok and XSched.HwQueueSynchronize(hwq) == ok
assert XSched.HwQueueDestroy(hwq) == XResult.kXSchedErrorNotAllowed
assert XSched.XHintPriority(xq, 999) == XResult.kXSchedErrorInvalidValue
assert XSched.XQueueDestroy(xq) == ok and XSched.HwQueueDestroy(hwq) == ok
assert XSched.XQueueDestroy(xq) == XResult.kXSchedErrorNotFound
assert XSched.XQueueSubmit(xq, 1) == XResult.kXSchedErrorNotFound and XSched.XQueueWait(xq, 1) == XResult.kXSchedErrorNotFound
assert XSched.HwQueueLaunch(hwq, 1) == XResult.kXSchedErrorNotFound and XSched.HwCommandDestroy(1) == XResult.kXSchedErrorNotFound
print("unchanged")
"""


def test_script_with_the_original_names():
    p = python(SCRIPT)
    assert p.returncode == 0 and p.stdout == "unchanged\n", p.stderr


def test_enumerations_are_those_of_the_header():
    text = open(os.path.join(ROOT, "include/xsched/types.h")).read()
    seen = 0
    for body, name in re.findall(r"typedef enum \{(.*?)\} (\w+);", text, re.S):
        value = -1
        for item, given in re.findall(r"\b(k\w+)\s*(?:=\s*(-?\w+))?\s*[,/\n]", body):
            value = int(given, 0) if given else value + 1
            assert int(getattr(getattr(xsched, name), item)) == value, (name, item)
            seen += 1
    assert seen > 60
    for name, value in re.findall(r"#define (\w+)\s+\(?(-?\d+)\)?", text):
        assert getattr(xsched, name) == int(value), name


def test_every_public_function_has_a_method():
    names = open(os.path.join(ROOT, "tests/abi/exports/preempt.txt")).read().split()
    assert len(names) > 20
    for name in names:
        assert inspect.isfunction(inspect.getattr_static(xsched.XSched, name).__func__), name
        assert getattr(xsched.XSched, name).__doc__, name


def test_everything_that_is_exported_is_documented():
    for name in xsched.__all__:
        value = getattr(xsched, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__ or issubclass(value, int), name
