#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are built with a sanitizer: sanitizers.py BUILD FOLDER_OF_THE_CUDA_FAKE COMPILER...

A sanitizer's runtime asks for functions before it can answer calls itself, and some ask whether they stand first. Each
program runs as it does natively, and is scheduled."""
import os
import subprocess
import sys

from outside import WAYS, Outside

SCHEDULED = "scheduled 6\n"
OWN_OPTIONS = 'const char *__asan_default_options(void) { return "detect_leaks=0"; }\n'
KINDS = {
    "gcc": ["address", "address -static-libasan", "thread", "thread -static-libtsan", "undefined", "leak", "address,undefined"],
    "clang": ["address", "address -shared-libsan", "thread", "memory", "undefined", "leak", "address,undefined"],
}


def runtimes(clang):
    """Where its shared runtimes lie, which no search path has."""
    resources = subprocess.run([clang, "-print-resource-dir"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return os.path.join(resources, "lib", "linux")


def main(build, fake, *compilers):
    o = Outside(build, [fake])
    ours = ":".join(o.shim(platform) for platform in ("cuda", "hip", "opencl"))
    options = os.path.join(o.top, "options.c")
    with open(options, "w", encoding="ascii") as f:
        f.write(OWN_OPTIONS)
    cases = []
    for compiler in compilers:
        clang = "clang" in os.path.basename(compiler)
        for kind in KINDS["clang" if clang else "gcc"]:
            for more in ([], ["-no-pie", "-fno-pie"], [options]):
                shared = kind == "address" and not clang or "shared" in kind
                if (more == [options]) <= shared:
                    cases.append((compiler, kind, more))
    built = 0
    for i, (compiler, kind, more) in enumerate(cases):
        name = f"{os.path.basename(compiler)} -fsanitize={kind} {' '.join(map(os.path.basename, more))}"
        flags = ["-fsanitize=" + kind.split()[0], *kind.split()[1:], *more]
        if "shared-libsan" in kind:
            flags += ["-shared-libsan", "-Wl,-rpath," + runtimes(compiler)]
        linked = o.compile(f"linked{i}", compiler, *flags, os.path.join(WAYS, "linked.c"), os.path.join(fake, "fakecuda.so"))
        opens = o.compile(f"opens{i}", compiler, *flags, os.path.join(WAYS, "program.c"))
        native = o.run([linked]) if linked and opens else ("does not build", "", "")
        if native[0]:
            print(f"{name}: natively {native[0]}, left out")
            continue
        built += 1
        o.same(f"{name}, xsched run", native, o.launched([linked]), SCHEDULED)
        o.same(f"{name}, xsched run, opens", native, o.launched([opens, "open", "libcuda.so.1"]), SCHEDULED)
        o.same(f"{name}, switched off", native, o.launched([linked], XSCHED_DISABLE="1"), "scheduled 0\n")
        if more == [options]:                   # only the launcher can know of these
            continue
        o.same(f"{name}, a child", native, o.launched(["sh", "-c", f"{linked}; exit $?"]), SCHEDULED)
        o.same(f"{name}, libshimhip", native, o.run([linked], LD_PRELOAD=o.shim("hip")), "scheduled 0\n")
        o.same(f"{name}, preloaded", native,
               o.run([linked], LD_PRELOAD=ours, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF"), SCHEDULED)
    print(f"{built} of {len(cases)} programs")
    return o.end(60)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
