#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suite.c with XSched and without: run.py SUITE DRIVER SHIMS XSCHED

Every case gives what it gives natively: by each way, scheduled and not. Each command is handled once, by both ways at once as
well, so that the trace has as many submissions. Faults of the driver come back as they are. A program
in the background gets queues of the vendor's low priority.
"""
import os
import subprocess
import sys
import tempfile

import lib

AUTO = {"XSCHED_AUTO_XQUEUE": "ON"}
SCHEDULERS = {"quiet": {}, "app": dict(AUTO, XSCHED_SCHEDULER="APP"), "hpf": dict(AUTO, XSCHED_POLICY="HPF"),
              "background": dict(AUTO, XSCHED_POLICY="HPF", XSCHED_AUTO_XQUEUE_PRIORITY="-5"),
              "filter": dict(AUTO, XSCHED_POLICY="HPF", XSCHED_FILTER="zeCommandList*"),
              "disable": dict(AUTO, XSCHED_DISABLE="1")}
FAULTS = ("execute:3", "append:5", "append:12", "fence:1", "event:1", "list:2", "queue:1", "lost:9")


def run(env, *command):
    r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    return r.returncode, r.stdout, r.stderr


def trace(path):
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    return [w[2] for w in (line.split() for line in lines if not line.startswith("#")) if w[3] == "submit"]


def main(suite, driver, shims, xsched):
    bad = []
    native = run(lib.plain(driver), suite)
    if native[0]:
        print("natively:", *native)
        return 1
    for way in lib.WAYS:
        for name, scheduler in SCHEDULERS.items():
            got = run(lib.under(driver, shims, way, **scheduler), suite)
            if got != native[:2] + ("",):
                bad.append((way, name, got))
    with tempfile.TemporaryDirectory() as folder:
        submits = {}
        for way in lib.WAYS:
            path = os.path.join(folder, way)
            run(lib.under(driver, shims, way, XSCHED_TRACE=path, **SCHEDULERS["hpf"]), suite)
            submits[way] = sorted(trace(path))
        if not submits["proxy"] or any(s != submits["proxy"] for s in submits.values()):
            bad.append({way: len(s) for way, s in submits.items()})
        # threads that begin on one queue at once: each of the 4 times 50 commands is scheduled
        for way in lib.WAYS:
            path = os.path.join(folder, "threads " + way)
            run(lib.under(driver, shims, way, XSCHED_TRACE=path, **SCHEDULERS["hpf"]), suite, "threads")
            if len(trace(path)) != 200:
                bad.append(("threads", way, len(trace(path))))
        # the wrong variant: nothing takes part, and so nothing is seen
        if any(len(s) < 500 for s in submits.values()):
            bad.append("too few submissions were seen")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("hpf", "background"):
            path = os.path.join(folder, name)
            run(lib.under(driver, shims, "proxy", FAKE_ZE_SAID=path, **SCHEDULERS[name]), suite, "queue")
            with open(path, encoding="utf-8") as f:
                said = set(f.read().splitlines())
            if said != {f"queue priority {int(name == 'background')} mode 2"}:
                bad.append((name, said))
    for fault in FAULTS:
        case = "lost" if fault.startswith("lost") else "refused"
        want = run(lib.plain(driver, FAKE_ZE=fault), suite, case)
        for way in lib.WAYS:
            got = run(lib.under(driver, shims, way, FAKE_ZE=fault, **SCHEDULERS["hpf"]), suite, case)
            # a fence, event or list of ours may be the one that is refused: then the program has all of its own
            ours = got[0] == 0 and fault.partition(":")[0] in ("fence", "event", "list")
            if got[:2] != want[:2] and not ours:
                bad.append((way, fault, got, want))
    # the user's own drivers are those that he wants: one line, and no second device
    other = os.path.join(driver, "libze_intel_gpu.so.1")
    env = lib.under(driver, shims, "proxy", **SCHEDULERS["hpf"])
    env["ZE_ENABLE_ALT_DRIVERS"] = other + "," + env["ZE_ENABLE_ALT_DRIVERS"]
    got = run(env, suite)
    if got[:2] != native[:2] or got[2].count("names other drivers") != 1:
        bad.append(("others", got))
    # as `xsched run` names them: the one that is here, and once where it runs itself
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        launch = [xsched, "run", "-q", "--local-policy", "HPF", "--"]
        got = run(lib.plain(driver, XSCHED_TRACE=path), *launch, *launch, suite)
        if got != native[:2] + ("",) or sorted(trace(path)) != submits["proxy"]:
            bad.append(("xsched run", got))
    named = run(lib.plain(driver), *launch, *launch, "sh", "-c", "echo $ZE_ENABLE_ALT_DRIVERS")[1].strip()
    none = run(lib.plain(shims), *launch, "sh", "-c", "echo ${ZE_ENABLE_ALT_DRIVERS-unset}")[1].strip()
    if named != os.path.realpath(f"{shims}/libxsched-ze_intel_gpu.so") or (none != "unset" and "intel" not in none):
        bad.append(("names", named, none))
    # all four, three of which are not installed
    env = lib.under(driver, shims, "proxy", **SCHEDULERS["hpf"])
    env["ZE_ENABLE_ALT_DRIVERS"] = ",".join(f"{shims}/libxsched-ze_intel_{d}.so" for d in ("npu", "gpu", "vpu", "gpu_legacy1"))
    got = run(env, suite)
    if got != native[:2] + ("",):
        bad.append(("all four", got))
    # no driver at all
    with tempfile.TemporaryDirectory() as empty:
        want = run(lib.plain(empty), suite, "queue")
        got = run(lib.under(empty, shims, "both", **SCHEDULERS["hpf"]), suite, "queue")
        if got[:2] != want[:2] or want[0] == 0:
            bad.append(("no driver", got, want))
    for b in bad:
        print(b)
    print(f"{len(lib.WAYS) * len(SCHEDULERS)} runs, {len(FAULTS) * len(lib.WAYS)} with a fault, {len(bad)} differences")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
