# SPDX-License-Identifier: Apache-2.0
"""What importing does not do, and what a missing or wrong library looks like."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, PACKAGE, python


def test_import_is_quick_and_loads_nothing():
    # Modules that nearly every program loads are loaded first, and do not count. `import http.client`, in the same process, is the
    # yardstick: a machine's speed changes both.
    code = ("import __future__, atexit, collections, contextlib, ctypes, enum, os, sys, threading, time, typing, warnings, weakref\n"
            "def cost(name): t = time.process_time(); __import__(name); return (time.process_time() - t) * 1e3\n"
            "before = set(sys.modules); ours = cost('xsched'); new = set(sys.modules) - before\n"
            "print(ours, cost('http.client'), sorted(n for n in new if n.split('.')[0] != 'xsched'),\n"
            "      [n for n in ('libpreempt', 'libhal', 'libcuda', 'libOpenCL') if n in open('/proc/self/maps').read()])")
    ours, yardstick = [], []
    for _ in range(12):
        p = python(code, env={"PYTHONDONTWRITEBYTECODE": None})
        assert p.returncode == 0, p.stderr
        took, client, loaded = p.stdout.split(" ", 2)
        assert loaded.strip() == "[] []"
        ours.append(float(took))
        yardstick.append(float(client))
    assert min(ours) <= min(yardstick) / 2, f"{min(ours)} ms of processor time, http.client {min(yardstick)} ms"


def test_a_missing_library_is_an_exception_with_a_remedy(tmp_path):
    shutil.copytree(os.path.join(PACKAGE, "xsched"), tmp_path / "xsched")
    code = ("import xsched\n"
            "for f in (lambda: xsched.set_priority(64, 1), lambda: xsched.XSched.XQueueGet(1)):\n"
            "    try: f()\n"
            "    except xsched.LibraryError as e: print(e.reason, '|', e.remedy)\n")
    p = python(code, env={"PYTHONPATH": str(tmp_path), "LD_LIBRARY_PATH": None, "PATH": "/nonexistent"})
    assert p.returncode == 0, p.stderr
    lines = p.stdout.splitlines()
    assert len(lines) == 2 and all("libpreempt.so.1 is not found" in s and "install XSched" in s for s in lines)


def test_found_beside_the_launcher_on_path(tmp_path):
    shutil.copytree(os.path.join(PACKAGE, "xsched"), tmp_path / "xsched")
    p = python("import xsched; print(xsched.XSched.XQueueGet(1)[0].name)",
               env={"PYTHONPATH": str(tmp_path), "LD_LIBRARY_PATH": None, "PATH": os.path.join(BUILD, "bin")})
    assert p.stdout == "kXSchedErrorNotFound\n", p.stderr


def test_two_copies_are_refused(tmp_path):
    lib = os.path.realpath(os.path.join(BUILD, "lib", "libpreempt.so.1"))
    other = str(tmp_path / "libpreempt.so.1")
    shutil.copy(lib, other)
    code = ("import ctypes, sys, xsched\nfor p in sys.argv[1:]: ctypes.CDLL(p)\n"
            "try: xsched.XSched.XQueueGet(1)\nexcept xsched.LibraryError as e: print(e)\n")
    p = python(code, lib, other)
    assert "two copies" in p.stdout and lib in p.stdout and other in p.stdout, p.stdout + p.stderr
    assert python(code, lib).stdout == ""


def test_an_older_library_is_refused(tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int XQueueGet(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libpreempt.so.1", "-o", str(tmp_path / "libpreempt.so.1"),
                    str(source)], check=True)
    p = python("import xsched\ntry: xsched.XSched.XQueueGet(1)\nexcept xsched.LibraryError as e: print(e)",
               env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert "older than this package" in p.stdout and "XHintSwapPriority" in p.stdout, p.stdout + p.stderr


def test_a_missing_platform_names_its_library():
    p = python("import os, xsched, xsched.hip\n"
               "try: print(xsched.hip.XSchedHip.HipQueueCreate(0))\nexcept xsched.LibraryError as e: print(e)")
    if not os.path.exists(os.path.join(BUILD, "lib", "libhalhip.so.1")):
        assert "libhalhip.so.1 is not found" in p.stdout, p.stderr
    else:
        assert re.match(r"\(<XResult", p.stdout), p.stderr


def test_command_line():
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "xsched", *arguments], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, PYTHONPATH=PACKAGE))

    assert run("--help").returncode == 0 and "python -m xsched run" in run("--help").stdout
    assert run().returncode == 64 and run("nonsense").returncode == 64 and run("run").returncode == 64
    assert "xsched (Python)" in run("--version").stdout
    assert "no command 'nonsense'" in run("nonsense").stderr
    w = run("where")
    assert w.returncode == 0, w.stderr
    assert os.path.realpath(BUILD) in os.path.realpath(re.search(r"^preempt +(\S+)", w.stdout, re.M).group(1))
    nowhere = subprocess.run([sys.executable, "-m", "xsched", "where"], capture_output=True, text=True, timeout=60, cwd="/",
                             env={"PYTHONPATH": PACKAGE, "PATH": "/nonexistent"})
    if "is not found" in nowhere.stdout:  # else there is an installed one
        assert nowhere.returncode == 1 and "install XSched" in nowhere.stderr, nowhere.stderr
    p = run("run", "--priority", "7", "--no-server", "-q", "-c",
            "import os, sys; print(os.environ['XSCHED_PRIORITY'], 'libshim' in os.environ['LD_PRELOAD'], sys.argv)", "-x", "1")
    assert p.stdout == "7 True ['-c', '-x', '1']\n", p.stderr


@pytest.mark.parametrize("options", ["-p 5", "-p5", "-qp 5", "-qp5", "--priority 5", "--priority=5", "--prio 5", "--prio=5",
                                     "--no-server -q --idle-exit 0", "--intra"])
def test_where_options_end(options):
    from xsched.__main__ import split
    for rest in (["script.py", "-p", "7"], ["-m", "module"], ["-c", "0"]):
        assert split([*options.split(), *rest]) == (options.split(), rest)
        assert split([*options.split(), "--", *rest]) == (options.split(), rest)


def test_options_of_the_launcher_are_known():
    from xsched.__main__ import LETTERS_WITH_VALUE, WITH_VALUE
    text = subprocess.run([os.path.join(BUILD, "bin", "xsched"), "run", "--help"], capture_output=True, text=True).stdout
    assert set(re.findall(r"--([a-z-]+)=", text)) == set(WITH_VALUE)
    # -m is a module here, as it is to Python; the launcher's is written --memory
    assert set(re.findall(r"-(\w), --[a-z-]+=", text)) == set(LETTERS_WITH_VALUE) | {"m"}
    assert "m" not in LETTERS_WITH_VALUE
