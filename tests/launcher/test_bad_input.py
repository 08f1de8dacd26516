# SPDX-License-Identifier: Apache-2.0
"""Bad input to every executable: a row is a command, its status, and words of the line that it answers with.

DIR is a folder, with empty, comments, random, nul, dull (a trace without a decision), secret (mode 600), open (mode 644), pipe
and script (whose interpreter is not there) in it;
a program that is not started by such a line must not end with 0, nor silently, nor hang."""
import json
import os
import subprocess
import tempfile
import unittest

BIN = os.path.join(os.environ["XSCHED_BUILD_DIR"], "bin")
LONG = "a" * 400

ROWS = [
    # ---- xserver
    (["xserver", "--socket="], 64, "--socket takes a path"),
    (["xserver", "--socket=DIR"], 1, "is no socket"),
    (["xserver", "--socket=DIR/empty"], 1, "is no socket"),
    (["xserver", "--socket=DIR/http.sock"], 1, "the name of an HTTP socket"),
    (["xserver", "--socket=DIR/b.http.sock"], 1, "the name of an HTTP socket"),
    (["xserver", "--socket=/" + LONG], 64, "it is too long"),
    (["xserver", "--socket=/" + LONG[:150]], 1, "longer than 107 bytes"),
    (["xserver", "--socket=/nonexistent/a/b.sock"], 1, "cannot listen on /nonexistent/a/b.sock"),
    (["xserver", "--log-file="], 64, "--log-file takes a path"),
    (["xserver", "--log-file=/nonexistent/log"], 1, "log-file /nonexistent/log: No such file"),
    (["xserver", "--log-file=DIR"], 1, "log-file DIR: Is a directory"),
    (["xserver", "--config="], 64, "--config takes"),
    (["xserver", "--config=DIR"], 78, "Is a directory"),
    (["xserver", "--config=DIR/random"], 78, "random:1"),
    (["xserver", "--config=/nonexistent/c"], 78, "No such file"),
    (["xserver", "--token=" + LONG], 64, "too long"),
    (["xserver", "--token=a\r\nX-B: c"], 64, "printable"),
    (["xserver", "--token-file="], 64, "--token-file takes a path"),
    (["xserver", "--token-file=DIR/open"], 78, "other users may open it"),
    (["xserver", "--token-file=DIR"], 78, "it is no file"),
    (["xserver", "--token-file=DIR/secret", "--token=a"], 78, "not both"),
    (["xserver", "--policy="], 64, "no such policy"),
    (["xserver", "--policy=DIR/empty", "--socket=DIR/p.sock", "--port=0"], 1, "file too short"),
    (["xserver", "HPF", "50000", "more"], 64, "too many arguments"),
    (["xserver", "HPF", "port"], 64, "port: 'port'"),
    (["xserver", "--port=65536"], 64, "0 to 65535"),
    (["xserver", "--idle-exit=1e3"], 64, "idle-exit"),
    (["xserver", "--http=MAYBE"], 64, "neither ON nor OFF"),
    (["xserver", "--tune=nothing"], 64, "--tune=help lists them"),
    (["xserver", "--max-clients=99999999999999999999"], 64, "max-clients"),
    (["xserver", "--operator-group=nobody-has-this", "--socket=DIR/g.sock", "--port=0"], 1, "there is no group"),
    (["xserver", "/etc/passwd", "0", "--socket=DIR/p.sock"], 1, "xserver: /etc/passwd is no policy: invalid ELF header"),
    (["xserver", "./mine.so", "0", "--socket=DIR/p.sock"], 1, "./mine.so is no policy: cannot open shared object file"),
    (["xserver", "mine.so", "0", "--socket=DIR/p.sock"], 1, "./mine.so is no policy: cannot open shared object file"),
    (["xserver", "mine"], 64, "it is no path of a shared object"),
    (["xserver", "--socket=DIR/none/p.sock", "--port=0"], 1, "its folder is not there; make it, or mend the name"),
    # ---- xcli
    (["xcli", ""], 64, "there is no command ''"),
    (["xcli", "foo"], 64, "there is no command 'foo'; there are list, top, config, policy, hint, status, suspend, resume, swap, web, logs"),
    (["xcli"], 64, "give a command: list, top, config, policy, hint, status, suspend, resume, swap, web, logs"),
    (["xcli", "--socket=DIR/none.sock", "list"], 2, "\n  DIR/none.sock: nothing is there"),
    (["xcli", "--socket=DIR/empty", "list"], 2, "\n  DIR/empty: nobody listens"),
    (["xcli", "--socket=DIR/http.sock", "list"], 2, "\n  DIR/http.sock: "),
    (["xcli", "policy", "nonsense"], 64, "there is no policy 'nonsense': HPF "),
    (["xcli", "policy", "./mine.so"], 64, "xserver takes a shared object at its start"),
    (["xcli", "--token=" + LONG, "list"], 64, "at most 255"),
    (["xcli", "--token=a\r\nX-B: c", "list"], 64, "printable"),
    (["xcli", "--token= a", "list"], 64, "space"),
    (["xcli", "--token=", "list"], 64, "not empty"),
    (["xcli", "--token-file=/dev/zero", "list"], 64, "it is no file"),
    (["xcli", "--token-file=DIR/open", "list"], 64, "other users may open it"),
    (["xcli", "--token-file=DIR/empty", "list"], 64, ""),
    (["xcli", "--socket=", "list"], 64, "--socket takes"),
    (["xcli", "--socket=DIR", "list"], 2, "nobody listens"),
    (["xcli", "-a", "", "list"], 64, "is no address"),
    (["xcli", "-a", "a@b", "list"], 64, "is no address"),
    (["xcli", "-p", "0x50", "list"], 64, "is no port"),
    (["xcli", "list", "more"], 64, "Too many"),
    (["xcli", "top", "-f", "nan"], 64, "times a second"),
    (["xcli", "top", "--sort="], 64, "-s takes"),
    (["xcli", "hint", "--pid", "1", "-p", "1.0"], 64, "from -256 to 255"),
    (["xcli", "hint", "1", "--pid", "2", "-p", "3"], 64, "one process at a time"),
    (["xcli", "hint", "--pid", "1", "--pid", "1", "-p", "3"], 64, "one process at a time"),
    (["xcli", "hint", "-x", "1", "-x", "2", "-p", "3"], 64, "one queue at a time"),
    (["xcli", "suspend", "1", "--pid", "2"], 64, "one process at a time"),
    (["xcli", "resume", "--pid", "1", "--pid", "2"], 64, "one process at a time"),
    (["xcli", "policy", "-q", "CFS"], 64, "-q shows the policy"),
    (["xcli", "policy", "-q", "-s", "-n", "CFS"], 64, "-q shows the policy"),
    (["xcli", "policy", "UP", "-n", "CFS"], 64, "one policy at a time"),
    (["xcli", "policy", "-n", "UP", "-n", "CFS", "-s"], 64, "one policy at a time"),
    (["xcli", "policy", "UP", "CFS"], 64, "one policy at a time"),
    (["xcli", "config", "-x", "1", "-x", "2", "-l", "1"], 64, "one queue at a time"),
    (["xcli", "config", "-x", "zz", "-l", "1"], 64, "is no handle"),
    (["xcli", "resume", "--pid", "99999999999"], 64, "pid"),
    # ---- xsched run, trace
    (["xsched", ""], 64, "there is no command"),
    (["xsched", "run", "--no-server", "--", ""], 127, "not found"),
    (["xsched", "run", "--no-server", "--", "DIR"], 126, "Permission denied"),
    (["xsched", "run", "--", "DIR/empty"], 126, "DIR/empty: Permission denied"),
    (["xsched", "run", "--no-server", "--", "DIR/script"], 127, "DIR/script: its interpreter is not there"),
    (["xsched", "trace", "--", "nosuchprog"], 127, "nosuchprog: not found"),
    (["xsched", "trace", "--", "DIR"], 126, "Permission denied"),
    (["xsched", "trace", "-o", "DIR/t", "--", "DIR/script"], 127, "DIR/script: its interpreter is not there"),
    (["xsched", "record", "-o", "DIR/r.json", "--", "nosuchprog"], 127, "nosuchprog: not found"),
    (["xsched", "record", "-o", "DIR/r.json", "--", "DIR/empty"], 126, "Permission denied"),
    (["xsched", "run", "--socket=", "--", "true"], 64, "absolute path"),
    (["xsched", "run", "--socket=/" + LONG, "--", "true"], 64, "at most 107 bytes"),
    (["xsched", "run", "--group=a\nb", "--", "true"], 64, "control characters"),
    (["xsched", "run", "--group=", "--", "true"], 64, "1 to 63 bytes"),
    (["xsched", "run", "--memory=101%", "--", "true"], 64, "--memory: '101%' is not an amount such as 8G"),
    (["xsched", "run", "--level=", "--", "true"], 64, "--level: '' is not 1, 2, 3 or auto"),
    (["xsched", "run", "--idle-exit=-1", "--", "true"], 64, "--idle-exit: '-1' is not a time from 0 to 86400000 s, such as 5m"),
    (["xsched", "trace"], 64, "name a program to run"),
    (["xsched", "trace", "-o", "DIR", "--", "true"], 1, "Is a directory"),
    (["xsched", "trace", "-o", "/nonexistent/x", "--", "true"], 1, "No such file"),
    (["xsched", "trace", "-o", "/dev/full", "--", "true"], 64, "regular file, and /dev/full is none"),
    (["xsched", "trace", "-o", "/dev/stdout", "--", "true"], 64, "regular file"),
    (["xsched", "trace", "-o", "DIR/pipe", "--", "true"], 64, "regular file"),
    # ---- record, doctor, cdi
    (["xsched", "record", "-o", ""], 64, "--output takes"),
    (["xsched", "record", "-d", "1", "-o", "DIR"], 1, "Is a directory"),
    (["xsched", "record", "-d", "nan"], 64, "--duration takes"),
    (["xsched", "record", "--for", "5 fortnights"], 64, "--duration takes"),
    (["xsched", "record", "--for", "ms"], 64, "--duration takes"),
    (["xcli", "hint", "train.py", "--priority", "3"], 64, "`xcli list` shows them"),
    (["xsched", "record", "-d", "1", "--socket="], 64, "absolute path"),
    (["xsched", "record", "-S", "x.sock", "--", "true"], 64, 'absolute path, not "x.sock"'),
    (["xsched", "record", "--socket=/" + LONG, "--", "true"], 64, "at most 107 bytes"),
    (["xsched", "record", "-d", "1", "-f", "none"], 64, "--format takes"),
    (["xsched", "doctor", "4194305"], 2, "there is no process"),
    (["xsched", "doctor", "0"], 64, "no process number"),
    (["xsched", "doctor", "--probe=1e3"], 64, "1..3600"),
    (["xsched-doctor", "1", "2"], 64, "one process at a time"),
    (["xsched", "cdi", "--socket-folder=/nonexistent"], 1, "/nonexistent: No such file"),
    (["xsched", "cdi", "--socket-folder=DIR/empty"], 1, "Not a directory"),
    (["xsched", "cdi", "--socket-folder="], 64, "absolute path"),
    (["xsched", "cdi", "-o", ""], 64, "--output takes"),
    (["xsched", "cdi", "-o", "DIR"], 1, "Is a directory"),
    (["xsched", "cdi", "-d", "a=1", "-d", "a=2"], 64, "twice"),
    # ---- simulator, replay
    (["xsched-sim", "-q", ""], 64, "--queue takes NAME [KEY=VALUE...], not ''"),
    (["xsched-sim", "-r", " "], 64, "--process takes NAME [KEY=VALUE...], not ' '"),
    (["xsched-sim", "-P", ""], 64, "--param takes KEY=VALUE..., not ''"),
    (["xsched-sim", "-p", "nonsense", "-q", "a"], 64, "there is no policy 'nonsense' (HPF, "),
    (["xsched-sim", "-p", "mine.so", "-q", "a"], 2, "./mine.so is no policy: cannot open shared object file"),
    (["xsched-replay", "-p", "mine.so", "DIR/dull"], 2, "./mine.so is no policy: cannot open shared object file"),
    (["xsched-sim", "DIR"], 2, "Is a directory"),
    (["xsched-sim", "DIR/empty"], 64, "no queue"),
    (["xsched-sim", "DIR/random"], 2, "random:1"),
    (["xsched-sim", "DIR/nul"], 2, "NUL"),
    (["xsched-sim", "-r", "p", "-q", "a process=q"], 64, "there is no process q"),
    (["xsched-sim", "-d", "d", "-q", "a device=e"], 64, "there is no device e"),
    (["xsched-sim", "-q", "a start_ms=100 stop_ms=50"], 64, "after start_ms"),
    (["xsched-sim", "-q", "a start_ms=100 stop_ms=100"], 64, "after start_ms"),
    (["xsched-sim", "-t", "100000", "-q", "a length_us=1"], 64, "too many"),
    (["xsched-sim", "-t", "100000", "-q", "a arrival=periodic period_us=1"], 64, "too many"),
    (["xsched-sim", "-t", "nan", "-q", "a"], 64, "--duration"),
    (["xsched-sim", "-p", "DIR/empty", "-q", "a"], 2, "file too short"),
    (["xsched-replay", "DIR"], 2, "Is a directory"),
    (["xsched-replay", "DIR/empty"], 2, "no fact"),
    (["xsched-replay", "DIR/comments"], 2, "no fact"),
    (["xsched-replay", "/dev/null"], 2, "no fact"),
    (["xsched-replay", "DIR/nul"], 2, "NUL"),
    (["xsched-replay", "DIR/dull"], 0, "no decision"),
    (["xsched-replay", "DIR/random"], 2, "random:1"),
    # ---- window, probes
    (["xsched-window", "monitor", "--socket="], 64, "--socket takes"),
    (["xsched-window", "nope"], 64, "no such command"),
    (["xsched-window", "monitor", "--display=nope"], 1, "no X server"),
    (["xsched-probe-cuda", "more"], 64, "usage"),
    (["xsched-probe-cuda", "rival", "x"], 64, "usage"),
    (["xsched-probe-hip", "many"], 64, "usage"),
]

# What could not be written was not told.
FULL = [
    (["xsched", "--help"], 74), (["xsched", "--version"], 74), (["xsched", "run", "--help-env"], 74), (["xsched", "doctor"], 2),
    (["xsched", "cdi"], 1), (["xserver", "--tune=help"], 74), (["xsched-sim", "-t", "0.01", "-q", "a"], 1),
]


# Each of them has the first option of most people, and says its version.
HELPS = ["xserver", "xcli", "xcli list", "xcli top", "xsched", "xsched run", "xsched trace", "xsched record", "xsched doctor", "xsched cdi",
         "xsched-sim", "xsched-replay", "xsched-window", "xsched-doctor", "xsched-record", "xsched-cdi"]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = cls.folder.name
        for name, content in (("empty", b""), ("comments", b"# nothing\n\n"), ("random", bytes(range(255, 128, -1)) * 9 + b"\n"),
                              ("nul", b"queue a\0b\n"), ("dull", b"0 queue a process=p\n"), ("secret", b"abc\n"), ("open", b"abc\n")):
            with open(os.path.join(cls.dir, name), "wb") as f:
                f.write(content)
            os.chmod(f.name, 0o600 if name == "secret" else 0o644)
        os.mkfifo(os.path.join(cls.dir, "pipe"))
        with open(os.path.join(cls.dir, "script"), "w", encoding="ascii") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(f.name, 0o755)
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_")) and k != "DISPLAY"}
        cls.env.update(XSCHED_SOCKET=os.path.join(cls.dir, "none.sock"), LC_ALL="C")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_row(self, command, stdout):
        command = [w.replace("DIR", self.dir) for w in command]
        return subprocess.run([os.path.join(BIN, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, env=self.env, cwd=self.dir, timeout=60)

    def test_help(self):
        for command in [h.split() for h in HELPS]:
            if not os.path.exists(os.path.join(BIN, command[0])):
                continue
            with self.subTest(command=command):
                long, short = (self.run_row([*command, option], subprocess.PIPE) for option in ("--help", "-h"))
                self.assertEqual((long.returncode, long.stderr, short.returncode, short.stderr), (0, b"", 0, b""))
                self.assertRegex(long.stdout, b"^[Uu]sage: " + command[0].replace("xsched-", "xsched.").encode())
                self.assertEqual(short.stdout, long.stdout)
        for command, as_well in (("xsched help run", "xsched run --help"), ("xsched --help doctor", "xsched doctor --help"),
                                 ("xcli help", "xcli --help"), ("xcli help list", "xcli list --help")):
            said, same = (self.run_row(c.split(), subprocess.PIPE) for c in (command, as_well))
            self.assertEqual((said.returncode, said.stdout), (0, same.stdout), command)

    def test_version(self):
        for program in ("xserver", "xcli", "xsched", "xsched-sim", "xsched-replay", "xsched-window"):
            if os.path.exists(os.path.join(BIN, program)):
                done = self.run_row([program, "--version"], subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, b""), program)
                self.assertRegex(done.stdout, rb"^xs?\w*[\w-]*( \(XSched\))? \d+\.\d+\.\d+\n$")

    def test_doctor_without_standard_descriptors(self):
        """What its child writes into is none of them."""
        usual = self.run_row(["xsched", "doctor", "--json"], subprocess.PIPE)
        closed = subprocess.run(["sh", "-c", 'exec "$0" doctor --json <&- 2>&-', os.path.join(BIN, "xsched")], env=self.env,
                                stdout=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual((closed.returncode, json.loads(closed.stdout)["verdict"]), (usual.returncode, json.loads(usual.stdout)["verdict"]))

    def test_a_program_that_is_not_there_gets_one_line(self):
        """And no table of its calls, no recording, no server."""
        for command in (["run"], ["trace"], ["trace", "-o", "DIR/trace"], ["record", "-o", "DIR/record"]):
            done = self.run_row(["xsched", *command, "--", "nosuchprog"], subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (127, b"", b"xsched: nosuchprog: not found\n"), command)
        self.assertEqual([n for n in os.listdir(self.dir) if n in ("trace", "record", "none.sock")], [])

    def test_each_gets_a_line_and_a_status(self):
        for command, status, words in ROWS:
            if not os.path.exists(os.path.join(BIN, command[0])):
                continue
            with self.subTest(command=command):
                done = self.run_row(command, subprocess.PIPE)
                said = done.stderr.decode(errors="replace")
                self.assertEqual(done.returncode, status, said)
                self.assertIn(words.replace("DIR", self.dir), said)
                self.assertTrue(1 <= len(said.strip().splitlines()) <= 4, said)
                self.assertEqual(done.stdout, b"")

    def test_what_is_not_written_is_told(self):
        with open("/dev/full", "wb") as full:
            for command, status in FULL:
                with self.subTest(command=command):
                    done = self.run_row(command, full)
                    self.assertEqual(done.returncode, status)
                    self.assertIn(b"write", done.stderr.replace(b"No space left", b"write"))


if __name__ == "__main__":
    unittest.main()
