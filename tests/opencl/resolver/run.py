#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which library the shim binds to: run.py SHIM FOLDER    (FOLDER holds what CMakeLists.txt builds)

Copies of a fake loader answer with their number: a 1, b 2, c 3, d 4 (whose constructor calls its own public function).
"""
import os
import shutil
import subprocess
import sys
import tempfile

SHIM, FOLDER = sys.argv[1:3]
A, B, C, D = (os.path.join(FOLDER, x, "libOpenCL.so.1") for x in "abcd")
bad = []


def run(program, *args, preload=True, wrapper=(), **extra):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("XSCHED_", "XLOG_")) and k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "OPENCL_LAYERS")}
    if preload:
        env["LD_PRELOAD"] = SHIM
    env.update(extra)
    command = [program, *args]
    if wrapper: # the variables must not reach it
        command = [*wrapper, "/usr/bin/env", *[f"{k}={v}" for k, v in env.items()], *command]
        env = {"PATH": env.get("PATH", "")}
    r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=20, check=False)
    return r.returncode, r.stdout.strip(), r.stderr.strip()


def check(what, got, out, log=None, lines=None, code=0):
    ok = got[0] == code and got[1] == out and (log is None or log in got[2])
    if log is None and lines is None:
        lines = 0
    if lines is not None:
        ok = ok and len(got[2].splitlines()) == lines
    print("ok  " if ok else "FAIL", what)
    if not ok:
        bad.append(what)
        print("     got", got, "expected", out, log, lines)


def client(name):
    return os.path.join(FOLDER, name)


# Without us, so that the rest means something.
check("plain", run(client("client_runpath"), "linked", preload=False), "1 platforms, 0")

check("RUNPATH of the caller", run(client("client_runpath"), "linked"), "1 platforms, 0")
check("RPATH of the caller", run(client("client_rpath"), "linked"), "2 platforms, 0")
check("LD_LIBRARY_PATH before RUNPATH", run(client("client_runpath"), "linked", LD_LIBRARY_PATH=os.path.dirname(C)), "3 platforms, 0")
check("RPATH before LD_LIBRARY_PATH", run(client("client_rpath"), "linked", LD_LIBRARY_PATH=os.path.dirname(C)), "2 platforms, 0")
check("several folders, empty ones too",
      run(client("client_dl"), "open", LD_LIBRARY_PATH=f"/nowhere::{os.path.dirname(C)}:{os.path.dirname(A)}"), "3 platforms, 0")
check("$ORIGIN", run(client("client_origin"), "linked"), "1 platforms, 0")
check("named in the environment", run(client("client_dl"), "open", XSCHED_OPENCL_LIB=B), "2 platforms, 0")
check("named before the search", run(client("client_runpath"), "linked", XSCHED_OPENCL_LIB=B), "2 platforms, 0")
check("a wrong path is said once and searched for",
      run(client("client_dl"), "twice", XSCHED_OPENCL_LIB="/no/such/file", LD_LIBRARY_PATH=os.path.dirname(C)),
      "3 platforms, 0\n3 platforms, 0", "XSched cannot use XSCHED_OPENCL_LIB=/no/such/file", 1)
check("our own shim is refused",
      run(client("client_dl"), "open", XSCHED_OPENCL_LIB=SHIM, LD_LIBRARY_PATH=os.path.dirname(C)),
      "3 platforms, 0", "one of ours", 1)
check("another library is refused",
      run(client("client_dl"), "open", XSCHED_OPENCL_LIB=client("plugin.so"), LD_LIBRARY_PATH=os.path.dirname(C)),
      "3 platforms, 0", "XSched cannot use", 1)
with tempfile.TemporaryDirectory() as t:
    text = os.path.join(t, "libOpenCL.so.1")
    with open(text, "w", encoding="ascii") as f:
        f.write("INPUT(libOpenCL.so.9)\n")
    check("a file that is no library", run(client("client_dl"), "open", XSCHED_OPENCL_LIB=text, LD_LIBRARY_PATH=f"{t}:{os.path.dirname(C)}"),
          "3 platforms, 0", "XSched cannot use", 1)
    os.remove(text)
    shutil.copy(SHIM, text)
    check("a copy of our shim in the search path",
          run(client("client_dl"), "open", LD_LIBRARY_PATH=f"{t}:{os.path.dirname(C)}"), "3 platforms, 0")
    wheel = os.path.join(t, "libOpenCL-1a2b3c4d.so.1.0.0")
    os.remove(text)
    shutil.copy(B, wheel)
    check("a renamed copy that is loaded already", run(client("client_dl"), "mapped", wheel, LD_LIBRARY_PATH=os.path.dirname(C)), "2 platforms, 0")

check("what is loaded before what would be found",
      run(client("client_dl"), "mapped", A, LD_LIBRARY_PATH=os.path.dirname(C)), "1 platforms, 0")
check("of two loaded copies the one that the caller depends on",
      run(client("client_rpath"), "mapped", A, B, C), "2 platforms, 0")
check("of two loaded copies the first of that name, as without us",
      run(client("client_dl"), "mapped", B, C, LD_LIBRARY_PATH="/nowhere"), "2 platforms, 0")
check("plain, two loaded copies", run(client("client_dl"), "mapped", B, C, LD_LIBRARY_PATH="/nowhere", preload=False), "2 platforms, 0")
check("dlopen and dlsym", run(client("client_dl"), "open", LD_LIBRARY_PATH=os.path.dirname(B)), "2 platforms, 0")
check("RTLD_NEXT", run(client("client_dl"), "next", LD_LIBRARY_PATH=os.path.dirname(B)), "2 platforms, 0")
check("RTLD_DEEPBIND plugin", run(client("client_dl"), "plugin", client("plugin.so"), LD_LIBRARY_PATH=os.path.dirname(B)), "plugin: 2 platforms")
check("a constructor that calls its own public function",
      run(client("client_dl"), "open", LD_LIBRARY_PATH=os.path.dirname(D)), "4 platforms, 0")
check("what the library lacks", run(client("client_dl"), "lacking", LD_LIBRARY_PATH=os.path.dirname(B)),
      "found 0: clFinish -59, clCreateBuffer 0 -59 0, extension 0, clSVMAlloc 0")
check("what the library lacks, plain", run(client("client_dl"), "lacking", LD_LIBRARY_PATH=os.path.dirname(B), preload=False),
      "found 0: not linked")
check("XSCHED_DISABLE", run(client("client_dl"), "open", LD_LIBRARY_PATH=os.path.dirname(B), XSCHED_DISABLE="1", XSCHED_AUTO_XQUEUE="ON"), "2 platforms, 0")

# Nothing anywhere: /dev/null over every copy that the machine has, in a mount namespace of our own.
real = sorted({os.path.realpath(os.path.join(d, n)) for d in
               ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
               for n in ("libOpenCL.so", "libOpenCL.so.1") if os.path.exists(os.path.join(d, n))})
hide = ["unshare", "-rm", "sh", "-c", "".join(f"mount --bind /dev/null {p} && " for p in real) + 'exec "$@"', "sh"]
if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL).returncode == 0:
    plain, ours = (run(client("client_dl"), "open", wrapper=hide, preload=p) for p in (False, True))
    if plain[0] == 0 or not plain[1].startswith("not opened"):
        bad.append(f"without us a missing library opens: {plain}")
    check("no library at all: it does not open", ours, "not opened: libOpenCL.so.1 (not on this machine): cannot open shared object "
          "file: No such file or directory", lines=0, code=plain[0])
    check("no library at all, but a way to our functions: the vendor's code, said once",
          run(client("client_dl"), "default", wrapper=hide), "0 platforms, -1001\n0 platforms, -1001", "did not find the real library", 1)
    check("no library at all, other functions", run(client("client_dl"), "lacking", wrapper=hide),
          "found 0: clFinish -59, clCreateBuffer 0 -59 0, extension 0, clSVMAlloc 0", "did not find the real library", 1)
else:
    print("no mount namespace here: the case without any library was left out")

# Programs that have nothing to do with OpenCL notice nothing.
with tempfile.TemporaryDirectory() as t:
    trace = os.path.join(t, "trace")
    loud = dict(XLOG_LEVEL="DEBG", XSCHED_TRACE=trace, XSCHED_AUTO_XQUEUE="ON", XSCHED_PRIORITY="3")
    check("children stay silent", run("/bin/sh", "-c", "true; /bin/echo hello; ls / >/dev/null; (exit 0) & wait", **loud), "hello")
    check("nothing is opened", run("/bin/ls", "/proc/self/fd", **loud), run("/bin/ls", "/proc/self/fd", preload=False)[1])
    tasks = run("/bin/ls", "/proc/self/task", **loud)
    check("no thread is started", tasks, tasks[1].split()[0])
    if os.path.exists(trace):
        bad.append("a program without OpenCL has a trace")

# ldconfig must not take the shim for the machine's OpenCL.
if shutil.which("ldconfig") or os.path.exists("/sbin/ldconfig"):
    with tempfile.TemporaryDirectory() as t:
        conf = os.path.join(t, "conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(os.path.dirname(os.path.dirname(SHIM)) + "\n")
        r = subprocess.run(["/sbin/ldconfig", "-v", "-X", "-N", "-f", conf, "-C", os.path.join(t, "cache")], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
        here = r.stdout.split(os.path.dirname(os.path.dirname(SHIM)) + ":")
        if len(here) != 2 or "libpreempt" not in here[1]:
            bad.append("ldconfig did not look at our folder")
        else:
            names = [line.split()[0] for line in here[1].split("\n/")[0].splitlines() if line.startswith("\t")]
            if not names or not all(name.startswith(("libpreempt.", "libhal", "libshim")) for name in names):
                bad.append(f"ldconfig sees more than names of ours: {names}")

print("\n".join(bad) if bad else "all as expected")
sys.exit(1 if bad else 0)
