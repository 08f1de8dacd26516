#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functional suite in one mode, compared with a plain run: run_suite.py SUITE SHIM MODE [PART]

MODE: preload, layer or both, each with -quiet (no XQueue), -app (XQueues, nobody schedules) or -hpf (a policy in the
process, so that marks and bounds are in force). The scheduled commands are counted twice, by libpreempt and in the
trace, and must agree. With -filter kernels are left alone, with -library all calls of the suite, with -disable
everything.
"""
import difflib
import os
import subprocess
import sys
import tempfile

TIME_LIMIT_S = 100


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


def run(suite, part, folder, **extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD", "OPENCL_LAYERS"))}
    env.update(POCL_CACHE_DIR=os.path.join(folder, "pocl"), **extra)
    r = subprocess.run([suite] + ([part] if part else []), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True, timeout=TIME_LIMIT_S)
    return r.returncode, r.stdout.splitlines(), [e for e in r.stderr.splitlines() if "XSCHED" in e]


def main(suite, shim, mode, part=None):
    where, how = mode.split("-")
    extra = {}
    if where in ("preload", "both"):
        extra["LD_PRELOAD"] = shim
    if where in ("layer", "both"):
        extra["OPENCL_LAYERS"] = shim
    if how != "quiet":
        extra["XSCHED_AUTO_XQUEUE"] = "ON"
    if how in ("hpf", "filter", "library", "disable"):
        extra["XSCHED_POLICY"] = "HPF"
    extra.update({"filter": {"XSCHED_FILTER": "clNothing, clEnqueueNDRange*,clFinish"},
                  "library": {"XSCHED_FILTER": "@" + os.path.basename(suite)},
                  "disable": {"XSCHED_DISABLE": "1"}}.get(how, {}))
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        code, plain, _ = run(suite, part, folder)
        if code != 0 or plain[-1:] != ["done"]:
            print("\n".join(plain), f"\nthe plain run fails with {code}")
            return 1
        if how != "quiet":
            extra["XSCHED_TRACE"] = trace
        code, ours, log = run(suite, part, folder, **extra)
        diff = list(difflib.unified_diff(plain, ours, "plain", mode, lineterm="", n=0))
        print("\n".join(diff + log))
        if code != 0 or diff or log:
            print(f"exit code {code}, {len(diff)} lines differ, {len(log)} log lines")
            return 1
        if how == "disable":
            return 1 if os.path.exists(trace) else 0
        if how != "quiet":
            submits, counted = counts(trace)
            print(f"{submits} submits in the trace, {counted} counted by libpreempt")
            if (submits == 0) != (how == "library") or submits != counted:
                return 1
            with open(trace, encoding="ascii") as f:
                text = f.read()
            if how == "filter" and ("clEnqueueNDRangeKernel submit" in text or "clFinish sync" in text):
                return 1
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
