#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools take and say: a policy that xserver loaded, devices by name, the page's address, the names of sockets."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

from stage import BUILD, Stage

FIFO = os.path.join(BUILD, "examples", "policy", "fifo.so")
GPU = "200003b00"    # 0000:3b:00.0


@unittest.skipIf(not os.path.exists(FIFO), "the example's policy is not built")
class LoadedPolicy(unittest.TestCase):
    def setUp(self):
        self.stage = Stage(FIFO)
        self.addCleanup(self.stage.close)

    def in_force(self):
        return self.stage.xcli("policy").stdout.split("\n")[1].strip()

    def test_listed_and_come_back_to(self):
        said = self.stage.xcli("policy").stdout
        self.assertEqual(self.in_force(), "FIFO")
        self.assertIn("\n  HPF   highest priority first\n", said)
        self.assertIn("\n  FIFO  first come, first served\n", said)
        self.stage.xcli("policy", "HPF")
        self.assertEqual(self.in_force(), "HPF")
        self.assertIn("\n  FIFO  first come, first served\n", self.stage.xcli("policy", "-q").stdout)
        self.assertEqual(self.stage.xcli("policy", "fifo").stdout, "Policy set to fifo\n")
        self.assertEqual(self.in_force(), "FIFO")
        self.stage.xcli("policy", "-s", "-n", "CFS")
        self.stage.xcli("policy", "-s", "-n", "FIFO")
        self.assertEqual(self.in_force(), "FIFO")

    def test_one_that_is_not_there(self):
        done = self.stage.xcli("policy", "LIFO", check=False)
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, r"^xcli policy: there is no policy 'LIFO': HPF .* FIFO\n$")

    def test_over_http(self):
        available = json.loads(self.stage.xcli("policy", "--json").stdout)["available"]
        self.assertEqual(available[-1], {"policy": 0, "name": "FIFO", "title": "first come, first served"})
        self.assertEqual(available[0]["policy"], 1)
        for name, status in (("CFS", 200), ("FIFO", 200), ("LIFO", 400), ("", 400), ("x" * 32, 400), ("0", 400)):
            self.assertEqual(self.stage.post(f"/policy?policy={name}")[0], status, name)

    def test_without_a_slash(self):
        """As users type it in the folder where they built it; the simulator takes it, too."""
        shutil.copy(FIFO, os.path.join(self.stage.folder, "mine.so"))
        for name in ("mine.so", "./mine.so"):
            done = subprocess.run([os.path.abspath(f"{BUILD}/bin/xsched-sim"), "-p", name, "-t", "0.1", "-q", "a", "-q", "b"],
                                  cwd=self.stage.folder, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("policy FIFO,"), done.stdout)
            done = subprocess.run([os.path.abspath(f"{BUILD}/bin/xserver"), name, "0", "--socket=other.sock", "--idle-exit=1"],
                                  cwd=self.stage.folder, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("policy FIFO", done.stderr)


class Names(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def test_a_device_that_is_none(self):
        for command in (["list"], ["list", "--devices"], ["list", "--ended"], ["top", "--once"]):
            done = self.stage.xcli(*command, "--device=abc", check=False)
            self.assertEqual((done.returncode, done.stdout), (64, ""), command)
            self.assertEqual(done.stderr, "xcli: no device is called 'abc': no queue works on any\n")
            self.assertEqual(self.stage.xcli(*command, "--device=", check=False).returncode, 64)
        self.stage.actor("someone").tell(f"queue 0 {GPU} 3")
        done = self.stage.xcli("list", "--device=H200", check=False)
        self.assertEqual((done.returncode, done.stderr), (64, "xcli: no device is called 'H200': queues work on GPU 0000:3b:00.0\n"))

    def test_the_process_comes_first(self):
        someone = self.stage.actor("someone")
        someone.tell(f"queue 0 {GPU} 3")
        titles, row = self.stage.xcli("list").stdout.splitlines()
        self.assertEqual((titles.split()[0], row.split()[0]), ("PID", str(someone.pid)))
        self.assertEqual(self.stage.xcli("list", "--ended").stdout.split()[0], "PID")

    def test_a_device_without_queues(self):
        """What may be one that is idle now is no error, and gives no rows."""
        self.stage.actor("someone").tell(f"queue 0 {GPU} 3")
        for device in ("7", "GPU-0b5cb7a4", "MIG-1", "0000:5e:00.0", "5e:00"):
            self.assertNotIn("someone", self.stage.xcli("list", f"--device={device}").stdout)
            self.assertEqual(json.loads(self.stage.xcli("list", "--json", "--devices", f"--device={device}").stdout)["devices"], [])
        for device in ("3b", "0000:3b:00.0"):
            self.assertIn("someone", self.stage.xcli("list", f"--device={device}").stdout)
            self.assertEqual(len(json.loads(self.stage.xcli("list", "--json", "--devices", f"--device={device}").stdout)["devices"]), 1)

    def test_the_address_and_a_path_behind_it(self):
        address = self.stage.xcli("web").stdout.strip()
        self.assertEqual(address, f"http://127.0.0.1:{self.stage.port}/")
        for path in ("metrics", "/metrics", "//metrics", "", "/"):
            with urllib.request.urlopen(address + path, timeout=60) as answer:
                self.assertEqual(answer.status, 200, path)
                self.assertIn(b"xsched_" if "metrics" in path else b"<html", answer.read(1 << 20))
        self.assertEqual(self.stage.xcli("-a", "localhost", "-p", str(self.stage.port), "web").stdout,
                         f"http://localhost:{self.stage.port}/\n")

    def test_the_http_socket_is_taken_too(self):
        path = os.path.join(self.stage.folder, "http.sock")
        self.assertEqual(self.stage.xcli("--socket", path, "policy").returncode, 0)

    def test_the_log_of_a_server_without_a_file(self):
        """What its stderr is: a file is shown, and nothing else keeps lines."""
        self.assertIn("policy HPF, socket", self.stage.xcli("logs").stdout)
        socket = os.path.join(self.stage.folder, "lost.sock")
        with subprocess.Popen([f"{BUILD}/bin/xserver", "--socket", socket, "--port=0"], stderr=subprocess.PIPE, text=True,
                              env=self.stage.environment) as server:
            self.assertIn("HTTP", server.stderr.readline())
            done = self.stage.xcli("--socket", socket, "logs", check=False)
            server.terminate()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^xcli: this xserver keeps no log: its lines go to its stderr \(pipe:.*\)\. --log-file=PATH")

    def test_a_terminal_that_only_writes(self):
        """No screen on it: plain lines."""
        for term in ("dumb", "", None):
            env = {**self.stage.environment, "TERM": term or ""}
            if term is None:
                del env["TERM"]
            done = subprocess.run(["script", "-qec", f"{os.path.abspath(BUILD)}/bin/xcli top -n 1", "/dev/null"], env=env, text=True,
                                  capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
            self.assertTrue(done.stdout.startswith("HPF, 0 programs"), done.stdout[:200])

    def test_a_server_without_http(self):
        """All that concerns programs needs none; the state of devices does."""
        socket = os.path.join(self.stage.folder, "silent.sock")
        with subprocess.Popen([f"{BUILD}/bin/xserver", "--socket", socket, "--http=OFF"], stderr=subprocess.PIPE, text=True,
                              env=self.stage.environment) as server:
            self.assertIn("socket", server.stderr.readline())
            try:
                for command in ("list", "list --ended", "status", "policy CFS", "hint -t 3000", "top --once"):
                    done = self.stage.xcli("--socket", socket, *command.split(), check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                status = json.loads(self.stage.xcli("--socket", socket, "--json", "status").stdout)
                self.assertEqual((status["policy_name"], status["timeslice_us"], status["http_port"]), ("CFS", 3000, 0))
                refused = self.stage.xcli("--socket", socket, "suspend", "1", check=False)
                self.assertEqual((refused.returncode, refused.stderr), (1, "xcli: xserver refused (404): there is no joined process 1: "
                                                                             "`xcli list` shows those that are\n"))
                done = self.stage.xcli("--socket", socket, "list", "--devices", check=False)
            finally:
                server.terminate()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"xcli: no xserver answers:\n  {socket}: an xserver is there that does not answer this over "
                                      "HTTP (http = OFF?)\n")

    def test_a_port(self):
        """xcli finds the socket of the xserver with that port; a server that answers HTTP alone is asked over TCP."""
        done = self.stage.xcli("-p", str(self.stage.port), "policy", "CFS", check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "Policy set to CFS\n"), done.stderr)
        elsewhere = {**self.stage.environment, "XSCHED_SOCKET": os.path.join(self.stage.folder, "none.sock")}
        done = subprocess.run([f"{BUILD}/bin/xcli", "-p", str(self.stage.port), "policy", "-q"], env=elsewhere, text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertIn("CFS", done.stdout, done.stderr)


class Stopped(unittest.TestCase):
    """A server that a signal has stopped: each tool names it soon, with the remedy, and asks no other server instead."""
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        os.symlink(self.stage.folder, os.path.join(self.stage.folder, "xsched"))
        pid = self.stage.server.pid
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        self.says = (f"xserver.sock: the xserver there (PID {pid}) is stopped (by a signal, a debugger or its control group)\n"
                     f"`kill -CONT {pid}` continues it; what a debugger or a control group stopped, that continues.\n")

    def named_by(self, *command, **environment):
        begin = time.monotonic()
        done = subprocess.run([f"{BUILD}/bin/{command[0]}", *command[1:]], env={**self.stage.environment, **environment}, text=True,
                              capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        self.assertLess(time.monotonic() - begin, 5, "as long as the answer of a server that is merely busy may take")
        self.assertEqual((done.returncode, done.stdout), (2, ""), command)
        self.assertTrue(done.stderr.endswith(self.says), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 3, done.stderr)

    def test_xcli(self):
        self.named_by("xcli", "list")
        self.named_by("xcli", "--socket", self.stage.socket, "top", "--once")

    def test_the_users_own(self):
        self.named_by("xcli", "status", XSCHED_SOCKET="", XDG_RUNTIME_DIR=self.stage.folder)

    def test_record(self):
        self.named_by("xsched", "record", "-d", "1", "-o", os.path.join(self.stage.folder, "who.svg"))


if __name__ == "__main__":
    unittest.main()
