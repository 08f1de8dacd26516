#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel driver that calls itself 620, newer than those that were compared: newer.py BUILD

Without the probe's answer programs work at level 1 with one warning; with it at level 3. A driver that takes time slices and
lets them have no effect, or that denies them, is found out. Programs, devices and the probe run in virtual time (exact.py)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import exact

BUILD = os.path.abspath(sys.argv[1])
NEWER, OTHER = "620.10.02", "621.3"
TRY = "xsched doctor --probe"
WORLD_LIB = os.path.join(BUILD, "tests/fakes/world/libfakeworld.so")
CONDUCTOR = os.path.join(BUILD, "tests/fakes/world/conductor")
DRIVER = os.path.join(BUILD, "tests/fakes/cuda/driver")
failures = 0


def check(what, right, *more):
    global failures
    if not right:
        failures += 1
        print("WRONG:", what, *more)


def programs(top, version, level="auto"):
    """A background and an urgent program as exact.py has them. @return what came out, and the warnings of each"""
    logs = [os.path.join(top, name) for name in ("low.log", "high.log")]
    got = exact.pair(BUILD, level, exact.LOW, exact.HIGH, world=(*exact.SWITCH, "--version", version),
                     xserver=("--tune=lv3-busy-us=0",), of_low={"XLOG_FILE": logs[0]}, XLOG_FILE=logs[1])
    said = []
    for path in logs:
        lines = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                lines = f.read().splitlines()
            os.unlink(path)
        said.append([line for line in lines if "WARN" in line or "ERRO" in line])
    return got, said


def below_level_3(top, version, *words):
    got, said = programs(top, version)
    check(f"{version}: level 1", exact.fits(got["latency"], (0, 1300)) and got["gates"] == 0, got)
    for warnings in said:
        check(f"{version}: one warning", len(warnings) == 1 and all(w in warnings[0] for w in ("level 3", version, TRY, *words)),
              warnings)


class Doctor:
    """xsched doctor where the driver is NEWER; the program that it starts as the probe runs in a world of its own."""

    def __init__(self, top):
        self.top, self.bin = top, os.path.join(top, "bin")
        os.mkdir(self.bin)
        shutil.copy2(os.path.join(BUILD, "bin", "xsched-doctor"), self.bin)

    def ask(self, version, *world, probe=True):
        real = os.path.join(self.top, "real")
        os.mkdir(real)
        subprocess.run([CONDUCTOR, real, "1", "--real", "--version", version], check=True, stdout=subprocess.DEVNULL)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
        env.update(FAKE_WORLD=real, LD_PRELOAD=WORLD_LIB, XSCHED_CUDA_LIB=os.path.join(DRIVER, "libcuda.so.1"))
        conductor = None
        try:
            if probe:
                conductor = self.put_probe(version, *world)
            done = subprocess.run([os.path.join(self.bin, "xsched-doctor"), "--json", *(["--probe"] if probe else [])], env=env,
                                  stdout=subprocess.PIPE, text=True, timeout=200, check=False)
        finally:
            if conductor:
                conductor.kill()
                conductor.communicate()
            shutil.rmtree(real)
        return json.loads(done.stdout)

    def put_probe(self, version, *world):
        folder = os.path.join(self.top, "virtual")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        conductor = subprocess.Popen([CONDUCTOR, folder, "1", "--all", "--version", version, *world], stdout=subprocess.PIPE,
                                     text=True)
        assert conductor.stdout.readline() == "ready\n"
        with open(os.path.join(self.bin, "xsched-probe-cuda"), "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nexport FAKE_WORLD={folder} LD_PRELOAD={WORLD_LIB} FAKE_CUDA_ONE=1\n"
                    f"exec {BUILD}/bin/xsched-probe-cuda\n")
        os.chmod(f.name, 0o755)
        return conductor


def of_cuda(found):
    return next((row for row in found["levels"] if row["platform"] == "CUDA"), {})


def causes(found):
    return {p["cause"] for p in found["problems"]}


def main():
    with tempfile.TemporaryDirectory(prefix="xsched-newer-") as top:
        os.environ["XDG_CACHE_HOME"] = os.path.join(top, "cache")
        doctor = Doctor(top)

        # nothing is known: level 1, one warning that says what to run
        below_level_3(top, NEWER)
        found = doctor.ask(NEWER, probe=False)
        check("doctor names it", "not_probed" in causes(found) and of_cuda(found).get("probed_level", 0) is None, found)
        got, said = programs(top, NEWER, 3)
        check("asked for level 3: level 2", got["gates"] > 0 and exact.fits(got["latency"], (0, 300)), got)
        check("and a warning", all(sum(TRY in line for line in w) == 1 for w in said), said)

        # status 0 and no effect
        found = doctor.ask(NEWER, "--no-slices")
        row = found["probe"][0]
        check("a lie is found out", row["level"] == 2 and row["slices"] == "the driver takes time slices, and they have no effect", row)
        check("doctor shows it", of_cuda(found).get("probed_level") == 2 and "not_probed" not in causes(found), found)
        check("doctor says what it means", any("level 3 does not work" in h for h in found["hints"]), found["hints"])
        below_level_3(top, NEWER, "does not work")

        # an honest one
        found = doctor.ask(NEWER)
        row = found["probe"][0]
        check("slices work", row["level"] == 3 and row["slices"] == "work", row)
        check("in both directions", row["progress"][1] > 100 * row["progress"][0] and row["progress"][2] > 100 * row["progress"][3],
              row)
        check("and are given back", 0.8 < row["progress"][4] / row["progress"][5] < 1.25, row)
        got, said = programs(top, NEWER)
        check("level 3", got["latency"] == [110, 110, 110] and got["gates"] >= 0, got)
        check("no warning", said == [[], []], said)
        found = doctor.ask(NEWER, probe=False)
        check("doctor shows the verdict", of_cuda(found).get("probed_level") == 3 and not causes(found) & {"not_probed"}, found)

        # it is an answer for this driver alone
        below_level_3(top, OTHER)
        check("doctor names the other one", "not_probed" in causes(doctor.ask(OTHER, probe=False)))
    print(f"{failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
