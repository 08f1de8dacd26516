#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone, as C11, C17 and C++11, strictly: check_headers.py INCLUDE_DIR COMPILER...

COMPILER is a C compiler or a C++ compiler (a name that ends in ++, with or without a version).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]


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
    print(f"{len(headers)} headers, {done} compilations with {' '.join(found)}, {bad} failed")
    return 1 if bad or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
