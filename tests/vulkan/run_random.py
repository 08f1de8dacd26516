#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs with the layer and without: run_random.py PROGRAM SHIMS SEED PROGRAMS

The program judges what comes out; here its hash must be the same natively, with nobody scheduling, and with a policy in the
process at levels 1 and 2, some of them under the validation layer, where one is.
"""
import subprocess
import sys

import lib


def main(program, shims, seed, programs):
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    auto = {"XSCHED_AUTO_XQUEUE": "ON"}
    ways = {"native": lib.plain(), "app": lib.layered(shims, **auto, XSCHED_SCHEDULER="APP"),
            "hpf": lib.layered(shims, **auto, XSCHED_POLICY="HPF"),
            "gates": lib.layered(shims, **auto, XSCHED_POLICY="HPF", XSCHED_AUTO_XQUEUE_LEVEL="2")}
    said = {}
    for way, env in ways.items():
        r = subprocess.run([program, seed, programs], env=env, capture_output=True, text=True, timeout=3000)
        said[way] = (r.returncode, r.stdout)
    few = str(min(20, int(programs)))
    for way, layers in (("checked", lib.VALIDATION), ("checked, with ours", f"{lib.VALIDATION}:{lib.NAME}"),
                        ("checked under ours", f"{lib.NAME}:{lib.VALIDATION}")):
        level = {"XSCHED_AUTO_XQUEUE_LEVEL": "2"} if way == "checked under ours" else {}
        env = lib.layered(shims, layers, **auto, XSCHED_POLICY="HPF", **level)
        r = subprocess.run([program, seed, few], env=env, capture_output=True, text=True, timeout=300)
        said[way] = (r.returncode, "".join(lib.judged(r.stdout.splitlines(True))))
    bad = len({said[w] for w in ways}) != 1 or len({said[w] for w in said if w.startswith("checked")}) != 1
    bad |= any(code for code, _ in said.values()) or any("Validation" in text for _, text in said.values())
    print(said if bad else said["native"][1].strip())
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
