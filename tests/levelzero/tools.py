#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools on a Level Zero program of the fake device: doctor of the machine and of the program, trace, record, xcli list with
a limit of memory: tools.py TWO_PROGRAMS MEMORY DRIVER BIN"""
import json
import os
import subprocess
import sys
import tempfile
import time

import lib
import own_network

US = 2000


class Tools:
    def __init__(self, folder, driver, socket, bin_folder):
        self.env = lib.plain(driver, FAKE_ZE_DEVICE=os.path.join(folder, "device"), XSCHED_SOCKET=socket)
        self.bin = bin_folder

    def say(self, *command, check=0):
        r = subprocess.run([f"{self.bin}/{command[0]}", *command[1:]], env=self.env, capture_output=True, text=True, timeout=120,
                           stdin=subprocess.DEVNULL, check=False)
        assert check is None or r.returncode == check, (command, r)
        return r.stdout

    def run(self, *command, launcher=()):
        return subprocess.Popen([*launcher, *command], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                bufsize=1)


def begin(p):
    p.stdout.readline()
    p.stdin.write("go\n")
    p.stdin.flush()
    p.stdout.readline()   # its first completion
    return p


def end(p):
    p.communicate()
    assert p.returncode == 0, p


def until(condition, what):
    limit = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < limit, what
        time.sleep(0.05)
    return value


def doctor_of_the_machine(t):
    """The loader alone is no device."""
    def level_zero(env):
        r = subprocess.run([f"{t.bin}/xsched", "doctor", "--json"], env=env, capture_output=True, text=True, timeout=120, check=False)
        said = json.loads(r.stdout)
        return next(v for v in said["vendor libraries"] if v["platform"] == "LevelZero"), said["verdict"]
    library, verdict = level_zero(t.env)
    assert library["devices"] == 1 and "LevelZero" in verdict, (library, verdict)
    library, verdict = level_zero({k: v for k, v in t.env.items() if k != "LD_LIBRARY_PATH"})
    assert library["found"] and library["devices"] == 0 and "LevelZero" not in verdict, (library, verdict)


def doctor_of_programs(t, program):
    run = [f"{t.bin}/xsched", "run", "-q", "-p", "5", "--"]
    scheduled = begin(t.run(program, "loop", str(US), launcher=run))
    plain = begin(t.run(program, "loop", str(US)))
    off = begin(t.run(program, "loop", str(US), launcher=["env", "XSCHED_DISABLE=1", *run]))
    said = t.say("xsched", "doctor", str(scheduled.pid))
    assert said.startswith(f"PID {scheduled.pid}: scheduled, priority 5, level 1, ") and "note" not in said and "unseen" not in said, said
    said = t.say("xsched", "doctor", str(plain.pid), check=1)
    assert "not scheduled" in said and "not_preloaded" in said, said
    said = t.say("xsched", "doctor", str(off.pid), check=1)
    assert "not scheduled" in said and "disabled" in said, said
    for p in (scheduled, plain, off):
        end(p)


def trace(t, program):
    """What goes to the queue is scheduled; a command list is no queue."""
    n = 12
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as summary:
        p = t.run(program, "bursts", str(US), str(n), "1", launcher=[f"{t.bin}/xsched", "trace", "-s", summary.name, "--"])
        p.communicate("go\n")
        assert p.returncode == 0, p
        text = summary.read()
    assert f"processes: 1, queues: 1, scheduled commands: {n}\n" in text, text
    rows = {row.split()[0]: row.split() for row in text.splitlines() if row.startswith("ze")}
    assert rows["zeCommandQueueExecuteCommandLists"][1:3] == [str(n), str(n)], text
    assert rows["zeCommandQueueSynchronize"][3] == "1", text


def record(t, program):
    # the other one first: beside the urgent one, which never pauses, nothing of it need complete
    other, urgent = (begin(t.run(program, "loop", str(US), launcher=[f"{t.bin}/xsched", "run", "-q", "-p", p, "--"]))
                     for p in ("1", "9"))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace.json")
        t.say("xsched", "record", "--for", "1s", "-o", file)
        with open(file, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
    names = [e["args"]["name"] for e in events if e.get("name") in ("process_name", "thread_name")]
    assert any("GPU" in n for n in names), names
    states = {e["name"] for e in events if e["ph"] == "X"}
    assert "run" in states and any(str(urgent.pid) in s for s in states), states
    assert any(str(other.pid) in str(e) for e in events), events
    for p in (urgent, other):
        end(p)


def memory(t, program):
    p = t.run(program, "hold", launcher=[f"{t.bin}/xsched", "run", "-q", "--memory", "64M", "--"])
    assert p.stdout.readline().split() == ["64"], p
    c = until(lambda: [c for c in json.loads(t.say("xcli", "list", "--json"))["processes"] if c["pid"] == p.pid], "the program")[0]
    assert (c["memory_used_bytes"], c["memory_limit_bytes"]) == (64 << 20, 64 << 20), c
    assert "64.0/64.0M" in t.say("xcli", "list")
    end(p)


def main(program, memory_program, driver, bin_folder):
    with lib.xserver(f"{bin_folder}/xserver", "--http=ON", "--port=0", "HPF") as socket, tempfile.TemporaryDirectory() as folder:
        t = Tools(folder, driver, socket, bin_folder)
        doctor_of_the_machine(t)
        doctor_of_programs(t, program)
        trace(t, program)
        record(t, program)
        memory(t, memory_program)
    print("doctor, trace, record and memory as they should be")
    return 0


if __name__ == "__main__":
    own_network.enter()
    sys.exit(main(*sys.argv[1:]))
