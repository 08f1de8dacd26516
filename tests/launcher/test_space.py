# SPDX-License-Identifier: Apache-2.0
"""xsched run --share=space: the life of the MPS daemon, and every way in which a program shares in time after all. The CUDA driver and
NVIDIA's control program are fakes. The helper or the launcher may be one that breaks a rule; the test of that rule must fail."""
import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

from layout import BUILD, Layout

FAKES = os.environ["FAKE_MPS_FOLDER"]
HELPER = os.environ.get("SPACE_HELPER", os.path.join(BUILD, "bin", "xsched-space"))
LAUNCHER = os.environ.get("SPACE_LAUNCHER", os.path.join(BUILD, "bin", "xsched"))
UUID, SECOND = "GPU-abababab-abab-abab-abab-ababababab00", "GPU-bbababab-abab-abab-abab-ababababab01"
TIME = "the program shares in time"


def until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Space(Layout):
    def setUp(self):
        super().setUp()
        shutil.copy2(os.path.join(BUILD, "bin", "xsched-probe-cuda"), self.bin)
        shutil.copy2(HELPER, os.path.join(self.bin, "xsched-space"))
        shutil.copy2(LAUNCHER, os.path.join(self.bin, "xsched"))
        self.events_file = os.path.join(self.top, "events")
        self.mps = os.path.join(self.folder, "mps-" + UUID)
        self.pipe = os.path.join(self.mps, "mps")
        for name in [n for n in self.env if n.startswith(("CUDA_", "FAKE_"))]:
            del self.env[name]
        self.env.update(XSCHED_CUDA_LIB=os.path.join(os.environ["FAKE_CUDA_FOLDER"], "libcuda.so.1"), FAKE_CUDA_UUID="1",
                        FAKE_CUDA_ONE="1", FAKE_MPS_EVENTS=self.events_file, PATH=FAKES + ":" + self.env["PATH"])

    def tearDown(self):
        for pid in self.helpers() + self.daemons():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        until(lambda: not self.helpers() and not self.daemons())
        super().tearDown()

    def processes(self, has):
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as f:
                        words = f.read().decode(errors="replace").split("\0")
                    with open(f"/proc/{name}/environ", "rb") as f:
                        ours = self.events_file.encode() in f.read()
                except OSError:
                    continue
                if ours and has(words):
                    found.append(int(name))
        return found

    def helpers(self):
        return self.processes(lambda words: words[0].endswith("/xsched-space"))

    def daemons(self):
        return self.processes(lambda words: words[1:2] == ["-d"] and words[0].endswith("nvidia-cuda-mps-control"))

    def events(self):
        try:
            with open(self.events_file, encoding="ascii") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def run_space(self, *args, env=None, program=("env",), idle="1"):
        return self.xsched("run", "--share=space", "--no-server", "--idle-exit", idle, *args, "--", *program, env=env)

    def space(self, *args, **kwargs):
        """The environment of a program that shares in space."""
        done = self.run_space(*args, **kwargs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        env = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(env["XSCHED_SHARE"], "SPACE")
        return env

    def shares_in_time(self, says, **kwargs):
        """The program runs, with the environment that it would have had, and one line says why."""
        done = self.run_space(**kwargs)
        self.assertEqual(done.returncode, 0)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(says, lines[0])
        self.assertTrue(lines[0].endswith(TIME), lines[0])
        env = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(env["XSCHED_SHARE"], "TIME")
        for name in ("CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_CLIENT_PRIORITY", "CUDA_VISIBLE_DEVICES"):
            self.assertEqual(env.get(name), {**self.env, **(kwargs.get("env") or {})}.get(name), name)
        return env

    def program(self, *args, idle="1"):
        """A program that runs until its input ends."""
        p = subprocess.Popen([os.path.join(self.bin, "xsched"), "run", "--share=space", "--no-server", "--idle-exit", idle, *args, "--",
                              "sh", "-c", "echo $XSCHED_SHARE; read line; true"], env=self.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.stderr.close)
        self.addCleanup(p.stdout.close)
        self.assertEqual(p.stdout.readline(), "SPACE\n", p.poll() is not None and p.stderr.read())
        return p

    def finish(self, p):
        p.stdin.close()
        self.assertEqual(p.wait(30), 0)

    def write(self, name, text=""):
        with open(os.path.join(self.pipe, name), "w", encoding="ascii") as f:
            f.write(text)


class Life(Space):
    def test_once_and_to_the_last(self):
        """One daemon for two programs; it stays for the one that is there, however long, and ends after it."""
        first = self.program("--priority", "5")
        env = self.space("--priority", "0")
        self.assertEqual(env["CUDA_MPS_PIPE_DIRECTORY"], self.pipe)
        self.assertNotIn("CUDA_VISIBLE_DEVICES", env)
        self.assertEqual(env["CUDA_MPS_CLIENT_PRIORITY"], "1")
        self.assertEqual(self.events(), [f"start {UUID}"])
        self.assertTrue(until(lambda: len(self.helpers()) == 1))     # more while one forks
        for folder in (self.mps, self.pipe):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertFalse(until(lambda: "quit" in self.events(), 2.5))
        self.finish(first)
        self.assertTrue(until(lambda: "quit" in self.events()))
        self.assertTrue(until(lambda: not self.helpers() and not self.daemons()))
        self.assertEqual(self.events(), [f"start {UUID}", "quit"])

    def test_children(self):
        """Programs of which the helper does not know keep the daemon."""
        self.space()
        self.write("clients", f"{os.getpid()}\n")
        self.assertFalse(until(lambda: "quit" in self.events(), 2.5))
        self.write("clients")
        self.assertTrue(until(lambda: "quit" in self.events()))

    def test_priority(self):
        self.assertEqual(self.space("--priority", "5")["CUDA_MPS_CLIENT_PRIORITY"], "0")
        self.assertEqual(self.space("--priority", "-5")["CUDA_MPS_CLIENT_PRIORITY"], "1")
        self.assertEqual(self.space(env={"XSCHED_PRIORITY": "7"})["CUDA_MPS_CLIENT_PRIORITY"], "0")
        self.assertEqual(self.space("--priority", "5", env={"CUDA_MPS_CLIENT_PRIORITY": "1"})["CUDA_MPS_CLIENT_PRIORITY"], "1")

    def test_from_the_environment(self):
        """XSCHED_SHARE is the default of --share."""
        done = self.xsched("run", "--no-server", "--idle-exit", "1", "--", "env", env={"XSCHED_SHARE": "space"})
        self.assertIn("\nXSCHED_SHARE=SPACE\n", "\n" + done.stdout)
        self.assertIn(f"\nCUDA_MPS_PIPE_DIRECTORY={self.pipe}\n", done.stdout)
        done = self.xsched("run", "--no-server", "--share=time", "--", "env", env={"XSCHED_SHARE": "space"})
        self.assertIn("\nXSCHED_SHARE=TIME\n", "\n" + done.stdout)
        self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", done.stdout)

    def test_helper_killed(self):
        """The daemon goes on, and the next helper finds it."""
        first = self.program(idle="0")
        for pid in self.helpers():
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(until(lambda: not self.helpers()))
        self.space(idle="1")
        self.assertEqual(self.events().count(f"start {UUID}"), 1)
        self.finish(first)
        self.assertTrue(until(lambda: "quit" in self.events()))

    def test_daemon_killed(self):
        first = self.program()
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(until(lambda: not self.daemons()))
        self.space()
        self.assertEqual(self.events(), [f"start {UUID}"] * 2)
        self.finish(first)

    def test_fault(self):
        """No new program while those of a fault are there; afterwards a new daemon, and a line that says whose fault it was."""
        first = self.program(idle="30")       # the helper tells of it, and must be there for that
        self.write("clients", f"{os.getpid()}\n")
        self.write("fault")
        os.makedirs(os.path.join(self.mps, "log"), exist_ok=True)
        with open(os.path.join(self.mps, "log", "server.log"), "w", encoding="ascii") as f:
            f.write("[server] Device fault by client 4711\n[server] waiting\n")
        self.shares_in_time("MPS takes no new ones")
        self.finish(first)
        self.assertFalse(until(lambda: "quit" in self.events(), 0.5))    # a child of it is there still
        self.write("clients")
        self.assertTrue(until(lambda: "quit" in self.events(), 20))      # and not because of its idleness
        done = self.run_space(idle="30")
        self.assertIn("SPACE", done.stdout)
        self.assertIn("fault by client 4711", done.stderr)
        self.assertEqual([e.split()[0] for e in self.events()][:3], ["start", "quit", "start"])

    def test_sixty(self):
        first = self.program()
        self.write("clients", f"{os.getpid()}\n" * 60)
        self.shares_in_time("no more than 60 programs")
        self.write("clients", f"{os.getpid()}\n" * 59)
        self.space()
        self.finish(first)


class Refused(Space):
    def nothing_started(self):
        self.assertEqual((self.events(), self.helpers(), self.daemons()), ([], [], []))

    def test_arguments(self):
        done = self.xsched("run", "--share=both", "--", "true")
        self.assertEqual(done.returncode, 64)
        self.assertIn("TIME, SPACE or AUTO", done.stderr)
        for share in ("time", "auto"):
            self.assertEqual(self.environment("--no-server", "--share", share)["XSCHED_SHARE"], "TIME")
        self.assertNotIn("XSCHED_SHARE", self.environment("--no-server"))
        done = self.xsched("run", "--no-server", "--", "env", env={"XSCHED_SHARE": "nonsense"})
        self.assertIn("XSCHED_SHARE=TIME", done.stdout)
        self.assertIn("TIME, SPACE or AUTO", done.stderr)
        self.nothing_started()

    def test_daemon_refuses(self):
        self.shares_in_time("no room in /dev", env={"FAKE_MPS_REFUSE": "no room in /dev"})
        self.assertEqual(self.events(), [])

    def test_not_installed(self):
        path = os.path.join(self.top, "path")
        os.mkdir(path)
        os.symlink(shutil.which("env"), os.path.join(path, "env"))
        self.shares_in_time("nvidia-cuda-mps-control is not installed", env={"PATH": path})
        os.unlink(os.path.join(self.bin, "xsched-probe-cuda"))
        self.shares_in_time("xsched-probe-cuda is not installed")

    def test_devices(self):
        self.shares_in_time("MIG", env={"FAKE_CUDA": "mig"})
        del self.env["FAKE_CUDA_UUID"]
        self.shares_in_time("no UUID")
        self.env["FAKE_CUDA_UUID"] = "1"
        del self.env["FAKE_CUDA_ONE"]
        self.shares_in_time("CUDA_VISIBLE_DEVICES names one")
        self.shares_in_time("no NVIDIA driver", env={"XSCHED_CUDA_LIB": "/nonexistent"})

    def test_trial_fails(self):
        for error, says in (("808", "no more than 60 programs"), ("807", "takes no new programs"), ("805", "no connection to the MPS server"),
                            ("2", "error 2")):
            env = self.shares_in_time(says, env={"FAKE_MPS_ERROR": error})
            self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", env)

    def test_folders(self):
        """Somebody else's, or open to others."""
        os.mkdir(self.folder, 0o700)
        os.mkdir(self.mps)
        os.chmod(self.mps, 0o777)
        self.shares_in_time("nobody else may write there")
        os.rmdir(self.mps)
        os.symlink(self.top, self.mps)
        self.shares_in_time("cannot make ")
        os.unlink(self.mps)
        deep = os.path.join(self.top, "d" * 40)     # there is room for a socket of xserver, and not for those of MPS
        os.mkdir(deep, 0o700)
        self.shares_in_time("name", env={"XDG_RUNTIME_DIR": deep})
        self.nothing_started()
        self.space()
        os.chmod(self.pipe, 0o777)
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(until(lambda: not self.daemons()))
        self.shares_in_time("not permitted")

    @unittest.skipIf(os.getuid(), "only root makes files of others")
    def test_other_user(self):
        os.makedirs(self.mps, 0o700)
        os.chmod(self.folder, 0o700)
        os.chown(self.mps, 1, 1)
        self.shares_in_time("must belong to this user")
        named = os.path.join(self.top, "named")
        os.mkdir(named)
        with open(os.path.join(named, "control"), "w", encoding="ascii"):
            pass
        os.chown(os.path.join(named, "control"), 1, 1)
        env = self.shares_in_time("another user's", env={"CUDA_MPS_PIPE_DIRECTORY": named})
        self.assertEqual(env["CUDA_MPS_PIPE_DIRECTORY"], "/dev/null")
        self.nothing_started()


class Named(Space):
    def test_named(self):
        """A daemon that the user names is used, and nobody else starts or ends one."""
        named = os.path.join(self.top, "named")
        os.mkdir(named)
        env = {"CUDA_MPS_PIPE_DIRECTORY": named}
        self.shares_in_time("no MPS daemon works in", env=env)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env={**self.env, **env}, check=True, timeout=30)
        found = self.space(env=env)
        self.assertEqual(found["CUDA_MPS_PIPE_DIRECTORY"], named)
        self.assertNotIn("CUDA_VISIBLE_DEVICES", found)
        self.assertEqual(self.helpers(), [])
        left = self.shares_in_time("no more than 60", env={**env, "FAKE_MPS_ERROR": "808"})
        self.assertEqual(left["CUDA_MPS_PIPE_DIRECTORY"], "/dev/null")
        self.assertEqual(self.events(), ["start None"])


class Visible(Space):
    """CUDA_VISIBLE_DEVICES on a machine with two devices. A program in space meets the device that it would have in time, by a value
    that it would take there too. Each case ends its daemons, which serve one device each."""

    def setUp(self):
        super().setUp()
        del self.env["FAKE_CUDA_ONE"]
        self.env["LD_LIBRARY_PATH"] = ":".join(p for p in (FAKES, self.env.get("LD_LIBRARY_PATH")) if p)

    def met(self, env):
        """What the driver shows to a program with this environment."""
        done = subprocess.run([os.path.join(self.bin, "xsched-probe-cuda"), "space"], env=env, capture_output=True, text=True,
                              timeout=60, check=True)
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    def check(self, given, seen, uuid, **also):
        """In space, with this value, on this device, which is the one of the same value without MPS."""
        env = {**also, **({} if given is None else {"CUDA_VISIBLE_DEVICES": given})}
        found = self.space(env=env, idle="30")
        self.assertEqual(found.get("CUDA_VISIBLE_DEVICES"), seen, given)
        self.assertEqual(found["CUDA_MPS_PIPE_DIRECTORY"], os.path.join(self.folder, "mps-" + uuid, "mps"), given)
        self.assertIn(f"start {uuid}", self.events())
        native, met = self.met({**self.env, **env}), self.met(found)
        self.assertEqual((native["count"], native["uuid"], native["mps"], native["why"]), ("1", uuid, "0", ""), given)
        self.assertEqual((met["count"], met["uuid"], met["mps"], met["why"]), ("1", uuid, "1", ""), given)

    def test_numbers(self):
        """A number stays one that int() takes, and 0 is the only one that the daemon has."""
        self.check("1", "0", SECOND)
        self.check("0", "0", UUID)
        for given in ("1,-1", " 1", "01", "+1", "1gpu", "1,7,0", "1," + UUID):
            self.check(given, "0", SECOND)
        for given in ("0,-1", "00", "+0"):
            self.check(given, given, UUID)

    def test_order(self):
        """Which device a number names is the driver's affair; in space there is one."""
        self.check("1", "0", UUID, FAKE_CUDA_FASTEST="1")
        self.check("0", "0", SECOND, FAKE_CUDA_FASTEST="1")
        self.check("1", "0", SECOND, FAKE_CUDA_FASTEST="1", CUDA_DEVICE_ORDER="PCI_BUS_ID")

    def test_kept(self):
        """Where one device is all there is, a program without the variable gets none, and a UUID, shortened or not, stays."""
        self.check(None, None, UUID, FAKE_CUDA_ONE="1")
        for given in (SECOND, "GPU-bb", SECOND[:20], SECOND + ",-1", SECOND + ",0"):
            self.check(given, given, SECOND)
        self.check("GPU-", "GPU-", UUID, FAKE_CUDA_ONE="1")

    def test_none_or_several(self):
        """As without MPS: no device, or two."""
        for given in ("", "-1", "-1,0", "NoDevFiles", "void", "none", "7", "GPU-cc", "GPU-", "0,0", f"{UUID},{UUID}", "gpu-ab", UUID[4:]):
            self.shares_in_time("the program would see no device", env={"CUDA_VISIBLE_DEVICES": given})
        for given in ("0,1", "1,0", f"{UUID},{SECOND}", "1,0,-1"):
            self.shares_in_time("names one", env={"CUDA_VISIBLE_DEVICES": given})
        self.shares_in_time("names one")
        self.shares_in_time("MIG", env={"CUDA_VISIBLE_DEVICES": UUID, "FAKE_CUDA": "mig"})
        self.assertEqual((self.events(), self.helpers(), self.daemons()), ([], [], []))

    def test_kinds(self):
        """A program may take its number for NVML's, whose 0 is the first device of the bus: not where that is of another kind.
        The UUID is no number, and what starts with 0 means what it meant."""
        for kinds in ("AB", "Aa"):
            env = {"CUDA_VISIBLE_DEVICES": "1", "FAKE_NVML_KINDS": kinds}
            self.shares_in_time(f"CUDA_VISIBLE_DEVICES=1 would become 0, for NVML a GPU of another kind ({SECOND} works)", env=env)
            self.assertEqual(self.events(), [])
        self.check("1", "0", UUID, FAKE_NVML_KINDS="AB", FAKE_CUDA_FASTEST="1")   # NVML's 0 is the very device
        self.check(SECOND, SECOND, SECOND, FAKE_NVML_KINDS="AB")
        self.check("0", "0", UUID, FAKE_NVML_KINDS="AB")
        self.check("1", "0", SECOND, FAKE_NVML_KINDS="-")                         # nobody has NVML
        self.check("1", "0", SECOND, LD_LIBRARY_PATH="")

    def test_other_device(self):
        """A daemon that was started with other devices than its folder's name says."""
        self.check("1", "0", SECOND)
        for devices in (UUID, f"{UUID},{SECOND}"):
            with open(os.path.join(self.folder, "mps-" + SECOND, "mps", "devices"), "w", encoding="ascii") as f:
                f.write(devices)
            self.shares_in_time("the MPS daemon has another device", env={"CUDA_VISIBLE_DEVICES": "1"})

    def test_named(self):
        """Who names a daemon has the numbers of that daemon."""
        named = os.path.join(self.top, "named")
        os.mkdir(named)
        env = {"CUDA_MPS_PIPE_DIRECTORY": named}
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env={**self.env, **env, "CUDA_VISIBLE_DEVICES": SECOND}, check=True, timeout=30)
        for given in (None, "0", SECOND):
            found = self.space(env={**env, **({} if given is None else {"CUDA_VISIBLE_DEVICES": given})})
            self.assertEqual(found.get("CUDA_VISIBLE_DEVICES"), given)
            self.assertEqual(self.met(found)["uuid"], SECOND)
        self.shares_in_time("would see no device", env={**env, "CUDA_VISIBLE_DEVICES": "1"})


if __name__ == "__main__":
    unittest.main()
