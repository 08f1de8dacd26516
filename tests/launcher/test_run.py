# SPDX-License-Identifier: Apache-2.0
"""xsched run: arguments, statuses and the environment, with stand-ins for the shims and no server."""
import os
import signal
import subprocess
import unittest

from layout import Layout


class Arguments(Layout):
    def refused(self, *args, says):
        done = self.xsched(*args)
        self.assertEqual(done.returncode, 64, (args, done))
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_wrong(self):
        self.refused(says="usage")
        self.refused("walk", says="no command")
        self.refused("run", says="name a program to run")
        self.refused("run", "--", says="name a program to run")
        self.refused("run", "--priority", says="requires an argument")
        self.refused("run", "--nonsense", "--", "true", says="unrecognized option")
        for text in ("256", "-257", "", "1x", "ten", "99999999999999999999"):
            self.refused("run", "--priority", text, "--", "true", says="-256..255")
        self.refused("run", "--utilization", "101", "--", "true", says="0..100")
        self.refused("run", "--deadline", "0", "--", "true", says="at least 1")
        self.refused("run", "--laxity", "-1", "--", "true", says="at least 0")
        self.refused("run", "--threshold", "0", "--", "true", says="at least 1")
        self.refused("run", "--batch", "-3", "--", "true", says="at least 1")
        self.refused("run", "--level", "4", "--", "true", says="1|2|3|auto")
        self.refused("run", "--local-policy", "FIFO", "--", "true", says="HPF|")
        self.refused("run", "--socket", "relative", "--", "true", says="absolute")
        self.refused("run", "--group", "", "--", "true", says="1 to 63")
        self.refused("run", "--group", "g" * 64, "--", "true", says="1 to 63")

    def test_help(self):
        for args in (["--help"], ["--version"], ["run", "--help"], ["run", "--help-env"]):
            done = self.xsched(*args)
            self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        self.assertIn("XSCHED_PRIORITY=", self.xsched("run", "--help-env").stdout)

    def test_program_arguments_are_its_own(self):
        for dashes in ([], ["--"]):
            done = self.xsched("run", "--local-policy", "HPF", *dashes, "printf", "%s|", "--priority", "--", "-x", "")
            self.assertEqual((done.returncode, done.stdout), (0, "--priority|--|-x||"))


class Status(Layout):
    def test_program_status(self):
        self.assertEqual(self.xsched("run", "--no-server", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.xsched("run", "--no-server", "--", "sh", "-c", "kill -9 $$").returncode, -signal.SIGKILL)

    def test_not_found(self):
        done = self.xsched("run", "--no-server", "--", "/no/such/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program: not found", done.stderr)
        self.assertEqual(self.xsched("run", "--", "no-such-program-here").returncode, 127)
        self.assertFalse(os.path.exists(self.folder), "a program that is not there needs no server")

    def test_interpreter_not_found(self):
        script = os.path.join(self.top, "script")
        with open(script, "w") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        done = self.xsched("run", "--no-server", "--", script)
        self.assertEqual(done.returncode, 127)
        self.assertIn("interpreter", done.stderr)

    def test_not_executable(self):
        for name in ("/etc/passwd", "/etc"):
            done = self.xsched("run", "--no-server", "--", name)
            self.assertEqual(done.returncode, 126, done)

    def test_same_process(self):
        with subprocess.Popen([os.path.join(self.bin, "xsched"), "run", "--no-server", "--", "sh", "-c", "echo $$"],
                              env=self.env, stdout=subprocess.PIPE, text=True) as p:
            self.assertEqual(int(p.stdout.read()), p.pid)


class Trace(Layout):
    def test_output_by_a_link(self):
        """The program opens the file itself, and no link."""
        link = os.path.join(self.top, "link")
        os.symlink(os.path.join(self.top, "there"), link)
        done = self.xsched("trace", "-q", "-o", link, "--", "sh", "-c", "echo $XSCHED_TRACE")
        self.assertEqual((done.returncode, done.stdout), (0, os.path.join(self.top, "there") + "\n"))


class Environment(Layout):
    def paths(self):
        return [os.path.join(self.shims, f"libshim{n}.so") for n in ("cuda", "opencl")]

    def test_defaults(self):
        env = self.environment("--no-server")
        self.assertEqual(env["XSCHED_SCHEDULER"], "GLB")
        self.assertEqual(env["XSCHED_AUTO_XQUEUE"], "ON")
        self.assertNotIn("XSCHED_PRIORITY", env)
        self.assertNotIn("XSCHED_SOCKET", env)
        self.assertEqual(env["LD_PRELOAD"], ":".join(self.paths()))
        self.assertEqual(env["OPENCL_LAYERS"], self.paths()[1])

    def test_options(self):
        env = self.environment("--no-server", "--priority", "+9", "--utilization=30", "--deadline", "1000", "--laxity",
                               "5", "--level", "AUTO", "--threshold", "16", "--batch", "8", "--group", "g", "--intra",
                               "--timeslice", "700", "--filter", "clFinish,@libfoo", "--socket", "/x/y.sock")
        for name, value in {"PRIORITY": "9", "AUTO_XQUEUE_PRIORITY": "9", "AUTO_XQUEUE_UTILIZATION": "30",
                            "AUTO_XQUEUE_DEADLINE": "1000", "AUTO_XQUEUE_LAXITY": "5", "AUTO_XQUEUE_LEVEL": "auto",
                            "AUTO_XQUEUE_THRESHOLD": "16", "AUTO_XQUEUE_BATCH_SIZE": "8", "GROUP": "g", "INTRA": "ON",
                            "AUTO_XQUEUE_TIMESLICE": "700", "FILTER": "clFinish,@libfoo",
                            "SOCKET": "/x/y.sock"}.items():
            self.assertEqual(env["XSCHED_" + name], value, name)
        self.assertEqual(self.environment("--no-server", "-s", "unlimited")["XSCHED_AUTO_XQUEUE_TIMESLICE"], "UNLIMITED")

    def test_options_win_and_settings_stay(self):
        given = {"XSCHED_PRIORITY": "1", "XSCHED_AUTO_XQUEUE_PRIORITY": "2", "XSCHED_AUTO_XQUEUE": "OFF",
                 "XSCHED_SCHEDULER": "APP", "XLOG_LEVEL": "INFO"}
        env = self.environment("--priority", "3", env=given)
        self.assertEqual((env["XSCHED_PRIORITY"], env["XSCHED_AUTO_XQUEUE_PRIORITY"]), ("3", "3"))
        self.assertEqual((env["XSCHED_AUTO_XQUEUE"], env["XSCHED_SCHEDULER"]), ("OFF", "APP"))
        self.assertEqual(env["XLOG_LEVEL"], "INFO")
        env = self.environment(env=given)
        self.assertEqual((env["XSCHED_PRIORITY"], env["XSCHED_AUTO_XQUEUE_PRIORITY"]), ("1", "2"))

    def test_local_policy(self):
        env = self.environment("--local-policy", "hpf")
        self.assertEqual(env["XSCHED_POLICY"], "HPF")
        self.assertFalse(os.path.exists(self.folder), "a local scheduler needs no server")

    def test_lists_kept_without_duplicates(self):
        cuda, opencl = self.paths()
        env = self.environment("--no-server", env={"LD_PRELOAD": f"{opencl} {opencl}", "OPENCL_LAYERS": "/a.so:/b.so"})
        self.assertEqual(env["LD_PRELOAD"], f"{opencl}:{cuda}")
        self.assertEqual(env["OPENCL_LAYERS"], f"/a.so:/b.so:{opencl}")

    def test_twice(self):
        done = self.xsched("run", "--no-server", "-p", "1", "--", os.path.join(self.bin, "xsched"), "run",
                           "--no-server", "-p", "2", "--", "env")
        env = dict(line.split("=", 1) for line in done.stdout.splitlines())
        self.assertEqual(env["LD_PRELOAD"], ":".join(self.paths()))
        self.assertEqual(env["OPENCL_LAYERS"], self.paths()[1])
        self.assertEqual(env["XSCHED_PRIORITY"], "2")

    def test_no_shims(self):
        for path in self.paths():
            os.unlink(path)
        done = self.xsched("run", "--no-server", "--", "env")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("LD_PRELOAD", done.stdout)
        self.assertIn("no shim is installed", done.stderr)
        self.assertEqual(self.xsched("run", "-q", "--no-server", "--", "true").stderr, "")

    def test_folder_that_cannot_be_preloaded_from(self):
        moved = self.top + " with space"
        os.rename(self.top, moved)
        try:
            done = subprocess.run([os.path.join(moved, "bin", "xsched"), "run", "--no-server", "--", "env"],
                                  env=self.env, capture_output=True, text=True)
        finally:
            os.rename(moved, self.top)
        self.assertEqual(done.returncode, 0)
        self.assertIn("space or colon", done.stderr)
        self.assertNotIn("LD_PRELOAD", done.stdout)

    def test_memory(self):
        for text in ("8G", "512MiB", "1.5g", "50%", "1000000", "2 TB"):
            self.assertEqual(self.environment("--no-server", "--memory", text)["XSCHED_MEM_LIMIT"], text)
        for text in ("", "G", "-1", "0", "101%", "0%", "1.G", "8X", "8Gx", "99999999999999999999", "20000000T", ".5G",
                     "50%%"):
            done = self.xsched("run", "--no-server", "-m", text, "--", "true")
            self.assertEqual(done.returncode, 64, text)
            self.assertIn("--memory takes", done.stderr)

    def test_disabled(self):
        done = self.xsched("run", "--no-server", "--", "true", env={"XSCHED_DISABLE": "1"})
        self.assertIn("XSCHED_DISABLE", done.stderr)


class Server(Layout):
    def test_missing(self):
        done = self.xsched("run", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("unscheduled", done.stderr)

    def broken(self, text):
        path = os.path.join(self.bin, "xserver")
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
        done = self.xsched("run", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertIn("cannot start xserver", done.stderr)
        return done.stderr

    def test_ends_at_once(self):
        self.assertIn("ended at once", self.broken("#!/bin/sh\necho broken >&2\nexit 3\n"))
        with open(os.path.join(self.folder, "xserver.log")) as f:
            self.assertEqual(f.read(), "broken\n")

    def test_not_a_program(self):
        self.broken("\x7fELF")

    def test_folder_of_somebody_else(self):
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.assertIn("must belong to this user", self.broken("#!/bin/sh\nexit 0\n"))

    def test_path_is_a_file(self):
        with open(self.folder, "w"):
            pass
        self.broken("#!/bin/sh\nexit 0\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
