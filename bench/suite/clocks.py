# SPDX-License-Identifier: Apache-2.0
"""The device's own state while others are measured: clocks, power, temperature, as nvidia-smi says them twice a second. Two
programs may keep a device busier than one does, and it may then run more slowly, or faster than one that idles."""
import os
import select
import subprocess

FIELDS = ("index", "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "utilization.gpu")
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active", "pstate")   # the name of today, of older drivers; neither
PERIOD_MS = 500
FIRST_S = 20


class ClockError(Exception):
    """Nobody says; the text says why."""


def number(text):
    try:
        return float(text)
    except ValueError:
        return None         # [N/A]


def parse(text):
    """Lines of nvidia-smi -> {index: [(sm MHz, memory MHz, W, degrees, busy %, reasons)]}; what is not whole is left out."""
    found = {}
    for line in text.splitlines():
        words = [w.strip() for w in line.split(",")]
        if len(words) == len(FIELDS) + 1 and words[0].isdigit() and number(words[1]) is not None:
            found.setdefault(int(words[0]), []).append((*map(number, words[1:-1]), words[-1]))
    return found


def median(values):
    values = sorted(v for v in values if v is not None)
    return values[len(values) // 2] if values else None


def rows(text):
    """One row for each device."""
    said = []
    for index, samples in sorted(parse(text).items()):
        sm, memory, power, degrees, busy, reasons = zip(*samples)
        said.append({"side": f"device{index}", "metric": "clock", "value": median(sm), "unit": "MHz", "n": len(sm), "lowest": min(sm),
                     "highest": max(sm), "memory_mhz": median(memory), "power_w": median(power), "degrees": median(degrees),
                     "busy": median(busy), "reasons": sorted(set(reasons))})
    return said


class Clocks:
    """From its making to stop()."""

    def __init__(self, program="nvidia-smi"):
        for reasons in REASONS:
            why = self.begin(program, (*FIELDS, reasons))
            if not why:
                return
            if "not a valid field" not in why:
                break
        raise ClockError(f"{program}: {why}")

    def begin(self, program, fields):
        """@return "", or why there is nothing"""
        try:
            self.process = subprocess.Popen(
                [program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits", f"--loop-ms={PERIOD_MS}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as e:
            raise ClockError(f"{program} does not start: {e}")
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""
        if not select.select([self.process.stdout], [], [], FIRST_S)[0] or not parse(self.read()):
            self.process.kill()
            self.process.wait()
            why = self.read().strip().splitlines()
            return why[0] if why else f"no answer in {FIRST_S} s"
        self.text = ""      # that was before anybody worked
        return ""

    def read(self):
        """What has come so far."""
        while True:
            more = self.process.stdout.read()
            if not more:
                return self.text
            self.text += more.decode(errors="replace")

    def stop(self):
        """@return rows, one for each device"""
        self.read()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        return rows(self.text)
