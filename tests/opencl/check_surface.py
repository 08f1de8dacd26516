#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export surface: check_surface.py SHIM LOADER

The shim exports every function of the installed ICD loader, each in the same version node, and the nodes depend on
each other as there (a program that was linked against the loader must start with ours).
"""
import re
import subprocess
import sys

# What the newest Khronos ICD loader exports beside ocl-icd's functions, and a few names that must be there even where
# the installed loader is an old one.
ALSO = {"clCreateCommandQueueWithProperties": "OPENCL_2.0", "clEnqueueSVMMigrateMem": "OPENCL_2.1",
        "clSetProgramReleaseCallback": "OPENCL_2.2", "clCreateBufferWithProperties": "OPENCL_3.0",
        "clSetContextDestructorCallback": "OPENCL_3.0", "clGetKernelSuggestedLocalWorkSize": "OPENCL_3.1"}


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True).stdout


def exports(path):
    """name -> (node, default version?)"""
    found = {}
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        f = line.split()
        if len(f) > 7 and f[3] == "FUNC" and f[6] != "UND" and "@" in f[7]:
            name, _, node = f[7].partition("@")
            found[name] = (node.lstrip("@"), node.startswith("@"))
    return found


def nodes(path):
    """node -> parents"""
    found, last = {}, None
    text = run("objdump", "-p", path)
    text = text[text.index("Version definitions"):].split("\n\n")[0]
    for line in text.splitlines()[1:]:
        m = re.match(r"\d+ 0x\w+ 0x\w+ (\S+)", line)
        if m:
            last = m.group(1)
            found[last] = []
        elif line.strip() and last:
            found[last] += line.split()
    return found


def main(shim, loader):
    ours, theirs, bad = exports(shim), exports(loader), []
    for name, (node, default) in sorted(theirs.items()):
        if name not in ours:
            bad.append(f"{name}@{node} is not exported")
        elif ours[name][0] != node:
            bad.append(f"{name} is in {ours[name][0]}, the loader's is in {node}")
        elif default and not ours[name][1]:
            bad.append(f"{name}@{node} is not the default version")
    for name, node in ALSO.items():
        if ours.get(name, ("",))[0] != node:
            bad.append(f"{name}@{node} is not exported")
    mine = nodes(shim)
    for node, parents in nodes(loader).items():
        if node.startswith("OPENCL_") and mine.get(node) != parents:
            bad.append(f"node {node} has parents {mine.get(node)}, the loader's has {parents}")
    if len([n for n in theirs if n.startswith("cl")]) < 80:
        bad.append(f"{loader} exports hardly anything: is it the loader?")
    for name in ("clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties"):
        if name not in ours:
            bad.append(f"{name} is not exported: no loader can take it as a layer")
    print("\n".join(bad) or f"{len(theirs)} functions of {loader}, {len(ours)} of ours")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
