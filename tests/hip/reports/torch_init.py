# SPDX-License-Identifier: Apache-2.0
"""A package laid out as PyTorch's wheel for ROCm: torch/lib holds the framework's library and a runtime of its own
under the bare name libamdhip64.so; Python loads them RTLD_LOCAL."""
import ctypes
import os

_folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
_lib = ctypes.CDLL(os.path.join(_folder, "libtorch_hip.so"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
_blas = ctypes.CDLL(os.path.join(_folder, "libhipblas.so"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
_lib.fw_stream.restype = _lib.fw_listed.restype = ctypes.c_void_p


class Log:
    """What kernels write: how many, and their tags."""

    def __init__(self):
        self.words = (ctypes.c_uint32 * 64)()

    def tags(self):
        return list(self.words[1:1 + self.words[0]])


log = Log()


def init():
    return _lib.fw_init()


def randn(tag):
    return _lib.fw_randn(log.words, tag)


def stream(priority=0):
    return _lib.fw_stream(priority)


def wait(where):
    return _lib.fw_wait(ctypes.c_void_p(where))


def listed():
    return _lib.fw_listed()


def launch(function):
    return _lib.fw_launch(ctypes.c_void_p(function), 1, 1, 1, 1, 1, 1, 0, None, None, None)


def on(where, tag):
    return _lib.fw_on(ctypes.c_void_p(where), log.words, tag)


def module(where, tag, mangled):
    return _lib.fw_module(ctypes.c_void_p(where), log.words, tag, mangled)


def blas_create():
    return _blas.blas_create()


def blas_gemm(where, tag):
    return _blas.blas_gemm(ctypes.c_void_p(where), log.words, tag)
