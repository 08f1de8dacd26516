# SPDX-License-Identifier: Apache-2.0
"""xsched run and the real xserver: who starts it, where, and when it ends."""
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import time
import unittest

from layout import BUILD, Layout


class Autostart(Layout):
    server = True

    def answers(self):
        """A killed server listens for a moment after its memory is gone."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            return s.connect_ex(os.path.join(self.folder, "xserver.sock")) == 0

    def test_starts_one_and_finds_it_again(self):
        done = self.xsched("run", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("xsched started one for this user", done.stderr)
        pids = self.servers()
        self.assertEqual(len(pids), 1)
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)
        again = self.xsched("run", "--", "true")
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual(self.servers(), pids)

    def test_server_is_a_daemon(self):
        """Own session, nobody's child, none of our descriptors, every core, and no shim in it."""
        done = subprocess.run(["taskset", "-c", "0", os.path.join(self.bin, "xsched"), "run", "-p", "3", "--", "true"],
                              env=self.env, capture_output=True, timeout=120)     # ends: nobody holds the pipes
        self.assertEqual(done.returncode, 0)
        pid, = self.servers()
        self.assertEqual(os.getsid(pid), os.getpgid(pid))
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        with open(f"/proc/{pid}/environ") as f:
            names = {line.split("=")[0] for line in f.read().split("\0")}
        self.assertFalse([n for n in names if n.startswith("XSCHED_") or n in ("LD_PRELOAD", "OPENCL_LAYERS")])
        self.assertEqual(os.sched_getaffinity(pid), os.sched_getaffinity(0))
        with open(f"/proc/{pid}/maps") as f:
            self.assertNotIn("libshim", f.read())

    def check_descriptors(self, before=lambda: None):
        """The server has none of ours, whatever their number."""
        read, write = os.pipe()
        high = [fcntl.fcntl(write, fcntl.F_DUPFD, n) for n in (3, 1023, 1024, 5000)]
        done = self.xsched("run", "--", "true", pass_fds=high, preexec_fn=before)
        for fd in (write, *high):
            os.close(fd)
        self.assertIn("xsched started one", done.stderr)
        self.assertEqual(len(self.servers()), 1)
        os.set_blocking(read, False)
        self.assertEqual(os.read(read, 1), b"")        # else: it would block
        os.close(read)

    @unittest.skipIf(resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 5000, "few descriptors")
    def test_no_descriptor_goes_to_the_server(self):
        self.check_descriptors()

    @unittest.skipIf(resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 5000, "few descriptors")
    def test_no_descriptor_goes_to_the_server_on_an_older_kernel(self):
        """A filter answers ENOSYS for close_range."""
        code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 436, 6, 0, 0, 0x50000 | errno.ENOSYS, 6, 0, 0, 0x7fff0000)
        libc = ctypes.CDLL(None, use_errno=True)

        def older():
            space = ctypes.create_string_buffer(code)
            program = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(space)))
            libc.prctl(38, 1, 0, 0, 0)          # no new privileges
            if libc.prctl(22, 2, program) != 0:
                os._exit(77)
        self.check_descriptors(older)

    def server_started_under(self, limit, soft, hard):
        """The first program's limit, in a child of this process."""
        done = self.xsched("run", "--", "true", preexec_fn=lambda: resource.setrlimit(limit, (soft, hard)))
        self.assertIn("xsched started one", done.stderr)
        pid, = self.servers()
        return pid

    def test_the_limits_of_the_first_program_are_not_the_servers(self):
        for name, soft in (("FSIZE", 1 << 20), ("NOFILE", 20), ("CPU", 100), ("AS", 8 << 30), ("DATA", 4 << 30), ("NPROC", 10000),
                           ("STACK", 1 << 20), ("SIGPENDING", 10)):
            if name in ("AS", "DATA") and os.environ.get("SANITIZED"):
                continue        # its shadow memory is larger
            limit = getattr(resource, "RLIMIT_" + name, 11)     # 11: SIGPENDING has no name in Python
            hard = resource.getrlimit(limit)[1]
            with self.subTest(limit=name):
                pid = self.server_started_under(limit, soft, hard)
                want = 8 << 20 if name == "STACK" else hard
                self.assertEqual(resource.prlimit(pid, limit), (want, hard))
                os.kill(pid, signal.SIGKILL)
                self.wait_for(lambda: not self.servers() and not self.answers())

    @unittest.skipIf(os.environ.get("SANITIZED"), "its frames are larger")
    def test_a_small_stack(self):
        for command in (["run", "--", "true"], ["doctor"], ["doctor", str(os.getpid())]):
            done = self.xsched(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536)))
            self.assertIn(done.returncode, (0, 1), (command, done.stderr))
        self.assertEqual(len(self.servers()), 1)

    def test_a_full_log_does_not_end_the_server(self):
        """A hard limit on files stays, and the signal that comes with it ends nobody."""
        os.mkdir(self.folder, 0o700)
        log = os.path.join(self.folder, "xserver.log")
        with open(log, "w", encoding="ascii") as f:
            f.write("x" * 65530)
        pid = self.server_started_under(resource.RLIMIT_FSIZE, 65536, 65536)
        self.wait_for(lambda: os.stat(log).st_size == 65536)
        self.assertEqual(self.xsched("run", "--", "true").stderr, "")
        self.assertEqual(self.servers(), [pid])

    def test_idle_exit(self):
        done = self.xsched("run", "--idle-exit", "1", "--", "true")
        self.assertIn("1 s without programs", done.stderr)
        self.wait_for(lambda: not self.servers())
        self.assertIn("xsched started one", self.xsched("run", "--idle-exit", "1", "--", "true").stderr)

    def test_two_at_once(self):
        command = [os.path.join(self.bin, "xsched"), "run", "--", "true"]
        for _ in range(5):
            many = [subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE, text=True) for _ in range(6)]
            said = [p.communicate(timeout=120)[1] for p in many]
            self.assertEqual([p.returncode for p in many], [0] * 6)
            self.assertEqual(len(self.servers()), 1)
            self.assertEqual(sum("xsched started one" in text for text in said), 1, said)
            os.kill(self.servers()[0], signal.SIGKILL)      # leaves its sockets behind
            self.wait_for(lambda: not self.servers() and not self.answers())

    def test_waits_for_the_one_that_is_starting(self):
        os.mkdir(self.folder, 0o700)
        with open(os.path.join(self.folder, "start.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            p = subprocess.Popen([os.path.join(self.bin, "xsched"), "run", "--", "true"], env=self.env,
                                 stderr=subprocess.PIPE, text=True)
            time.sleep(0.3)
            self.assertIsNone(p.poll())
            self.assertEqual(self.servers(), [])
        self.assertIn("xsched started one", p.communicate(timeout=120)[1])

    def test_named_socket(self):
        path = os.path.join(self.top, "named", "x.sock")
        os.mkdir(os.path.dirname(path), 0o700)
        env = self.environment("--socket", path)
        self.assertEqual(env["XSCHED_SOCKET"], path)
        self.assertTrue(os.path.exists(path))
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(self.xsched("run", "--socket", path, "--", "true").stderr, "")

    def test_named_socket_in_a_folder_that_is_not_there(self):
        """A mistyped name makes no folder, and no second server in it; xserver itself makes none either."""
        path = os.path.join(self.top, "naemd", "x.sock")
        done = self.xsched("run", "--socket", path, "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        line, = done.stderr.splitlines()
        self.assertIn(f"the folder {os.path.dirname(path)} is not there", line)
        done = subprocess.run([os.path.join(self.bin, "xserver"), "--socket", path, "--port", "0"], env=self.env, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        line, = done.stderr.splitlines()
        self.assertIn("its folder is not there; make it, or mend the name", line)
        self.assertEqual(os.path.exists(os.path.dirname(path)), False)
        self.assertEqual(self.servers(), [])

    def test_named_socket_beside_that_of_a_server(self):
        path = os.path.join(self.top, "named", "x.sock")
        os.mkdir(os.path.dirname(path), 0o700)
        self.environment("--socket", path)
        pids = self.servers()
        done = self.xsched("run", "--socket", path + "t", "--", "true")
        self.assertIn(f"one answers at {path}: xsched started no second one", done.stderr)
        self.assertEqual(self.servers(), pids)

    def others(self, uid=65534):
        """A server of another user."""
        for folder in (self.top, self.bin):
            os.chmod(folder, 0o755)
        theirs = os.path.join(self.top, "theirs")
        os.mkdir(theirs, 0o700)
        os.chown(theirs, uid, uid)
        path = os.path.join(theirs, "xserver.sock")
        p = subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", os.path.join(self.bin, "xserver"),
                              "--socket", path, "--port", "0"], env=self.env, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (p.kill(), p.wait()))
        self.wait_for(lambda: os.path.exists(path))
        return path

    @unittest.skipIf(os.geteuid() != 0, "only root can be two users")
    def test_a_server_of_another_user(self):
        """Named with what mends it, where there is a device that both may have."""
        theirs = self.others()
        run = [os.path.join(self.bin, "xsched"), "run"]
        for device, words in (("nvidiactl", [f"another xserver runs here, of user nobody ({theirs})", "install the service"]),
                              ("none", [])):
            script = f"mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && touch /dev/{device} && exec \"$@\""
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *run, "--", "true"], env=self.env, capture_output=True,
                                  text=True, timeout=120, check=False)
            if "unshare" in done.stderr or "mount" in done.stderr:
                self.skipTest("no mount namespaces here: " + done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)
            self.assertEqual("another xserver" in done.stderr, bool(words), done.stderr)
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *run, "-q", "--", "true"], env=self.env,
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.stderr, "")

    @unittest.skipIf(os.geteuid() != 0, "only root can be two users")
    def test_a_server_without_rights(self):
        """It is no absent one: named, with the reason. Where it is the only place, the program runs; no server is started there."""
        theirs = self.others()
        user = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", os.path.join(self.bin, "xsched"), "run", "--", "echo", "ran"]
        done = subprocess.run(user, env={**self.env, "XSCHED_SOCKET": theirs}, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertIn(f"{theirs}: something is there that this user may not reach; the program runs unscheduled", done.stderr)
        self.assertEqual(len(self.servers()), 1)

    @unittest.skipIf(os.geteuid() != 0, "only root can be two users")
    def test_a_lock_of_another_user(self):
        """A server's lock stays when it ends. One of another user after it learns which file is in its way; or that it is the folder."""
        for folder in (self.top, self.bin):
            os.chmod(folder, 0o755)
        path = os.path.join(self.top, "shared", "xserver.sock")
        os.mkdir(os.path.dirname(path))
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", os.path.join(self.bin, "xserver"), "--socket", path,
                   "--port", "0", "--idle-exit", "1"]
        says = {"folder": "cannot listen on {}: this user may not write into its folder\n",
                "lock": "cannot listen on {0}: an xserver of user 0 left {0}.lock (Permission denied); remove that file if none of his is "
                        "at work there\n"}
        for cause in ("folder", "lock", None):
            if cause == "lock":
                os.chown(os.path.dirname(path), 65534, 65534)
                os.close(os.open(path + ".lock", os.O_CREAT | os.O_WRONLY, 0o600))
            elif not cause:
                os.unlink(path + ".lock")
            done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=60, check=False)
            if cause:
                self.assertEqual((done.returncode, done.stderr), (1, "xserver: " + says[cause].format(path)))
            else:
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_server_that_is_stopped(self):
        self.xsched("run", "--", "true")
        pid, = self.servers()
        os.kill(pid, signal.SIGSTOP)

        def stands():
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                return ") T " in f.read()
        self.wait_for(stands)
        done = self.xsched("run", "--", "echo", "ran")
        os.kill(pid, signal.SIGCONT)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertRegex(done.stderr, rf"^xsched: the xserver at {self.socket} \(PID {pid}\) is stopped .*: the program runs "
                                      rf"unscheduled until it goes on\. `kill -CONT {pid}` continues it; .*\n$")
        self.assertEqual(self.servers(), [pid])

    def test_no_server(self):
        self.assertEqual(self.xsched("run", "--no-server", "--", "true").returncode, 0)
        self.assertEqual(self.servers(), [])

    def test_a_local_policy_needs_none(self):
        for args, env in ((["--local-policy", "HPF"], {}), ([], {"XSCHED_POLICY": "CFS"}),
                          ([], {"XSCHED_SCHEDULER": "APP"})):
            self.assertEqual(self.xsched("run", *args, "--", "true", env=env).stderr, "")
            self.assertEqual(self.servers(), [])

    def notes(self, *args, env=None):
        done = self.xsched("run", *args, "--", "true", env=env)
        self.assertEqual(done.returncode, 0)
        return [line for line in done.stderr.splitlines() if "started one for" not in line]

    def test_hints_without_effect_are_named(self):
        """Once for each, with the command that makes it work; and when that was done, no more."""
        utilization = ("xsched: --utilization 30 has no effect under the policy HPF: `xcli policy PUP` changes to one that goes "
                       "by it")
        self.assertEqual(self.notes("--utilization", "30"), [utilization])
        self.assertEqual(self.notes("-u", "30", "-q"), [])
        self.assertEqual(self.notes(env={"XSCHED_AUTO_XQUEUE_UTILIZATION": "30"}), [utilization])
        deadline, laxity = self.notes("--deadline", "500", "--laxity", "9")
        self.assertIn("--deadline 500 has no effect under the policy HPF: `xcli policy KEDF`", deadline)
        self.assertIn("--laxity 9 has no effect under the policy HPF: `xcli policy LAX`", laxity)
        self.assertEqual(self.notes("--priority", "5", "--utilization", "100"), [])
        xcli = [os.path.join(BUILD, "bin", "xcli"), "--socket", self.socket]
        subprocess.run([*xcli, "policy", "PUP"], check=True, capture_output=True, timeout=60)
        self.assertEqual(self.notes("--utilization", "30", "--priority", "-256"), [])
        self.assertIn("`xcli policy HPF`", " ".join(self.notes("--priority", "5")))

    def test_the_policy_is_asked_without_http(self):
        """xserver's own socket answers. A question over HTTP would start the unit of xsched-http."""
        os.mkdir(self.folder, 0o700)
        server = subprocess.Popen([os.path.join(self.bin, "xserver"), "--http", "OFF", "--socket", self.socket], env=self.env,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.wait_for(self.answers)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as http:
            http.bind(os.path.join(self.folder, "http.sock"))
            http.listen()
            http.setblocking(False)
            self.assertIn("--utilization 30 has no effect", " ".join(self.notes("--utilization", "30")))
            self.assertRaises(BlockingIOError, http.accept)

    def test_a_local_policy_is_looked_at_too(self):
        said, = self.notes("--local-policy", "HPF", "--utilization", "30")
        self.assertIn("has no effect under the policy HPF: `xsched run --local-policy PUP`", said)
        self.assertEqual(self.notes("--local-policy", "UP", "--utilization", "30"), [])
        self.assertEqual(self.servers(), [])

    def test_a_path_that_no_socket_can_have(self):
        done = self.xsched("run", "--", "true", env={"XSCHED_SOCKET": os.path.join(self.top, "x" * 120, "y.sock")})
        self.assertEqual(done.returncode, 0)
        self.assertIn("at most 107 bytes", done.stderr)
        self.assertEqual(self.servers(), [])

    @unittest.skipIf(os.geteuid() != 0, "only root can remove /run/user/0 from sight")
    def test_without_runtime_folder(self):
        """/tmp/xsched-UID: agents do not look there, so XSCHED_SOCKET names it. Likewise where no socket's name can be as long
        as that of the runtime folder."""
        env = {k: v for k, v in self.env.items() if k != "XDG_RUNTIME_DIR"}
        long = os.path.join(self.top, "r" * 120)
        os.mkdir(long, 0o700)
        self.assert_runs_in_tmp(env)
        self.assert_runs_in_tmp({**env, "XDG_RUNTIME_DIR": long.replace("/tmp/", "/mnt/")})

    def assert_runs_in_tmp(self, env):
        launcher = os.path.join(self.bin, "xsched").replace("/tmp/", "/mnt/")
        script = ("mount --bind /tmp /mnt && mount -t tmpfs none /run && mount -t tmpfs none /tmp && "
                  f"exec {launcher} run --idle-exit 1 -- env")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=env, capture_output=True, text=True, timeout=120)
        if "unshare" in done.stderr or "mount" in done.stderr:
            self.skipTest("no mount namespaces here: " + done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("xsched started one for this user", done.stderr)
        self.assertIn(f"XSCHED_SOCKET=/tmp/xsched-{os.geteuid()}/xserver.sock\n", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
