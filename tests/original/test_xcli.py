# SPDX-License-Identifier: Apache-2.0
"""xcli and xserver as the original's documents call them."""
import os
import re
import signal
import subprocess
import unittest

from original import BIN, LIB, Original, programs

SUBCOMMANDS = ("list", "top", "config", "policy", "hint")


class Xcli(Original):
    def setUp(self):
        super().setUp()
        self.serve()
        self.program = self.start(programs("cuda", 60)["opens"],
                                  self.export("cuda", LD_PRELOAD=f"{LIB}/libshimcuda.so", XSCHED_SCHEDULER="GLB",
                                              XSCHED_AUTO_XQUEUE="ON"))
        self.x = self.queue(self.program)

    def now(self, name):
        return self.queue(self.program)[name]

    def becomes(self, name, value):
        self.wait_for(lambda: self.now(name) == value, f"{name} is {value}")

    def right(self, *args):
        done = self.xcli(*args)
        self.assertEqual(done.returncode, 0, (args, done.stdout, done.stderr))
        return done.stdout

    def test_help(self):
        for command in ((), *((c,) for c in SUBCOMMANDS)):
            for option in ("-h", "--help"):
                self.assertIn("Usage: xcli", self.right(*command, option))

    def test_handles(self):
        """Hexadecimal as `top` shows them, decimal as /xqueues gives them."""
        handle = self.x["handle"]
        for n, text in enumerate((f"0x{handle:x}", str(handle), f"0x{handle:X}"), 2):
            self.right("hint", "-x", text, "-p", str(n))
            self.becomes("priority", n)
        for text in ("0", "x", "12 ", ""):
            done = self.xcli("hint", "-x", text, "-p", "2")
            self.assertNotEqual(done.returncode, 0)

    def test_hint(self):
        self.right("hint", "-x", hex(self.x["handle"]), "--priority", "10")
        self.becomes("priority", 10)
        self.right("hint", "--pid", str(self.program.pid), "-p", "7")
        self.becomes("priority", 7)
        self.right("hint", "-x", hex(self.x["handle"]), "--utilization", "40")
        self.becomes("utilization", 40)
        self.right("hint", "--pid", str(self.program.pid), "-u", "50")
        for option in ("-t", "--timeslice"):
            self.assertIn("2000", self.right("hint", option, "2000"))
        self.assertNotEqual(self.xcli("hint").returncode, 0)

    def test_config(self):
        x = hex(self.x["handle"])
        self.right("config", "-x", x, "-l", "1", "-t", "16", "-b", "8")
        self.becomes("threshold", 16)
        self.right("config", "--xqueue", str(self.x["handle"]), "--level", "1", "--threshold", "12", "--batch-size", "3")
        self.becomes("threshold", 12)
        self.becomes("batch_size", 3)

    def test_policy(self):
        self.assertTrue(self.right("policy", "-q").startswith("Current policy:"))
        self.right("policy", "-s", "-n", "CFS")
        self.assertIn("Current policy:\n  CFS\n", self.right("policy", "--query").replace(" \n", "\n"))
        self.right("policy", "--set", "--name", "HPF")
        bare = self.xcli("policy")
        self.assertEqual((bare.returncode, "Current policy:" in bare.stdout), (0, True))

    def test_list_in_the_originals_columns(self):
        lines = self.right("list", "--format=original").splitlines()
        self.assertEqual(lines[1].strip("\u2502").split(), ["PID", "DEV", "XQUEUE", "STAT", "SCHED", "LV", "CMD"])
        row = lines[2].strip("\u2502").split()
        self.assertEqual(row[0], str(self.program.pid))
        self.assertRegex(row[1], r"^GPU\(0x2[0-9a-f]{8}\)$")
        self.assertEqual(int(row[2], 16), self.x["handle"])
        self.assertIn(row[3], ("RDY", "BLK"))
        self.assertIn(row[4], ("RUN", "SUS"))
        self.assertEqual(row[5], str(self.x["level"]))
        self.assertEqual(row[6], self.program.args[0])
        self.assertEqual({len(line) for line in lines}, {len(lines[0])}, lines)

    def test_top(self):
        """It runs until it is ended; a row of the program is in it."""
        for option in ("-f", "--frequency"):
            with subprocess.Popen([os.path.join(BIN, "xcli"), "-p", str(self.port), "top", option, "10"], env=self.env,
                                  stdout=subprocess.PIPE, text=True) as top:
                for line in top.stdout:
                    if str(self.program.pid) in line:
                        break
                top.send_signal(signal.SIGINT)
                self.assertIn(top.wait(10), (0, -signal.SIGINT))

    def test_address(self):
        done = subprocess.run([os.path.join(BIN, "xcli"), "-a", "127.0.0.1", "--port", str(self.port), "list"], env=self.env,
                              capture_output=True, text=True, check=True)
        self.assertIn(str(self.program.pid), done.stdout)


class Xserver(Original):
    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            self.serve()
            self.server.send_signal(number)
            self.assertEqual(self.server.wait(10), 0, number)
            self.server.communicate()
            self.server = None

    def test_wrong_arguments(self):
        for args in (("HPF", "50000", "x"), ("NONE", str(self.port)), ("HPF", "x")):
            done = subprocess.run([os.path.join(BIN, "xserver"), *args], env=self.env, capture_output=True, text=True,
                                  timeout=20, check=False)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertTrue(re.search("xserver", done.stderr + done.stdout), args)


if __name__ == "__main__":
    unittest.main()
