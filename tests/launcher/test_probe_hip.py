# SPDX-License-Identifier: Apache-2.0
"""The probe of AMD GPUs on the fake runtime and the fake kernel driver, what `xsched doctor --probe` keeps of it, and what
`xsched run` makes of that."""
import json
import os
import shutil
import subprocess
import unittest

from layout import BUILD, Layout

FAKE = os.environ["FAKE_HIP_LIBRARY"]
KFD = os.environ["FAKE_KFD_LIBRARY"]


def in_time(probe):
    """-> what probe() finds; a machine that has much else to do may let the work end before the probe comes to it."""
    for _ in range(5):
        found = probe()
        if "the work was over before the probe stopped it" not in [d[k] for d in found for k in ("queues", "masks")]:
            break
    return found


class ProbeHip(Layout):
    def setUp(self):
        super().setUp()
        self.program = shutil.copy2(os.path.join(BUILD, "bin", "xsched-probe-hip"), self.bin)
        self.env["XDG_CACHE_HOME"] = self.top
        self.env["XSCHED_HIP_LIB"] = FAKE
        self.kept = os.path.join(self.top, "xsched", "hip-levels")

    def probe(self, dear_us="1000000", **env):
        done = subprocess.run([self.program, dear_us], env={**self.env, **env}, stdout=subprocess.PIPE, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_levels(self):
        for env, level, gates, queues in (
                ({"LD_PRELOAD": KFD}, 3, "work", "work"),
                ({}, 2, "work", "the program has not called the kernel driver yet"),
                ({"LD_PRELOAD": KFD, "FAKE_KFD": "ghost"}, 2, "work", "work goes on although its queues are off"),
                ({"LD_PRELOAD": KFD, "FAKE_KFD": "deny"}, 2, "work", "the driver does not let XSched change queues"),
                ({"LD_PRELOAD": KFD, "FAKE_KFD": "version2"}, 2, "work",
                 "XSched does not know this version of the kernel driver's interface"),
                ({"FAKE_HIP": "no_writes"}, 1, "the device does not write into memory of the host",
                 "the device does not write into memory of the host")):
            found = in_time(lambda env=env: self.probe(**env))
            self.assertEqual([(d["level"], d["gates"], d["queues"]) for d in found], [(level, gates, queues)] * 2, env)
            self.assertEqual([d["uuid"] for d in found], ["0000:c3:00.0", "0000:c4:00.0"])

    def test_masks(self):
        for fault, masks in (
                ({}, "work"),
                ({"FAKE_KFD": "ghost_masks"}, "work is as fast on a part of the device as on all of it"),
                ({"FAKE_KFD": "no_masks"}, "the driver does not let XSched mask compute units"),
                ({"FAKE_KFD": "spins"}, "no work ends on a part of the device"),
                ({"FAKE_KFD_SHAPE": "90402 8 33 1 304"}, "the kernel's numbers of the device's compute units do not fit together")):
            found = in_time(lambda fault=fault: self.probe(LD_PRELOAD=KFD, **fault))
            self.assertEqual([(d["level"], d["queues"], d["masks"]) for d in found], [(3, "work", masks)] * 2, fault)

    def share(self, **env):
        done = self.xsched("run", "--share=space", "--no-server", "--", "env", env={**self.env, **env})
        self.assertEqual(done.returncode, 0)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)["XSCHED_SHARE"], done.stderr

    @unittest.skipIf(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/kfd"), "there is a real driver")
    def test_space(self):
        self.assertEqual(self.share(LD_PRELOAD=KFD), ("SPACE", ""))
        share, said = self.share(LD_PRELOAD=KFD, FAKE_KFD="closed")
        self.assertEqual((share, said.count("the program shares in time")), ("TIME", 1))
        self.assertIn("/dev/kfd: Permission denied", said)
        self.assertEqual(self.share()[0], "TIME")     # no driver at all

    def test_dear_gates(self):
        for d in self.probe(dear_us="0"):
            self.assertEqual((d["level"], d["gates"]), (1, f"a wait takes {d['gate_ns'] // 1000} us"))

    def test_what_the_user_preloads(self):
        shim = os.path.join(BUILD, "lib", "xsched", "libshimhip.so")
        for preload in (f"{shim}:{KFD}", f"{KFD} {shim}", KFD):
            found = in_time(lambda preload=preload: json.loads(self.xsched("doctor", "--json", "--probe",
                                                                           env={"LD_PRELOAD": preload}).stdout)["probe"])
            self.assertEqual([d["queues"] for d in found], ["work"] * 2, preload)

    def test_what_is_kept(self):
        level = lambda *a: self.environment("--no-server", "-q", *a).get("XSCHED_HIP_LEVEL")
        self.assertIsNone(level())
        done = self.xsched("doctor", "--json", "--probe")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = [d["level"] for d in json.loads(done.stdout)["probe"]]
        self.assertEqual(len(found), 2)
        self.assertLessEqual(set(found), {1, 2})   # a busy machine makes gates dear
        with open(self.kept, encoding="ascii") as f:
            driver = {line.split()[0] for line in f}
        self.assertEqual(len(driver), 1)
        if not os.path.exists("/sys/module/amdgpu"):
            self.assertEqual(level(), str(min(found)))
        self.assertIsNone(level("--level", "1"))


if __name__ == "__main__":
    unittest.main()
