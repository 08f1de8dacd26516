# SPDX-License-Identifier: Apache-2.0
"""Programs of one's own: linked by hand and by CMake as the original's examples do it, and make's targets."""
import os
import re
import shutil
import subprocess
import unittest

from original import BIN, LIB, Original, PREFIX, SOURCE

CC = os.environ["CC"]
HERE = os.path.join(SOURCE, "tests/original")
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(app C CXX)
{find}
message(STATUS "headers: ${{XSched_INCLUDE_DIRS}}")
add_executable(app {here}/with_hints.c)
target_link_libraries(app XSched::preempt XSched::halcuda ${{CMAKE_DL_LIBS}})
if(NOT TARGET XSched::shimcuda OR NOT TARGET XSched::shimhip OR NOT TARGET XSched::shimopencl)
  message(FATAL_ERROR "no XSched::shim...")
endif()
"""


class Linking(Original):
    def app(self):
        path = os.path.join(self.top, "app_with_hints")
        subprocess.run([CC, "-o", path, os.path.join(HERE, "with_hints.c"), f"-I{PREFIX}/include", f"-L{LIB}", "-lpreempt",
                        "-lhalcuda", "-ldl"], check=True)
        return path

    def test_hints(self):
        self.serve()
        app = self.app()
        for how in ({"LD_LIBRARY_PATH": LIB}, {"LD_LIBRARY_PATH": LIB, "LD_PRELOAD": f"{LIB}/libshimcuda.so:"}):
            programs = [self.start([app, n], self.export("cuda", XSCHED_SCHEDULER="GLB", **how)) for n in ("1", "0")]
            queues = [self.queue(p) for p in programs]
            self.assertEqual([(q["priority"], q["level"], q["threshold"], q["batch_size"]) for q in queues],
                             [(1, 1, 8, 4), (0, 1, 8, 4)])
            self.wait_for(lambda: self.queues(programs[0].pid)[0]["commands"] > 0, "commands are counted")
            for p in programs:
                self.assertNotIn("no call", self.end(p)[1])

    def run_app(self, **variables):
        env = self.export("cuda", **variables)
        env["LD_LIBRARY_PATH"] += ":" + os.path.join(PREFIX, "nothing")
        done = subprocess.run([self.app(), "3", "0.3"], env=env, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout, done.stderr

    def alone(self):
        """A folder with our libraries and no vendor's name: the program's calls pass us by."""
        folder = os.path.join(self.top, "alone")
        os.mkdir(folder)
        for name in ("libpreempt.so.1", "libhalcuda.so.1"):
            os.symlink(os.path.realpath(os.path.join(LIB, name)), os.path.join(folder, name))
        return folder

    def test_a_program_whose_calls_pass_us_by_is_told(self):
        folder = self.alone()
        for variables, level in (({"XSCHED_POLICY": "HPF"}, "WARN"), ({"XLOG_LEVEL": "INFO"}, "INFO"), ({}, None)):
            out, err = self.run_app(LD_LIBRARY_PATH=folder, **variables)
            self.assertIn("no command came through", out)
            lines = [line for line in err.splitlines() if "no call of this program came through libshimcuda.so" in line]
            self.assertEqual([line.split()[1] for line in lines], [level] if level else [])
        gone = os.path.join(self.top, "libshimcuda.so")
        out, err = self.run_app(LD_LIBRARY_PATH=folder, XSCHED_POLICY="HPF", LD_PRELOAD=gone)
        self.assertIn("LD_PRELOAD names it, and the dynamic linker ignored that", err)
        out, err = self.run_app(LD_LIBRARY_PATH=LIB, XSCHED_POLICY="HPF", XLOG_LEVEL="WARN")
        self.assertEqual((out, err), ("commands came through the XQueue\n", ""))

    def test_doctor_tells_it_too(self):
        p = self.start([self.app(), "1"], self.export("cuda", LD_LIBRARY_PATH=self.alone(), XSCHED_SCHEDULER="APP"))

        def mapped():
            with open(f"/proc/{p.pid}/maps", encoding="ascii") as f:
                return "libhalcuda" in f.read()

        self.wait_for(mapped, "the library is mapped")
        said = subprocess.run([os.path.join(BIN, "xsched"), "doctor", str(p.pid)], env=self.env, capture_output=True,
                              text=True, check=False).stdout
        self.assertIn("XSched schedules only commands of XQueueSubmit", " ".join(said.split()))

    def cmake(self, find, *args):
        folder = os.path.join(self.top, "project")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as f:
            f.write(PROJECT.format(find=find, here=HERE))
        build = os.path.join(folder, "build")
        env = dict(self.env, CC=CC)
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", build, *args], env=env, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            return done, None
        made = subprocess.run(["cmake", "--build", build, "--target", "app"], env=env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(made.returncode, 0, made.stdout[-3000:])
        return done, os.path.join(build, "app")

    def runs(self, app, *folders):
        env = self.export("cuda", LD_LIBRARY_PATH=":".join(folders), XSCHED_POLICY="HPF")
        self.assertIn("XQueue", subprocess.run([app, "1", "0.2"], env=env, capture_output=True, text=True, check=True).stdout)

    def test_find_package(self):
        where = os.path.join(LIB, "cmake")
        hint = f'find_package(XSched {{}} REQUIRED HINTS "{where}")'
        for version in ("", "1", "1.2", "1.2.0", "1.1", "0.1", "0.2"):
            done, app = self.cmake(hint.format(version))
            self.assertTrue(app, done.stderr)
            self.assertIn(f"headers: {PREFIX}/include", done.stdout)
            self.runs(app, LIB)
        for version in ("1.3", "2", "0.3"):
            self.assertIsNone(self.cmake(hint.format(version))[1], version)
        for option in (f"-DCMAKE_PREFIX_PATH={where}", f"-DXSched_DIR={where}/XSched", f"-DCMAKE_PREFIX_PATH={PREFIX}",
                       f"-DCMAKE_PREFIX_PATH={LIB}"):
            done, app = self.cmake("find_package(XSched REQUIRED)", option)
            self.assertTrue(app, option + done.stderr)

    def test_add_subdirectory(self):
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        done, app = self.cmake(f"add_subdirectory({SOURCE} xsched)", *launcher)
        self.assertTrue(app, done.stderr)
        self.runs(app)


class Make(unittest.TestCase):
    def plan(self, *args):
        return subprocess.run(["make", "-n", *args], cwd=SOURCE, capture_output=True, text=True, check=False,
                              env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})

    def test_platforms(self):
        for goal in (["cuda"], ["hip"], ["opencl"], ["PLATFORM=cuda"], ["PLATFORM=cuda hip opencl"]):
            done = self.plan(*goal, "INSTALL_PATH=/tmp/somewhere")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(re.findall("^cmake --install .*", done.stdout, re.M),
                             ["cmake --install build/release --prefix /tmp/somewhere"])
            self.assertIn(f"--prefix {SOURCE}/output\n", self.plan(*goal).stdout)

    def test_platforms_without_code(self):
        for goal in ("corex", "PLATFORM=ascend"):
            done = subprocess.run(["make", goal], cwd=SOURCE, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("there is no code for the platform", done.stderr)


if __name__ == "__main__":
    unittest.main()
