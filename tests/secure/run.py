#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A set-user-id program started by another user sees none of XSched's variables: run.py PROGRAM SHIM

Run as root. The program runs as another user, first as it is, then set-user-id to root; both with every variable of
XSched's set, with XDG_RUNTIME_DIR and with the shim in LD_PRELOAD. As it is it must see them all, so that the second
run says something.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(path, env):
    r = subprocess.run([path], env=env, user=NOBODY, group=NOBODY, extra_groups=[], text=True, timeout=30, check=True,
                       stdout=subprocess.PIPE)
    lines = [line.split(" ", 1) for line in r.stdout.splitlines()]
    return {kind: [b for a, b in lines if a == kind] for kind in ("secure", "variable", "socket", "object")}


def main(program, shim):
    if os.geteuid() != 0:
        print("skipped: only root can make a set-user-id program of another user")
        return 77
    names = subprocess.run(["strings", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    names = sorted({n for n in names if re.fullmatch(r"(XSCHED|XLOG)_[A-Z0-9_]+", n)})
    bad = []
    with tempfile.TemporaryDirectory(prefix="xsched-secure-") as folder:
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            print("skipped: programs cannot be set-user-id in", folder)
            return 77
        os.chmod(folder, 0o755)
        preload = os.path.join(folder, "libshim.so")
        shutil.copy(shim, preload)
        env = {n: "1" for n in names if n != "XSCHED_SOCKET"}
        env.update(XDG_RUNTIME_DIR=folder)
        plain, secure = os.path.join(folder, "plain"), os.path.join(folder, "secure")
        for path, mode in (plain, 0o755), (secure, 0o4755):
            shutil.copy(program, path)
            os.chmod(path, mode)
        before, after = run(plain, env), run(secure, env)
        with_socket = run(secure, dict(env, XSCHED_SOCKET="/tmp/x"))
        # the shim needs libraries beside it: that the linker tries is enough
        tried = subprocess.run([plain], env={"LD_PRELOAD": preload}, user=NOBODY, group=NOBODY, text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
        ignored = subprocess.run([secure], env={"LD_PRELOAD": preload}, user=NOBODY, group=NOBODY, text=True,
                                 stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
    if before["secure"] != [f"0 user {NOBODY} {NOBODY}"] or after["secure"] != [f"1 user {NOBODY} 0"]:
        bad.append(f"not what it should be: {before['secure']}, {after['secure']}")
    if len(before["variable"]) < 20 or folder not in before["socket"][0]:
        bad.append(f"as it is, it sees only {before}")
    if after["variable"] or with_socket["variable"]:
        bad.append(f"set-user-id, it sees {after['variable']} {with_socket['variable']}")
    if any(folder in s or s == "/tmp/x" for s in after["socket"] + with_socket["socket"]) or not after["socket"]:
        bad.append(f"set-user-id, it looks for xserver at {after['socket']} {with_socket['socket']}")
    if "libhal" not in tried.stderr + tried.stdout:
        bad.append(f"as it is, nothing is preloaded: {tried}")
    if "object" in ignored.stdout or "libhal" in ignored.stderr:
        bad.append(f"set-user-id, the shim is loaded: {ignored.stdout}")
    print("\n".join(bad) or f"{len(before['variable'])} variables seen as it is, none set-user-id")
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
