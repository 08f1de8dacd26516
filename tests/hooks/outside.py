# SPDX-License-Identifier: Apache-2.0
"""Programs and preloads of other people, built and run by a test: natively, and under `xsched run` or with the shims."""
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
WAYS = os.path.join(TREE, "tests", "cuda", "ways")


class Outside:
    def __init__(self, build, drivers):
        """drivers: the folders of the fakes"""
        self.build = build
        self.drivers = drivers
        self.top = tempfile.mkdtemp(prefix="xsched-hooks-")
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XSCHED_", "XLOG_", "LD_")) and not k.endswith("SAN_OPTIONS")}
        self.env["LD_LIBRARY_PATH"] = ":".join(drivers)
        self.bad, self.ran = [], 0

    def shim(self, platform):
        return os.path.join(self.build, "lib", "xsched", f"libshim{platform}.so")

    def compile(self, name, compiler, *args):
        """@return the path; None: this compiler cannot"""
        path = os.path.join(self.top, name)
        command = [compiler, "-D_GNU_SOURCE", "-w", "-O1", "-g", "-I" + WAYS, "-I" + os.path.join(TREE, "src"), "-o", path,
                   *args, "-ldl", "-lpthread"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return path if done.returncode == 0 else None

    def run(self, args, seconds=60, **env):
        try:
            r = subprocess.run(args, env=dict(self.env, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return "hangs", "", ""
        return r.returncode, r.stdout, r.stderr

    def launched(self, args, *before, **env):
        """Under `xsched run`, with a policy in the process: no server. before: what starts `xsched run`."""
        xsched = os.path.join(self.build, "bin", "xsched")
        return self.run([*before, xsched, "run", "-q", "--local-policy", "HPF", "--", *args], **env)

    def same(self, name, native, ours, stdout=None):
        """The same status and errors as natively; and this output, or the native one."""
        self.ran += 1
        want = (native[0], native[1] if stdout is None else stdout, native[2])
        if ours != want:
            self.bad.append(f"{name}: {ours}, not {want}")

    def end(self, least):
        shutil.rmtree(self.top)
        print("\n".join(self.bad))
        print(f"{self.ran} cases, {len(self.bad)} of them wrong")
        return 1 if self.bad or self.ran < least else 0
