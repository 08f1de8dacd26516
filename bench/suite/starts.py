# SPDX-License-Identifier: Apache-2.0
"""Programs that are measured are started alike: at the same addresses, with the same order of Python's sets, and each side on
CPUs of its own, the same for all variants. Else two starts of one PyTorch program differ by up to half of their median for
as long as they live (docs/results/2026-11-22-h200-costs), more than what is to be told apart."""
import ctypes
import os
import subprocess

LEAST_CPUS = 8               # with fewer, programs go where the system puts them
ADDR_NO_RANDOMIZE = 0x0040000
ASK = 0xffffffff             # personality(2): what it is
ENVIRONMENT = {"PYTHONHASHSEED": "0"}


def places(names, cpus):
    """CPUs for each of these processes, at least two; a quarter is left to xserver, MPS and who measures. @return {}: wherever
    they like"""
    cpus, names = sorted(cpus), list(dict.fromkeys(names))
    each = (len(cpus) - max(2, len(cpus) // 4)) // len(names) if len(cpus) >= LEAST_CPUS else 0
    return {name: set(cpus[i * each:(i + 1) * each]) for i, name in enumerate(names)} if each >= 2 else {}


def prepare(cpus, libc=None):
    """For subprocess.Popen: what the child does before it becomes the program. Where the system refuses (a sandbox may), it
    starts as any."""
    libc = libc or ctypes.CDLL(None)

    def child():
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)
        except OSError:
            pass
        now = libc.personality(ctypes.c_ulong(ASK))
        if now != -1:
            libc.personality(ctypes.c_ulong(now | ADDR_NO_RANDOMIZE))
    return child


def same_addresses(child):
    """Whether two programs that begin with this have the same addresses: it may be refused, or have no effect."""
    try:
        seen = {subprocess.run(["cat", "/proc/self/maps"], preexec_fn=child, stdout=subprocess.PIPE, check=True, timeout=10).stdout
                for _ in range(3)}
    except (OSError, subprocess.SubprocessError):
        return False
    return len(seen) == 1 and seen != {b""}
