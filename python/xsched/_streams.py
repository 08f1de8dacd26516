# SPDX-License-Identifier: Apache-2.0
"""What a stream is: from an object of a framework to a platform and the vendor's handle.

Imports no framework. XSched knows an object by the module of its class and by its attributes. For the current stream
it looks at sys.modules: a framework that the program did not import has no streams in it.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ._errors import StreamTypeError
from ._library import mapped
from ._platforms import PLATFORMS


class Stream(NamedTuple):
    """A vendor's stream."""

    platform: str
    handle: int
    offset: int = 0  # what the vendor's own stream priority adds to the priority of its queue


def platform_of_process() -> str:
    """For streams given as integers: the vendor whose library is in this process."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return "hip" if getattr(getattr(torch, "version", None), "hip", None) else "cuda"
    for platform in PLATFORMS.values():
        if mapped(f"{platform.vendor}.so"):
            return platform.stem
    return "cuda"


def _hip(module: str) -> bool:
    if module == "torch":
        return platform_of_process() == "hip"
    cupy = sys.modules.get("cupy")
    runtime = getattr(getattr(cupy, "cuda", None), "runtime", None)
    return bool(module == "cupy" and getattr(runtime, "is_hip", False))


def _number(value: Any) -> int:
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    return int(value)


def resolve(stream: Any, platform: Optional[str] = None) -> Stream:
    """The stream behind an object: of PyTorch, CuPy, Numba, pyopencl, cuda-python, PyCUDA, anything with
    __cuda_stream__, or an integer (then of platform, or of the vendor whose library is loaded)."""
    if platform is not None and platform not in PLATFORMS:
        raise StreamTypeError(f"there is no platform {platform!r}", f"it is one of {', '.join(sorted(PLATFORMS))}")
    if isinstance(stream, bool) or stream is None:
        raise StreamTypeError(f"{stream!r} is no stream", "pass a stream object or its handle as an integer")
    if isinstance(stream, (int, ctypes.c_void_p)):
        handle = _number(stream)
        if handle < 0 or handle >= 1 << 64:
            raise StreamTypeError(f"{handle} is no handle of a stream", "pass the vendor's pointer as an integer")
        return Stream(platform or platform_of_process(), handle)
    module = type(stream).__module__.split(".")[0]
    for base in type(stream).__mro__:  # a subclass of a framework's stream counts as one
        root = base.__module__.split(".")[0]
        if root in ("torch", "cupy", "numba", "pyopencl", "pycuda", "cuda"):
            module = root
            break
    vendor = platform or ("hip" if _hip(module) else "cuda")
    if hasattr(stream, "int_ptr") and (module == "pyopencl" or platform == "opencl"):
        return Stream("opencl", int(stream.int_ptr))
    if hasattr(stream, "cuda_stream"):  # PyTorch; a smaller vendor priority is more urgent
        priority = getattr(stream, "priority", 0)
        return Stream(vendor, int(stream.cuda_stream), -priority if isinstance(priority, int) else 0)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        pair = protocol() if callable(protocol) else protocol
        return Stream(vendor, int(pair[1]))
    if module == "cupy" and hasattr(stream, "ptr"):
        return Stream(vendor, int(stream.ptr))
    if module in ("numba", "cuda") and hasattr(stream, "__int__"):
        return Stream(vendor, int(stream))
    if module in ("numba", "pycuda") and hasattr(stream, "handle"):
        return Stream(vendor, _number(stream.handle))
    if module in ("jax", "jaxlib", "tensorflow"):
        raise StreamTypeError(
            f"{module} does not tell its streams",
            "use xsched.set_priority(xsched.PROCESS, N), XSCHED_PRIORITY or `python -m xsched run --priority N`")
    raise StreamTypeError(
        f"{type(stream).__module__}.{type(stream).__qualname__} is no stream that XSched knows",
        "pass a stream of PyTorch, CuPy, Numba or pyopencl, an object with __cuda_stream__, or the handle as an integer")


# -- current streams of the calling thread

Key = Tuple[str, int, int]  # which framework, device, handle
OTHER = "cupy"              # besides PyTorch
on_forget: List[Callable[[], None]] = []
_torch: Optional[Callable[[], Optional[Key]]] = None
_cupy: Optional[Callable[[], Optional[Key]]] = None


def _torch_getter(torch: Any) -> Callable[[], Optional[Key]]:
    cuda = torch.cuda
    private = getattr(torch, "_C", None)
    device = getattr(private, "_cuda_getDevice", None)
    raw = getattr(private, "_cuda_getCurrentRawStream", None)
    ready = [False]

    def by_private() -> Optional[Key]:
        if not ready[0]:
            if not cuda.is_initialized():
                return None
            ready[0] = True
        number = device()  # type: ignore[misc]
        return "torch", number, raw(number)  # type: ignore[misc]

    def by_public() -> Optional[Key]:
        if not cuda.is_initialized():
            return None
        stream = cuda.current_stream()
        return "torch", stream.device_index, stream.cuda_stream

    return by_private if device is not None and raw is not None else by_public


def _cupy_getter(cupy: Any) -> Callable[[], Optional[Key]]:
    current, device = cupy.cuda.get_current_stream, cupy.cuda.runtime.getDevice

    def get() -> Optional[Key]:
        return "cupy", device(), current().ptr

    return get


def current_keys() -> List[Key]:
    """A key for the current stream of each framework that the program has imported and begun to use."""
    global _torch, _cupy
    modules = sys.modules
    keys: List[Key] = []
    if _torch is None and "torch" in modules and hasattr(modules["torch"], "cuda"):
        _torch = _torch_getter(modules["torch"])
    if _torch is not None:
        key = _torch()
        if key is not None:
            keys.append(key)
    if _cupy is None and "cupy" in modules and hasattr(modules["cupy"], "cuda"):
        _cupy = _cupy_getter(modules["cupy"])
    if _cupy is not None:
        key = _cupy()
        if key is not None and not (keys and keys[0][1:] == key[1:]):
            keys.append(key)
    return keys


def only_torch() -> Optional[Tuple[Callable[[], int], Callable[[int], int], Any]]:
    """Where PyTorch alone is in use: the function that tells its current device, the one that tells that device's
    current stream, and the place where other frameworks appear at their import."""
    torch = sys.modules.get("torch")
    private = getattr(torch, "_C", None)
    device = getattr(private, "_cuda_getDevice", None)
    raw = getattr(private, "_cuda_getCurrentRawStream", None)
    if torch is None or device is None or raw is None or not torch.cuda.is_initialized():
        return None
    return device, raw, sys.modules


def stream_of_key(key: Key) -> Stream:
    if key[0] == "torch":
        current = sys.modules["torch"].cuda.current_stream()
        if current.cuda_stream == key[2]:
            return resolve(current)
    return Stream("hip" if _hip(key[0]) else "cuda", key[2])


def forget_frameworks() -> None:
    """For tests."""
    global _torch, _cupy
    _torch = _cupy = None
    for forget in on_forget:
        forget()
