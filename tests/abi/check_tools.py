#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_tools.py PROGRAM...: what the tools take of the C library is in glibc 2.17, for which the wheel builds them.

A program that is built here needs the newest version of each symbol, whatever glibc had before. So this machine's C library
is asked for the oldest. With --self-test a program that calls memfd_create must be refused.
"""
import os
import re
import subprocess
import sys
import tempfile

NEWEST = (2, 17)
# In the headers of old: inline functions, or macros, over what the library had then.
INLINE = re.compile(r"(f|l|)stat(64)?$|fstatat(64)?$|mknod(at)?$|__isoc23_\w+$|__libc_start_main$|__libc_single_threaded$")


def symbols(path):
    """(name, (major, minor), defined) of each symbol with a version of glibc."""
    said = subprocess.run(["readelf", "-W", "--dyn-syms", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    for m in re.finditer(r"^ *\d+: \S+ +\d+ \S+ +\S+ +\S+ +(\S+) (\w+)@{1,2}GLIBC_(\d+)\.(\d+)", said, re.M):
        yield m[2], (int(m[3]), int(m[4])), m[1] != "UND"


def libraries(program):
    said = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"(/\S+/lib(?:c|m|dl|rt|pthread)\.so\.\d)", said)


def newer(program):
    oldest = {}
    for library in libraries(program):
        for name, version, defined in symbols(library):
            if defined:
                oldest[name] = min(version, oldest.get(name, version))
    return [f"{os.path.basename(program)}: {name} is in glibc from {version[0]}.{version[1]} on"
            for name, _, defined in symbols(program) if not defined and not INLINE.match(name)
            for version in (oldest.get(name, (0, 0)),) if version > NEWEST]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/a"
        subprocess.run(["cc", "-x", "c", "-D_GNU_SOURCE", "-o", program, "-"], check=True, text=True,
                       input="#include <sys/mman.h>\nint main(void) { return memfd_create(\"a\", 0); }\n")
        return newer(program) != ["a: memfd_create is in glibc from 2.27 on"]


bad = [line for program in sys.argv[1:] if program != "--self-test" for line in newer(program)]
print("\n".join(bad))
sys.exit(bool(bad) or ("--self-test" in sys.argv and self_test()))
