#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PoCL 3.1 calls event callbacks on the threads that compute. As many callbacks that wait as the device has threads stop the
# whole device: the commands of all other queues and contexts too. A callback set on a command that is already complete runs
# in the calling thread, inside clSetEventCallback; one set on a command that is not yet submitted and asks for CL_SUBMITTED
# runs inside the clSetUserEventStatus that releases it.
#
# Whom it matters to: whoever waits in a callback for other work of the device, and whoever calls these two functions with a
# lock that the callback takes.
# Guess before the run: a thread of the runtime, apart from compute threads and callers, calls all callbacks, so a callback that
# waits delays at most its own queue.
# Seen: PoCL 3.1-3+deb12u1 of Debian 12, with one, two and three threads, 2026-11-30.
#
# Needs python3 and the packages pocl-opencl-icd and ocl-icd-libopencl1; no GPU. It installs nothing, since PoCL has fixed folders.
set -eu
[ -e /etc/OpenCL/vendors/pocl.icd ] || { echo "needed: pocl-opencl-icd"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/threads.py" <<'PY'
import ctypes, sys, threading, time
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

threads = int(sys.argv[1])
cl = ctypes.CDLL("libOpenCL.so.1")
for name in "clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clCreateUserEvent":
    getattr(cl, name).restype = c_void_p
CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
COMPLETE, SUBMITTED, DEVICE_ALL, READ_WRITE, STATUS = 0, 2, 0xFFFFFFFF, 1, 0x11D3

def ok(name, *args):
    r = getattr(cl, name)(*args)
    if r:
        sys.exit(f"{name}: error {r}")

def made(name, *args):
    r = c_int()
    handle = c_void_p(getattr(cl, name)(*args, byref(r)))
    if r.value:
        sys.exit(f"{name}: error {r.value}")
    return handle

platform, device, text = c_void_p(), c_void_p(), ctypes.create_string_buffer(200)
ok("clGetPlatformIDs", 1, byref(platform), None)
ok("clGetPlatformInfo", platform, 0x0901, c_size_t(200), text, None)
ok("clGetDeviceIDs", platform, c_uint64(DEVICE_ALL), 1, byref(device), None)
print(text.value.decode(), "threads:", threads)
data = ctypes.create_string_buffer(4096)

class Queue:
    """A queue with a context and a buffer of its own."""
    def __init__(self):
        self.context = made("clCreateContext", None, 1, byref(device), None, None)
        self.memory = made("clCreateBuffer", self.context, c_uint64(READ_WRITE), c_size_t(4096), None)
        self.queue = made("clCreateCommandQueue", self.context, device, c_uint64(0))

    def write(self, gate=None):
        event = c_void_p()
        ok("clEnqueueWriteBuffer", self.queue, self.memory, 0, c_size_t(0), c_size_t(4096), data,
           1 if gate else 0, byref(gate) if gate else None, byref(event))
        ok("clFlush", self.queue)
        return event

def completes(event, seconds):
    end, s = time.monotonic() + seconds, c_int(99)
    while time.monotonic() < end:
        ok("clGetEventInfo", event, STATUS, c_size_t(4), byref(s), None)
        if s.value == 0:
            return True
        time.sleep(0.01)
    return False

# Who calls.
who = {}
def note(name):
    def call(event, status, opaque):
        who[name] = threading.get_native_id()
    return CALLBACK(call)
late, early, submitted = note("late"), note("early"), note("submitted")
q = Queue()
event = q.write()
ok("clFinish", q.queue)
ok("clSetEventCallback", event, COMPLETE, late, None)
late_inside = "late" in who
gate = made("clCreateUserEvent", q.context)
event = q.write(gate)
ok("clSetEventCallback", event, SUBMITTED, submitted, None)
ok("clSetEventCallback", event, COMPLETE, early, None)
ok("clSetUserEventStatus", gate, 0)
submitted_inside = "submitted" in who
ok("clFinish", q.queue)
time.sleep(0.2)
me = threading.get_native_id()
print(f"inside clSetEventCallback: {late_inside and who['late'] == me}, inside clSetUserEventStatus: "
      f"{submitted_inside and who['submitted'] == me}, set in time, by another thread: {who['early'] != me}")
good = late_inside and submitted_inside and who["late"] == who["submitted"] == me != who["early"]

# Whom a callback stops: waiting ones, one more each time, and a write of another context.
go, entered, stops = threading.Event(), threading.Semaphore(0), []
def wait(event, status, opaque):
    entered.release()
    go.wait(20)
waiting, other, kept = CALLBACK(wait), Queue(), []
for n in range(1, threads + 1):
    q = Queue()
    gate = made("clCreateUserEvent", q.context)
    event = q.write(gate)
    ok("clSetEventCallback", event, COMPLETE, waiting, None)
    ok("clSetUserEventStatus", gate, 0)
    entered.acquire(timeout=5)
    last = other.write()
    stops.append(not completes(last, 2))
    kept.append(q)
go.set()
after = completes(last, 10)
print(f"a write of another context stops beside 1 to {threads} waiting callbacks: {stops}; it completes afterwards: {after}")
good = good and stops == [False] * (threads - 1) + [True] and after
for q in kept + [other]:
    ok("clFinish", q.queue)
sys.exit(0 if good else 1)
PY
echo "expected: no callback inside a call, no write that stops"
for n in 1 2 3; do
    OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=$n timeout 120 python3 "$dir/threads.py" $n ||
        { echo "it changed"; exit 1; }
done
echo "as found"
