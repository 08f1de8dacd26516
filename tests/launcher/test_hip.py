# SPDX-License-Identifier: Apache-2.0
"""The launcher with the real shim and server, and a package laid out as PyTorch's ROCm wheel on the fake runtime."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_network  # noqa: E402

BUILD = os.environ["XSCHED_BUILD_DIR"]
XSCHED = os.path.join(BUILD, "bin", "xsched")
FAKES = os.path.join(BUILD, "tests", "fakes", "hip")
WHEEL = os.path.join(FAKES, "wheel")
OWN = os.path.realpath(os.path.join(WHEEL, "torch", "lib", "libamdhip64.so"))
SYSTEM = os.path.realpath(os.path.join(FAKES, "system", "libamdhip64.so.6"))
PROGRAM = """
import ctypes, sys
import torch
assert torch.init() == 0 and torch.randn(1) == 0
s = torch.stream()
assert torch.on(s, 2) == 0 and torch.blas_create() == 0 and torch.blas_gemm(s, 3) == 0
{more}
print('up', flush=True)
sys.stdin.read()
print(*torch.log.tags()[:3])
"""


class Hip(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="xsched-test-")
        self.addCleanup(shutil.rmtree, self.top)
        self.socket = os.path.join(self.top, "xserver.sock")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        self.env.update(XDG_RUNTIME_DIR=self.top, PYTHONPATH=WHEEL, PYTHONDONTWRITEBYTECODE="1",
                        LD_LIBRARY_PATH=os.path.dirname(SYSTEM))

    def program(self, *launcher, more="", env=None):
        p = subprocess.Popen([*launcher, "/usr/bin/python3", "-c", PROGRAM.format(more=more)],
                             env={**self.env, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        self.assertEqual(p.stdout.readline(), "up\n", p.poll() and p.stderr.read())
        return p

    def doctor(self, p):
        done = subprocess.run([XSCHED, "doctor", "--json", str(p.pid)], env=self.env, capture_output=True, text=True,
                              timeout=180, check=False)
        found = json.loads(done.stdout)
        return found, {f["cause"] for f in found["problems"]}

    def ends(self, p):
        out, err = p.communicate("", timeout=180)
        self.assertEqual((p.returncode, out), (0, "1 2 3\n"), err)

    def server(self, *options, awaited=("xserver.sock", "http.sock")):
        command = [os.path.join(BUILD, "bin", "xserver"), "--socket", self.socket, "--port", "0", *options]
        server = subprocess.Popen(command, env=self.env, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        end = time.monotonic() + 60
        while not all(os.path.exists(os.path.join(self.top, name)) for name in awaited):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    @staticmethod
    def maps(p, name):
        with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
            return name in f.read()

    def test_scheduled_by_a_server_that_answers_nothing(self):
        self.server("--http=OFF", awaited=("xserver.sock",))
        p = self.program(XSCHED, "run", "--socket", self.socket, "--priority", "7", "--")
        end = time.monotonic() + 60
        while not self.maps(p, "/memfd:xsched-server"):  # it joins beside its first command
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        found, causes = self.doctor(p)
        self.assertEqual(causes, set())
        self.assertTrue(any("answers no questions" in h and "has joined" in h for h in found["hints"]), found["hints"])
        self.ends(p)

    def test_scheduled(self):
        self.server()
        p = self.program(XSCHED, "run", "--socket", self.socket, "--priority", "7", "--")
        found, causes = self.doctor(p)
        self.assertEqual(causes, set())
        self.assertEqual({(q["priority"], q["platform"]) for q in found["queues"]}, {(7, "HIP")})
        self.assertEqual([l["path"] for l in found["libraries"] if l["kind"] == "vendor"], [OWN])
        callers = {os.path.basename(c["object"]): c for c in found["callers"]}
        self.assertEqual(set(callers), {"libtorch_hip.so", "libhipblas.so"})
        for c in callers.values():
            self.assertEqual((c["runtime"], c["direct"]), (OWN, 0))
            self.assertGreater(c["through_shim"], 0)
        self.ends(p)

    def test_two_copies(self):
        p = self.program(XSCHED, "run", "--local-policy", "HPF", "--", more=f"ctypes.CDLL({SYSTEM!r})")
        found, causes = self.doctor(p)
        self.assertEqual(causes, set())
        self.assertEqual({l["path"] for l in found["libraries"] if l["kind"] == "vendor"}, {OWN, SYSTEM})
        self.assertTrue(any("each caller keeps the one" in h for h in found["hints"]), found["hints"])
        self.assertEqual({c["runtime"] for c in found["callers"]}, {OWN})
        self.ends(p)

    def test_without_the_shim(self):
        p = self.program()
        found, causes = self.doctor(p)
        self.assertEqual(causes, {"not_preloaded"})
        self.assertEqual({(c["runtime"], c["through_shim"]) for c in found["callers"]}, {(OWN, 0)})
        self.assertTrue(all(c["direct"] for c in found["callers"]))
        self.ends(p)

    def test_trace(self):
        done = subprocess.run([XSCHED, "trace", "--", "/usr/bin/python3", "-c", PROGRAM.format(more="")], env=self.env,
                              capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "up\n1 2 3\n"), done.stderr)
        launch, = [line.split() for line in done.stderr.splitlines() if line.startswith("hipLaunchKernel ")]
        self.assertEqual((launch[1], launch[2]), ("4", "4"))
        bound, = [line for line in done.stderr.splitlines() if "calls go to" in line]
        self.assertIn(OWN, bound)


if __name__ == "__main__":
    own_network.enter()
    unittest.main(verbosity=1)
