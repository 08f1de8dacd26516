#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One name, one thing, over src/: check_names.py ROOT     prints each file name and each struct that stands for two.

A reader who looks for a file by its name, or for a struct by grep, finds one. Files may share a name where they do the
same for two platforms (src/hal/cuda/gates.c and src/hal/hip/gates.c), and programs may each have a main.c.
"""
import collections
import os
import re
import sys
import tempfile

# Folders that hold the same things, one for each platform (src/base/platforms.def); stream is the shim that CUDA and HIP
# share.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/xsched"))
from _platforms import ALL  # noqa: E402

PLATFORMS = {p.stem for p in ALL} | {"stream"}
EVERYWHERE = {"main.c", "CMakeLists.txt"}
STRUCT = re.compile(r"^(?:typedef )?(?:struct|union) (\w+) \{", re.M)
FILES_MOST = 40   # in one folder: more of them want a folder of their own


def parallel(paths):
    """Whether all these lie in folders of platforms, one in each, in one room."""
    folders = [p.split("/") for p in paths]
    rooms = {f[1] for f in folders}
    named = [set(f[2:-1]) & PLATFORMS for f in folders]
    kinds = [next(iter(n)) for n in named if n]
    return len(rooms) == 1 and len(kinds) == len(paths) == len(set(kinds))


def check(root):
    names, structs, counts = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
    for folder, _, files in os.walk(os.path.join(root, "src")):
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root)
            counts[os.path.dirname(path)] += 1
            if name not in EVERYWHERE:
                names[name].append(path)
            if name.endswith((".c", ".h")):
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    for struct in set(STRUCT.findall(f.read())):
                        structs[struct].append(path)
    bad = [f"{len(p)} files are called {n}: {', '.join(p)}" for n, p in sorted(names.items())
           if len(p) > 1 and not parallel(p)]
    bad += [f"{len(p)} structs are called {n}: {', '.join(p)}" for n, p in sorted(structs.items())
            if len(p) > 1 and not parallel(p)]
    bad += [f"{folder} has {n} files, at most {FILES_MOST}" for folder, n in sorted(counts.items()) if n > FILES_MOST]
    return bad


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"src/a/table.c": "struct one {\n};\n", "src/b/table.c": "struct one {\n};\n",
                           "src/hal/cuda/gates.c": "", "src/hal/hip/gates.c": "", "src/a/main.c": "", "src/b/main.c": "",
                           **{f"src/c/{n}.c": "" for n in range(FILES_MOST + 1)}}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root)
    return ["self-test: " + line for line in found] if len(found) != 3 else []


if __name__ == "__main__":
    problems = self_test() + check(sys.argv[1])
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
