# SPDX-License-Identifier: Apache-2.0
"""A server that was started for a program stays until that program ends, also when it has not used its device yet."""
import os
import subprocess
import time
import unittest

from layout import Layout


class Idle(Layout):
    server = True

    def test_stays_for_a_program_that_has_not_joined(self):
        p = subprocess.Popen([os.path.join(self.bin, "xsched"), "run", "--idle-exit", "1", "--", "cat"],
                             env=self.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.servers():       # else the other one might start it, with its own idle time
            time.sleep(0.01)
        other = subprocess.Popen([os.path.join(self.bin, "xsched"), "run", "--", "true"], env=self.env,
                                 stderr=subprocess.DEVNULL)     # finds it, and is gone
        self.assertEqual(other.wait(), 0)
        time.sleep(3)
        self.assertEqual(len(self.servers()), 1)
        self.assertIsNone(p.poll())
        p.stdin.close()
        p.wait()
        end = time.monotonic() + 30
        while self.servers():
            self.assertLess(time.monotonic(), end, "the server stays for nobody")
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(verbosity=1)
