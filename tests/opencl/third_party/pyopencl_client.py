#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels, reductions, events and profiling through PyOpenCL; prints the results."""
import numpy
import pyopencl
import pyopencl.array
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel

N = 100000
context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
queue = pyopencl.CommandQueue(context, properties=pyopencl.command_queue_properties.PROFILING_ENABLE)
a = pyopencl.array.arange(queue, N, dtype=numpy.float32)
b = pyopencl.array.to_device(queue, numpy.linspace(0, 1, N).astype(numpy.float32))
c = pyopencl.array.empty_like(a)
multiply = ElementwiseKernel(context, "float *x, float *y, float *z", "z[i] = x[i] * y[i] + 1")
for _ in range(20):
    multiply(a, b, c)
total = ReductionKernel(context, numpy.float32, "0", "a+b", arguments="float *x", map_expr="x[i]")
print(float(total(c).get()), c.get()[:5], float(pyopencl.array.dot(a, b).get()), float(pyopencl.array.max(c).get()))
host = numpy.empty(N, numpy.float32)
event = pyopencl.enqueue_copy(queue, host, c.data, is_blocking=False)
event.wait()
print(bool((host == c.get()).all()), event.profile.end > event.profile.start)
