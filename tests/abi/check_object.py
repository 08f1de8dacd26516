#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at one shared object that is loaded into other programs: check_object.py FILE [options]

What must hold: symbol versions up to GLIBC_2.17, no NEEDED but libc's parts and our own libraries, nothing that
runs at load, initial-exec TLS of at most 64 bytes, no executable stack, relro and immediate binding, never
unloaded, and exactly the exported names that --exports lists (xsched_priv_* besides, in the node XSCHED_PRIVATE).
"""
import argparse
import re
import subprocess
import sys

LIBC = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
OURS = re.compile(r"lib(preempt|hal[a-z]+)\.so\.1$|libxsched-(cuda|OpenCL)\.so(\.\d)?$")
NEWEST = (2, 17)
TLS_BYTES = 64
# What a compiler or a careless line brings in, and what a guest may not do in its host.
FORBIDDEN = re.compile(r"__stack_chk|__tls_get_addr|.*_chk$|exit$|_exit$|abort$|stdout$|stderr$|stdin$|fopen|fprintf"
                       r"|printf$|puts|fputs|fwrite|setenv|putenv|chdir|signal$|sigaction$|__cxa_")


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True, stdout=subprocess.PIPE, text=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def symbols(path):
    """(name, version or "", defined, type) of each dynamic symbol."""
    for line in readelf("--dyn-syms", path).splitlines():
        f = line.split()
        if len(f) < 8 or not f[0].rstrip(":").isdigit():
            continue
        name, _, version = f[7].partition("@")
        if f[6] != "ABS":   # the version nodes themselves
            yield name, version.lstrip("@"), f[6] != "UND", f[3], f[4]


def check(a):
    bad = []
    dynamic = readelf("-d", a.file)
    segments = readelf("-l", a.file)
    sections = readelf("-S", a.file)
    syms = list(symbols(a.file))

    for name, version, defined, _, _ in syms:
        m = re.match(r"GLIBC_([0-9.]+)$", version)
        if not defined and version and not m and not version.startswith("XSCHED_"):
            bad.append(f"needs {name}@{version}: neither libc's nor ours")
        if m and not defined and tuple(int(x) for x in m.group(1).split(".")[:2]) > NEWEST:
            bad.append(f"needs {name}@{version}: newer than glibc {NEWEST[0]}.{NEWEST[1]}")
        if not defined and FORBIDDEN.match(name):
            bad.append(f"uses {name}")
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if needed not in LIBC and not OURS.match(needed) and needed not in (a.stands_for, *a.needs):
            bad.append(f"NEEDED {needed}")
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    if a.soname and soname != [a.soname]:
        bad.append(f"SONAME is {soname}, not {a.soname}")
    runpath = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    if runpath and not all(p in ("$ORIGIN", "$ORIGIN/..", "$ORIGIN/../..", "$ORIGIN/xsched/names") for p in runpath[0].split(":")):
        bad.append(f"RUNPATH is {runpath[0]}")
    if "TEXTREL" in dynamic:
        bad.append("has text relocations")
    for tag in ("INIT_ARRAY", "FINI_ARRAY", "PREINIT_ARRAY", "INIT", "FINI"):
        if re.search(rf"\({tag}\)", dynamic):
            bad.append(f"runs code at load or unload ({tag})")
    for section in re.findall(r"\s(\.(?:init_array|fini_array|preinit_array|ctors|dtors)\S*)\s", sections):
        bad.append(f"has a section {section}")
    for m in re.finditer(r"^\s*TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+0x([0-9a-f]+)", segments, re.M):
        if int(m.group(1), 16) > TLS_BYTES:
            bad.append(f"{int(m.group(1), 16)} bytes of TLS, at most {TLS_BYTES}")
    stack = re.search(r"^\s*GNU_STACK.*\s(RWE?)\s", segments, re.M)
    if not stack or "E" in stack.group(1):
        bad.append("the stack is executable")
    if "GNU_RELRO" not in segments:
        bad.append("no relro")
    if not re.search(r"\(FLAGS(_1)?\).*NOW", dynamic):
        bad.append("not bound at load (-z now)")
    if not re.search(r"\(FLAGS_1\).*NODELETE", dynamic):
        bad.append("can be unloaded (-z nodelete)")

    exported = {}
    for name, version, defined, _, bind in syms:
        if defined and bind in ("GLOBAL", "WEAK", "UNIQUE"):
            exported[name] = version
    for name, version in exported.items():
        if name.startswith("xsched_priv_") != (version == "XSCHED_PRIVATE"):
            bad.append(f"{name} is in node {version or '(none)'}")
    if a.exports:
        with open(a.exports, encoding="ascii") as f:
            wanted = set(f.read().split())
        public = {n for n in exported if not n.startswith("xsched_priv_")}
        bad += [f"does not export {n}" for n in sorted(wanted - public)]
        bad += [f"exports {n}, which is not in {a.exports}" for n in sorted(public - wanted)]
    if a.stands_for and exported:
        bad.append(f"exports {', '.join(sorted(exported))}, and should export nothing")
    if not exported and not a.stands_for:
        bad.append("exports nothing")
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--soname")
    p.add_argument("--exports", help="file with the exact list of public names")
    p.add_argument("--needs", action="append", default=[], help="one more object that it may depend on")
    p.add_argument("--stands-for", help="an object without functions, which only needs this shim")
    p.add_argument("--expect", help="self-test: succeed only if a complaint contains this text")
    a = p.parse_args()
    bad = check(a)
    for b in bad:
        print(f"{a.file}: {b}")
    if a.expect:
        return 0 if any(a.expect in b for b in bad) else 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
