#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every symbol that the stub libraries allow exists in this machine's glibc, in that version, and in musl:
check_stubs.py STUBS_DIR [MUSL_LOADER]      Also that some names stay forbidden."""
import glob
import os
import re
import subprocess
import sys

FORBIDDEN = ("exit", "abort", "setenv", "putenv", "chdir", "signal", "sigaction", "fopen", "stdout", "stderr", "printf",
             "__stack_chk_fail", "__tls_get_addr", "strtol", "stat", "fstat", "system", "popen")


def names(path):
    out = subprocess.run(["readelf", "-W", "--dyn-syms", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        f = line.split()
        if len(f) >= 8 and f[6] not in ("UND", "Ndx"):
            name, _, version = f[7].partition("@")
            yield name, version.lstrip("@")


def main(stubs, musl):
    rows = []
    for path in sorted(glob.glob(os.path.join(stubs, "*.syms"))):
        with open(path, encoding="ascii") as f:
            for number, line in enumerate(f, 1):
                if not line.startswith("#") and line.strip():
                    rows.append((f"{os.path.basename(path)}:{number}", *line.split(None, 3)))
    bad = []
    libc = None
    with open("/proc/self/maps", encoding="ascii") as f:
        for line in f:
            m = re.search(r"(/\S*/libc[.-]\S*so\S*)$", line)
            libc = libc or (m and m.group(1))
    glibc = {}
    if libc and "musl" not in libc:
        for lib in [libc] + glob.glob(os.path.join(os.path.dirname(libc), "lib*pthread*.so*")) + \
                glob.glob(os.path.join(os.path.dirname(libc), "libdl*.so*")):
            for name, version in names(lib):
                glibc.setdefault(name, set()).add(version)
    musl_names = {n for n, _ in names(musl)} if musl and os.path.exists(musl) else None
    seen = set()
    for where, name, since, kind, why in rows:
        if name in seen:
            bad.append(f"{where}: {name} twice")
        seen.add(name)
        if name in FORBIDDEN:
            bad.append(f"{where}: {name} may never be allowed")
        if not why.strip():
            bad.append(f"{where}: {name} says not why")
        versions = glibc.get(name, set())
        if glibc and f"GLIBC_{since}" not in versions and os.uname().machine == "x86_64":
            bad.append(f"{where}: glibc has {name} in {sorted(versions)}, not in GLIBC_{since}")
        if musl_names is not None and name not in musl_names:
            bad.append(f"{where}: musl has no {name}")
    print("\n".join(bad))
    print(f"{len(rows)} symbols; glibc {'checked' if glibc else 'not here'}; musl "
          f"{'checked' if musl_names is not None else 'not here'}")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
