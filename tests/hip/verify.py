#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/verify_hip as far as it goes without a GPU, on the fake runtime; and with a shim that sees nothing, which it
must find: verify.py BUILD FAKE WRONG_SHIM"""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu", "verify_hip")


def main(build, fake, wrong):
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        def verify(name, root, parts, **extra):
            out = os.path.join(folder, name)
            env = dict({k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))},
                       HIP_COPIES_BYTES="65536", HIP_COPIES_CALLS="200", XDG_RUNTIME_DIR=folder, **extra)
            r = subprocess.run([sys.executable, SCRIPT, "--root", root, "--out", out, "--runtime", fake, "--seconds", "0.5",
                                "--python", "/usr/bin/python3", *parts], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, timeout=200, check=False)
            with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
                return r.returncode, json.load(f), r.stdout

        def expect(what, got, want):
            if got != want:
                bad.append(f"{what}: got {got}, want {want}")

        gpu = any(os.path.exists(f"/sys/class/kfd/kfd/topology/nodes/{n}/properties") for n in range(1, 9))
        code, report, said = verify("ours", build, ["system", "doctor", "probe", "copies", "operations", "order"], HIP_TEST_GROUPS="runtime")
        expect("status", code, 0 if gpu else 3)
        expect("nothing failed", report["failed"], 0)
        expect("the version is there", report["system"]["xsched"].split()[0], "xsched")
        expect("levels were probed", [(d["device"], d["level"] in (1, 2)) for d in report["probe"]], [(0, True), (1, True)])
        with tarfile.open(os.path.join(folder, "ours.tar.gz")) as tar:
            inside = {os.path.basename(name) for name in tar.getnames()}
        expect("one file has all", {"report.txt", "report.json", "copies-native.txt", "order-low-level-3.txt", "probe.txt", "operations.tsv"} - inside, set())
        rows = report["operations"]["rows"]         # title, code, sum, and what it gave in each mode
        works = [r for r in rows if r[1] == "0"]
        expect("operations work, and are the same in each mode", (len(works) > 40, [r for r in works if set(r[3:]) != {"="}]), (True, []))
        lacks = [r[0] for r in rows if r[1] != "0"]
        expect("what does not work without XSched is named", [t for t in lacks if t not in said], [])
        expect("a level that the device lacks is named", "left out order, level 3: " in said, True)
        variants = {k: v for k, v in report["copies"].items() if k != "trace"}
        expect("variants", len(variants), 5)
        for name, v in variants.items():
            expect(name, (v["right"], len(v["results"])), (True, 5))
        trace = report["copies"]["trace"]
        expect("every fill is scheduled", (trace["fills"], trace["scheduled"]), (5 * 239, 5 * 239))
        expect("order", {k: len(v) for k, v in report["order"].items()}, {"alone": 1, "native": 2, "level 1": 2, "level 2": 1, "level 3": 1})
        expect("order: all ran", [f["status"] for v in report["order"].values() for f in v], [0] * 7)
        expect("xserver is asked for its counts", ["offs" in v["level3"] for k in ("level 2", "level 3") for v in report["order"][k]], [True] * 2)
        if bad:
            print(said)
        # an object that the user preloads stays where a shim comes before it
        shim = os.path.join(build, "lib", "xsched", "libshimhip.so")
        verify("preloads", build, ["copies"], LD_PRELOAD=f"{wrong}:{shim}")
        for step, want in (("native", wrong), ("shim", f"{shim}:{wrong}")):
            with open(os.path.join(folder, "preloads", f"copies-{step}.txt"), encoding="utf-8") as f:
                expect(f"preloaded, {step}", f.read().splitlines()[1], "preloaded " + want)
        code, report, said = verify("nothing", build, ["copies"], FAKE_HIP="no_device")
        expect("no device is no failure", (report["failed"], "finds no device" in said), (0, True))
        root = os.path.join(folder, "root")
        os.makedirs(os.path.join(root, "lib", "xsched"))
        os.symlink(os.path.join(build, "bin"), os.path.join(root, "bin"))
        shutil.copy(wrong, os.path.join(root, "lib", "xsched", "libshimhip.so"))
        code, report, said = verify("wrong", root, ["copies"])
        expect("a shim that sees nothing is found", (code, report["failed"]), (1, 1))
        # which step failed, and how
        code, report, said = verify("broken", build, ["copies"], FAKE_HIP="lost")
        expect("a step that fails is named", "the step was copies-native.txt" in said, True)
        others = os.path.join(folder, "others")
        os.makedirs(others)
        with open(os.path.join(others, "mine.txt"), "w", encoding="ascii") as f:
            f.write("mine")
        r = subprocess.run([sys.executable, SCRIPT, "--root", build, "--out", others, "system"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        expect("a folder with other files is left alone", (r.returncode, os.listdir(others)), (1, ["mine.txt"]))
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
