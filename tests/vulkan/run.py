#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite in one mode, compared with a plain run: run.py SUITE SHIMS MODE

MODE: quiet (no XQueue), app (XQueues, nobody schedules), hpf (a policy in the process, so that marks and bounds are in
force), gates (the same at level 2), filter (submissions are left alone), disable. With above and below it is as hpf, and with
gates_below as gates, with Khronos's validation layer over ours and under ours, which must find nothing: neither in what the program sees of us, nor in what we ask of the driver; a case
that is wrong on purpose must be found. The scheduled commands are counted twice, by libpreempt and in the trace, and must
agree.
"""
import os
import subprocess
import sys
import tempfile

import lib


def counts(path):
    """(submit lines, commands that libpreempt counted) of a trace"""
    lines = most = 0
    with open(path, encoding="ascii") as f:
        for line in f:
            field = line.split()
            if len(field) > 3 and field[3] == "submit":
                lines += 1
                most = max(most, int(field[-1]))
    return lines, most


def run(env, *command):
    r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
    return r.returncode, r.stdout.splitlines(), [e for e in r.stderr.splitlines() if "XSCHED" in e and "INFO" not in e]


def main(suite, shims, mode):
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    layers = {"above": f"{lib.VALIDATION}:{lib.NAME}", "below": f"{lib.NAME}:{lib.VALIDATION}",
              "gates_below": f"{lib.NAME}:{lib.VALIDATION}"}.get(mode, lib.NAME)
    extra = {} if mode in ("quiet", "disable") else {"XSCHED_AUTO_XQUEUE": "ON"}
    extra.update({"quiet": {}, "app": {"XSCHED_SCHEDULER": "APP"}, "filter": {"XSCHED_FILTER": "vkQueueSubmit*"},
                  "disable": {"XSCHED_DISABLE": "1", "XSCHED_POLICY": "HPF"}}.get(mode, {"XSCHED_POLICY": "HPF"}))
    if mode.startswith("gates"):
        extra["XSCHED_AUTO_XQUEUE_LEVEL"] = "2"
    if layers != lib.NAME:
        _, found, _ = run(lib.layered(shims, layers, **extra), suite, "invalid")
        if not any("Validation Error" in line for line in found):
            print("skipped: no validation layer (vulkan-validationlayers)")
            return 77
    code, plain, _ = run(lib.plain(), suite)
    if code or not plain:
        print(f"the plain run fails with {code}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        if mode != "quiet":
            extra["XSCHED_TRACE"] = trace
        code, ours, said = run(lib.layered(shims, layers, **extra), suite)
        if mode == "gates_below":
            ours = lib.judged(ours)
        if code or ours != plain or said:
            print(f"exit status {code}\n" + "\n".join(ours + said))
            return 1
        if mode in ("quiet", "disable"):
            return int(os.path.exists(trace))
        lines, counted = counts(trace)
    print(f"{lines} submit lines, {counted} counted")
    if mode == "filter":
        return int(lines != 0)
    return int(lines < 500 or lines != counted)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
