# SPDX-License-Identifier: Apache-2.0
"""Programs that are measured are started alike: at the same addresses, with the same order of Python's sets, and each side on
CPUs of its own, the same for all variants. Else two starts of one PyTorch program differ by up to half of their median for
as long as they live (docs/results/2026-11-22-h200-costs), more than what is to be told apart."""
import ctypes
import os

LEAST_CPUS = 8               # with fewer, programs go where the system puts them
ADDR_NO_RANDOMIZE = 0x0040000
ENVIRONMENT = {"PYTHONHASHSEED": "0"}


def places(names, cpus):
    """CPUs for each of these processes; a quarter is left to xserver, MPS and who measures. @return {}: wherever they like"""
    cpus, names = sorted(cpus), list(dict.fromkeys(names))
    each = (len(cpus) - max(2, len(cpus) // 4)) // len(names) if len(cpus) >= LEAST_CPUS else 0
    return {name: set(cpus[i * each:(i + 1) * each]) for i, name in enumerate(names)} if each >= 2 else {}


def prepare(cpus):
    """For subprocess.Popen: what the child does before it becomes the program. Where the system refuses (a sandbox may), it starts
    as any."""
    libc = ctypes.CDLL(None)

    def child():
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)
        except OSError:
            pass
        libc.personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE))
    return child
