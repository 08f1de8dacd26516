# SPDX-License-Identifier: Apache-2.0
"""The completion for bash knows the options that there are, and the manual page names them."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["XSCHED_BUILD_DIR"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def complete(*words, function=None):
    script = (f"source {BUILD}/completions/xsched.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _{function or words[0]}; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def options_of(command, program="xsched"):
    text = subprocess.run([os.path.join(BUILD, "bin", program), *([command] if command else []), "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"(--[a-z0-9-]+)(?=\[?=|\s|$)", text.split("Mandatory or optional")[0]))


class Completion(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(complete("xsched", ""), {"run", "trace", "record", "doctor", "top", "cdi", "--help", "--version"})
        self.assertEqual(complete("xsched", "t"), {"trace", "top"})

    def test_every_option(self):
        for command in ("run", "trace", "record", "doctor", "cdi"):
            self.assertEqual({w.rstrip("=") for w in complete("xsched", command, "--")}, options_of(command), command)

    def test_every_option_of_xsched_window(self):
        if not os.path.exists(os.path.join(BUILD, "bin", "xsched-window")):
            self.skipTest("xsched-window is not built")
        self.assertEqual({w.rstrip("=") for w in complete("xsched_window", "--")}, options_of(None, "xsched-window"))
        self.assertEqual(complete("xsched_window", "m"), {"monitor"})

    def test_every_option_of_xcli(self):
        commands = {w for w in complete("xcli", "") if not w.startswith("-")}
        self.assertEqual(len(commands), 11)
        self.assertEqual({w.rstrip("=") for w in complete("xcli", "--")}, options_of(None, "xcli"))
        for command in commands:
            self.assertEqual({w.rstrip("=") for w in complete("xcli", command, "--")}, options_of(command, "xcli"), command)
        self.assertEqual(complete("xcli", "policy", "--set", "--name", "=", "H"), {"HPF", "HHPF"})

    def folder(self):
        """The completions under the names that they are installed by."""
        folder = tempfile.mkdtemp(prefix="completions-")
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(f"{BUILD}/completions/xsched.bash", f"{folder}/xsched")
        shutil.copy(f"{BUILD}/completions/_xsched", folder)
        shutil.copy(f"{BUILD}/completions/xsched.fish", folder)
        return folder

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here")
        folder = self.folder()
        for line, wanted in (("xcli pol", {"policy"}), ("xcli policy H", {"HPF", "HHPF"}), ("xsched doctor --v", {"--verbose"}),
                             ("xsched-replay --js", {"--json"})):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {folder}/xsched.fish; complete -C '{line}'"], text=True,
                                  env={**os.environ, "XSCHED_COMPLETIONS": folder, "HOME": folder}, capture_output=True, check=True)
            self.assertEqual(set(done.stdout.split()), wanted, (line, done.stderr))

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh here")
        folder = self.folder()
        for line, wanted in (("xcli pol", "policy"), ("xsched doctor --v", "--verbose"), ("xcli suspend --fo", "--for")):
            self.assertIn(wanted, self.zsh(folder, line, wanted), line)

    def zsh(self, folder, line, wanted):
        """What stands on the terminal once the line was completed."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(XSCHED_COMPLETIONS=folder, HOME=folder, TERM="dumb", PS1="> ")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            os.write(terminal, f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; print re''ady\n".encode())
            text, sent, end = "", False, time.monotonic() + 30
            while time.monotonic() < end:
                if select.select([terminal], [], [], 1)[0]:
                    text += os.read(terminal, 4096).decode(errors="replace")
                if not sent and "ready" in text:
                    text, sent = "", True
                    os.write(terminal, f"{line}\t".encode())
                if sent and wanted in text:
                    break
            return text
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)

    def test_the_benchmarks(self):
        program = os.path.join(ROOT, "bench", "run")
        text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.M))
        self.assertGreater(len(options), 20)
        self.assertEqual(complete("xsched_bench", "--"), options)
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
        parts = re.split(r"^\w+:\n", listed, flags=re.M)
        names = [set(re.findall(r"^  (\S+)", part, re.M)) for part in parts]
        self.assertEqual(complete("xsched_bench", "--only", ""), names[1] | names[3])
        with open(os.path.join(ROOT, "docs", "man", "xsched-bench.1")) as f:
            page = f.read().replace("\\-", "-")
        for option in options - {"--help"}:
            self.assertRegex(page, rf"\n\.BI? {option}\b")

    def test_the_check_of_amd_gpus(self):
        text = subprocess.run([os.path.join(ROOT, "tests", "gpu", "verify_hip"), "--help"], capture_output=True, text=True,
                              check=True).stdout
        options = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.M))
        self.assertEqual(complete("xsched_verify_hip", "--"), options)
        parts = set(re.search(r"Parts: ([a-z ]+) \(default", text)[1].split())
        self.assertEqual(complete("xsched_verify_hip", ""), parts)
        with open(os.path.join(ROOT, "docs", "man", "xsched-verify-hip.1")) as f:
            page = f.read().replace("\\-", "-")
        for option in options - {"--help"}:
            self.assertRegex(page, rf"\n\.BI? {option}\b")
        for part in parts:
            self.assertRegex(page, rf"\n\.B {part}\n")

    def test_values(self):
        self.assertEqual(complete("xsched", "run", "--level", "=", "a"), {"auto"})
        self.assertEqual(complete("xsched", "run", "--local-policy", "=", "H"), {"HPF", "HHPF"})
        self.assertEqual(complete("xsched", "run", "--local-policy", "H"), {"HPF", "HHPF"})
        self.assertEqual(complete("xsched", "run", "-l", "a"), {"auto"})
        self.assertEqual(complete("xsched", "run", "--priority", ""), set())
        # behind a value
        for before in (["--priority", "10"], ["--priority", "=", "10"], ["-p", "10"], ["--intra"], ["--quiet", "--level", "2"]):
            self.assertEqual(complete("xsched", "run", *before, "--gr"), {"--group="}, before)
            self.assertIn("ls", complete("xsched", "run", *before, "l"), before)
            self.assertNotIn("--group=", complete("xsched", "run", *before, "ls", "--gr"), before)
        self.assertEqual(complete("xsched", "cdi", "-k", "a/b", "--ou"), {"--output="})

    def test_the_programs_own_arguments(self):
        self.assertNotIn("--level=", complete("xsched", "run", "--", "ls", "--l"))
        self.assertIn("ls", complete("xsched", "run", "--intra", "l"))

    def test_every_option_of_xserver(self):
        self.assertEqual({w.rstrip("=") for w in complete("xserver", "--")}, options_of(None, "xserver"))
        self.assertEqual(complete("xserver", "H"), {"HPF", "HHPF"})
        self.assertEqual(complete("xserver", "--http", "=", "O"), {"ON", "OFF"})

    def test_every_option_of_the_simulator(self):
        for program in ("xsched-sim", "xsched-replay"):
            self.assertEqual({w.rstrip("=") for w in complete(program, "--", function="xsched_sim")}, options_of(None, program), program)
        self.assertEqual(complete("xsched-sim", "-p", "H", function="xsched_sim"), {"HPF", "HHPF"})

    def test_page_names_every_option(self):
        with open(os.path.join(BUILD, "docs", "man", "xsched.1")) as f:
            page = f.read().replace("\\-", "-")
        for command in ("run", "trace", "record", "doctor", "cdi"):
            section = re.search(rf"^\.SS xsched {command}\n(.*?)^\.S[SH] ", page, re.M | re.S)[1]
            for option in options_of(command) - {"--help", "--usage"}:
                self.assertRegex(section, rf"(?m)^(\.B|\\fB).*{option}\b", command)

    def test_page_names_every_cause(self):
        with open(os.path.join(ROOT, "docs", "man", "xsched.1")) as f:
            page = f.read()
        folder = os.path.join(ROOT, "src", "launcher", "doctor")
        causes = set()
        for name in os.listdir(folder):
            if name.startswith("doctor_") and name.endswith(".c"):
                with open(os.path.join(folder, name)) as f:
                    causes |= set(re.findall(r'xs_doctor_problem\(\s*d,\s*"([a-z_]+)"', f.read()))
        self.assertGreater(len(causes), 15)
        for cause in causes:
            self.assertIn(f".BR {cause} ", page)


if __name__ == "__main__":
    unittest.main(verbosity=1)
