# SPDX-License-Identifier: Apache-2.0
"""LD_PRELOAD and LD_LIBRARY_PATH as the original's documents have them."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from original import BIN, BUILD, FAKES, LIB, NAMES, Original, PREFIX, SOURCE, programs

HIGH = {"XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_PRIORITY": "1",
        "XSCHED_AUTO_XQUEUE_LEVEL": "1", "XSCHED_AUTO_XQUEUE_THRESHOLD": "16", "XSCHED_AUTO_XQUEUE_BATCH_SIZE": "8"}
LOW = dict(HIGH, XSCHED_AUTO_XQUEUE_PRIORITY="0", XSCHED_AUTO_XQUEUE_THRESHOLD="4", XSCHED_AUTO_XQUEUE_BATCH_SIZE="2")


class Loading(Original):
    def effect(self, platform, **how):
        for command in programs(platform, 30).values():
            with self.subTest(platform=platform, command=command, **how):
                high = self.start(command, self.export(platform, **HIGH, **how))
                low = self.start(command, self.export(platform, **LOW, **how))
                a, b = self.queue(high), self.queue(low)
                self.assertEqual((a["priority"], a["level"], a["threshold"], a["batch_size"]), (1, 1, 16, 8))
                self.assertEqual((b["priority"], b["level"], b["threshold"], b["batch_size"]), (0, 1, 4, 2))
                for p in (high, low):
                    err = self.end(p)[1]
                    self.assertNotIn("preloaded", err)
                    self.assertEqual(len(re.findall("using global scheduler", err)), 1, err)

    def test_library_path_of_an_installed_tree(self):
        self.serve()
        for platform in FAKES:
            self.effect(platform, LD_LIBRARY_PATH=LIB)

    def test_preload_from_an_installed_tree(self):
        self.serve()
        for platform in FAKES:
            self.effect(platform, LD_PRELOAD=f"{LIB}/libshim{platform}.so:")

    def test_both_lines_from_a_build_tree(self):
        self.serve()
        for platform in FAKES:
            self.effect(platform, LD_LIBRARY_PATH=f"{BUILD}/output/lib")
            self.effect(platform, LD_PRELOAD=f"{BUILD}/output/lib/libshim{platform}.so")
            self.effect(platform, LD_PRELOAD=f"{BUILD}/lib/libshim{platform}.so")

    def test_both_lines_at_once(self):
        self.serve()
        for platform in FAKES:
            self.effect(platform, LD_LIBRARY_PATH=LIB, LD_PRELOAD=f"{LIB}/libshim{platform}.so")

    def test_preload_under_xsched_run(self):
        """`xsched run` replaces what LD_PRELOAD has of ours: a process has one shim for a platform."""
        for platform in FAKES:
            seen = subprocess.run([os.path.join(BIN, "xsched"), "run", "--no-server", "--", "env"], text=True,
                                  env=dict(self.env, LD_PRELOAD=f"{LIB}/libshim{platform}.so"), capture_output=True,
                                  check=True).stdout
            preload = re.search("^LD_PRELOAD=(.*)$", seen, re.M)[1].split(":")
            self.assertEqual([os.path.realpath(p) for p in preload if f"libshim{platform}.so" in p],
                             [os.path.realpath(f"{LIB}/xsched/libshim{platform}.so")])

    def test_one_shim_each_wherever_library_path_leads(self):
        """LD_LIBRARY_PATH with LIBDIR in it, which /usr/local/lib may be: an alias finds the shim beside it all the same."""
        run = [os.path.join(BIN, "xsched"), "run", "--no-server", "--"]
        for path in (LIB, f"{LIB}/xsched", f"{LIB}/xsched/names"):
            for command, preload in ((run, ""), ([], f"{LIB}/libshimhip.so")):
                maps = subprocess.run(command + ["cat", "/proc/self/maps"], text=True, capture_output=True, check=True,
                                      env=dict(self.env, LD_LIBRARY_PATH=path, LD_PRELOAD=preload)).stdout
                self.assertEqual(len(set(re.findall(r"\S*/libshimhip\.so", maps))), 1, (path, preload))

    def test_a_level_is_said_as_there(self):
        """The scheduler's line shows by default, and not where XLOG_LEVEL asks for less."""
        for level, lines in ((None, 1), ("INFO", 1), ("WARN", 0), ("ERRO", 0)):
            extra = {"XLOG_LEVEL": level} if level else {}
            p = subprocess.run(programs("cuda", 0.2)["opens"], env=self.export(
                "cuda", LD_PRELOAD=f"{LIB}/libshimcuda.so", XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF", **extra), text=True,
                capture_output=True, timeout=60, check=True)
            self.assertEqual(p.stderr.count("using local scheduler with policy HPF"), lines, p.stderr)
            if level is None:
                self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)


class SystemFolders(unittest.TestCase):
    """Where the dynamic linker looks by itself there is no vendor's name, whatever the option says."""
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="xsched-original-")
        self.script = os.path.join(BUILD, "packaging/VendorNames.cmake")

    def tearDown(self):
        shutil.rmtree(self.top)

    def install(self, prefix, wish="AUTO", **env):
        with open(self.script, encoding="utf-8") as f:
            text = re.sub(r'set\(wish "[A-Z]*"\)', f'set(wish "{wish}")', f.read())
        script = os.path.join(self.top, "names.cmake")
        with open(script, "w", encoding="utf-8") as f:
            f.write(text)
        return subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", script], text=True, capture_output=True,
                              env=dict(os.environ, **env), check=False)

    def names(self, folder):
        return sorted(n for _, folders, files in os.walk(folder) for n in folders + files if n.startswith("lib") and ".so" in n)

    def test_system_prefixes(self):
        for prefix in ("/usr", "/usr/local", "/", "/usr/../usr"):
            stage = os.path.join(self.top, "stage")
            done = self.install(prefix, DESTDIR=stage)
            self.assertEqual((done.returncode, self.names(stage)), (0, []), done.stderr)
            self.assertIn("No vendors' names", done.stdout)
            refused = self.install(prefix, "ON", DESTDIR=stage)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("every program's driver", refused.stderr.replace("\n ", "").replace("  ", " "))
            self.assertEqual(self.names(stage), [])

    def test_other_prefixes(self):
        prefix = os.path.join(self.top, "opt")
        os.makedirs(os.path.join(prefix, os.path.relpath(LIB, PREFIX)))
        self.assertEqual(self.install(prefix, "OFF").returncode, 0)
        self.assertEqual(self.names(prefix), [])
        self.assertEqual(self.install(prefix).returncode, 0)
        self.assertTrue(set(NAMES.values()) <= set(self.names(prefix)), self.names(prefix))

    def test_ldconfig_over_all_that_packages_install(self):
        """Each folder of an installed tree in ldconfig's list, links with vendors' names among them: none is offered."""
        ldconfig = shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
        if not ldconfig:
            self.skipTest("no ldconfig")
        root = os.path.join(self.top, "root")
        os.makedirs(os.path.join(root, "etc"))
        for what, prefix in (("packages", "/usr"), ("elsewhere", "/opt/x")):
            subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], env=dict(os.environ, DESTDIR=root),
                           stdout=subprocess.DEVNULL, check=True)
            folders = []
            for folder, _, files in os.walk(os.path.join(root, prefix[1:])):
                inside = folder[len(root):]
                if any(".so" in f for f in files) and "/xsched" not in inside[len(prefix):].replace("/python", ""):
                    folders.append(inside)
            self.assertTrue(folders)
            with open(os.path.join(root, "etc/ld.so.conf"), "w", encoding="ascii") as f:
                f.write("\n".join(folders) + "\n")
            subprocess.run([ldconfig, "-X", "-r", root], stderr=subprocess.DEVNULL, check=True)
            cache = subprocess.run([ldconfig, "-r", root, "-p"], capture_output=True, text=True, check=True).stdout
            self.assertIn("libpreempt.so.1", cache, what)
            self.assertIn("libshimcuda.so", cache, what)
            self.assertFalse(re.findall(r"^\s*(lib(?:cuda|OpenCL|amdhip64|ze_loader)\S*)", cache, re.M), what)
            shutil.rmtree(os.path.join(root, prefix[1:]))


class Documents(unittest.TestCase):
    def test_packages_have_the_objects_for_the_preload_line(self):
        with open(os.path.join(SOURCE, "debian/xsched.install"), encoding="ascii") as f:
            self.assertIn("usr/lib/*/libshim*.so", f.read().split("\n"))
