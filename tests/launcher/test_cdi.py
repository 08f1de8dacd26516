# SPDX-License-Identifier: Apache-2.0
"""xsched cdi: the specification is what the CDI format allows, and wrong words are refused."""
import json
import os
import re
import socket
import stat
import subprocess
import tempfile
import unittest

XSCHED = os.path.join(os.environ["XSCHED_BUILD_DIR"], "bin", "xsched")


def cdi(*args, env=None):
    return subprocess.run([XSCHED, "cdi", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                          errors="replace", timeout=60)


class Cdi(unittest.TestCase):
    def test_specification(self):
        folder = self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext") else "/tmp"
        spec = json.loads(cdi("--socket-folder", folder).stdout)
        self.assertEqual(set(spec), {"cdiVersion", "kind", "devices", "containerEdits"})
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.5.0", "xsched.dev/queue"))
        names = {d["name"]: d["containerEdits"] for d in spec["devices"]}
        self.assertEqual(names["high"], {"env": ["XSCHED_PRIORITY=10"]})
        self.assertEqual(set(names), {"urgent", "high", "normal", "low", "background"})
        mounts = {m["containerPath"]: m for m in spec["containerEdits"]["mounts"]}
        self.assertEqual(mounts["/run/xsched"]["hostPath"], folder)
        for m in mounts.values():
            self.assertEqual(set(m), {"hostPath", "containerPath", "options"})
            self.assertTrue(m["hostPath"].startswith("/") and m["containerPath"].startswith("/"))
            self.assertIn("ro", m["options"])
        # whatever the preloaded objects need of ours is mounted too
        env = dict(e.split("=", 1) for e in spec["containerEdits"]["env"])
        self.assertTrue(env["LD_PRELOAD"])
        # the drivers of Level Zero are the container's, whatever is installed here
        drivers = os.path.join(os.environ["XSCHED_BUILD_DIR"], "lib/xsched/libxsched-ze_intel_gpu.so")
        named = [os.path.basename(p) for p in env.get("ZE_ENABLE_ALT_DRIVERS", "").split(",")]
        self.assertEqual(named, [f"libxsched-ze_intel_{n}.so" for n in ("gpu", "gpu_legacy1", "vpu", "npu")]
                         if os.path.exists(drivers) else [""])
        for path in env["LD_PRELOAD"].split(":") + [env["OPENCL_LAYERS"]]:
            self.assertIn(path, mounts)
            needed = subprocess.run(["readelf", "-d", mounts[path]["hostPath"]], stdout=subprocess.PIPE, text=True).stdout
            for name in re.findall(r"\(NEEDED\).*\[(lib(?:preempt|hal|xsched)[^\]]*)\]", needed):
                self.assertTrue({f"/opt/xsched/lib/{name}", f"/opt/xsched/lib/xsched/{name}"} & set(mounts), name)

    def test_file_and_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.json")
            self.assertEqual(cdi("-o", path, "-d", "a=-3", "--device", "b.1=255", "-k", "example.com/share").returncode, 0)
            self.assertEqual(os.listdir(folder), ["x.json"])
            with open(path, encoding="utf-8") as f:
                spec = json.load(f)
        self.assertEqual(spec["kind"], "example.com/share")
        self.assertEqual([d["containerEdits"]["env"] for d in spec["devices"]], [["XSCHED_PRIORITY=-3"], ["XSCHED_PRIORITY=255"]])

    def test_only_files_are_replaced(self):
        """A link stays one, and so does a pipe; what they lead to gets the specification."""
        with tempfile.TemporaryDirectory() as folder:
            path, link, pipe = (os.path.join(folder, n) for n in ("x.json", "link", "pipe"))
            os.symlink(path, link)
            os.mkfifo(pipe)
            for _ in range(2):      # a dangling link, and one that is not
                self.assertEqual(cdi("-o", link).returncode, 0)
            self.assertEqual(os.readlink(link), path)
            with open(path, encoding="utf-8") as f:
                self.assertEqual(json.load(f)["kind"], "xsched.dev/queue")
            done = cdi("-o", "/dev/stdout")
            self.assertEqual((done.returncode, json.loads(done.stdout)["kind"]), (0, "xsched.dev/queue"), done.stderr)
            reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
            self.assertEqual(cdi("-o", pipe).returncode, 0)
            self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["kind"], "xsched.dev/queue")
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
            self.assertEqual(sorted(os.listdir(folder)), ["link", "pipe", "x.json"])

    def test_names_that_are_not_utf8(self):
        with tempfile.TemporaryDirectory() as top:
            folder = os.fsencode(top) + b"/d\xff"
            os.mkdir(folder)
            for option in ("-s", "-m"):
                done = cdi(option, folder)
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertIn("UTF-8", done.stderr)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(listener.close)
            listener.bind(folder + b"/x.sock")
            listener.listen()
            done = cdi(env={**os.environb, b"XSCHED_SOCKET": folder + b"/x.sock"})
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("not UTF-8", done.stderr)

    def test_space(self):
        """Another device for each, with the daemon's folder under its own name."""
        with tempfile.TemporaryDirectory() as top:
            own = os.path.join(top, "mps-GPU-12345678-abab", "mps")
            os.makedirs(own)
            os.mkdir(os.path.join(top, "site"))
            done = cdi("-d", "a=5", "-d", "b=0", "--space", own)
            self.assertIn("no MPS daemon has its pipes in", done.stderr)
            with open(os.path.join(own, "control"), "w", encoding="ascii"):
                pass
            done = cdi("-d", "a=5", "-d", "b=0", "--space", own)
            self.assertNotIn("MPS", done.stderr)
            spec = json.loads(done.stdout)
            edits = {d["name"]: d["containerEdits"] for d in spec["devices"]}
            self.assertEqual(list(edits), ["a", "b", "a-space", "b-space"])
            self.assertEqual(edits["a"], {"env": ["XSCHED_PRIORITY=5"]})
            env = {name: dict(e.split("=", 1) for e in edits[name]["env"]) for name in edits}
            self.assertEqual(env["a-space"], {"XSCHED_PRIORITY": "5", "XSCHED_SHARE": "SPACE", "CUDA_MPS_PIPE_DIRECTORY": own,
                                              "CUDA_MPS_CLIENT_PRIORITY": "0"})
            self.assertEqual(env["b-space"]["CUDA_MPS_CLIENT_PRIORITY"], "1")
            mount, = edits["a-space"]["mounts"]
            self.assertEqual((mount["hostPath"], mount["containerPath"]), (own, own))
            self.assertNotIn(own, [m["containerPath"] for m in spec["containerEdits"]["mounts"]])
            # another's daemon, whose folder names no device
            spec = json.loads(cdi("-d", "a=5", "--space", os.path.join(top, "site")).stdout)
            self.assertEqual(len(spec["devices"][1]["containerEdits"]["env"]), len(env["a-space"]))
            for args, word in ((("-d", "a=1", "-d", "a-space=2", "--space", own), "another"), (("--space", "mps"), "absolute"),
                               (("-d", "x" * 60 + "=1", "--space", own), "too long")):
                done = cdi(*args)
                self.assertEqual((done.returncode, done.stdout), (64, ""), args)
                self.assertIn(word, done.stderr)
            self.assertEqual(cdi("--space", own + "/nothing").returncode, 1)

    def test_wrong_words(self):
        for args, word in ((("-d", "high"), "NAME=PRIORITY"), (("-d", "=4"), "NAME=PRIORITY"), (("-d", "x=256"), "-256..255"),
                           (("-d", "x y=1"), "NAME=PRIORITY"), (("-d", "a=1", "-d", "a=2"), "twice"), (("-k", "queue"), "VENDOR/CLASS"),
                           (("-s", "run"), "absolute"), (("more",), "too many")):
            done = cdi(*args)
            self.assertEqual(done.returncode, 64, args)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stdout, "")
        done = cdi("-o", "/nonexistent/x.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/x.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
