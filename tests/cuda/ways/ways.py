#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each way in which a program may get at the driver is scheduled, or is named in the log and in the trace:
ways.py FOLDER_OF_THE_PROGRAMS SHIM FOLDER_OF_THE_FAKE [musl]

Each also runs without XSched, where it must do the same. With musl those that its dynamic linker has."""
import os
import shutil
import subprocess
import sys
import tempfile

SCHEDULED = ["scheduled 6"]


class Ways:
    def __init__(self, programs, shim, fake):
        self.programs, self.shim, self.fake = programs, shim, fake
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_FILE", "LD_"))}
        self.bad, self.ran = [], 0

    def run(self, args, cwd=None, **extra):
        env = dict(self.env, LD_LIBRARY_PATH=self.fake)
        env.update(extra)
        args = [os.path.join(self.programs, args[0])] + args[1:]
        r = subprocess.run(args, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                           check=False)
        return r.returncode, r.stdout.splitlines(), [line.split("] ", 1)[-1] for line in r.stderr.splitlines()]

    def check(self, name, args, want=None, said=None, traced=None, cwd=None, native=True, **extra):
        """want: the output; said: a part of the one line in the log, where it cannot be scheduled; traced: a part of the trace,
        where that is another"""
        self.ran += 1
        want = SCHEDULED if want is None else want
        if native:
            code, out, log = self.run(args, cwd=cwd, **{k: v for k, v in extra.items() if k != "LD_PRELOAD"})
            if code or log or "FAILED" in "".join(out):
                self.bad.append(f"{name} without XSched: {code} {out} {log}")
        with tempfile.NamedTemporaryFile("r", suffix=".trace") as trace:
            with_us = dict(extra, LD_PRELOAD=extra.get("LD_PRELOAD", self.shim), XSCHED_AUTO_XQUEUE="ON",
                           XSCHED_POLICY="HPF", XSCHED_TRACE=trace.name)
            code, out, log = self.run(args, cwd=cwd, **with_us)
            lines = trace.read()
        if (code, out) != (0, want):
            self.bad.append(f"{name}: {code} {out} {log}, not {want}")
        if said is None and log:
            self.bad.append(f"{name}: log {log}")
        if said is not None and (len(log) != 1 or said not in log[0] or (traced or said) not in lines):
            self.bad.append(f"{name}: log {log}, trace {lines.splitlines()[:3]}, not one line with {said!r} in each")
        if traced is not None and traced not in lines:
            self.bad.append(f"{name}: trace {lines.splitlines()[:3]}, not {traced!r}")


def musl(programs, shim, fake):
    """A preloaded object answers to no name there, so all of it is dlopen's work."""
    libraries = os.path.dirname(os.path.dirname(shim))
    w = Ways(programs, shim, fake + ":" + libraries)
    for way in ("open", "global", "default"):
        w.check(way, ["ways_program", way, "libcuda.so.1"])
        w.check(way + " path", ["ways_program", way, os.path.join(fake, "libcuda.so.1")])
    w.check("relative", ["ways_program", "open", "./libcuda.so.1"], cwd=fake)
    w.check("other", ["ways_program", "other", "libways_nowhere.so"], want=["not found"])
    print("\n".join(w.bad))
    print(f"{w.ran} ways")
    return 1 if w.bad or w.ran < 8 else 0


def main(programs, shim, fake, libc="glibc"):
    if libc == "musl":
        return musl(programs, shim, fake)
    w = Ways(programs, shim, fake)
    real = os.path.join(fake, "libcuda.so.1")
    plugin = os.path.join(programs, "libways_plugin.so")
    opener = os.path.join(programs, "libways_opener.so")
    interposer = os.path.join(programs, "libways_interposer.so")
    with tempfile.TemporaryDirectory() as top:
        bare = os.path.join(top, "bare")   # the name that a development package has
        os.mkdir(bare)
        os.symlink(real, os.path.join(bare, "libcuda.so"))
        version = os.path.join(bare, "libcuda.so.580.65.06")
        os.symlink(real, version)
        with_bare = {"LD_LIBRARY_PATH": bare + ":" + fake}
        for way in ("open", "global", "deep", "default"):
            w.check(way, ["ways_program", way, "libcuda.so.1"])
            w.check(way + " libcuda.so", ["ways_program", way, "libcuda.so"], **with_bare)
            w.check(way + " path", ["ways_program", way, real])
            w.check(way + " path, linked", ["ways_program", way, version])
        w.check("version", ["ways_program", "open", "libcuda.so.580.65.06"], **with_bare)
        w.check("relative", ["ways_program", "open", "./libcuda.so.1"], cwd=fake)
        w.check("loaded", ["ways_program", "loaded", real])
        gone = w.run(["ways_program", "open", "/nonexistent/libcuda.so.1"])
        if gone != w.run(["ways_program", "open", "/nonexistent/libcuda.so.1"], LD_PRELOAD=shim) or gone[0] == 0:
            w.bad.append(f"a file that is not there: {gone}")
        w.check("plugin", ["ways_program", "plugin", plugin])
        w.check("plugin, deep", ["ways_program", "plugin_deep", plugin])
        w.check("plugin opens", ["ways_program", "opens", opener, "libcuda.so.1"])
        w.check("plugin opens libcuda.so", ["ways_program", "opens", opener, "libcuda.so"], **with_bare)
        w.check("plugin opens path", ["ways_program", "opens", opener, real])
        w.check("deep plugin opens", ["ways_program", "opens_deep", opener, "libcuda.so.1"])
        w.check("deep plugin opens libcuda.so", ["ways_program", "opens_deep", opener, "libcuda.so"], **with_bare)
        w.check("linked", ["ways_linked"])
        w.check("interposer before us", ["ways_linked"], want=["interposed 6"] + SCHEDULED,
                LD_PRELOAD=interposer + ":" + shim)
        # what others mean by a name depends on who asks, with us too
        own = os.path.join(top, "own")
        os.makedirs(os.path.join(own, "near"))
        shutil.copy(os.path.join(programs, "ways_program"), own)
        shutil.copy(interposer, os.path.join(own, "near", "libways_near.so"))
        for name in ("libways_near.so", "$ORIGIN/near/libways_near.so", "libways_nowhere.so"):
            want = ["not found" if "nowhere" in name else "found"]
            w.check(name, [os.path.join(own, "ways_program"), "other", name], want=want)
        os.symlink(real, os.path.join(own, "libcuda.so.1"))
        w.check("$ORIGIN", [os.path.join(own, "ways_program"), "open", "$ORIGIN/libcuda.so.1"])
        # no way to see these: they are named
        w.check("namespace", ["ways_program", "namespace", real], want=["scheduled 0"], said="dlmopen")
        below = {"LD_PRELOAD": shim + ":" + os.path.join(programs, "libways_kernel.so"), "WAYS_GROUP": "1"}
        w.check("below us", ["ways_program", "opens_deep", opener, real], want=["scheduled 0"], said="a way past us",
                native=False, **below)
        w.check("not below us", ["ways_program", "open", real], native=False, **below)
        w.check("switched off", ["ways_program", "open", real], want=["scheduled 0"], XSCHED_DISABLE="1")
        # the runtime, linked in
        if os.path.exists(os.path.join(programs, "ways_runtime")):
            for _ in range(10):   # it unloads a driver that it cannot use, and the fake one has threads
                native = w.run(["ways_runtime"])
                if native[0] == 0:
                    break
            trace = os.path.join(top, "runtime.trace")
            ours = w.run(["ways_runtime"], LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
            with open(trace, encoding="ascii") as f:
                called = {line.split()[2] for line in f if len(line.split()) > 3 and not line.startswith("#")}
            if native != ours or not {"cuInit", "cuDriverGetVersion"} & called:
                w.bad.append(f"runtime: {ours}, without XSched {native}, traced {sorted(called)[:9]}")
            print("with NVIDIA's runtime linked in:", *native[1], "; functions traced:", len(called))
        else:
            print("NVIDIA's runtime is not here")
    print("\n".join(w.bad))
    print(f"{w.ran} ways")
    return 1 if w.bad or w.ran < 30 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
