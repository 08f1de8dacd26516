# SPDX-License-Identifier: Apache-2.0
"""What the examples compute on: PyTorch on a GPU, or OpenCL on the CPU (PoCL, one core, so that it is busy when one
program is). Nothing of the scheduler is in here.

A Work has unit(), one request or one step: it hands its kernels over and waits for them. verify() says whether all
results so far are what they have to be.
"""
import os
import sys
import time

# of the OpenCL device: kernels in a unit, length of each in ms
OPENCL = {"infer": (3, 1.0), "train": (8, 1.0), "decode": (2, 0.5), "batch": (4, 2.0)}


def open_device(kind=None):
    """"cuda", "opencl", or what there is."""
    kind = kind or os.environ.get("EXAMPLE_DEVICE")
    if kind != "opencl":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # the same numbers each time, on several streams too
        try:
            import torch
            if torch.cuda.is_available():
                return TorchDevice(torch)
        except ImportError:
            if kind == "cuda":
                raise
    return OpenClDevice()


class OpenClDevice:
    name = "opencl"
    SOURCE = """__kernel void churn(__global uint *x, uint rounds)
    {
        uint v = x[0];
        for (uint i = 0; i < rounds; i++)
            v = v * 1664525u + 1013904223u;
        x[0] = v;
    }"""

    def __init__(self):
        os.environ["POCL_MAX_PTHREAD_COUNT"] = "1"
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # all programs share this core: the device
        try:
            import numpy
            import pyopencl
            device = pyopencl.get_platforms()[0].get_devices()[:1]
        except Exception as error:  # ImportError, or pyopencl's own where there is no device
            sys.exit(f"{type(error).__name__}: {error}\nThis needs PyTorch and a GPU, or pyopencl, numpy and PoCL for this Python "
                     f"({sys.executable});\non Debian and Ubuntu: apt install python3-pyopencl pocl-opencl-icd, for /usr/bin/python3")
        self.cl, self.numpy = pyopencl, numpy
        self.context = pyopencl.Context(device)
        self.program = pyopencl.Program(self.context, self.SOURCE).build()
        self.rounds_per_ms = self._calibrate()

    def _calibrate(self):
        queue, kernel, buffer = self.stream(), self.program.churn, self._buffer()
        best = 1e9
        for _ in range(6):
            kernel.set_args(buffer, self.numpy.uint32(400000))
            began = time.process_time()  # of all threads, PoCL's too: others on this core do not count
            self.cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
            queue.finish()
            best = min(best, time.process_time() - began)
        return int(400000 / (best * 1e3))

    def _buffer(self):
        flags = self.cl.mem_flags
        return self.cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR,
                              hostbuf=self.numpy.array([7], dtype=self.numpy.uint32))

    def stream(self):
        return self.cl.CommandQueue(self.context)

    def work(self, what, stream=None):
        return OpenClWork(self, *OPENCL[what], stream or self.stream())


class OpenClWork:
    def __init__(self, device, kernels, ms, queue):
        self.device, self.kernels, self.queue, self.launches = device, kernels, queue, 0
        self.rounds = int(device.rounds_per_ms * ms)
        self.buffer = device._buffer()
        self.kernel = device.cl.Kernel(device.program, "churn")
        self.kernel.set_args(self.buffer, device.numpy.uint32(self.rounds))

    def enqueue(self):
        self.device.cl.enqueue_nd_range_kernel(self.queue, self.kernel, (1,), None)
        self.launches += 1

    def finish(self):
        self.queue.finish()

    def unit(self):
        for _ in range(self.kernels):
            self.enqueue()
        self.finish()

    def verify(self):
        got = self.device.numpy.zeros(1, dtype=self.device.numpy.uint32)
        self.device.cl.enqueue_copy(self.queue, got, self.buffer)
        return int(got[0]) == after(7, self.rounds * self.launches)


def after(v, rounds):
    """v after so many rounds of the kernel, by squaring the map v -> a v + c."""
    a, c = 1664525, 1013904223
    while rounds:
        if rounds & 1:
            v = (a * v + c) & 0xFFFFFFFF
        a, c = a * a & 0xFFFFFFFF, (a * c + c) & 0xFFFFFFFF
        rounds >>= 1
    return v


class TorchDevice:
    name = "cuda"

    def __init__(self, torch):
        self.torch = torch
        torch.cuda.init()
        torch.manual_seed(1)

    def stream(self):
        return self.torch.cuda.Stream()

    def work(self, what, stream=None):
        return {"infer": Inference, "train": Training, "decode": Decoding, "batch": Batch}[what](self.torch, stream)


class TorchWork:
    """unit() computes the same numbers each time, except in training, where the loss must fall."""

    def __init__(self, torch, stream):
        self.torch, self.stream, self.launches = torch, stream, 0
        self.queue = stream if stream is not None else torch.cuda.current_stream()
        with torch.cuda.stream(self.stream):
            self.build()
            self.expected = self.step()
        self.queue.synchronize()
        self.expected = self.expected.clone()
        self.wrong = False

    def enqueue(self):
        with self.torch.cuda.stream(self.stream):
            self.result = self.step()
        self.launches += 1

    def finish(self):
        self.queue.synchronize()

    def unit(self):
        self.enqueue()
        self.finish()

    def verify(self):
        return bool(self.torch.equal(self.result, self.expected))


class Inference(TorchWork):
    """A transformer encoder, batch 16."""

    def build(self):
        nn = self.torch.nn
        layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
        self.model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda().eval()
        self.input = self.torch.randn(16, 128, 768, device="cuda")

    def step(self):
        with self.torch.no_grad():
            return self.model(self.input)


class Training(TorchWork):
    """The same kind of encoder, batch 64, trained on one batch."""

    def build(self):
        nn = self.torch.nn
        layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True)
        self.model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
        self.optimizer = self.torch.optim.AdamW(self.model.parameters(), 1e-4)
        self.input = self.torch.randn(64, 128, 768, device="cuda")

    def step(self):
        self.optimizer.zero_grad()
        loss = (self.model(self.input) - self.input.flip(1)).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def verify(self):
        return bool(self.result < self.expected)


class Decoding(TorchWork):
    """One token of a decoder with a cache of 1024 tokens, replayed as a CUDA graph."""

    def build(self):
        torch, nn = self.torch, self.torch.nn
        width, heads, past, layers = 1024, 16, 1024, 12
        self.blocks = [{"qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                        "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)} for _ in range(layers)]
        for block in self.blocks:
            for part in block.values():
                part.cuda()
        self.keys = [torch.randn(8, heads, past, width // heads, device="cuda") for _ in range(layers)]
        self.values = [torch.randn(8, heads, past, width // heads, device="cuda") for _ in range(layers)]
        self.token = torch.randn(8, 1, width, device="cuda")
        self.graph = None
        with torch.no_grad():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.forward()
            side.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.output = self.forward()
        self.graph = graph

    def forward(self):
        x, f = self.token, self.torch.nn.functional
        for block, keys, values in zip(self.blocks, self.keys, self.values):
            q, k, v = (t.reshape(8, 1, 16, 64).transpose(1, 2) for t in block["qkv"](x).chunk(3, -1))
            y = f.scaled_dot_product_attention(q, self.torch.cat([keys, k], 2), self.torch.cat([values, v], 2))
            x = x + block["out"](y.transpose(1, 2).reshape(8, 1, 1024))
            x = x + block["down"](f.gelu(block["up"](x)))
        return x

    def step(self):
        self.graph.replay()
        return self.output


class Batch(TorchWork):
    """Products of large matrices."""

    def build(self):
        self.input = self.torch.randn(6144, 6144, device="cuda")

    def step(self):
        return self.input @ self.input
