#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone, as C11, C17 and C++11, strictly: check_headers.py INCLUDE_DIR COMPILER...

COMPILER is a C compiler or a C++ compiler (a name that ends in ++, with or without a version). Each platform's hal.h is
compiled besides as C11 and C++17 in a program that uses the vendor's name of a stream, alone and with the vendor's
header before it and behind it, where that is installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]


# header, the vendor's and where it may be, what a program does with a stream; alone: without the vendor's header
VENDORS = (
    ("xsched/cuda/hal.h", "cuda.h", ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include"), [],
     "CUstream s = 0; return CudaQueueCreate(&q, s) + CudaQueueGet(&q, (CUstream)s);", True),
    ("xsched/opencl/hal.h", "CL/cl.h", ("/usr/include",), ["-DCL_TARGET_OPENCL_VERSION=300"],
     "cl_command_queue s = 0; return OclQueueCreate(&q, s);", True),
    # elsewhere than on AMD hipStream_t is another type, so our header does not declare it
    ("xsched/hip/hal.h", "hip/hip_runtime_api.h", ("/usr/include", "/opt/rocm/include"), ["-D__HIP_PLATFORM_AMD__"],
     "hipStream_t s = 0; return HipQueueCreate(&q, s) + HipQueueGet(&q, s);", False),
)


def beside_the_vendors(include, compilers, tmp):
    """@return (programs compiled, those that failed, vendors' headers that are not here)"""
    done = bad = 0
    absent = []
    for ours, theirs, folders, flags, use, alone in VENDORS:
        folder = next((f for f in folders if os.path.exists(os.path.join(f, theirs))), None)
        orders = [[ours]] if alone else []
        if folder:
            orders += [[theirs, ours], [ours, theirs], [ours, theirs, ours]]
        else:
            absent.append(theirs)
        for compiler in compilers:
            cpp = re.search(r"\+\+(-\d+)?$", compiler) is not None
            for order in orders:
                source = os.path.join(tmp, "v.cc" if cpp else "v.c")
                with open(source, "w", encoding="ascii") as f:
                    f.write("".join(f"#include <{h}>\n" for h in order) +
                            f"int main(void) {{ HwQueueHandle q = 0; {use} }}\n")
                done += 1
                command = [compiler, "-std=c++17" if cpp else "-std=c11", *STRICT, *flags, f"-I{include}", source]
                if folder and folder != "/usr/include":
                    command.insert(-1, f"-isystem{folder}")
                if subprocess.run(command).returncode:
                    print(" ".join(order) + f": {compiler}")
                    bad += 1
    return done, bad, absent


def main(include, compilers):
    headers = sorted(os.path.relpath(os.path.join(d, n), include)
                     for d, _, names in os.walk(include) for n in names if n.endswith(".h"))
    bad = done = 0
    found = [c for c in compilers if shutil.which(c)]
    with tempfile.TemporaryDirectory() as tmp:
        for compiler in found:
            cpp = re.search(r"\+\+(-\d+)?$", compiler) is not None
            for header in headers:
                source = os.path.join(tmp, "h.cc" if cpp else "h.c")
                with open(source, "w", encoding="ascii") as f:
                    f.write(f"#include <{header}>\n#include <{header}>\nint xs_unused_;\n")
                for std in ["c++11"] if cpp else ["c11", "c17"]:
                    done += 1
                    if subprocess.run([compiler, f"-std={std}", *STRICT, f"-I{include}", source]).returncode:
                        print(f"{header}: {compiler} -std={std}")
                        bad += 1
        more, failed, absent = beside_the_vendors(include, found, tmp)
    done += more
    bad += failed
    print(f"{more} programs beside vendors' headers; not here: {' '.join(absent) or 'none'}")
    print(f"{len(headers)} headers, {done} compilations with {' '.join(found)}, {bad} failed")
    return 1 if bad or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
