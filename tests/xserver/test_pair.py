#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""xserver and xsched-http: what happens to the one is nothing to the other, and to programs."""
import json
import os
import signal
import socket
import subprocess
import time
import unittest
import urllib.error

from stage import BUILD, PATIENCE, Stage, until

GPU = "200003b00"


def children(pid):
    """[(PID, name)] of a process, whichever of its threads started them."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
            found += [int(n) for n in f.read().split()]
    return found


class Pair(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def http(self):
        found = children(self.stage.server.pid)
        return found[0] if len(found) == 1 else None

    def joined(self):
        return len(json.loads(self.stage.get("/xqueues").read())["processes"])

    def test_killed(self):
        """It comes back by itself, and requests of meanwhile are answered; nothing of xserver's is lost."""
        program = self.stage.actor("online-service")
        program.tell(f"queue 0 {GPU} 1")
        before = self.http()
        self.assertIsNotNone(before)
        self.assertEqual(self.joined(), 1)
        os.kill(before, signal.SIGKILL)
        begin = time.monotonic()
        self.assertEqual(self.joined(), 1)         # waits in the kernel until the next one is there
        self.assertLess(time.monotonic() - begin, 5)
        self.assertNotIn(self.http(), (None, before))
        program.leave()

    def test_stands_still(self):
        """xserver joins programs, and ends when it should."""
        http = self.http()
        os.kill(http, signal.SIGSTOP)
        program = self.stage.actor("online-service")
        program.tell(f"queue 0 {GPU} 1")           # answers when xserver has it
        self.stage.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.stage.server.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(f"/proc/{http}"))
        program.leave()
        self.stage.start()

    def test_xserver_killed(self):
        """It goes with its xserver, and the port is free for the next one at once."""
        http, port = self.http(), self.stage.port
        self.stage.server.send_signal(signal.SIGKILL)
        self.stage.server.wait()
        self.stage.arguments = ("--port", str(port))
        self.stage.start()
        self.assertEqual(self.stage.port, port)
        until(lambda: not os.path.exists(f"/proc/{http}"), "the end of the old one")

    def test_reader_that_does_not_read(self):
        """A browser that takes no answer."""
        with socket.create_connection(("127.0.0.1", self.stage.port)) as s:
            for _ in range(200):
                s.sendall(b"GET /dygraph.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            program = self.stage.actor("online-service")
            program.tell(f"queue 0 {GPU} 1")
            self.assertEqual(self.joined(), 1)
            program.leave()

    def test_by_hand(self):
        """A second one, and one without an xserver: a line, and an end."""
        second = subprocess.run([f"{BUILD}/bin/xsched-http", "--socket", self.stage.socket], capture_output=True, text=True,
                                timeout=PATIENCE, check=False)
        self.assertEqual(second.returncode, 64)
        self.assertIn("xserver starts this program", second.stderr)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            lonely = subprocess.run([f"{BUILD}/bin/xsched-http", "--socket", f"{self.stage.folder}/none",
                                     f"--tcp-fd={listener.fileno()}"], pass_fds=[listener.fileno()], capture_output=True, text=True,
                                    timeout=PATIENCE, check=False)
        self.assertEqual(lonely.returncode, 1)
        self.assertIn("xserver does not answer", lonely.stderr)

    def test_no_right(self):
        """Who may not ask for others has no HTTP to give: an ordinary user's own one refuses to begin."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.stage.folder, 0o755)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            done = subprocess.run([f"{BUILD}/bin/xsched-http", "--socket", self.stage.socket, f"--tcp-fd={listener.fileno()}"],
                                  pass_fds=[listener.fileno()], capture_output=True, text=True, timeout=PATIENCE, check=False,
                                  user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 1)
        self.assertIn("xserver refused (403)", done.stderr)
        with self.assertRaises(urllib.error.HTTPError):
            self.stage.get("/nothing")


if __name__ == "__main__":
    unittest.main()
