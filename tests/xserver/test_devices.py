#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Devices with what their drivers tell: xserver in a mount namespace whose /sys/bus has an NVIDIA and an AMD device and
one that tells nothing, with a libnvidia-ml.so.1 that answers; xcli list --devices, /devices, /metrics."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from stage import BUILD, Stage, until

NVIDIA, ODD, AMD, SILENT = "0000:3b:00.0", "0000:5e:00.0", "0000:83:00.0", "0000:c1:00.0"


def ident(address):
    """XDevice of a GPU, as the actors take it."""
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    return f"2{int(domain, 16):04x}{int(bus, 16):02x}{int(device, 16) << 3 | int(function):02x}"


def files(root, address, contents):
    for name, text in contents.items():
        path = os.path.join(root, "pci/devices", address, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text + "\n")


def sys_bus():
    root = tempfile.mkdtemp(prefix="xserver-bus-")
    files(root, NVIDIA, {"vendor": "0x10de"})
    files(root, ODD, {"vendor": "0x10de"})
    files(root, AMD, {"vendor": "0x1002", "product_name": "AMD Instinct Fake", "mem_info_vram_total": str(64 << 30),
                      "mem_info_vram_used": str(3 << 30), "hwmon/hwmon4/temp2_input": "47000",
                      "hwmon/hwmon4/freq1_input": "1700000000"})
    files(root, SILENT, {"vendor": "0x8086"})
    return root


class Here(Stage):
    """The server sees another /sys/bus and another library."""

    def __init__(self, bus, *arguments, library=True):
        self.bus = bus
        self.library = library
        real = subprocess.Popen

        def popen(command, **rest):
            subprocess.Popen = real
            environment = dict(rest.pop("env"))
            if self.library:
                environment["LD_LIBRARY_PATH"] = f"{BUILD}/tests/xserver/nvml"
                environment["FAKE_NVML_PIDS"] = os.path.join(bus, "pids")
            return real([*namespace(), f'mount --bind "{bus}" /sys/bus && exec "$@"', "sh", *command], env=environment, **rest)
        subprocess.Popen = popen
        super().__init__(*arguments)


def namespace():
    return ["unshare", *(["-m"] if os.geteuid() == 0 else ["-rm"]), "sh", "-c"]


class Devices(unittest.TestCase):
    def setUp(self):
        self.bus = sys_bus()
        self.addCleanup(shutil.rmtree, self.bus)

    def begin(self, **how):
        stage = Here(self.bus, **how)
        self.addCleanup(stage.close)
        for address in (NVIDIA, ODD, AMD, SILENT):
            stage.actor("program").tell(f"queue 0 {ident(address)} 1")
        return stage

    def of(self, stage):
        return {d["pci"]: d for d in json.loads(stage.xcli("list", "--devices", "--json").stdout)["devices"]}

    def test_values(self):
        stage = self.begin()
        until(lambda: "temperature_c" in self.of(stage)[NVIDIA])
        d = self.of(stage)
        keep = ("model", "memory_bytes", "memory_used_bytes", "temperature_c", "clock_mhz")
        self.assertEqual([d[NVIDIA].get(k) for k in keep], ["NVIDIA Fake 80GB", 80 << 30, 20 << 30, 54, 1980])
        self.assertEqual([d[AMD].get(k) for k in keep], ["AMD Instinct Fake", 64 << 30, 3 << 30, 47, 1700])
        for address in (ODD, SILENT):
            self.assertEqual([d[address].get(k) for k in keep], ["", None, None, None, None], address)

        lines = stage.xcli("list", "--devices").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["DEVICE", "GPU", "MODEL", "QUEUES", "READY", "WAITING", "MEMORY", "TEMP", "CLOCK"])
        rows = {row.split()[0]: row for row in lines[1:]}
        self.assertEqual(len(rows), 4)
        self.assertIn("20.0/80.0G", rows[f"GPU:{NVIDIA}"])
        self.assertRegex(rows[f"GPU:{NVIDIA}"], r"NVIDIA Fake 80GB .* 54C 1980MHz")
        self.assertRegex(rows[f"GPU:{AMD}"], r"AMD Instinct Fake .* 3.0/64.0G +47C 1700MHz")
        self.assertRegex(rows[f"GPU:{SILENT}"], r" - +1 +0 +0 +- +- +-$")
        one = stage.xcli("list", "--devices", "--device", "instinct").stdout.splitlines()
        self.assertEqual(len(one), 2)
        for wrong in (["--ended"], ["--user", "0"], ["--format=original"]):
            self.assertNotEqual(stage.xcli("list", "--devices", *wrong, check=False).returncode, 0, wrong)

        scrape = [line for line in stage.get("/metrics").read().decode().splitlines() if line.startswith("xsched_device_")]
        said = {(line.split("{")[0], address): float(line.split()[-1]) for line in scrape for address in d if address in line}
        self.assertEqual(said[("xsched_device_memory_used_bytes", NVIDIA)], 20 << 30)
        self.assertEqual(said[("xsched_device_temperature_celsius", NVIDIA)], 54)
        self.assertEqual(said[("xsched_device_clock_hertz", NVIDIA)], 1980e6)
        self.assertEqual(said[("xsched_device_clock_hertz", AMD)], 1700e6)
        self.assertEqual(sorted(name for name, address in said if address == SILENT), ["xsched_device_info"])

    def unscheduled(self, stage):
        """{(address, kind): count} of the metric."""
        found = {}
        for line in stage.get("/metrics").read().decode().splitlines():
            if line.startswith("xsched_device_unscheduled_processes{"):
                labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
                found[(labels["pci_bus_id"], labels["kind"])] = int(line.split()[-1])
        return found

    def test_programs_that_are_not_under_xsched(self):
        """Those that the driver has on a device and that have not joined, also where no program of XSched is."""
        stage = Here(self.bus)
        self.addCleanup(stage.close)
        joined = stage.actor("joined")
        joined.tell(f"queue 0 {ident(NVIDIA)} 1")
        stranger = subprocess.Popen(["sleep", "1000"])
        mps = subprocess.Popen(["sh", "-c", "printf nvidia-cuda-mps-server > /proc/self/comm; read x"], stdin=subprocess.PIPE)
        for p in (stranger, mps):
            self.addCleanup(p.wait)
            self.addCleanup(p.kill)
        self.addCleanup(mps.stdin.close)
        until(lambda: open(f"/proc/{mps.pid}/comm", encoding="utf-8").read().startswith("nvidia-cuda-mps"))

        def on(*rows):
            with open(os.path.join(self.bus, "pids.new"), "w", encoding="utf-8") as f:
                f.writelines(f"{row}\n" for row in rows)
            os.rename(os.path.join(self.bus, "pids.new"), os.path.join(self.bus, "pids"))
        on(f"0 {joined.pid} compute")
        until(lambda: self.unscheduled(stage) == {(NVIDIA, "compute"): 0, (NVIDIA, "graphics"): 0})
        on(f"0 {joined.pid} compute", f"0 {mps.pid} compute", f"0 {stranger.pid} compute", f"0 {stranger.pid} graphics",
           f"0 {os.getpid()} graphics", f"1 {stranger.pid} compute")
        want = {(NVIDIA, "compute"): 1, (NVIDIA, "graphics"): 1, (ODD, "compute"): 1, (ODD, "graphics"): 0}
        until(lambda: self.unscheduled(stage) == want)
        joined.leave()
        on(f"0 {joined.pid} compute")
        until(lambda: self.unscheduled(stage).get((NVIDIA, "compute")) == 1)
        on()
        until(lambda: self.unscheduled(stage) == {})

    def test_without_the_library(self):
        stage = self.begin(library=False)
        d = self.of(stage)
        self.assertNotIn("temperature_c", d[NVIDIA])
        self.assertEqual(self.unscheduled(stage), {})
        self.assertEqual(d[AMD]["temperature_c"], 47)
        with open(os.path.join(stage.folder, "log"), encoding="utf-8") as log:
            self.assertNotRegex(log.read(), "(?i)nvml|nvidia|reader")


def can():
    """@return whether this machine lets us make such a namespace"""
    with tempfile.TemporaryDirectory() as probe:
        return subprocess.run([*namespace(), f'mount --bind "{probe}" /sys/bus'], check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    if not can():
        print("skipped: this machine makes no mount namespace here")
        sys.exit(77)
    unittest.main()
