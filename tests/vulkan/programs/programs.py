#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that others wrote, on lavapipe: programs.py SHIMS [NAME...]     prints what was run and what is not here

Each runs natively and with the layer and a policy in the process; what it prints must be the same, and submissions must have
been scheduled. VULKAN_PYTHON names a Python that has wgpu, taichi and ncnn (from PyPI).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import lib  # noqa: E402

PYTHON = os.environ.get("VULKAN_PYTHON", sys.executable)


def python(module):
    """The command of a client beside this file, where its module can be imported."""
    if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode:
        return None
    return [PYTHON, "-B", os.path.join(HERE, f"{module}_client.py")]


def cube():
    """Frames on a display: presents behind submissions."""
    if not shutil.which("vkcube") or not shutil.which("xvfb-run"):
        return None
    return ["xvfb-run", "-a", "vkcube", "--c", "100"]


PROGRAMS = {   # command, submissions at least; what differs from run to run is left out of the comparison
    "wgpu": (lambda: python("wgpu"), 20),
    "taichi": (lambda: python("taichi"), 5),
    "ncnn": (lambda: python("ncnn"), 30),
    "vkcube": (cube, 100),
}
CHOOSES_ITSELF = {"ncnn"}   # it opens the driver that these variables name past the loader; without them it opens the loader
VOLATILE = re.compile(r"Loader Message|\[Taichi\]|XDG_RUNTIME_DIR")


def run(command, env):
    r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    return r.returncode, [line for line in r.stdout.splitlines() if not VOLATILE.search(line)], r.stderr


def main(shims, *wanted):
    bad = ran = 0
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    for name, (command, least) in PROGRAMS.items():
        command = command() if not wanted or name in wanted else None
        if not command:
            print(f"{name}: not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            envs = [lib.plain(), lib.layered(shims, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF", XSCHED_TRACE=trace)]
            for env in envs if name in CHOOSES_ITSELF else ():
                env.pop("VK_ICD_FILENAMES")
                env.pop("VK_DRIVER_FILES")
            plain, ours = (run(command, env) for env in envs)
            submits = 0
            if os.path.exists(trace):
                with open(trace, encoding="ascii") as f:
                    submits = sum(" submit " in line for line in f)
        same = plain[0] == 0 and plain[:2] == ours[:2] and submits >= least
        print(f"{name}: {submits} submissions, {'as natively' if same else 'DIFFERS'}")
        if not same:
            print(plain, ours, sep="\n")
        bad, ran = bad + (not same), ran + 1
    return bad if ran else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
