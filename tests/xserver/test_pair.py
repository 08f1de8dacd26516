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
OTHER_BUILD = f"{BUILD}/tests/xserver/server_other_build"

# Asks for metrics again and again; says the first answer that is another than 200.
FLOOD = """
import socket, sys
said = False
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s, s.makefile("rb") as answer:
        s.sendall(b"GET /metrics HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
        head, _, body = answer.read().decode().partition("\\r\\n\\r\\n")
        if not said and not head.startswith("HTTP/1.1 200 "):
            print(head.splitlines()[0], body.strip(), sep="\\n", flush=True)
            said = True
"""


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

    def test_slow(self):
        """Its request waits, and is answered. Programs, and who asks xserver itself, do not wait."""
        http, begin = self.http(), time.monotonic()
        os.kill(http, signal.SIGSTOP)
        with socket.create_connection(("127.0.0.1", self.stage.port), timeout=PATIENCE) as s:
            s.sendall(b"GET /policy HTTP/1.1\r\nHost: localhost\r\n\r\n")
            program = self.stage.actor("online-service")
            program.tell(f"queue 0 {GPU} 1")
            self.assertIn("online-service", self.stage.xcli("list").stdout)
            self.assertLess(time.monotonic() - begin, 2)
            os.kill(http, signal.SIGCONT)
            self.assertEqual(s.recv(12), b"HTTP/1.1 200")
        program.leave()

    def test_flooded(self):
        """One user's requests without end are refused with a line, and nobody else notices them."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.stage.folder, 0o755)
        with subprocess.Popen(["/usr/bin/python3", "-c", FLOOD, str(self.stage.port)], stdout=subprocess.PIPE, text=True, user=65534,
                              group=65534, extra_groups=[]) as flood:
            self.assertEqual(flood.stdout.readline(), "HTTP/1.1 429 Too Many Requests\n")
            self.assertIn("too many requests of this user: try again in", json.loads(flood.stdout.readline())["error"])
            begin = time.monotonic()
            program = self.stage.actor("online-service")
            program.tell(f"queue 0 {GPU} 1")
            self.assertIn("online-service", self.stage.xcli("list").stdout)
            self.assertEqual(self.joined(), 1)
            self.assertLess(time.monotonic() - begin, 2)
            flood.kill()
            program.leave()

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
        self.assertIn("xserver or a systemd unit starts this program, and gives it its sockets", second.stderr)
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
        for mode, text in ((0o700, "xserver does not answer: Permission denied"), (0o755, "xserver refused (403)")):
            os.chmod(self.stage.folder, mode)
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                listener.listen()
                done = subprocess.run([f"{BUILD}/bin/xsched-http", "--socket", self.stage.socket, f"--tcp-fd={listener.fileno()}"],
                                      pass_fds=[listener.fileno()], capture_output=True, text=True, timeout=PATIENCE, check=False,
                                      user=65534, group=65534, extra_groups=[])
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        with self.assertRaises(urllib.error.HTTPError):
            self.stage.get("/nothing")


class Unit(unittest.TestCase):
    """xsched-http by a unit of systemd, which gives it the sockets; xserver starts none."""
    def setUp(self):
        self.stage = Stage("--http-unit=ON", wait_for_http=False)
        self.addCleanup(self.stage.close)
        self.path = os.path.join(self.stage.folder, "http.sock")
        self.tcp, self.unix = socket.socket(), socket.socket(socket.AF_UNIX)
        self.tcp.bind(("127.0.0.1", 0))
        self.unix.bind(self.path)
        for s in (self.tcp, self.unix):
            s.listen()
            self.addCleanup(s.close)
        self.stage.port = self.tcp.getsockname()[1]

    def begin(self, *sockets, count=None):
        """In a shell that becomes it, since its process number must be in its environment."""
        numbers = " ".join(f"{i + 3}<&{s.fileno()}" for i, s in enumerate(sockets))
        return subprocess.Popen(["bash", "-c", f'exec {numbers}; LISTEN_PID=$$ LISTEN_FDS={len(sockets) if count is None else count} '
                                 f'exec "$0" --socket "$1"', f"{BUILD}/bin/xsched-http", self.stage.socket],
                                pass_fds=[s.fileno() for s in sockets], stderr=subprocess.PIPE, text=True)

    def test_both_sockets(self):
        self.assertEqual(children(self.stage.server.pid), [])
        with self.begin(self.tcp, self.unix) as http:
            self.assertEqual(json.load(self.stage.get("/policy"))["name"], "HPF")
            self.assertEqual(self.stage.post("/policy?policy=10")[0], 200)
            self.assertEqual(json.load(self.stage.get("/policy"))["policy"], 10)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.stage.get("/policy?policy=1", data=b"")
            self.assertIn(self.path, json.load(refused.exception)["error"])
            refused.exception.close()
            # xserver comes and goes; the same process asks the next one
            self.stage.server.send_signal(signal.SIGKILL)
            self.stage.server.wait()
            self.stage.arguments = ("--http-unit=ON", "--policy=CFS")
            self.stage.begin()
            self.assertEqual(json.load(self.stage.get("/policy"))["name"], "CFS")
            http.terminate()
            self.assertEqual(http.wait(PATIENCE), 0)

    def test_two(self):
        """Each with sockets of its own: both answer, and the end of one is nothing to the other."""
        second = socket.socket()
        second.bind(("127.0.0.1", 0))
        second.listen()
        with second, self.begin(self.tcp) as first_http, self.begin(second) as second_http:
            ports = self.stage.port, second.getsockname()[1]
            for self.stage.port in ports:
                self.assertEqual(json.load(self.stage.get("/policy"))["name"], "HPF")
            first_http.kill()
            first_http.wait()
            self.assertEqual(json.load(self.stage.get("/policy"))["name"], "HPF")
            second_http.terminate()
            self.assertEqual(second_http.wait(PATIENCE), 0)

    def test_another_build(self):
        """The xserver that comes is of another build: a status and a line, until xsched-http is of that one, too."""
        with self.begin(self.tcp) as http:
            self.assertEqual(json.load(self.stage.get("/policy"))["name"], "HPF")
            self.stage.server.send_signal(signal.SIGKILL)
            self.stage.server.wait()
            self.stage.begin(OTHER_BUILD)
            program = self.stage.actor("online-service")
            program.tell(f"queue 0 {GPU} 1")
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.stage.get("/policy")
            self.assertEqual(refused.exception.code, 503)
            self.assertIn("and who asks is another build", json.load(refused.exception)["error"])
            refused.exception.close()
            with self.begin(self.tcp) as late:
                self.assertIn("xserver refused (503): this xserver is XSched", late.communicate(timeout=PATIENCE)[1])
                self.assertEqual(late.returncode, 1)
            http.terminate()
            self.assertEqual(http.wait(PATIENCE), 0)
            program.leave()

    def test_http_off(self):
        self.stage.server.terminate()
        self.stage.server.wait()
        self.stage.arguments = ("--http-unit=ON", "--http=OFF")
        self.stage.begin()
        with self.begin(self.tcp) as http:
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.stage.get("/")
            self.assertEqual((refused.exception.code, json.load(refused.exception)),
                             (503, {"error": "xserver's configuration has http = OFF; xcli needs no HTTP"}))
            refused.exception.close()
            http.terminate()

    def test_other_descriptors(self):
        anywhere, not_one = socket.socket(), socket.socket(socket.AF_UNIX)
        anywhere.bind(("0.0.0.0", 0))
        anywhere.listen()
        for sockets, text in (((), "xserver or a systemd unit starts this program"), ((anywhere,), "on another address than 127.0.0.1"),
                              ((self.tcp, self.tcp), "more than one socket"), ((not_one,), "something else than listening")):
            with self.begin(*sockets) as http:
                said = http.communicate(timeout=PATIENCE)[1]
                self.assertEqual(http.returncode, 64)
                self.assertIn(text, said)
        anywhere.close()
        not_one.close()


if __name__ == "__main__":
    unittest.main()
