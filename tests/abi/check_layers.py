#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: check_layers.py ROOT     prints FILE:LINE for each include that breaks the layer order.

The table is the one of ARCHITECTURE.md; a room that is not in it is reported, so that a new one gets a row.
"""
import os
import re
import sys
import tempfile

BASE = ["base"]
DAEMON = ["base", "wire", "policy", "sched", "transport"]
QUEUE = DAEMON + ["xqueue"]
# room (a folder of src/) -> rooms that it may include, besides itself and the public headers xsched/
ROOMS = {
    "base": [],
    "nvrm": BASE,
    "wire": BASE,
    "policy": BASE,
    "sched": ["base", "wire", "policy"],
    "sim": ["base", "wire", "policy", "sched"],
    "transport": ["base", "wire"],
    "xqueue": DAEMON,
    "hal": QUEUE + ["nvrm"],
    "shim": QUEUE + ["hal", "nvrm"],
    "gpus": BASE,
    "asks": DAEMON,
    "host": DAEMON + ["asks"],
    "config": DAEMON + ["asks", "host"],
    "answers": DAEMON + ["asks", "host"],
    "http": DAEMON + ["gpus", "asks", "host", "answers"],
    "keeper": ["base", "wire", "transport"],
    "xserver": DAEMON + ["nvrm", "asks", "host", "config", "keeper"],
    "query": DAEMON + ["asks", "host", "answers"],
    "xcli": DAEMON + ["query"],
    "probe": BASE + ["nvrm", "hal"],
    "launcher": DAEMON + ["query", "nvrm", "gpus"],
    "window": DAEMON + ["query"],
}
# Vendor toolkits: in tests, examples and demos as any user would; inside src/ only here.
VENDOR = re.compile(r"(CL/|cuda|cudnn|nv[a-z]*\.h|hip/|hsa|rocm|roc|ze_api|level_zero/|acl/)")
VENDOR_ROOMS = {"CL/": ("src/hal/opencl/", "src/shim/opencl/")}
# C libraries beyond libc: never in what is loaded into other programs.
LIBRARY = re.compile(r"(microhttpd\.h|jansson\.h|ini\.h|curses\.h|ncurses|systemd/|X11/|xcb/|argp\.h)")
LIBRARY_ROOMS = {"sim", "answers", "http", "xserver", "query", "xcli", "launcher", "window"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files(root, top):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for n in sorted(names):
            if n.endswith((".c", ".h", ".def", ".inc", ".S")):
                yield os.path.relpath(os.path.join(folder, n), root)


def includes(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = INCLUDE.match(line)
            if m:
                yield number, m.group(1), m.group(2)


def platform(path):
    """src/hal/opencl/x.c -> opencl, hal/opencl/x.h -> opencl"""
    m = re.match(r"(?:src/)?(?:hal|shim)/([^/]+)/", path)
    return m.group(1) if m else None


def check(root):
    bad = []
    for path in files(root, "include"):
        for number, _, name in includes(root, path):
            if "/" in name and not name.startswith("xsched/"):
                bad.append(f"{path}:{number}: a public header includes {name}")
    for path in files(root, "src"):
        parts = path.split(os.sep)
        room = parts[1] if len(parts) > 2 else None
        if room not in ROOMS:
            bad.append(f"{path}:1: no row for this room in tests/abi/check_layers.py")
            continue
        for number, mark, name in includes(root, path):
            where = f"{path}:{number}"
            vendor = VENDOR.match(name)
            if vendor and not path.startswith(VENDOR_ROOMS.get(vendor.group(1), ("/",))):
                bad.append(f"{where}: vendor header {name}")
            if LIBRARY.match(name) and room not in LIBRARY_ROOMS:
                bad.append(f"{where}: {name} in a room that is loaded into other programs")
            if mark == "<" or name.startswith("xsched/"):
                continue
            target = name.split("/")[0] if "/" in name else room
            if target not in ROOMS and os.path.exists(os.path.join(root, os.path.dirname(path), name)):
                target = room
            if target not in ROOMS:
                # made at build time in the room's own build folder, or unknown: then it does not compile
                continue
            if target != room and target not in ROOMS[room]:
                bad.append(f"{where}: {room} may not include {name}")
            mine, other = platform(path), platform(name)
            if mine and other and other not in (mine, "common", "stream"):
                bad.append(f"{where}: {mine} includes {other}'s {name}")
    return bad


def self_test():
    """Each line breaks one rule; a scanner that overlooks one fails."""
    cases = {
        "src/base/a.c": '#include "wire/page.h"',
        "src/policy/b.c": '#include "wire/page.h"',
        "src/xserver/c.c": '#include "hal/opencl/x.h"',
        "src/launcher/d.c": '# include "shim/common/x.h"',
        "src/xqueue/e.c": "#include <CL/cl.h>",
        "src/hal/hip/f.c": "#include <hip/hip_runtime.h>",
        "src/shim/opencl/g.c": '#include "hal/hip/x.h"',
        "src/sched/h.c": "#include <jansson.h>",
        "src/attic/i.c": "int x;",
        "include/xsched/j.h": '#include "base/list.h"',
        "src/sched/k.c": '#include "xqueue/interface.h"',
    }
    with tempfile.TemporaryDirectory() as root:
        for path, line in cases.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="ascii") as f:
                f.write(line + "\n")
        found = {b.split(":")[0] for b in check(root)}
        missed = set(cases) - found
        with open(os.path.join(root, "src/base/a.c"), "w", encoding="ascii") as f:
            f.write('#include "base/list.h"\n#include <string.h>\n')
        if any(b.startswith("src/base/a.c") for b in check(root)):
            missed.add("src/base/a.c (false alarm)")
    return [f"self-test: {m} was overlooked" for m in sorted(missed)]


if __name__ == "__main__":
    complaints = self_test() + check(sys.argv[1])
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)
