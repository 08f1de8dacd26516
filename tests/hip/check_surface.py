#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shim exports exactly its rows and what stands for the C library's, each in the version node that its row says, and
everything that real libraries export, in the same nodes: check_surface.py SHIM API.def LIST.txt... [REAL...]

LIST: "SYMBOL NODE" lines of a release that is not here; REAL: libraries that are."""
import os
import re
import subprocess
import sys


def exports(path):
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", path], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TWiDBV":
            symbol, _, node = name.replace("@@", "@").partition("@")
            found[symbol] = node
    return found


LIBC = {"ioctl", "dlopen", "dlmopen", "dlsym"}


def versions(path):
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", path], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    return {line.split()[-1].replace("@@", "@") for line in out.splitlines()}


def main(shim, rows_file, *others_named):
    with open(rows_file, encoding="ascii") as f:
        text = re.sub(r",\n *", ", ", f.read())
    rows = [(m[0], int(m[1])) for m in re.findall(r"^HIP(?:_PASS|_OWN)?\((?:[A-Z_0-9]+, )?(\w+), \w+, (\d+),", text, re.M)]
    names = [r[0] for r in rows]
    ours = exports(shim)
    bad = [f"{r} has two rows" for r in sorted(set(names)) if names.count(r) > 1]
    for name, node in rows:
        want = f"hip_{node // 100}.{node % 100}" if node != 799 else "hip_profiler_ext"
        if ours.get(name) != want:
            bad.append(f"{name} is exported as {ours.get(name)}, its row says {want}")
    bad += [f"{r} is exported without a row" for r in sorted(ours.keys() - set(names) - LIBC - {"__asan_default_options"})]
    bad += [f"{r} is not exported as the C library's: nobody would find it" for r in sorted(LIBC)
            if not ours.get(r, "").startswith("GLIBC_")]
    with_old = {v for v in versions(shim) if v.startswith(("dlopen@", "dlmopen@", "dlsym@"))}
    if len(with_old) != 6:
        bad.append(f"dl* have two versions each, that until glibc 2.33 and that since: {sorted(with_old)}")
    others = {}
    for path in others_named:
        if path.endswith(".txt"):
            with open(path, encoding="ascii") as f:
                others[os.path.basename(path)] = dict(line.split() for line in f)
        else:
            others[path] = {k: v for k, v in exports(path).items() if not k.startswith("_ZN")}
    for where, theirs in others.items():
        for name, node in sorted(theirs.items()):
            if ours.get(name) != node:
                bad.append(f"{where} has {name} in {node}, the shim has {ours.get(name)}")
    print("\n".join(bad))
    print(f"{len(rows)} rows, compared with", ", ".join(f"{w} ({len(t)})" for w, t in others.items()))
    return 1 if bad or len(rows) < 550 else 0


sys.exit(main(*sys.argv[1:]))
