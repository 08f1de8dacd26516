# SPDX-License-Identifier: Apache-2.0
"""Finding and loading libpreempt and libhal*. Loads nothing before the first use.

A process must never hold two copies of libpreempt, since each has a table of queues of its own. So a copy that the
shim or the program has loaded comes first; libhal comes from the folder of the libpreempt in use.
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any, Callable, Dict, List, Optional

from ._errors import LibraryError
from ._platforms import PLATFORMS

_NEEDS = "XHintSwapPriority"  # the newest function that this package calls
_lock = threading.RLock()
_loaded: Dict[str, ctypes.CDLL] = {}
_quick: Optional[ctypes.PyDLL] = None


def mapped(stem: str) -> List[str]:
    """Files mapped into this process whose name begins with stem, each once."""
    found: Dict[Any, str] = {}
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                part = line.split(None, 5)
                if len(part) == 6:
                    path = os.fsdecode(part[5].strip())
                    if os.path.basename(path).startswith(stem):
                        found.setdefault((part[3], part[4]), path)
    except OSError:
        pass
    return list(found.values())


def _library_folders(prefix: str) -> List[str]:
    return [os.path.join(prefix, lib) for lib in ("lib", f"lib/{os.uname().machine}-linux-gnu", "lib64")]


def _own_folders() -> List[str]:
    """The place of the libraries that came with this package: under its own prefix."""
    here = os.path.dirname(os.path.abspath(__file__))
    return [os.path.join(here, "lib")] + _library_folders(os.path.normpath(os.path.join(here, *[os.pardir] * 4)))


def _candidates(file: str) -> List[str]:
    """Full paths at which an installation may be, nearest first."""
    folders: List[str] = [os.path.dirname(p) for p in mapped("libpreempt.so")] + _own_folders()
    prefixes = [sys.prefix]
    for place in os.environ.get("PATH", "").split(os.pathsep):
        tool = os.path.join(place, "xsched")
        if place and os.access(tool, os.X_OK) and not os.path.isdir(tool):
            prefixes.append(os.path.dirname(os.path.dirname(os.path.realpath(tool))))
    prefixes.append("/usr/local")
    for prefix in prefixes:
        folders += _library_folders(prefix)
    return [os.path.join(f, file) for f in folders]


def _open(name: str) -> ctypes.CDLL:
    soname = f"lib{name}.so.1"
    tried: List[str] = []
    try:
        return ctypes.CDLL(soname, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        pass
    if name != "preempt":  # from where libpreempt is, else a second copy could come with it
        for path in mapped("libpreempt.so"):
            beside = os.path.join(os.path.dirname(path), soname)
            if os.path.exists(beside):
                return ctypes.CDLL(beside)
    # LD_LIBRARY_PATH, then those that came with this package, then what the system has, which may be another version
    folders = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f] + _own_folders()
    nearest = [p for p in (os.path.join(f, soname) for f in folders) if os.path.exists(p)]
    for path in nearest + [soname] + [p for p in _candidates(soname) if os.path.exists(p)]:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise LibraryError(
        f"{soname} is not found ({tried[0]})",
        "install XSched (`make install`, or the package), or name its library folder in LD_LIBRARY_PATH, or start the "
        "program with `xsched run`")


def load(name: str) -> ctypes.CDLL:
    """preempt, or the hal of a platform: loaded once."""
    library = _loaded.get(name)
    if library is not None:
        return library
    with _lock:
        library = _loaded.get(name)
        if library is None:
            if name != "preempt":
                load("preempt")
            library = _open(name)
            copies = mapped("libpreempt.so")
            if len(copies) > 1:
                raise LibraryError(
                    f"two copies of libpreempt are in this process: {', '.join(copies)}",
                    "let LD_PRELOAD, LD_LIBRARY_PATH and the package point to one installation")
            if name == "preempt" and not hasattr(library, _NEEDS):
                raise LibraryError(
                    f"{copies[0] if copies else 'libpreempt'} is older than this package ({_NEEDS} is missing)",
                    "install package and libraries of one version")
            _loaded[name] = library
    return library


def quick() -> ctypes.PyDLL:
    """libpreempt for calls that are over at once: without the cost of giving the interpreter lock away."""
    global _quick
    if _quick is None:
        _quick = ctypes.PyDLL("libpreempt.so.1", handle=load("preempt")._handle)
    return _quick


_I32, _I64, _U64, _SIZE = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t
_OUT = ctypes.POINTER(ctypes.c_uint64)
LaunchCallback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p)

_ARGUMENTS: Dict[str, List[Any]] = {
    "XQueueCreate": [_OUT, _U64, _I64, _I64], "XQueueDestroy": [_U64], "XQueueGet": [_OUT, _U64],
    "XQueueSubmit": [_U64, _U64], "XQueueWait": [_U64, _U64], "XQueueWaitAll": [_U64],
    "XQueueQuery": [_U64, ctypes.POINTER(_I32)], "XQueueProfileHwCommandCount": [_U64, ctypes.POINTER(_I64)],
    "XQueueSuspend": [_U64, _I64], "XQueueResume": [_U64, _I64], "XQueueSetPreemptLevel": [_U64, _I32],
    "XQueueSetLaunchConfig": [_U64, _I64, _I64], "HwQueueDestroy": [_U64], "HwQueueLaunch": [_U64, _U64],
    "HwQueueSynchronize": [_U64], "HwCommandCreateCallback": [_OUT, LaunchCallback, ctypes.c_void_p],
    "HwCommandDestroy": [_U64], "XHintPriority": [_U64, _I32], "XHintSwapPriority": [_U64, _I32, ctypes.POINTER(_I32)],
    "XHintUtilization": [_U64, _I32], "XHintTimeslice": [_U64], "XHintLaxity": [_U64, _I64, _I32, _I32],
    "XHintDeadline": [_U64, _I64], "XHintKDeadline": [_SIZE], "XHintSetScheduler": [_I32, _I32],
    # not of the public interface: package and libraries are of one version
    "xsched_priv_auto_queue": [_U64, _I32], "xsched_priv_hint": [_U64, _I32, _I64],
}
_HOMES = {call: p.hal for p in PLATFORMS.values() for call in (p.maker, p.getter)}  # all others are libpreempt's


class _Functions(Dict[str, Callable[..., int]]):
    def __missing__(self, name: str) -> Callable[..., int]:
        home = _HOMES.get(name, "preempt")
        library = load(home)
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError(f"lib{home} has no {name}", "install package and libraries of one version") from None
        function.argtypes = [_OUT, ctypes.c_void_p] if name in _HOMES else _ARGUMENTS[name]
        function.restype = _I32
        self[name] = function
        call: Callable[..., int] = function
        return call


functions = _Functions()  # by name; loaded at the first use
