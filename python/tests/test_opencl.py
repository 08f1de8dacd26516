# SPDX-License-Identifier: Apache-2.0
"""pyopencl queues on PoCL."""
import numpy
import pytest
import xsched
import xsched.opencl
from conftest import in_force

cl = pytest.importorskip("pyopencl")


@pytest.fixture(scope="module")
def context():
    return cl.Context(cl.get_platforms()[0].get_devices()[:1])


def test_hints_on_a_command_queue(context):
    queue = cl.CommandQueue(context)
    xsched.set_priority(queue, 7)
    q = xsched.Queue(queue)
    assert q.platform == "opencl" and in_force(q) == 7
    with xsched.priority(9, queue):
        assert in_force(q) == 9
    assert in_force(q) == 7
    xsched.set_utilization(queue, 30)
    xsched.set_deadline(queue, 1000)
    assert xsched.Queue(queue.int_ptr, platform="opencl").handle == q.handle
    assert xsched.opencl.XSchedOpenCL.OclQueueCreate(queue.int_ptr)[1] == q.hw_handle


def test_commands_with_a_verified_result(context):
    queue = cl.CommandQueue(context)
    program = cl.Program(context, "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }").build()
    host = numpy.arange(256, dtype=numpy.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    kernel = program.twice
    kernel.set_args(buffer)
    q = xsched.Queue(queue)
    with q.suspended():
        commands = [q.submit(cl.enqueue_nd_range_kernel, queue, kernel, (256,), None) for _ in range(5)]
    for c in commands:
        c.wait()
    result = numpy.empty_like(host)
    cl.enqueue_copy(queue, result, buffer)
    assert (result == host * 32).all()


def test_not_a_command_queue():
    with pytest.raises((xsched.InvalidValueError, xsched.NotFoundError)):
        xsched.Queue(0, platform="opencl")
