# SPDX-License-Identifier: Apache-2.0
"""The launcher with the real shim, the real server and an OpenCL device (PoCL)."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_network  # noqa: E402

BUILD = os.environ["XSCHED_BUILD_DIR"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
XSCHED = os.path.join(BUILD, "bin", "xsched")
TRANSPARENT = os.path.join(BUILD, "examples", "opencl", "transparent")
OCLLOAD = os.path.join(BUILD, "demo", "oclload")
DEMO_KEYS = {"alone_p50_ms", "alone_p99_ms", "native_p50_ms", "native_p99_ms", "xsched_p50_ms", "xsched_p99_ms",
             "low_native_per_s", "low_xsched_per_s", "samples"}


class OpenCL(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="xsched-test-")
        self.addCleanup(shutil.rmtree, self.top)
        self.socket = os.path.join(self.top, "xserver.sock")
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XSCHED_", "XLOG_")) and k not in ("LD_PRELOAD", "OPENCL_LAYERS")}
        self.env.update(XDG_RUNTIME_DIR=self.top, POCL_MAX_PTHREAD_COUNT="1",
                        POCL_CACHE_DIR=os.path.join(BUILD, "tests", "launcher", "pocl-cache"))

    def run_xsched(self, *args, env=None):
        return subprocess.run([XSCHED, *args], env={**self.env, **(env or {})}, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)

    def start_server(self):
        server = subprocess.Popen([os.path.join(BUILD, "bin", "xserver"), "--socket", self.socket, "--port", "0"],
                                  env=self.env, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        end = time.monotonic() + 60
        while not (os.path.exists(self.socket) and os.path.exists(os.path.join(self.top, "http.sock"))):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return server

    def start_load(self, *options, env=None):
        """A background program that launches kernels until SIGTERM."""
        p = subprocess.Popen([XSCHED, "run", "--socket", self.socket, *options, "--", OCLLOAD, "stream", "--iterations",
                              "50000", "--in-flight", "4"], env={**self.env, **(env or {})}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        self.assertEqual(p.stdout.readline(), "running\n")
        return p

    def doctor(self, pid):
        done = self.run_xsched("doctor", "--json", str(pid))
        return done.returncode, json.loads(done.stdout)


class Doctor(OpenCL):
    def test_scheduled(self):
        self.start_server()
        p = self.start_load("--priority", "7")
        status, found = self.doctor(p.pid)
        self.assertEqual((status, found["problems"]), (0, []))
        queue, = found["queues"]
        self.assertEqual((queue["priority"], queue["platform"]), (7, "OpenCL"))
        self.assertGreater(queue["commands"], 0)
        self.assertEqual(found["joined"]["pid"], p.pid)
        self.assertRegex(found["verdict"], rf"^PID {p.pid}: scheduled, priority 7, level 1, (CPU|GPU|device) [0-9a-f]+")
        self.assertIn(f"handle {queue['handle']:#x},", self.run_xsched("doctor", "-v", str(p.pid)).stdout)
        kinds = {(l["kind"], l.get("platform")) for l in found["libraries"]}
        self.assertTrue({("shim", "OpenCL"), ("vendor", "OpenCL"), ("xsched", "OpenCL")} <= kinds, kinds)
        xcli = [os.path.join(BUILD, "bin", "xcli"), "--socket", self.socket]
        subprocess.run([*xcli, "suspend", "--pid", str(p.pid)], check=True, capture_output=True)
        _, found = self.doctor(p.pid)
        self.assertEqual({f["cause"] for f in found["problems"]}, {"held"})
        self.assertEqual(found["problems"][0]["hint"], f"`xcli resume --pid {p.pid}` resumes it.")
        self.assertIn("suspended by a user, priority 7", found["verdict"])
        self.assertFalse([h for h in found["hints"] if "more important" in h], found["hints"])
        subprocess.run([*xcli, "suspend", str(p.pid), "--for", "1h"], check=True, capture_output=True)
        self.assertRegex(self.run_xsched("doctor", str(p.pid)).stdout, r"suspended the process.*; xserver resumes it in 3[56]\d\d\.\d s")
        subprocess.run([*xcli, "resume", "--pid", str(p.pid)], check=True, capture_output=True)
        subprocess.run([*xcli, "hint", str(p.pid), "--priority", "-256"], check=True, capture_output=True)
        _, found = self.doctor(p.pid)
        self.assertEqual(found["problems"][0]["hint"], f"`xcli hint {p.pid} --priority 0` gives it another.")
        subprocess.run([*xcli, "hint", str(p.pid), "--priority", "0"], check=True, capture_output=True)
        p.terminate()
        self.assertIn("correct", p.communicate(timeout=120)[0])
        self.assertEqual(p.returncode, 0)

    def test_hints_without_effect(self):
        """Those of the program that runs, with the command that mends it; the program is scheduled all the same."""
        self.start_server()
        p = self.start_load("--utilization", "30", "--deadline", "500")
        status, found = self.doctor(p.pid)
        said = {f["text"] for f in found["problems"] if f["cause"] == "hint_without_effect"}
        self.assertEqual(status, 1)
        self.assertEqual(said, {
            "a utilization of 30 % has no effect under the policy HPF: `xcli policy PUP` changes to one that goes by it",
            "a deadline of 500 us has no effect under the policy HPF: `xcli policy KEDF` changes to one that goes by it"})
        self.assertRegex(found["verdict"], rf"^PID {p.pid}: scheduled, priority 0")
        xcli = [os.path.join(BUILD, "bin", "xcli"), "--socket", self.socket]
        subprocess.run([*xcli, "policy", "PUP"], check=True, capture_output=True)
        self.assertEqual([f["text"].split(" has")[0] for f in self.doctor(p.pid)[1]["problems"]], ["a deadline of 500 us"])
        hint = [subprocess.run([*xcli, "hint", str(p.pid), *args], check=True, capture_output=True, text=True).stderr
                for args in (["-u", "40"], ["-p", "7"])]
        self.assertEqual(hint[0], "")
        self.assertIn("the priority of a process has no effect under the policy PUP: `xcli policy HPF`", hint[1])

    def test_no_server_then_one(self):
        p = self.start_load("--no-server")
        status, found = self.doctor(p.pid)
        self.assertEqual((status, {f["cause"] for f in found["problems"]}), (1, {"no_server"}))
        self.start_server()
        end = time.monotonic() + 60
        while self.doctor(p.pid)[0] != 0:
            self.assertLess(time.monotonic(), end, "the program does not join a server that comes later")
            time.sleep(0.1)

    def test_level_denied(self):
        self.start_server()
        p = self.start_load("--level", "3")
        _, found = self.doctor(p.pid)
        self.assertEqual({f["cause"] for f in found["problems"]}, {"level_denied"})

    def test_installation(self):
        done = self.run_xsched("doctor", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((done.returncode, found["problems"]), (0, []))
        shim, = [l for l in found["libraries"] if l["path"].endswith("libshimopencl.so")]
        self.assertEqual(shim["missing"], 0)


class Trace(OpenCL):
    def test_counts(self):
        trace, summary = os.path.join(self.top, "trace"), os.path.join(self.top, "summary")
        done = self.run_xsched("trace", "-o", trace, "-s", summary, "--", TRANSPARENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("results are right", done.stdout)
        with open(summary) as f:
            table = f.read()
        with open(trace) as f:
            lines = [line.split() for line in f if not line.startswith("#")]
        submits = [line for line in lines if line[3] == "submit"]
        self.assertEqual(sum(line[2] == "clEnqueueNDRangeKernel" for line in submits), 200)
        self.assertEqual(int(submits[-1][7]), len(submits))
        self.assertIn(f"scheduled commands: {len(submits)}\n", table)
        self.assertRegex(table, r"clEnqueueNDRangeKernel +200 +200 +0 +0 +0 +0 ")
        self.assertRegex(table, rf"\nall +{len(lines)} +{len(submits)} ")

    def test_status_is_the_programs(self):
        self.assertEqual(self.run_xsched("trace", "--", "sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(self.run_xsched("trace", "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.run_xsched("trace", "--", "/no/such/program").returncode, 127)
        self.assertEqual(self.run_xsched("trace").returncode, 64)
        self.assertEqual(self.run_xsched("trace", "-o", "/no/such/folder/x", "--", "true").returncode, 1)

    def test_nothing_to_see(self):
        done = self.run_xsched("trace", "--", "true")
        self.assertIn("the shims saw no call", done.stderr)
        self.assertEqual(done.returncode, 0)
        self.assertIn("scheduled commands: 0\n", done.stderr)

    def test_signal_is_passed_on(self):
        p = subprocess.Popen([XSCHED, "trace", "--", OCLLOAD, "stream", "--iterations", "50000", "--in-flight", "4"],
                             env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        self.assertEqual(p.stdout.readline(), "running\n")
        p.terminate()
        out, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 0)
        self.assertIn("correct", out)
        self.assertIn("clEnqueueNDRangeKernel", err)


class Demo(OpenCL):
    def demo(self, build=BUILD, **env):
        return subprocess.run([os.path.join(ROOT, "demo", "run")],
                              env={**self.env, "XSCHED_BUILD_DIR": build, "DEMO_OUT": os.path.join(self.top, "out"), **env},
                              capture_output=True, text=True, timeout=300)

    def test_short(self):
        done = self.demo(DEMO_REQUESTS="16")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = os.path.join(self.top, "out")
        with open(os.path.join(out, "demo.json")) as f:
            result = json.load(f)
        self.assertEqual(set(result), DEMO_KEYS)
        self.assertTrue(all(isinstance(v, (int, float)) and v > 0 for v in result.values()), result)
        self.assertEqual(result["samples"], 16)
        self.assertLessEqual(result["native_p50_ms"], result["native_p99_ms"])
        with open(os.path.join(out, "demo.png"), "rb") as f:
            self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")
        raw = os.listdir(os.path.join(out, "demo-raw"))
        self.assertEqual(sum(name.endswith("-high.csv") for name in raw), 6)
        self.assertEqual(sum(name.endswith("-low.csv") for name in raw), 4)
        for text in ("DEMO_REQUESTS=16", "alone", "native", "xsched", "The urgent program's P99 was"):
            self.assertIn(text, done.stdout)
        self.assertEqual(os.listdir(self.top), ["out"], "nothing is left behind")

    def test_third_party(self):
        """Short: that it works, not what it finds."""
        if not shutil.which("clFFT-client") or subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"],
                                                              capture_output=True).returncode:
            self.skipTest("clfft-client or python3-pyopencl is not installed")
        out = os.path.join(self.top, "out")
        done = subprocess.run([os.path.join(ROOT, "demo", "third-party")],
                              env={**self.env, "XSCHED_BUILD_DIR": BUILD, "DEMO_OUT": out, "DEMO_REQUESTS": "6"},
                              capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(" 0 % of its native rate", done.stdout)
        with open(os.path.join(out, "third-party.json")) as f:
            self.assertEqual(set(json.load(f)), DEMO_KEYS)

    def test_arguments(self):
        for text in ("0", "-5", "many", ""):
            done = self.demo(DEMO_REQUESTS=text)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("DEMO_REQUESTS", done.stderr)

    def copy_of_build(self, program):
        """The built tree with another program in the place of the demo's client."""
        build = os.path.join(self.top, "build")
        os.makedirs(os.path.join(build, "demo"))
        for name in ("bin", "lib"):
            os.symlink(os.path.join(BUILD, name), os.path.join(build, name))
        path = os.path.join(build, "demo", "oclload")
        with open(path, "w") as f:
            f.write(program)
        os.chmod(path, 0o755)
        return build

    def test_wrong_result_fails(self):
        """A client that finds its results wrong ends with status 1, as oclload does."""
        build = self.copy_of_build(f'#!/bin/sh\ncase "$1" in\n  requests) echo wrong >&2; exit 1 ;;\nesac\nexec {OCLLOAD} "$@"\n')
        done = self.demo(build, DEMO_REQUESTS="2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the high side failed", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.top, "out", "demo.json")))

    def test_unscheduled_clients_fail(self):
        build = self.copy_of_build(f'#!/bin/sh\nunset LD_PRELOAD OPENCL_LAYERS\nexec {OCLLOAD} "$@"\n')
        done = self.demo(build, DEMO_REQUESTS="2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not reach xserver", done.stderr)

    def test_ended(self):
        """Who ends a demo, or closes its terminal, ends its programs: those of `alone`, then the two of `native`."""
        pids = os.path.join(self.top, "pids")
        build = self.copy_of_build(f'#!/bin/sh\n[ "$1" = calibrate ] || echo $$ >>{pids}\nexec {OCLLOAD} "$@"\n')
        for signo in (signal.SIGTERM, signal.SIGHUP):
            p = subprocess.Popen([os.path.join(ROOT, "demo", "run")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**self.env, "XSCHED_BUILD_DIR": build, "DEMO_OUT": os.path.join(self.top, "out"),
                                      "DEMO_REQUESTS": "40"})
            self.addCleanup(lambda p=p: (p.kill(), p.wait()))
            started, end = [], time.monotonic() + 120
            while len(started) < 3:
                self.assertIsNone(p.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
                if os.path.exists(pids):
                    with open(pids) as f:
                        started = f.read().split()
            p.send_signal(signo)
            p.wait(60)
            left = [pid for pid in started if os.path.exists(f"/proc/{pid}")]
            for pid in left:
                os.kill(int(pid), signal.SIGKILL)
            self.assertEqual((p.returncode, left), (128 + signo, []))
            os.unlink(pids)

    def test_nothing_built(self):
        done = self.demo("/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("make demo", done.stderr)


if __name__ == "__main__":
    own_network.enter()
    unittest.main(verbosity=1)
