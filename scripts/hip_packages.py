#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What distributed packages have of HIP's runtime, for the tests hip.packages.*: hip_packages.py FOLDER FILE...

FILE: a wheel (.whl) or a Debian package (.deb). For each package FOLDER/NAME.txt gets its version and day, and for each
object that calls the runtime: the libraries that it needs, its run path, and the functions with their version nodes. For
those that ask by name: which names, and by which call. Names alone; nothing of a package itself is kept. A new version of a
package takes the place of the old one.

    pip download --no-deps --only-binary=:all: -d WHEELS cupy-rocm-7-0 jax-rocm7-pjrt ...
    apt-get download libggml0-backend-hip libmiopen1 ...        # with Debian unstable among apt's sources
    scripts/hip_packages.py tests/hip/packages WHEELS/*.whl *.deb

Needs readelf, and dpkg-deb for Debian's. Exit status: 0, or 2 where a file cannot be read or has nothing of HIP."""
import datetime
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile

# the runtime's functions; those of hipBLAS and the like go on with a small letter
FUNCTION = re.compile(r"(?:__)?hip[A-Z]\w*|_Z(?:24hip|N8hip_impl)\w+")
COMMON = re.compile(r"lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s|atomic)\.so|ld-linux")
# package -> file within it, what a name looks like there, by which call the program asks for it
ASKS = {
    "rocm-bindings-hip": [("rocm/bindings/cyhip.abi3.so", rb"(?<=\0)((?:__)?hip[A-Z]\w*)(?=\0)", "dlsym")],
    "triton": [("triton/backends/amd/driver.c", rb'dlsym\(\w+, "(hip\w+)"', "dlsym"),
               ("triton/backends/amd/driver.c", rb"FOR_EACH_\w+_FN\((hip\w+)", "hipGetProcAddress")],
}


class NotReadable(Exception):
    """A file that is no package, or has nothing of HIP."""


def tool(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NotReadable("".join(done.stderr.strip().splitlines()[-1:]))
    return done.stdout


def unpacked(path, folder):
    """-> name of the package, its version, the day of its newest file"""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as z:
            day = max(i.date_time for i in z.infolist())[:3]
            wanted = [i for i in z.infolist() if re.search(r"\.so[.\d]*$|/driver\.c$", i.filename)]
            z.extractall(folder, wanted)
        name, version = os.path.basename(path).split("-")[:2]
        return name.replace("_", "-"), version, datetime.date(*day).isoformat()
    tool("dpkg-deb", "-x", path, folder)
    name, version = tool("dpkg-deb", "-W", "--showformat=${Package} ${Version}", path).split()
    return name, version, max(re.findall(r"\b\d{4}-\d\d-\d\d\b", tool("dpkg-deb", "-c", path)))


def called(path):
    """Version node, or "unversioned" -> functions that an object calls"""
    by_node = {}
    for line in tool("readelf", "-W", "--dyn-syms", path).splitlines():
        m = re.match(r"\s*\d+: \S+\s+\d+ \w+\s+(?:GLOBAL|WEAK)\s+\w+\s+UND ([\w.]+)(?:@(\S+))?", line)
        if m and FUNCTION.fullmatch(m.group(1)):
            by_node.setdefault(m.group(2) or "unversioned", set()).add(m.group(1))
    return by_node


def objects(folder, package):
    """Lines of each object that calls the runtime, or asks for functions of it."""
    found, path_before = [], None
    for top, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(top, name)
            short = os.path.relpath(path, folder)
            elf = not os.path.islink(path) and open(path, "rb").read(4) == b"\x7fELF"
            by_node = called(path) if elf else {}
            asked = [(how, pattern) for file, pattern, how in ASKS.get(package, []) if file == short]
            if not by_node and not asked:
                continue
            lines = [f"object {short}"]
            if elf:
                dynamic = tool("readelf", "-W", "-d", path)
                needs = [n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not COMMON.match(n)]
                lines += ["needs " + " ".join(needs)] if needs else []
                for kind, value in re.findall(r"\((R(?:UN)?PATH)\).*\[(.*)\]", dynamic):
                    of = f"{kind.lower()} {' '.join(f or '(empty)' for f in value.split(':'))}"
                    lines.append(of if of != path_before else f"{kind.lower()} as before")
                    path_before = of
            lines += [f"{node} {' '.join(sorted(names))}" for node, names in sorted(by_node.items())]
            for how, pattern in asked:
                with open(path, "rb") as f:
                    names = {n.decode() for n in re.findall(pattern, f.read())}
                lines.append(f"asks {how} {' '.join(sorted(names))}")
            found += lines
    return found


def facts(path):
    """-> name of the package, text"""
    with tempfile.TemporaryDirectory() as folder:
        try:
            name, version, day = unpacked(path, folder)
            lines = objects(folder, name)
        except (NotReadable, OSError, zipfile.BadZipFile, ValueError) as e:
            raise NotReadable(f"{path}: {e}") from e
    if not lines:
        raise NotReadable(f"{path}: nothing there calls HIP's runtime")
    lines = [f"package {name}", f"version {version}", f"day {day}", f"read {datetime.date.today().isoformat()}", *lines]
    wrapped = [textwrap.fill(line, 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False) for line in lines]
    return name, "# What the package has of HIP's runtime, as scripts/hip_packages.py read it.\n" + "\n".join(wrapped) + "\n"


def main(folder=None, *paths):
    if not paths or folder.startswith("-"):
        print(__doc__)
        return 0 if folder in ("-h", "--help") else 2
    status = 0
    for path in paths:
        try:
            name, text = facts(path)
        except NotReadable as e:
            print(f"hip_packages.py: {e}", file=sys.stderr)
            status = 2
            continue
        with open(os.path.join(folder, name + ".txt"), "w", encoding="ascii") as f:
            f.write(text)
        print(f"{name}: {text.count(chr(10) + 'object ')} objects")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
