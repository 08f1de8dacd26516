# SPDX-License-Identifier: Apache-2.0
"""xsched doctor: what it says of an installation and of processes, with stand-ins for the shims."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from layout import Layout

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/xsched"))
from _platforms import ALL  # noqa: E402
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_network  # noqa: E402

SLEEPER = "import sys; print('up', flush=True); sys.stdin.read()"


class Doctor(Layout):
    server = True

    def doctor(self, *args, env=None, status=None):
        done = self.xsched("doctor", "--json", *args, env=env)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if found["problems"] else 0)
        if status is not None:
            self.assertEqual(done.returncode, status, found["problems"])
        return found

    @staticmethod
    def causes(found):
        return {p["cause"] for p in found["problems"]}

    def start(self, *command, env=None):
        """A program that waits until its input ends."""
        p = subprocess.Popen(command, env={**self.env, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        self.assertEqual(p.stdout.readline(), b"up\n")
        return p

    def python(self, *launcher, code=SLEEPER, env=None):
        return self.start(*launcher, "/usr/bin/python3", "-c", code, env=env)


class Installation(Doctor):
    def test_sections(self):
        shutil.copy2(os.environ["DUMMY_SHIM"], os.path.join(self.top, "lib", "libpreempt.so.1"))
        found = self.doctor(status=0)
        self.assertEqual(found["xsched"]["xserver"], os.path.join(self.bin, "xserver"))
        self.assertEqual({os.path.basename(l["path"]) for l in found["libraries"]},
                         {"libshimcuda.so", "libshimopencl.so", "libpreempt.so.1"})
        self.assertEqual([v["platform"] for v in found["vendor libraries"]], [p.name for p in ALL])
        self.assertTrue(found["kernel"]["memfd"])
        self.assertFalse(any(s["answers"] for s in found["servers"] if s["socket"] == self.socket))
        self.xsched("run", "--", "true")
        answering, = [s for s in self.doctor(status=0)["servers"] if s["socket"] == self.socket]
        self.assertTrue(answering["answers"] and answering["http"])
        self.assertEqual([answering["pid"]], self.servers())

    def test_text(self):
        text = self.xsched("doctor").stdout
        self.assertRegex(text.splitlines()[0], r"^XSched .*: 1 problem$")
        self.assertIn("problem (no_libpreempt)", text)
        self.assertNotIn("vendor libraries", text)  # a detail
        more = self.xsched("doctor", "--verbose").stdout
        self.assertTrue(more.startswith(text))
        self.assertIn("vendor libraries", more)

    def test_missing_parts(self):
        for name in os.listdir(self.shims):
            os.unlink(os.path.join(self.shims, name))
        os.unlink(os.path.join(self.bin, "xserver"))
        self.assertEqual(self.causes(self.doctor()), {"no_shims", "no_xserver"})

    def test_broken_library_and_unknown_variable(self):
        with open(os.path.join(self.shims, "libshimopencl.so"), "w") as f:
            f.write("not a library")
        causes = self.causes(self.doctor(env={"XSCHED_PRIORTY": "1"}))
        self.assertEqual(causes, {"no_libpreempt", "bad_library", "unknown_variable"})

    def test_withdrawn_variable(self):
        """What replaced it is said, in one line each; the value does not matter."""
        found = self.doctor(env={"XSCHED_LATE_START": "OFF"})
        line, = [p["text"] for p in found["problems"] if p["cause"] == "withdrawn_variable"]
        self.assertIn("XSCHED_LATE_START", line)
        self.assertIn("instead: ", line)
        said = self.xsched("run", "--no-server", "--", "true", env={"XSCHED_LATE_START": "ON"}).stderr
        self.assertEqual([("instead: " in l) for l in said.splitlines() if "XSCHED_LATE_START" in l], [True], said)

    def test_job_that_spans_hosts(self):
        """Said of the environment here, and of a process by what it was started with."""
        found = self.doctor(env={"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "2"})
        self.assertEqual(found["job"], {"name": "SLURM_JOB_ID=17", "spans_hosts": "SLURM_JOB_NUM_NODES=2"})
        self.assertTrue(any("other hosts (SLURM_JOB_NUM_NODES=2)" in h for h in found["hints"]))
        found = self.doctor(env={"MASTER_PORT": "29500", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"})
        self.assertEqual(found["job"], {"name": "MASTER_PORT=29500"})
        self.assertFalse(any("other hosts" in h for h in found["hints"]))
        self.assertNotIn("job", self.doctor())
        p = self.python(env={"MASTER_PORT": "29500", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"})
        found = self.doctor(str(p.pid), status=1)
        self.assertEqual(found["job"], {"name": "MASTER_PORT=29500", "spans_hosts": "WORLD_SIZE=4, LOCAL_WORLD_SIZE=2"})
        self.assertTrue(any("other hosts" in h for h in found["hints"]))

    def test_missing_functions_are_named(self):
        found = self.doctor()
        opencl, = [v for v in found["vendor libraries"] if v["platform"] == "OpenCL"]
        if not opencl["found"]:
            self.skipTest("no OpenCL loader here")
        shim, = [l for l in found["libraries"] if l["path"].endswith("libshimopencl.so")]
        self.assertGreater(shim["missing"], 100)
        self.assertTrue(any("libshimopencl.so does not have" in h for h in found["hints"]))

    def test_arguments(self):
        for args in (["x"], ["-1"], ["0"], ["1", "2"], ["--nonsense"]):
            self.assertEqual(self.xsched("doctor", *args).returncode, 64, args)
        done = self.xsched("doctor", str(2**22 - 1))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no process", done.stderr)


class Processes(Doctor):
    def setUp(self):
        super().setUp()
        self.use_all()

    def causes_of(self, process):
        return self.causes(self.doctor(str(process.pid)))

    def test_plain(self):
        p = self.python()
        found = self.doctor(str(p.pid), status=1)
        self.assertEqual(self.causes(found), {"not_preloaded"})
        self.assertEqual(found["verdict"], f"PID {p.pid}: not scheduled: {found['problems'][0]['text']}")
        self.assertEqual(self.xsched("doctor", str(p.pid)).stdout.splitlines()[0], found["verdict"])
        self.assertEqual(found["process"]["pid"], p.pid)
        self.assertEqual(found["process"]["executable"], os.path.realpath("/usr/bin/python3"))

    def test_loaded_without_device(self):
        p = self.python(os.path.join(self.bin, "xsched"), "run", "-p", "4", "--no-server", "--")
        found = self.doctor(str(p.pid), status=1)
        self.assertEqual(self.causes(found), {"no_vendor", "no_server"})
        self.assertEqual(found["environment"]["XSCHED_PRIORITY"], "4")
        self.assertEqual({os.path.basename(l["path"]) for l in found["libraries"]}, {"libshimcuda.so", "libshimopencl.so"})

    def test_preload_alone_schedules_nothing(self):
        p = self.python(env={"LD_PRELOAD": os.path.join(self.shims, "libshimopencl.so")})
        self.assertEqual(self.causes_of(p), {"no_vendor", "not_automatic", "app_managed"})

    def test_disabled(self):
        p = self.python(os.path.join(self.bin, "xsched"), "run", "-q", "--no-server", "--", env={"XSCHED_DISABLE": "on"})
        self.assertEqual(self.causes_of(p), {"no_vendor", "disabled"})

    def test_local(self):
        p = self.python(os.path.join(self.bin, "xsched"), "run", "--local-policy", "HPF", "--")
        found = self.doctor(str(p.pid))
        self.assertEqual(self.causes(found), {"no_vendor"})
        self.assertIn("schedules itself", found["verdict"])
        self.assertTrue(any("schedules itself" in h for h in found["hints"]))

    def test_stopped(self):
        p = self.python()
        os.kill(p.pid, signal.SIGSTOP)
        os.waitpid(p.pid, os.WUNTRACED)
        found = self.doctor(str(p.pid))
        self.assertEqual(self.causes(found), {"not_preloaded", "stopped"})
        self.assertEqual(found["verdict"], f"PID {p.pid}: stopped by a signal or a debugger")

    def test_preload_that_failed(self):
        path = os.path.join(self.top, "libshimcuda.so")
        p = self.start("/usr/bin/python3", "-c", SLEEPER, env={"LD_PRELOAD": path})
        self.assertEqual(self.causes_of(p), {"preload_failed"})

    def test_replaced(self):
        p = self.python(os.path.join(self.bin, "xsched"), "run", "--local-policy", "HPF", "--")
        os.unlink(os.path.join(self.shims, "libshimcuda.so"))
        self.assertIn("shim_replaced", self.causes_of(p))

    def test_two_runtimes(self):
        copies = [os.path.join(self.top, d, "libamdhip64.so.6") for d in "ab"]
        for path in copies:
            os.mkdir(os.path.dirname(path))
            shutil.copy2(os.environ["DUMMY_SHIM"], path)
        p = self.python(code=f"import ctypes; a = [ctypes.CDLL(p) for p in {copies!r}];" + SLEEPER)
        self.assertEqual(self.causes_of(p), {"not_preloaded", "two_runtimes"})

    def calls(self, mode, more=""):
        folder = os.environ["CALLS"]
        caller = os.path.join(folder, "libcaller.so")
        p = self.python(env={"LD_PRELOAD": os.path.join(folder, "libshimhip.so"), "XSCHED_POLICY": "HPF",
                             "XSCHED_AUTO_XQUEUE": "ON"},
                        code=f"import ctypes, os; a = ctypes.CDLL({caller!r}, mode={mode});" + more + SLEEPER)
        found = self.doctor(str(p.pid))
        one, = found["callers"]
        self.assertEqual((one["object"], one["needs"], one["platform"]), (caller, "libamdhip64.so.4", "HIP"))
        self.assertEqual(one["runtime"], os.path.join(folder, "libamdhip64.so.4"))
        self.assertTrue(any("hipNobodyKnows" in h for h in found["hints"]), found["hints"])
        return one, self.causes(found)

    def test_callers(self):
        one, causes = self.calls("os.RTLD_NOW")
        self.assertEqual((one["through_shim"], one["direct"], causes), (2, 1, set()))

    def test_calls_that_escape(self):
        one, causes = self.calls("os.RTLD_NOW | os.RTLD_DEEPBIND")
        self.assertEqual((one["through_shim"], one["direct"], causes), (0, 3, {"calls_escape"}))

    def test_namespace(self):
        more = "c = ctypes.CDLL(None); c.dlmopen.restype = ctypes.c_void_p; " \
               "h = c.dlmopen(ctypes.c_long(-1), b'libm.so.6', 2); assert h;"
        _, causes = self.calls("os.RTLD_NOW", more)
        self.assertEqual(causes, {"namespace"})

    @unittest.skipIf(os.environ.get("SANITIZED"), "an interpreter without the sanitizer's runtime cannot load the library")
    def test_functions_not_known(self):
        """They stand in the memory of libpreempt, whatever made it load."""
        lib = os.path.join(os.environ["XSCHED_BUILD_DIR"], "lib/libpreempt.so.1")
        code = f"import ctypes; l = ctypes.CDLL({lib!r});"
        self.assertNotIn("functions not known", self.doctor(str(self.python(code=code + SLEEPER).pid)))
        code += "l.xsched_priv_unseen(b'cuWhoAmI', 13090, 0);"
        found = self.doctor(str(self.python(code=code + SLEEPER).pid))
        self.assertEqual(found["functions not known"], {"passes": ["cuWhoAmI 13090"], "works": []})
        self.assertNotIn("newer_functions", self.causes(found))
        self.assertTrue(any("cuWhoAmI 13090" in h for h in found["hints"]), found["hints"])
        code += "[l.xsched_priv_unseen(b'cuLaunchAnew%d' % i, 13090, 1) for i in range(9)];"
        found = self.doctor(str(self.python(code=code + SLEEPER).pid))
        self.assertEqual(found["functions not known"]["works"], [f"cuLaunchAnew{i} 13090" for i in range(8)])
        text, = [p["text"] for p in found["problems"] if p["cause"] == "newer_functions"]
        self.assertIn("got 9 functions", text)

    def test_platform_without_shim(self):
        path = os.path.join(self.top, "libamdhip64.so.6")
        shutil.copy2(os.environ["DUMMY_SHIM"], path)
        p = self.python(os.path.join(self.bin, "xsched"), "run", "--local-policy", "HPF", "--",
                        code=f"import ctypes; a = ctypes.CDLL({path!r});" + SLEEPER)
        self.assertEqual(self.causes_of(p), {"no_shim_for_platform"})

    def test_static(self):
        program = os.environ.get("STATIC_PROGRAM")
        if not program:
            self.skipTest("no static C library here")
        p = self.start(program)
        self.assertEqual(self.causes_of(p), {"static"})
        done = self.xsched("run", "--no-server", "--", program)
        self.assertIn("statically linked", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs another user's process")
    def test_another_users_process(self):
        os.chmod(self.top, 0o755)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                               os.path.join(self.bin, "xsched"), "doctor", str(os.getpid())],
                              env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("another user", done.stderr)


if __name__ == "__main__":
    own_network.enter()
    unittest.main(verbosity=1)
