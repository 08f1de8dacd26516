# SPDX-License-Identifier: Apache-2.0
"""xsched trace and record: signals that come to them, and those that their program gets."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import unittest

from layout import Layout

# says which signals come, until the file $0 exists
PROGRAM = """for s in INT TERM HUP USR1 USR2; do trap "echo $s" $s; done
echo ready
while [ ! -e "$0" ]; do sleep 0.02; done
exit 7"""
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD)


def ignore():
    for signo in IGNORED:
        signal.signal(signo, signal.SIG_IGN)


def kill_all(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Trace(Layout):
    command = ("trace", "-q", "-s", "/dev/null")

    def launch(self, command, *program, **kwargs):
        return subprocess.Popen([os.path.join(self.bin, "xsched"), *command, "--", *program], cwd=self.top,
                                env=self.env, stdout=subprocess.PIPE, text=True, **kwargs)

    def begin(self):
        p = self.launch(self.command, "sh", "-c", PROGRAM, os.path.join(self.top, "end"),
                        start_new_session=True)
        self.addCleanup(p.stdout.close)
        self.addCleanup(kill_all, p.pid)
        timer = threading.Timer(60, kill_all, [p.pid])
        self.addCleanup(timer.cancel)
        timer.start()
        self.assertEqual(p.stdout.readline(), "ready\n")
        return p

    def end(self, p):
        with open(os.path.join(self.top, "end"), "w", encoding="utf-8"):
            pass
        rest, _ = p.communicate(timeout=60)
        self.assertEqual((p.returncode, rest), (7, ""))

    def test_passes_on_what_comes_to_it_alone(self):
        p = self.begin()
        for name in ("TERM", "HUP", "USR1", "USR2"):
            p.send_signal(getattr(signal, f"SIG{name}"))
            self.assertEqual(p.stdout.readline(), f"{name}\n")
        self.end(p)

    def test_the_terminal_sends_to_both(self):
        p = self.begin()
        os.killpg(p.pid, signal.SIGINT)
        self.assertEqual(p.stdout.readline(), "INT\n")
        p.send_signal(signal.SIGUSR1)
        self.assertEqual(p.stdout.readline(), "USR1\n")
        self.end(p)

    def test_quit(self):
        p = self.begin()
        p.send_signal(signal.SIGQUIT)
        self.end(p)

    def test_the_program_ignores_what_the_launcher_ignored(self):
        line = ("grep", "SigIgn", "/proc/self/status")
        native = subprocess.run(line, capture_output=True, text=True, preexec_fn=ignore)
        with self.launch(self.command, *line, preexec_fn=ignore) as p:
            self.assertEqual(p.communicate(timeout=60)[0], native.stdout)
        with self.launch(self.command, "false", preexec_fn=ignore) as p:
            self.assertEqual(p.wait(60), 1)


class Record(Trace):
    server = True
    command = ("record", "-q", "-o", "file")

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.top, "file")
        self.assertEqual(self.xsched("run", "--", "true").returncode, 0)  # starts the server

    def begin(self):
        p = super().begin()
        self.wait_for(lambda: os.path.exists(self.file))
        return p

    def end(self, p):
        super().end(p)
        with open(self.file, encoding="utf-8") as f:
            self.assertIn("traceEvents", json.load(f))


if __name__ == "__main__":
    unittest.main()
