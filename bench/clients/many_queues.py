# SPDX-License-Identifier: Apache-2.0
"""A program with many streams: many_queues.py COUNT; launches once on each, says "ready", ends when its input does."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, work = ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleGetFunction(ctypes.byref(work), None, b"nop")
for _ in range(int(sys.argv[1])):
    stream = ctypes.c_void_p()
    if cuda.cuStreamCreate(ctypes.byref(stream), 1) or cuda.cuLaunchKernel(work, 1, 1, 1, 1, 1, 1, 0, stream, None, None):
        sys.exit("a stream or a launch failed")
    cuda.cuStreamSynchronize(stream)
print("ready", flush=True)
sys.stdin.read()
