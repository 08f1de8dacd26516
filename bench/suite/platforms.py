# SPDX-License-Identifier: Apache-2.0
"""What this machine has: one Platform for each interface to a device, with the commands that start its clients."""
import dataclasses
import json
import os
import re
import subprocess
import sys

from . import machine, variants

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def names():
    """The platforms that XSched has code for (src/base/platforms.def; beside us where we are installed), and the fake driver."""
    rows = next(p for p in (os.path.join(HERE, "platforms.def"), os.path.join(HERE, "../src/base/platforms.def"))
                if os.path.exists(p))
    with open(rows, encoding="utf-8") as f:
        found = re.findall(r'^XS_PLATFORM\(\w+, "\w+", "(\w+)", \w+, "\w+",', f.read(), re.M)
    return (*sorted(found), "fake")


NAMES = names()


@dataclasses.dataclass
class Platform:
    name: str
    device: str = ""
    driver: str = ""
    framework: str = ""
    memory_gib: float = 0
    devices: int = 1
    rounds_per_ms: float = 0
    shim: str = ""
    load: list = None             # command of the C client, or None
    torch: list = None            # command of the PyTorch client, or None
    env: dict = dataclasses.field(default_factory=dict)
    prefix: tuple = ()            # of every client
    server_prefix: tuple = ()
    missing: dict = dataclasses.field(default_factory=dict)   # what is not there -> why


def ask(command, env, timeout=180):
    """@return (the JSON object that it printed or None, why not)"""
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, str(e)
    rows = [l for l in done.stdout.splitlines() if l.startswith("{")]
    if done.returncode or not rows:
        lines = [l for l in done.stderr.splitlines() if l.strip()]
        return None, lines[-1] if lines else f"status {done.returncode}"
    return json.loads(rows[-1]), ""


def torch_command(python):
    return [python, os.path.join(HERE, "clients", "torch_client.py")]


def pythons(named):
    seen = []
    for p in [named] if named else [sys.executable, "python3", "/usr/bin/python3"]:
        if p not in seen:
            seen.append(p)
    return seen


def probe(python, env):
    """Importing PyTorch takes seconds: calls that follow each other (bench/gpu_first) name a file that remembers."""
    path, known = os.environ.get("BENCH_PROBE_CACHE"), {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            known = json.load(f)
    if python in known:
        return known[python], ""
    row, why = ask(torch_command(python) + ["probe"], env)
    if path and row:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(dict(known, **{python: row}), f)
    return row, why


def find_torch(named, env):
    why = ""
    for python in pythons(named):
        row, why = probe(python, env)
        if row and (row["device"] != "CPU" or env.get("BENCH_TORCH_DEVICE")):
            return torch_command(python), row, ""
        why = why or "PyTorch sees no GPU"
    return None, None, why


def detect(build, python, only, rounds, torch_wanted, say):
    """@param rounds  platform -> rounds a millisecond as an earlier run of the same results had them
    @return (platforms, {name: why it is not there})"""
    env = variants.clean_environment()
    found, absent = [], {}
    torch = torch_row = torch_why = None
    cpus = sorted(os.sched_getaffinity(0))
    for name in only or NAMES:
        p = Platform(name, env=dict(env))
        row = None
        if name in ("cuda", "hip"):
            if not torch_wanted:
                torch_why = "not asked for"
            if torch_why is None:
                torch, torch_row, torch_why = find_torch(python, env)
            is_hip = bool(torch_row) and torch_row["driver"].startswith("HIP")
            if torch_row and (is_hip == (name == "hip")):
                p.torch, row, p.framework = torch, torch_row, torch_row["framework"]
            else:
                p.missing["torch"] = torch_why or "PyTorch is for another platform"
        if name in ("cuda", "opencl", "fake"):
            program = machine.program(build, "load_opencl" if name == "opencl" else "load_cuda")
            if name == "fake":
                p.env["LD_LIBRARY_PATH"] = os.path.join(build, "tests", "fakes", "cuda", "driver")
                if not os.path.isdir(p.env["LD_LIBRARY_PATH"]):     # the loader would find the real one
                    absent[name] = "the fake driver belongs to the tests and is not built"
                    continue
            if name == "opencl":
                p.env.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
                if len(cpus) > 1:    # with PoCL the device is a processor: one core is that, the rest is for the others
                    p.prefix = ("taskset", "-c", str(cpus[0]))
                    p.server_prefix = ("taskset", "-c", str(cpus[1]))
            if os.path.exists(program):
                about, why = ask([*p.prefix, program, "probe"], p.env)
                if about:
                    p.load, row = [program], row or about
                    p.rounds_per_ms = rounds.get(name) or about["rounds_per_ms"]
                    p.framework = p.framework or "C"
                    if name == "opencl" and not about["device"].startswith(("pthread", "cpu", "basic")):
                        p.prefix = p.server_prefix = ()
                else:
                    p.missing["load"] = why
            else:
                p.missing["load"] = f"{program} is not built"
        if not row:
            absent[name] = "; ".join(p.missing.values()) or "bench/clients has none for it"
            continue
        p.device, p.memory_gib, p.devices = row["device"], row["memory_gib"], row.get("devices", 1)
        p.driver = machine.nvidia_driver() if name == "cuda" and "fake" not in p.device else ""
        p.driver = p.driver or row["driver"]
        p.shim = machine.shim(build, "cuda" if name == "fake" else name)
        if not os.path.exists(p.shim):
            p.missing["shim"] = f"{p.shim} is not built"
        say(f"platform {name}: {p.device}, driver {p.driver}, {p.framework}"
            + "".join(f"; no {k}: {v}" for k, v in p.missing.items()))
        found.append(p)
    return found, absent
