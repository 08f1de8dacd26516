# SPDX-License-Identifier: Apache-2.0
"""What an empty with-block of the Python package costs, on the driver that LD_LIBRARY_PATH has: with_block.py PACKAGE ROUNDS.
Prints a JSON object: what -> nanoseconds of a block, by batch."""
import ctypes
import gc
import json
import sys
import time
import types

sys.path.insert(0, sys.argv[1])
import xsched  # noqa: E402

BATCH = 1000


class Stream:
    def __init__(self, handle):
        self.cuda_stream, self.priority, self.device_index = handle, 0, 0


Stream.__module__ = "torch.cuda.streams"


def stand_in(stream):
    """What the package asks of PyTorch, answered as quickly as Python can; PyTorch itself takes longer."""
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, current_stream=lambda: Stream(stream))
    torch._C = types.SimpleNamespace(_cuda_getDevice=int, _cuda_getCurrentRawStream={0: stream}.__getitem__)
    torch.version = types.SimpleNamespace(hip=None)
    sys.modules["torch"] = torch


def main(rounds):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, stream, work = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    if cuda.cuStreamCreate(ctypes.byref(stream), 1):
        sys.exit("no stream")
    if "nop" in sys.argv[3:]:  # joins xserver
        cuda.cuModuleGetFunction(ctypes.byref(work), None, b"nop")
        cuda.cuLaunchKernel(work, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
        cuda.cuStreamSynchronize(stream)
    queue = xsched.Queue(stream.value)
    again = xsched.priority(5, queue)

    def named():
        for _ in range(BATCH):
            with xsched.priority(5, queue):
                pass

    def used_again():
        for _ in range(BATCH):
            with again:
                pass

    def current():
        for _ in range(BATCH):
            with xsched.priority(5):
                pass

    stand_in(stream.value)
    kinds = (("queue named", named), ("block used again", used_again), ("current stream, PyTorch's stand-in", current))
    times = {name: [] for name, _ in kinds}
    gc.disable()
    for i in range(rounds + 3):
        for name, function in kinds:
            begin = time.perf_counter_ns()
            function()
            if i >= 3:
                times[name].append((time.perf_counter_ns() - begin) / BATCH)
    print(json.dumps(times))


import warnings  # noqa: E402

warnings.simplefilter("ignore", xsched.XSchedWarning)
main(int(sys.argv[2]))
