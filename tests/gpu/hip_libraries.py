#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of hipBLAS, MIOpen, rocFFT and rocRAND, without a compiler and a framework: hip_libraries.py NAME

NAME is what the runtime is opened by, libamdhip64.so.6 say. Prints one JSON object: for each operation what it gave back
(0: right), and the checksum of what it left; what is not installed is in `missing`."""
import ctypes
import json
import re
import sys
import zlib

P, SIZE, INT, FLOAT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_float
N, SIDE, NONE = 4096, 32, 111         # floats in a buffer; of the matrices; HIPBLAS_OP_N


class Failed(Exception):
    """A call that gave back an error."""


class Lib:
    def __init__(self, stem, *numbers):
        self.lib = None
        for name in [f"lib{stem}.so.{n}" for n in numbers] + [f"lib{stem}.so"]:
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError:
                continue

    def __call__(self, name, *args):
        r = getattr(self.lib, name)(*args)
        if r:
            raise Failed(f"{name}: {r}")


class Bench:
    def __init__(self, name):
        self.hip, self.out, self.missing = Lib(""), {}, []
        self.hip.lib = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        found = re.search(r"\.so\.(\d+)", name)
        self.rocm = int(found.group(1)) if found else 6
        self.stream, self.buffers = P(), [P(), P(), P()]
        self.hip("hipStreamCreate", ctypes.byref(self.stream))
        for b in self.buffers:
            self.hip("hipMalloc", ctypes.byref(b), SIZE(N * 4))

    def fill(self):
        for seed, b in enumerate(self.buffers):
            data = (FLOAT * N)(*[(i * 7 + seed) % 13 / 4 for i in range(N)])
            self.hip("hipMemcpy", b, data, SIZE(N * 4), INT(1))

    def sum(self, buffer, floats):
        data = (FLOAT * floats)()
        self.hip("hipDeviceSynchronize")
        self.hip("hipMemcpy", data, buffer, SIZE(floats * 4), INT(2))
        return zlib.crc32(bytes(data))

    def run(self, title, operation):
        try:
            self.fill()
            self.out[title] = [0, operation()]
        except Failed as e:
            self.out[title] = [str(e), 0]
        except AttributeError as e:
            self.out[title] = ["missing: " + str(e).rsplit(" ", maxsplit=1)[-1], 0]

    # ---- libraries ----

    def blas(self):
        blas = Lib("hipblas", *{7: (3,), 6: (2,), 5: (1, 0)}.get(self.rocm, (3, 2)))
        if not blas.lib:
            return self.missing.append("hipBLAS")
        handle, one, none = P(), FLOAT(1), FLOAT(0)
        a, b, c = self.buffers

        def create():
            blas("hipblasCreate", ctypes.byref(handle))
            return 0

        def gemm(stream):
            blas("hipblasSetStream", handle, stream)
            blas("hipblasSgemm", handle, NONE, NONE, SIDE, SIDE, SIDE, ctypes.byref(one), a, SIDE, b, SIDE, ctypes.byref(none), c, SIDE)
            return self.sum(c, SIDE * SIDE)

        def axpy():
            blas("hipblasSaxpy", handle, 1000, ctypes.byref(one), a, 1, b, 1)
            return self.sum(b, 1000)

        def batched():
            blas("hipblasSgemmStridedBatched", handle, NONE, NONE, 16, 16, 16, ctypes.byref(one), a, 16, ctypes.c_longlong(256), b, 16,
                 ctypes.c_longlong(256), ctypes.byref(none), c, 16, ctypes.c_longlong(256), 4)
            return self.sum(c, 1024)

        self.run("hipblasCreate", create)
        for name, stream in (("null", P(0)), ("per thread", P(2)), ("created", self.stream)):
            self.run("hipblasSgemm, stream " + name, lambda s=stream: gemm(s))
        self.run("hipblasSaxpy", axpy)
        return self.run("hipblasSgemmStridedBatched", batched)

    def dnn(self):
        dnn = Lib("MIOpen", 1)
        if not dnn.lib:
            return self.missing.append("MIOpen")
        handle, into, out, weights, way, act = P(), P(), P(), P(), P(), P()
        one, none = FLOAT(1), FLOAT(0)
        a, b, c = self.buffers

        class Solution(ctypes.Structure):
            _fields_ = [("time", FLOAT), ("workspace", SIZE), ("id", ctypes.c_uint64), ("algorithm", INT)]

        def create():
            dnn("miopenCreateWithStream", ctypes.byref(handle), self.stream)
            for t, size in ((into, (1, 4, 8, 8)), (out, (1, 4, 8, 8)), (weights, (4, 4, 3, 3))):
                dnn("miopenCreateTensorDescriptor", ctypes.byref(t))
                dnn("miopenSet4dTensorDescriptor", t, 1, *size)
            return 0

        def relu():
            dnn("miopenCreateActivationDescriptor", ctypes.byref(act))
            dnn("miopenSetActivationDescriptor", act, 3, *[ctypes.c_double(x) for x in (0, 0, 1)])
            dnn("miopenActivationForward", handle, act, ctypes.byref(one), into, a, ctypes.byref(none), out, b)
            return self.sum(b, 256)

        def softmax():
            dnn("miopenSoftmaxForward", handle, ctypes.byref(one), into, a, ctypes.byref(none), out, b)
            return self.sum(b, 256)

        def convolution():
            found, n, space = (Solution * 8)(), SIZE(0), P()
            dnn("miopenCreateConvolutionDescriptor", ctypes.byref(way))
            dnn("miopenInitConvolutionDescriptor", way, 0, 1, 1, 1, 1, 1, 1)
            dnn("miopenConvolutionForwardGetSolution", handle, weights, into, way, out, SIZE(8), ctypes.byref(n), found)
            if not n.value:
                raise Failed("miopenConvolutionForwardGetSolution: no solution")
            first = found[0]
            if first.workspace:
                self.hip("hipMalloc", ctypes.byref(space), SIZE(first.workspace))
            dnn("miopenConvolutionForwardCompileSolution", handle, weights, into, way, out, ctypes.c_uint64(first.id))
            dnn("miopenConvolutionForwardImmediate", handle, weights, b, into, a, way, out, c, space, SIZE(first.workspace),
                ctypes.c_uint64(first.id))
            return self.sum(c, 256)

        for title, operation in (("miopenCreateWithStream", create), ("miopenActivationForward", relu), ("miopenSoftmaxForward", softmax),
                                 ("miopenConvolutionForwardImmediate", convolution)):
            self.run(title, operation)
        return None

    def fft(self):
        fft = Lib("rocfft", 0)
        if not fft.lib:
            return self.missing.append("rocFFT")

        def forward():
            length, plan, info = SIZE(64), P(), P()
            fft("rocfft_setup")
            fft("rocfft_plan_create", ctypes.byref(plan), 0, 0, 0, SIZE(1), ctypes.byref(length), SIZE(1), None)
            fft("rocfft_execution_info_create", ctypes.byref(info))
            fft("rocfft_execution_info_set_stream", info, self.stream)
            fft("rocfft_execute", plan, (P * 1)(self.buffers[0]), None, info)
            return self.sum(self.buffers[0], 128)

        return self.run("rocfft_execute", forward)

    def rand(self):
        rand = Lib("rocrand", 1)
        if not rand.lib:
            return self.missing.append("rocRAND")

        def uniform():
            generator = P()
            rand("rocrand_create_generator", ctypes.byref(generator), 404)
            rand("rocrand_set_stream", generator, self.stream)
            rand("rocrand_set_seed", generator, ctypes.c_uint64(12))
            rand("rocrand_generate_uniform", generator, self.buffers[0], SIZE(1000))
            return self.sum(self.buffers[0], 1000)

        return self.run("rocrand_generate_uniform", uniform)


def main(name):
    try:
        bench = Bench(name)
    except Failed as e:
        print(json.dumps({"no_device": str(e)}))
        return 3
    for part in (bench.blas, bench.dnn, bench.fft, bench.rand):
        part()
        print(json.dumps({"results": bench.out, "missing": bench.missing}), flush=True) # the last line counts
    return 0


sys.exit(main(*sys.argv[1:]))
