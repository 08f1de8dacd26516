# SPDX-License-Identifier: Apache-2.0
"""xsched doctor --probe on the fake CUDA driver, what it keeps, and what `xsched run` makes of it."""
import json
import os
import shutil
import stat
import time
import unittest

from layout import BUILD, Layout

FAKE = os.environ["FAKE_CUDA_FOLDER"]


class Probe(Layout):
    def setUp(self):
        super().setUp()
        shutil.copy2(os.path.join(BUILD, "bin", "xsched-probe-cuda"), self.bin)
        self.env["XDG_CACHE_HOME"] = os.path.join(self.top, "cache", "deep")
        self.env["XSCHED_CUDA_LIB"] = os.path.join(FAKE, "libcuda.so.1")
        os.mkdir(os.path.join(self.top, "cache"))
        self.kept = os.path.join(self.env["XDG_CACHE_HOME"], "xsched", "cuda-levels")

    def probe(self, fault="", *args):
        done = self.xsched("doctor", "--json", *(args or ("--probe",)), env={"FAKE_CUDA": fault})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def level(self, *args, env=None):
        return self.environment("--no-server", "-q", *args, env=env).get("XSCHED_CUDA_LEVEL")

    def test_answers(self):
        self.assertIsNone(self.level())
        for fault, level in (("", 2), ("no_memory_ops", 1), ("no_register", 1)):
            found = self.probe(fault)
            self.assertEqual([d["level"] for d in found["probe"]], [level, level], found["probe"])
            self.assertEqual(found["probe"][0]["gates"] == "work", level == 2)
            self.assertNotEqual(found["probe"][0]["slices"], "work")
            with open(self.kept, encoding="ascii") as f:
                rows = [line.split() for line in f]
            self.assertEqual([r[1:] for r in rows], [[f"device-{i}", str(os.getuid()), str(level), "2"] for i in range(2)])
            self.assertEqual(stat.S_IMODE(os.stat(self.kept).st_mode) & 0o077, 0)
            self.assertEqual(self.level(), str(level))
        # what the user says comes first
        self.assertIsNone(self.level("--level", "1"))
        self.assertEqual(self.level("--level", "auto"), "1")
        self.assertEqual(self.level(env={"XSCHED_CUDA_LEVEL": "3"}), "3")

    def test_other_driver_user_or_nonsense(self):
        self.probe()
        with open(self.kept, encoding="ascii") as f:
            driver, uuid, uid, level, probe = f.readline().split()
        self.assertEqual(probe, "2")
        for row, want in (((driver, uuid, uid, "3", probe), "3"), ((driver + ".1", uuid, uid, level, probe), None),
                          ((driver, uuid, str(int(uid) + 1), level, probe), None), ((driver, uuid, uid, "7", probe), None),
                          ((driver, uuid, uid, "3"), None),             # of a probe that judged in another way
                          ((driver, uuid, uid, "3", "1"), None), ((driver, uuid, uid, "3", "3"), None),
                          ((driver, uuid, uid, "3", "x"), None), ((driver, uuid, uid, "3", probe, "more"), None),
                          ((driver, uuid, uid), None), (("x" * 5000, "\0"), None), ((), None)):
            with open(self.kept, "w", encoding="ascii") as f:
                f.write(" ".join(row) + "\n")
            self.assertEqual(self.level(), want, row)
        # the lowest of all devices
        with open(self.kept, "w", encoding="ascii") as f:
            f.write(f"{driver} a {uid} 3 {probe}\n{driver} b {uid} 2 {probe}\n")
        self.assertEqual(self.level(), "2")

    def test_hangs(self):
        self.probe()
        began = time.monotonic()
        found = self.probe("hangs", "--probe=1")
        self.assertLess(time.monotonic() - began, 40)
        self.assertIn("probe_failed", {p["cause"] for p in found["problems"]})
        self.assertEqual(found["probe"], [])
        self.assertEqual(self.level(), "2")     # what was known stays

    def test_no_driver(self):
        self.env["XSCHED_CUDA_LIB"] = "/nonexistent"
        found = self.probe()
        self.assertNotIn("probe_failed", {p["cause"] for p in found["problems"]})
        self.assertTrue(any("no CUDA driver" in h for h in found["hints"]))
        self.assertFalse(os.path.exists(self.kept))

    def test_arguments(self):
        for args in (("--probe=0",), ("--probe=x",), ("--probe", "1")):
            self.assertEqual(self.xsched("doctor", *args).returncode, 64, args)


if __name__ == "__main__":
    unittest.main()
