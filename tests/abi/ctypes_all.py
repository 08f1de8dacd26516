#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All functions of libpreempt, and OclQueueCreate, from ctypes: ctypes_all.py LIBDIR

Knows the public names and values alone, as a user's script does, and calls each function with right and wrong arguments
on an OpenCL command queue (PoCL).
"""
import ctypes as c
import os
import sys
import threading
import time

OK, HARDWARE, INVALID, NOT_FOUND, NOT_ALLOWED, NOT_SUPPORTED = 0, 1, 2, 3, 4, 5
IDLE, READY = 1, 2
NOBODY = 0x123456789

FUNCTIONS = """HwCommandCreateCallback HwCommandDestroy HwQueueDestroy HwQueueLaunch HwQueueSynchronize XHintDeadline
XHintKDeadline XHintLaxity XHintPriority XHintSetScheduler XHintSwapPriority XHintTimeslice XHintUtilization XQueueCreate XQueueDestroy
XQueueGet XQueueProfileHwCommandCount XQueueQuery XQueueResume XQueueSetLaunchConfig XQueueSetPreemptLevel XQueueSubmit
XQueueSuspend XQueueWait XQueueWaitAll""".split()

u64, i64, i32 = c.c_uint64, c.c_int64, c.c_int32
CALLBACK = c.CFUNCTYPE(c.c_int, u64, c.c_void_p)
ARGUMENTS = {
    "XQueueCreate": [c.POINTER(u64), u64, i64, i64], "XQueueDestroy": [u64], "XQueueGet": [c.POINTER(u64), u64],
    "XQueueSubmit": [u64, u64], "XQueueWait": [u64, u64], "XQueueWaitAll": [u64],
    "XQueueQuery": [u64, c.POINTER(c.c_int)], "XQueueProfileHwCommandCount": [u64, c.POINTER(i64)],
    "XQueueSuspend": [u64, i64], "XQueueResume": [u64, i64], "XQueueSetPreemptLevel": [u64, c.c_int],
    "XQueueSetLaunchConfig": [u64, i64, i64], "HwQueueDestroy": [u64], "HwQueueLaunch": [u64, u64],
    "HwQueueSynchronize": [u64], "HwCommandCreateCallback": [c.POINTER(u64), CALLBACK, c.c_void_p],
    "HwCommandDestroy": [u64], "XHintPriority": [u64, i32], "XHintUtilization": [u64, i32], "XHintTimeslice": [i64],
    "XHintLaxity": [u64, i64, i32, i32], "XHintDeadline": [u64, i64], "XHintKDeadline": [c.c_size_t],
    "XHintSetScheduler": [c.c_int, c.c_int], "XHintSwapPriority": [u64, i32, c.POINTER(i32)],
}

checks = 0
called = set()
failures = []


class Library:
    def __init__(self, path):
        self._lib = c.CDLL(path)
        for name in FUNCTIONS:
            f = getattr(self._lib, name)
            f.restype, f.argtypes = c.c_int, ARGUMENTS[name]

    def __getattr__(self, name):
        called.add(name)
        return getattr(self._lib, name)


def expect(got, want, what):
    global checks
    checks += 1
    if got != want:
        failures.append(f"{what}: {got}, expected {want}")
        print("FAILED", failures[-1])


class OpenCl:
    """As little of OpenCL as the test needs."""

    def __init__(self):
        self.cl = cl = c.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
            getattr(cl, name).restype = c.c_void_p
        platform, device, n, e = c.c_void_p(), c.c_void_p(), c.c_uint(), c.c_int()
        if cl.clGetPlatformIDs(1, c.byref(platform), c.byref(n)) or not n.value:
            raise SystemExit("no OpenCL platform")
        if cl.clGetDeviceIDs(platform, c.c_uint64(0xFFFFFFFF), 1, c.byref(device), c.byref(n)):
            raise SystemExit("no OpenCL device")
        self.device = device
        self.context = c.c_void_p(cl.clCreateContext(None, 1, c.byref(device), None, None, c.byref(e)))
        self.buffer = c.c_void_p(cl.clCreateBuffer(self.context, c.c_uint64(1), c.c_size_t(4096), None, c.byref(e)))

    def queue(self):
        e = c.c_int()
        q = self.cl.clCreateCommandQueue(self.context, self.device, c.c_uint64(0), c.byref(e))
        assert q and e.value == 0
        return c.c_void_p(q)

    def write(self, queue, value):
        data = (c.c_uint * 1)(value)
        return self.cl.clEnqueueWriteBuffer(queue, self.buffer, 1, c.c_size_t(0), c.c_size_t(4), data, 0, None, None)

    def read(self, queue):
        data = (c.c_uint * 1)()
        assert self.cl.clEnqueueReadBuffer(queue, self.buffer, 1, c.c_size_t(0), c.c_size_t(4), data, 0, None, None) == 0
        return data[0]


def main():
    libdir = os.path.abspath(sys.argv[1])
    x = Library(os.path.join(libdir, "libpreempt.so"))
    hal = c.CDLL(os.path.join(libdir, "libhalopencl.so"))
    hal.OclQueueCreate.restype, hal.OclQueueCreate.argtypes = c.c_int, [c.POINTER(u64), c.c_void_p]
    ocl = OpenCl()
    queue = ocl.queue()
    hwq, hwq2, xq, xq2, n, state = u64(), u64(), u64(), u64(), i64(), c.c_int()

    # before anything exists
    expect(x.XQueueSuspend(NOBODY, 0), NOT_FOUND, "XQueueSuspend before anything was made")
    expect(x.XQueueDestroy(0), NOT_FOUND, "XQueueDestroy(0)")

    # OclQueueCreate
    called.add("OclQueueCreate")
    expect(hal.OclQueueCreate(None, queue), INVALID, "OclQueueCreate, null out")
    expect(hal.OclQueueCreate(c.byref(hwq), None), INVALID, "OclQueueCreate, null queue")
    expect(hwq.value, 0, "output untouched by an error")
    expect(hal.OclQueueCreate(c.byref(hwq), queue), OK, "OclQueueCreate")
    expect(hal.OclQueueCreate(c.byref(hwq2), queue), OK, "OclQueueCreate again")
    expect(hwq2.value, hwq.value, "the same handle")

    # XQueueCreate, XQueueGet
    expect(x.XQueueGet(c.byref(xq), hwq), NOT_FOUND, "XQueueGet before XQueueCreate")
    for level in (0, -1, 4, 99):
        expect(x.XQueueCreate(c.byref(xq), hwq, level, 0), INVALID, f"XQueueCreate, level {level}")
    expect(x.XQueueCreate(None, hwq, 1, 0), INVALID, "XQueueCreate, null out")
    expect(x.XQueueCreate(c.byref(xq), NOBODY, 1, 0), NOT_FOUND, "XQueueCreate, unknown hwq")
    expect(xq.value, 0, "output untouched by an error")
    expect(x.XQueueCreate(c.byref(xq), hwq, 3, 0), OK, "XQueueCreate above what there is takes what there is")
    expect(x.XQueueCreate(c.byref(xq2), hwq, 1, 0), OK, "XQueueCreate again")
    expect(xq2.value, xq.value, "the same handle")
    expect(x.XQueueGet(None, hwq), INVALID, "XQueueGet, null out")
    expect(x.XQueueGet(c.byref(xq2), NOBODY), NOT_FOUND, "XQueueGet, unknown hwq")
    expect(x.XQueueGet(c.byref(xq2), hwq), OK, "XQueueGet")
    expect(xq2.value, xq.value, "XQueueGet gives the queue")
    expect(x.HwQueueDestroy(hwq), NOT_ALLOWED, "HwQueueDestroy while an XQueue is attached")

    # commands
    ran = []
    cmd, bad, late = u64(), u64(), u64()

    @CALLBACK
    def good(handle, _data):
        ran.append(handle)
        return 0 if ocl.write(queue, 1000 + len(ran)) == 0 else HARDWARE

    @CALLBACK
    def failing(_handle, _data):
        return NOT_SUPPORTED

    expect(x.HwCommandCreateCallback(None, good, None), INVALID, "HwCommandCreateCallback, null out")
    expect(x.HwCommandCreateCallback(c.byref(cmd), CALLBACK(0), None), INVALID, "HwCommandCreateCallback, null callback")
    expect(x.HwCommandCreateCallback(c.byref(cmd), good, None), OK, "HwCommandCreateCallback")
    expect(x.XQueueSubmit(NOBODY, cmd), NOT_FOUND, "XQueueSubmit, unknown queue")
    expect(x.XQueueSubmit(xq, NOBODY), NOT_FOUND, "XQueueSubmit, unknown command")
    expect(x.XQueueWait(xq, NOBODY), NOT_FOUND, "XQueueWait, unknown command")
    expect(x.XQueueWait(NOBODY, cmd), NOT_FOUND, "XQueueWait, unknown queue")
    expect(x.XQueueSubmit(xq, cmd), OK, "XQueueSubmit")
    expect(x.XQueueSubmit(xq, cmd), NOT_ALLOWED, "XQueueSubmit twice")
    expect(x.XQueueWait(xq, cmd), OK, "XQueueWait after XQueueSubmit")
    expect(ran, [hwq.value], "the callback ran once, with the hardware queue")
    expect(ocl.read(queue), 1001, "and its work was done")
    expect(x.XQueueWait(xq, cmd), NOT_FOUND, "XQueueWait twice")
    x.HwCommandCreateCallback(c.byref(bad), failing, None)
    expect(x.XQueueSubmit(xq, bad), OK, "XQueueSubmit of a failing command")
    expect(x.XQueueWait(xq, bad), NOT_SUPPORTED, "its error is the callback's")
    x.HwCommandCreateCallback(c.byref(cmd), good, None)
    expect(x.HwQueueLaunch(NOBODY, cmd), NOT_FOUND, "HwQueueLaunch, unknown queue")
    expect(x.HwQueueLaunch(hwq, NOBODY), NOT_FOUND, "HwQueueLaunch, unknown command")
    expect(x.HwQueueLaunch(hwq, cmd), OK, "HwQueueLaunch")
    expect(len(ran), 2, "launched at once")
    expect(x.HwCommandDestroy(cmd), OK, "HwCommandDestroy")
    expect(x.HwCommandDestroy(cmd), NOT_FOUND, "HwCommandDestroy twice")
    expect(x.HwQueueSynchronize(hwq), OK, "HwQueueSynchronize")
    expect(x.HwQueueSynchronize(NOBODY), NOT_FOUND, "HwQueueSynchronize, unknown")
    expect(x.XQueueWaitAll(xq), OK, "XQueueWaitAll")
    expect(x.XQueueWaitAll(NOBODY), NOT_FOUND, "XQueueWaitAll, unknown")

    # queries
    expect(x.XQueueQuery(xq, None), INVALID, "XQueueQuery, null out")
    expect(x.XQueueQuery(NOBODY, c.byref(state)), NOT_FOUND, "XQueueQuery, unknown")
    expect(x.XQueueQuery(xq, c.byref(state)), OK, "XQueueQuery")
    expect(state.value, IDLE, "idle")
    expect(x.XQueueProfileHwCommandCount(xq, None), INVALID, "XQueueProfileHwCommandCount, null out")
    expect(x.XQueueProfileHwCommandCount(NOBODY, c.byref(n)), NOT_FOUND, "XQueueProfileHwCommandCount, unknown")
    expect(x.XQueueProfileHwCommandCount(xq, c.byref(n)), OK, "XQueueProfileHwCommandCount")
    expect(n.value, 2, "two commands were submitted")

    # suspend, resume, drop
    expect(x.XQueueSuspend(xq, 0x40), INVALID, "XQueueSuspend, unknown flag")
    expect(x.XQueueResume(xq, 0x40), INVALID, "XQueueResume, unknown flag")
    expect(x.XQueueResume(NOBODY, 0), NOT_FOUND, "XQueueResume, unknown")
    for flags in (0, 1, 2, 4, -1):
        expect(x.XQueueSuspend(xq, flags), OK, f"XQueueSuspend, flags {flags}")
        expect(x.XQueueSuspend(xq, 0), OK, "again")
        expect(x.XQueueResume(xq, 0), OK, "XQueueResume")
    x.XQueueSuspend(xq, 0)
    x.HwCommandCreateCallback(c.byref(late), good, None)
    expect(x.XQueueSubmit(xq, late), OK, "XQueueSubmit on a suspended queue returns")
    time.sleep(0.1)
    expect(len(ran), 2, "and nothing runs")
    expect(x.XQueueQuery(xq, c.byref(state)), OK, "XQueueQuery on a suspended queue")
    expect(state.value, READY, "ready")
    expect(x.HwCommandDestroy(late), NOT_ALLOWED, "HwCommandDestroy while it waits")
    expect(x.XQueueSetLaunchConfig(xq, 32, 4), OK, "XQueueSetLaunchConfig on a suspended queue")
    results = []
    waiter = threading.Thread(target=lambda: results.append(x.XQueueWait(xq, late)))
    waiter.start()
    time.sleep(0.1)
    expect(results, [], "XQueueWait on a suspended queue waits")
    expect(x.XQueueResume(xq, 0), OK, "XQueueResume")
    waiter.join(20)
    expect(results, [OK], "and goes on with the queue")
    expect(len(ran), 3, "the command ran")
    x.XQueueSuspend(xq, 0)
    x.HwCommandCreateCallback(c.byref(late), good, None)
    x.XQueueSubmit(xq, late)
    expect(x.XQueueResume(xq, 1), OK, "XQueueResume with DropCommands")
    expect(x.XQueueWaitAll(xq), OK, "nothing is left")
    expect(len(ran), 3, "the dropped command did not run")

    # configuration
    expect(x.XQueueSetPreemptLevel(xq, 1), OK, "XQueueSetPreemptLevel")
    expect(x.XQueueSetPreemptLevel(xq, 3), NOT_SUPPORTED, "XQueueSetPreemptLevel, level 3 on OpenCL")
    expect(x.XQueueSetPreemptLevel(xq, 0), INVALID, "XQueueSetPreemptLevel, level 0")
    expect(x.XQueueSetPreemptLevel(NOBODY, 1), NOT_FOUND, "XQueueSetPreemptLevel, unknown")
    expect(x.XQueueSetLaunchConfig(xq, 4, 8), INVALID, "XQueueSetLaunchConfig, batch above threshold")
    expect(x.XQueueSetLaunchConfig(xq, 16, 8), OK, "XQueueSetLaunchConfig")
    expect(x.XQueueSetLaunchConfig(xq, 0, -1), OK, "XQueueSetLaunchConfig, both kept")
    expect(x.XQueueSetLaunchConfig(NOBODY, 16, 8), NOT_FOUND, "XQueueSetLaunchConfig, unknown")

    # hints
    for value, want in ((-257, INVALID), (-256, OK), (-255, OK), (0, OK), (255, OK), (256, INVALID)):
        expect(x.XHintPriority(xq, value), want, f"XHintPriority {value}")
    x.XHintPriority(xq, 0)
    expect(x.XHintPriority(NOBODY, 0), NOT_FOUND, "XHintPriority, unknown")
    old = i32(77)
    expect(x.XHintSwapPriority(NOBODY, 0, c.byref(old)), NOT_FOUND, "XHintSwapPriority, unknown")
    expect(x.XHintSwapPriority(xq, 256, c.byref(old)), INVALID, "XHintSwapPriority 256")
    expect(old.value, 77, "output untouched by an error")
    for value, want in ((9, 0), (9, 9), (-256, 9), (0, -256)):
        expect(x.XHintSwapPriority(xq, value, c.byref(old)), OK, f"XHintSwapPriority {value}")
        expect(old.value, want, "the priority before")
    x.XHintPriority(xq, 4)
    expect(x.XHintSwapPriority(xq, 0, None), OK, "XHintSwapPriority, null out")
    for value, want in ((-1, INVALID), (0, OK), (100, OK), (101, INVALID)):
        expect(x.XHintUtilization(xq, value), want, f"XHintUtilization {value}")
    expect(x.XHintUtilization(NOBODY, 50), NOT_FOUND, "XHintUtilization, unknown")
    for value, want in ((99, INVALID), (100, OK), (10000000, OK), (10000001, INVALID), (-1, OK), (-2, INVALID), (5000, OK)):
        expect(x.XHintTimeslice(value), want, f"XHintTimeslice {value}")   # -1: TIMESLICE_UNLIMITED
    for args, want in (((-2, 0, 0), INVALID), ((-1, 0, 0), OK), ((1000, -5, 5), OK), ((1000, -300, 5), INVALID),
                       ((1000, 5, 300), INVALID)):
        expect(x.XHintLaxity(xq, *args), want, f"XHintLaxity {args}")
    expect(x.XHintLaxity(NOBODY, 1, 0, 0), NOT_FOUND, "XHintLaxity, unknown")
    for value, want in ((-2, INVALID), (-1, OK), (16000, OK)):
        expect(x.XHintDeadline(xq, value), want, f"XHintDeadline {value}")
    expect(x.XHintDeadline(NOBODY, 1000), NOT_FOUND, "XHintDeadline, unknown")
    expect(x.XHintKDeadline(0), INVALID, "XHintKDeadline 0")
    expect(x.XHintKDeadline(2), OK, "XHintKDeadline 2")
    for scheduler, policy, want in ((0, 1, INVALID), (4, 1, INVALID), (2, 0, INVALID), (2, 12, INVALID)):
        expect(x.XHintSetScheduler(scheduler, policy), want, f"XHintSetScheduler {scheduler} {policy}")
    for policy in range(1, 12):
        expect(x.XHintSetScheduler(2, policy), OK, f"XHintSetScheduler, local, policy {policy}")
        x.HwCommandCreateCallback(c.byref(cmd), good, None)
        expect(x.XQueueSubmit(xq, cmd), OK, "XQueueSubmit under it")
        expect(x.XQueueWait(xq, cmd), OK, "XQueueWait under it")
    expect(x.XHintSetScheduler(3, 0), OK, "XHintSetScheduler, global, without a server")
    expect(ocl.write(queue, 77), 0, "and the program goes on")
    expect(ocl.read(queue), 77, "with the right result")
    expect(x.XHintSetScheduler(1, 0), OK, "XHintSetScheduler, application")

    # the end
    expect(x.XQueueDestroy(xq), OK, "XQueueDestroy")
    expect(x.XQueueDestroy(xq), NOT_FOUND, "XQueueDestroy twice")
    expect(x.HwQueueDestroy(hwq), OK, "HwQueueDestroy")
    expect(x.HwQueueDestroy(hwq), NOT_FOUND, "HwQueueDestroy twice")
    expect(ocl.write(queue, 78), 0, "the vendor's queue still works")
    expect(ocl.read(queue), 78, "with the right result")

    missing = set(FUNCTIONS) - called
    print(f"{checks} checks, {len(failures)} failed, {len(called & set(FUNCTIONS))} of {len(FUNCTIONS)} functions called"
          + (f", never called: {', '.join(sorted(missing))}" if missing else ""))
    return bool(failures or missing)


sys.exit(main())
