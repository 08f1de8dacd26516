# SPDX-License-Identifier: Apache-2.0
"""The original's Python package, environment and tools by their names, and the reports' lines."""
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import unittest
import urllib.error
import urllib.request

from original import BIN, BUILD, LIB, Original, PREFIX, programs

HIP_BY_CTYPES = """
    import ctypes, sys
    hip = ctypes.CDLL("libamdhip64.so.6")
    preempt, hal = ctypes.CDLL("libpreempt.so"), ctypes.CDLL("libhalhip.so")
    stream, hwq, xq = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
    assert hip.hipSetDevice(0) == 0 and hip.hipStreamCreate(ctypes.byref(stream)) == 0
    for s in (stream, ctypes.c_void_p(0)):      # a stream of its own, and the default stream
        print(hal.HipQueueCreate(ctypes.byref(hwq), s),
              preempt.XQueueCreate(ctypes.byref(xq), hwq, ctypes.c_int64(1), ctypes.c_int64(0)),
              preempt.XHintPriority(xq, 5), preempt.XQueueSuspend(xq, ctypes.c_int64(0)),
              preempt.XQueueResume(xq, ctypes.c_int64(0)), preempt.XQueueWaitAll(xq), preempt.XQueueDestroy(xq),
              preempt.HwQueueDestroy(hwq))
    print(hip.hipStreamDestroy(stream))
"""
CUDA_PACKAGE = """
    import ctypes
    import xsched
    from xsched import XSched
    from xsched.cuda import XSchedCuda
    cuda = ctypes.CDLL("libcuda.so.1")
    stream, context = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    print(xsched.__file__)
    print([name for name in ("XQueueCreate", "XHintPriority", "XQueueSuspend", "XQueueResume") if not hasattr(XSched, name)])
    print([name for name in ("CudaQueueCreate", "CudaQueueGet") if not hasattr(XSchedCuda, name)])
"""


class Names(Original):
    def python(self, code, platform, **variables):
        env = self.export(platform, **variables)
        return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=60,
                              check=False)

    def test_c_api_by_ctypes(self):
        """On streams that others made, with the shim and without; the default stream is one like any other."""
        for variables in ({}, {"LD_PRELOAD": f"{LIB}/libshimhip.so"}, {"XSCHED_POLICY": "HPF"},
                          {"LD_PRELOAD": f"{LIB}/libshimhip.so", "XSCHED_SCHEDULER": "LCL", "XSCHED_POLICY": "HPF"}):
            done = self.python(HIP_BY_CTYPES, "hip", LD_LIBRARY_PATH=LIB, **variables)
            self.assertEqual((done.returncode, done.stdout), (0, "0 0 0 0 0 0 0 0\n" * 2 + "0\n"), (variables, done.stderr))

    def test_python_package(self):
        done = self.python(CUDA_PACKAGE, "cuda", PYTHONPATH=f"{PREFIX}/lib/python", LD_LIBRARY_PATH=LIB)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(os.path.realpath(lines[0]),
                         os.path.realpath(os.path.join(PREFIX, "lib/python/xsched/__init__.py")))
        self.assertEqual(lines[1:], ["[]", "[]"])

    def one(self, **variables):
        return subprocess.run(programs("hip", 0.2)["opens"], env=self.export(
            "hip", LD_PRELOAD=f"{LIB}/libshimhip.so", XSCHED_AUTO_XQUEUE="ON", **variables), capture_output=True, text=True,
            timeout=60, check=True).stderr.splitlines()

    def test_schedulers(self):
        """XSCHED_SCHEDULER=local, which one of the reports typed, is none of the three names: APP there as here."""
        said = self.one(XSCHED_SCHEDULER="local")
        self.assertEqual([re.sub(".*[]] ", "", line) for line in said],
                         ["XSCHED_SCHEDULER: 'local' is not APP, LCL or GLB; the default holds", "using app-managed scheduler"])
        for name in ("LCL", "GLB", "APP"):
            said = self.one(XSCHED_SCHEDULER=name)
            self.assertEqual(len([line for line in said if "using " in line]), 1, said)
        for policy in "HPF HHPF CHPF UP PUP SPUP KEDF LAX AWF CFS MLFQ".split():
            self.assertIn(f"using local scheduler with policy {policy}", self.one(XSCHED_POLICY=policy)[0])

    def test_variables_without_a_meaning(self):
        for name in ("CUDA_SINGLE_STREAM_PER_PROCESS", "CUPTI_LIB", "CUDART_LIB", "LEVELZERO_SLICE_CNT"):
            lines = self.one(**{f"XSCHED_{name}": "ON"})
            self.assertEqual(len([line for line in lines if f"XSCHED_{name}" in line]), 1, lines)

    def test_a_level_that_the_device_has_not(self):
        """One line, and the highest level that there is."""
        self.serve()
        p = self.start(programs("hip", 30)["opens"], self.export(
            "hip", LD_PRELOAD=f"{LIB}/libshimhip.so", XSCHED_SCHEDULER="GLB", XSCHED_AUTO_XQUEUE="ON",
            XSCHED_AUTO_XQUEUE_LEVEL="3"))
        q = self.queue(p)
        self.assertLess(q["level"], 3)
        config = self.xcli("config", "-x", hex(q["handle"]), "-l", "3")
        self.assertIn(config.returncode, (0, 1))
        self.assertEqual(len((config.stdout + config.stderr).splitlines()), 1)
        err = self.end(p)[1]
        self.assertEqual(len([line for line in err.splitlines() if "no preemption level 3" in line]), 1, err)

    def test_http(self):
        self.serve(self.policy, str(self.port), "--token=open sesame")
        p = self.start(programs("cuda", 30)["opens"], self.export(
            "cuda", LD_PRELOAD=f"{LIB}/libshimcuda.so", XSCHED_SCHEDULER="GLB", XSCHED_AUTO_XQUEUE="ON"))
        q = self.queue(p)

        def ask(path, body=None, token=True):
            data = None if body is None else body.encode()
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
            if body is not None and token:  # a change, which the original took from anybody
                request.add_header("X-XSched-Token", "open sesame")
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)

        with self.assertRaises(urllib.error.HTTPError) as refused:
            ask("/policy?policy=1", "", token=False)
        self.assertIn("needs the token", json.load(refused.exception)["error"])
        refused.exception.close()

        handle = q["handle"]
        self.assertEqual(ask(f"/xqueue/{handle:x}")["xqueue"]["handle"], handle)
        self.assertEqual(ask(f"/config/{handle:x}?level=1&threshold=16&batch_size=8", "").keys() & {"info"}, {"info"})
        for body in ({"hint_type": 1, "handle": handle, "priority": 3}, {"hint_type": 1, "pid": p.pid, "priority": 4},
                     {"hint_type": 2, "handle": handle, "utilization": 30}, {"hint_type": 3, "timeslice": 2000}):
            self.assertIn("info", ask("/hint", json.dumps(body)), body)
        self.assertEqual(self.queue(p)["priority"], 4)
        # numbers without a sign, as the original's clients write them
        self.assertIn("info", ask("/hint", '{"hint_type": 3, "timeslice": 18446744073709551615}'))
        self.assertIn("info", ask("/hint", '{"hint_type": 1, "handle": %d, "priority": 6, "x": 18446744073709551615}' % handle))
        self.assertEqual(self.queue(p)["priority"], 6)
        for body in ('{"hint_type": 1, "handle": 18446744073709551615, "priority": 6}',
                     '{"hint_type": 3, "timeslice": 18446744073709000000}',
                     '{"hint_type": 1, "handle": %d, "priority": 18446744073709551615}' % handle):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                ask("/hint", body)
            self.assertIn("error", json.load(refused.exception))
            refused.exception.close()
        none = ask(f"/config/{handle:x}", "")
        self.assertEqual((none["warning"], "info" in none), ("no change", True))
        self.assertEqual(ask("/policy")["policy"], 1)
        self.assertIn("info", ask("/policy?policy=10", ""))
        self.assertEqual(ask("/policy")["policy"], 10)

    def test_window_tools(self):
        if not os.path.exists(os.path.join(BUILD, "bin/xsched-window")):
            self.skipTest("no xcb here")
        env = {k: v for k, v in self.env.items() if k != "DISPLAY"}
        done = subprocess.run([os.path.join(BIN, "x11_launcher"), "--", "/bin/echo", "-n", "a", "--"], env=env,
                              capture_output=True, text=True, timeout=20, check=True)
        self.assertEqual(done.stdout, "a --")
        for args in ((), ("-a", "127.0.0.1", "-p", str(self.port), "-l", "50001")):
            done = subprocess.run([os.path.join(BIN, "x11_monitor"), *args], env=env, capture_output=True, text=True, timeout=20,
                                  check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("DISPLAY", done.stderr)

    def test_window_tools_on_a_display(self):
        if not shutil.which("Xvfb") or not os.path.exists(os.path.join(BUILD, "bin/xsched-window")):
            self.skipTest("no Xvfb here")
        self.serve("AWF", str(self.port))
        number = 100 + os.getpid() % 10000
        self.env["DISPLAY"] = f":{number}"
        self.start(["Xvfb", self.env["DISPLAY"], "-screen", "0", "320x240x24", "-nolisten", "tcp"], self.env)
        self.wait_for(lambda: os.path.exists(f"/tmp/.X11-unix/X{number}"), "the display is there")
        monitor = self.start([os.path.join(BIN, "x11_monitor"), "-p", str(self.port)], self.env)
        first = monitor.stdout.readline()
        self.assertIn("active:", first, first or monitor.stderr.read())
        env = self.export("cuda", LD_LIBRARY_PATH=LIB, XSCHED_SCHEDULER="GLB", XSCHED_AUTO_XQUEUE="ON",
                          XSCHED_AUTO_XQUEUE_LEVEL="1", XSCHED_AUTO_XQUEUE_THRESHOLD="8", XSCHED_AUTO_XQUEUE_BATCH_SIZE="4")
        app = self.start([os.path.join(BIN, "x11_launcher"), "--", *programs("cuda", 30)["opens"]], env)
        q = self.queue(app)
        self.assertEqual((q["threshold"], q["batch_size"]), (8, 4))
        self.assertIsNone(monitor.poll())


if __name__ == "__main__":
    unittest.main()
