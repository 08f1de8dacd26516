# SPDX-License-Identifier: Apache-2.0
"""The fake CUDA driver as the device, xserver on a socket of the test's own.

Run by ctest (tests/python), which sets XSCHED_BUILD_DIR, XSCHED_FAKE_CUDA and LD_LIBRARY_PATH.
"""
import ctypes
import os
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.dirname(HERE)
BUILD = os.environ["XSCHED_BUILD_DIR"]
FAKE = os.environ["XSCHED_FAKE_CUDA"]
sys.path.insert(0, PACKAGE)


class Cuda:
    """As little of the driver as the tests need."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        assert self.lib.cuInit(0) == 0
        assert self.lib.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0) == 0
        self.use()

    def use(self):
        assert self.lib.cuCtxSetCurrent(self.context) == 0

    def stream(self):
        s = ctypes.c_void_p()
        assert self.lib.cuStreamCreate(ctypes.byref(s), 1) == 0
        return s.value

    def destroy(self, stream):
        assert self.lib.cuStreamDestroy_v2(ctypes.c_void_p(stream)) == 0


@pytest.fixture(scope="session")
def cuda():
    return Cuda()


@pytest.fixture
def stream(cuda):
    cuda.use()
    return cuda.stream()


def in_force(queue):
    """The priority of a queue; this package has no call that only reads it."""
    import xsched
    for value in (0, 1):
        result, old = xsched.XSched.XHintSwapPriority(queue.handle, value)
        assert result == 0
        if value == 0:
            first = old
    assert xsched.XSched.XHintPriority(queue.handle, first) == 0
    return first


def python(code, *arguments, env=None, **more):
    """Runs code in an interpreter of its own."""
    e = dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")
    e.update(env or {})
    return subprocess.run([sys.executable, "-c", code, *arguments], env={k: v for k, v in e.items() if v is not None},
                          capture_output=True, text=True, timeout=120, **more)


@pytest.fixture
def server(tmp_path):
    """An xserver; its socket."""
    path = str(tmp_path / "xserver.sock")
    process = subprocess.Popen([os.path.join(BUILD, "bin", "xserver"), "--socket", path, "--policy", "HPF", "--port", "0"],
                               stderr=subprocess.DEVNULL)
    for _ in range(400):
        if os.path.exists(path) and os.path.exists(str(tmp_path / "http.sock")):
            break
        time.sleep(0.025)
    yield path
    process.terminate()
    process.wait(20)
