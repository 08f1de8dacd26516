# SPDX-License-Identifier: Apache-2.0
"""xsched run: arguments, statuses and the environment, with stand-ins for the shims and no server."""
import os
import shutil
import signal
import subprocess
import unittest

from layout import BUILD, DUMMY, Layout


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
            self.refused("run", "--priority", text, "--", "true", says="a number from -256 to 255")
        self.refused("run", "--utilization", "101", "--", "true", says="a number from 0 to 100")
        self.refused("run", "--deadline", "0", "--", "true", says="at least 1")
        self.refused("run", "--laxity", "-2", "--", "true", says="at least 0")
        self.refused("run", "--threshold", "0", "--", "true", says="at least 1")
        self.refused("run", "--batch", "-3", "--", "true", says="at least 1")
        self.refused("run", "--level", "4", "--", "true", says="'4' is not 1, 2, 3 or auto")
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
    def setUp(self):
        super().setUp()
        self.use_all()

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

    def test_variables_that_mean_nothing(self):
        """A mistyped name is no silent default. Those of integrations, which other parts read, are no mistyped ones."""
        given = {"XSCHED_PRIORTY": "1", "XLOG_FIEL": "/x", "XSCHED_OF_SOMEBODY_ELSE": "1", "XSCHED_LATE_START": "ON", "XSCHED_RAY_OPTIONS": "", "XSCHED_VLLM_BASE": "3",
                 "MY_XSCHED_X": "1", "XSCHED_PRIORITY": "1", "XSCHED": "1"}
        done = self.xsched("run", "--no-server", "--", "true", env=given)
        self.assertEqual(done.returncode, 0)
        said = sorted(done.stderr.splitlines())
        self.assertEqual(len(said), 3, said)
        self.assertEqual(said[0], "xsched: XLOG_FIEL means nothing to XSched; XLOG_FILE does")
        self.assertRegex(said[1], "^xsched: XSCHED_LATE_START means nothing any more; instead: ")
        self.assertEqual(said[2], "xsched: XSCHED_PRIORTY means nothing to XSched; XSCHED_PRIORITY does")
        self.assertEqual(self.xsched("run", "-q", "--no-server", "--", "true", env=given).stderr, "")

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
            self.assertIn(f"--memory: '{text}' is not an amount such as 8G", done.stderr)

    def test_disabled(self):
        done = self.xsched("run", "--no-server", "--", "true", env={"XSCHED_DISABLE": "1"})
        self.assertIn("XSCHED_DISABLE", done.stderr)


class Machine(Layout):
    """What is preloaded: the shims of platforms that this machine can use."""

    def preloaded(self, **env):
        return [os.path.basename(p)[len("libshim"):-3] for p in self.environment("--no-server", env=env).get("LD_PRELOAD", "").split(":")]

    def setUp(self):
        super().setUp()
        self.has_cuda = os.path.exists("/sys/module/nvidia") or os.path.exists("/dev/dxg") or \
            "libcuda.so" in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
        if self.has_cuda:
            self.skipTest("this machine has a driver for CUDA")

    def test_a_library_that_is_not_there(self):
        self.assertEqual(self.preloaded(XSCHED_OPENCL_LIB="x"), ["opencl"])

    def test_a_library_that_the_user_names(self):
        self.assertEqual(self.preloaded(**self.usable), ["cuda", "opencl"])
        self.assertEqual(set(self.preloaded(XSCHED_CUDA_LIB="x")) - {"opencl"}, {"cuda"})

    def test_a_library_on_the_search_path(self):
        with open(os.path.join(self.top, "libcuda.so.1"), "w", encoding="ascii"):
            pass
        self.assertIn("cuda", self.preloaded(LD_LIBRARY_PATH=self.top))

    def test_a_shim_that_the_user_preloads(self):
        beside = os.path.join(self.top, "lib", "libshimcuda.so")
        shutil.copy2(DUMMY, beside)
        self.assertIn("cuda", self.preloaded(LD_PRELOAD=beside, XSCHED_OPENCL_LIB="x"))
        self.assertNotIn(beside, self.environment("--no-server", env={"LD_PRELOAD": beside})["LD_PRELOAD"])

    def test_a_machine_without_any(self):
        """One that starts programs on others: it tells nothing about those."""
        os.unlink(os.path.join(self.shims, "libshimopencl.so"))
        self.assertEqual(self.preloaded(), ["cuda"])


WORDS = os.path.join(BUILD, "lib", "xsched-words")


@unittest.skipIf(not os.path.isdir(WORDS), "no folders for word sizes in this build")
class Words(Layout):
    """A folder for each word size, by $PLATFORM."""

    def setUp(self):
        super().setUp()
        self.use_all()
        shutil.copytree(WORDS, os.path.join(self.top, "lib", "xsched-words"), symlinks=True)

    def run_under(self, *command):
        done = self.xsched("run", "-q", "--local-policy", "HPF", "--", *command)
        return done.returncode, done.stdout, done.stderr

    def test_entries(self):
        want = [os.path.join(self.top, "lib", "xsched-words", "$PLATFORM", "xsched", f"libshim{n}.so") for n in ("cuda", "opencl")]
        self.assertEqual(self.environment("--no-server")["LD_PRELOAD"], ":".join(want))
        for path in want:   # as other tools read the variable, without the dynamic linker
            self.assertTrue(os.path.samefile(path, os.path.join(self.shims, os.path.basename(path))))
        again = self.xsched("run", "--no-server", "--", os.path.join(self.bin, "xsched"), "run", "--no-server", "--", "env").stdout
        self.assertIn("LD_PRELOAD=" + ":".join(want) + "\n", again)

    def test_a_shim_by_path_is_replaced(self):
        beside = os.path.join(self.top, "lib", "libshimcuda.so")
        shutil.copy2(DUMMY, beside)
        entries = self.environment("--no-server", env={"LD_PRELOAD": beside})["LD_PRELOAD"].split(":")
        self.assertNotIn(beside, entries)
        self.assertEqual(len(entries), 2)

    def test_programs_of_this_word_size_have_the_shims(self):
        code, out, err = self.run_under("cat", "/proc/self/maps")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(os.path.join(self.shims, "libshimcuda.so"), out)

    def test_a_shell_that_takes_the_word_for_its_own(self):
        code, out, err = self.run_under("sh", "-c", 'eval "LD_PRELOAD=$LD_PRELOAD cat /proc/self/maps"')
        self.assertEqual((code, err), (0, ""))
        self.assertIn(os.path.join(self.shims, "libshimcuda.so"), out)

    def test_valgrind_gets_plain_paths(self):
        """Its dynamic linker has no $PLATFORM."""
        path = os.path.join(self.top, "valgrind")
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho $LD_PRELOAD\n")
        os.chmod(path, 0o755)
        self.assertEqual(self.run_under(path)[1], ":".join(os.path.join(self.shims, f"libshim{n}.so") for n in ("cuda", "opencl")) + "\n")

    def test_a_child_of_another_word_size_is_silent(self):
        if not os.path.exists("/lib/ld-linux.so.2"):
            self.skipTest("no dynamic linker for programs of 32 bits here")
        source, made, program = (os.path.join(self.top, n) for n in ("p.s", "p.o", "p"))
        with open(source, "w", encoding="ascii") as f:
            f.write(".globl _start\n_start: mov $1, %eax\nmov $7, %ebx\nint $0x80\n")      # exit(7)
        for command in (["as", "--32", "-o", made, source],
                        ["ld", "-m", "elf_i386", "-pie", "-dynamic-linker", "/lib/ld-linux.so.2", "-o", program, made]):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                self.skipTest("this machine's assembler makes no program of 32 bits")
        self.assertEqual(self.run_under("sh", "-c", program), (7, "", ""))
        shutil.rmtree(os.path.join(self.top, "lib", "xsched-words"))
        self.assertIn("wrong ELF class", self.run_under("sh", "-c", program)[2])    # so it was, by plain paths

    def test_musl(self):
        """Its dynamic linker takes the path as it stands."""
        if not shutil.which("musl-gcc"):
            self.skipTest("no musl-gcc here")
        program = os.path.join(self.top, "p")
        source = '#include <stdio.h>\nint main(void) { FILE *f = fopen("/proc/self/maps", "r"); int c; ' \
                 'while ((c = getc(f)) != EOF) putchar(c); return 0; }'
        subprocess.run(["musl-gcc", "-x", "c", "-o", program, "-"], input=source, text=True, check=True, capture_output=True)
        code, out, err = self.run_under(program)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("musl", out)
        self.assertIn(os.path.join(self.shims, "libshimcuda.so"), out)


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
