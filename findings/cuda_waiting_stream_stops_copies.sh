#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CUDA stream that waits for memory (cuStreamWaitValue32) behind a copy stops host-to-device copies of other, independent
# streams of the same context, while their kernels and fills go on; once the context has no more streams than connections
# (CUDA_DEVICE_MAX_CONNECTIONS, eight by default), nothing stops.
#
# Whom it matters to: whoever lets streams wait on the device (schedulers, pipelines between processes, stream-ordered
# semaphores) and expects other streams to go on; whoever tests that with kernels alone.
# Guess before the run: streams share connections for every kind of command alike, so with eight connections one waiting
# stream of 32 stops about as many copies as kernels: few, or none.
# Seen: NVIDIA H200, driver 580.159.04 (CUDA 13.0), 2026-11-29: of 31 other streams about a dozen copies stop, no kernel.
#
# Needs an NVIDIA GPU, its driver, and python3; it installs nothing, since the driver itself is what it shows.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/waits.py" <<'PY'
import ctypes, sys, time
from ctypes import byref, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

kind, total = sys.argv[1], int(sys.argv[2])
cu = ctypes.CDLL("libcuda.so.1")
PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry nop() { ret; }
"""

def ok(name, *args):
    r = getattr(cu, name)(*args)
    if r:
        sys.exit(f"{name}: error {r}")

version, device, context, module, function = c_int(), c_int(), c_void_p(), c_void_p(), c_void_p()
ok("cuInit", 0)
ok("cuDriverGetVersion", byref(version))
ok("cuDeviceGet", byref(device), 0)
ok("cuDevicePrimaryCtxRetain", byref(context), device)
ok("cuCtxSetCurrent", context)
ok("cuModuleLoadData", byref(module), PTX)
ok("cuModuleGetFunction", byref(function), module, b"nop")
word, at = c_void_p(), c_uint64()
SIZE = 8 << 20  # large enough that the copies of several streams are under way at once
ok("cuMemHostAlloc", byref(word), c_size_t(SIZE + 4096), 2)
ok("cuMemHostGetDevicePointer_v2", byref(at), word, 0)
ctypes.memset(word, 0, 4096)
streams, memory = [], []
for _ in range(total):
    s, m = c_void_p(), c_uint64()
    ok("cuStreamCreate", byref(s), 1)
    ok("cuMemAlloc_v2", byref(m), c_size_t(SIZE))
    streams.append(s), memory.append(m)

def put(what, i):
    if what == "kernel":
        ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, streams[i], None, None)
    elif what == "fill":
        ok("cuMemsetD32Async", memory[i], c_uint(1), c_size_t(1), streams[i])
    else:
        ok("cuMemcpyHtoDAsync_v2", memory[i], c_void_p(word.value + 4096), c_size_t(SIZE), streams[i])

for i in range(total):
    put(kind, i)
put("copy", 0)
ok("cuCtxSynchronize")
ok("cuStreamWaitValue32_v2", streams[0], at, c_uint32(1), 0)
put("copy", 0)
for _ in range(3):
    for i in range(1, total):
        put(kind, i)
time.sleep(0.1)
stopped = sum(cu.cuStreamQuery(s) == 600 for s in streams[1:])
ctypes.memset(word, 1, 1)
ok("cuCtxSynchronize")
print(f"driver {version.value}: one of {total} streams waits behind a copy; of the others' streams of {kind} commands {stopped} stop")
sys.exit(100 + stopped)
PY
run() { # KIND STREAMS: how many others stop
    set +e
    CUDA_DEVICE_MAX_CONNECTIONS=8 timeout 60 python3 "$dir/waits.py" "$1" "$2"
    n=$(($? - 100))
    set -e
}
echo "expected: kernels and copies of independent streams alike"
run kernel 32; kernels=$n
run copy 32; copies=$n
run copy 8; few=$n
echo "seen: kernels stop: $kernels, copies stop: $copies; copies, of 8 streams with 8 connections: $few"
[ "$kernels" = 0 ] && [ "$copies" -gt 0 ] && [ "$few" = 0 ] && echo "as found" || { echo "it changed"; exit 1; }
