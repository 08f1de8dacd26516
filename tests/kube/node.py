# SPDX-License-Identifier: Apache-2.0
"""A node in namespaces of its own: containerd with NRI, xserver, and the agent. All ends with the process that enters."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "integration", "kubernetes"), HERE]

IMAGE = "localhost/app:1"
CONFIG = """version = 3
root = '{w}/root'
state = '/run/containerd'
disabled_plugins = ['io.containerd.snapshotter.v1.btrfs', 'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs', 'io.containerd.tracing.processor.v1.otlp']
[debug]
level = 'warn'
[grpc]
address = '/run/containerd/containerd.sock'
[plugins.'io.containerd.cri.v1.images']
snapshotter = 'native'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = 'localhost/pause:1'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
cdi_spec_dirs = ['/run/cdi']
[plugins.'io.containerd.cri.v1.runtime'.cni]
conf_dir = '{w}/cni'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '{bin}/runc'
[plugins.'io.containerd.nri.v1.nri']
socket_path = '/run/nri/nri.sock'
plugin_path = '{w}/nri'
plugin_config_path = '{w}/nri'
"""


def enter():
    """In the first process of the new namespaces."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount(None, b"/", None, 0x84000, None)  # MS_REC | MS_PRIVATE
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    for folder in ("cdi", "containerd", "nri", "xsched", "xsched-kube"):
        os.mkdir("/run/" + folder)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL)


class Node:
    """Programs of the node; each may be ended and started again."""

    import_by = ["--local"]  # of ctr 2

    def __init__(self, binaries, build, work):
        self.bin, self.build, self.work = binaries, build, work
        self.running = {}
        self.env = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
        self.agent_arguments = []
        os.makedirs(os.path.join(work, "cni"), exist_ok=True)
        with open(os.path.join(work, "config.toml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.format(w=work, bin=binaries))

    def begin(self, name, *command, env=None):
        """Starts a program; its output goes to NAME.log."""
        with open(os.path.join(self.work, name + ".log"), "a", encoding="utf-8") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                  env={**self.env, **(env or {})})

    def end(self, name, number=signal.SIGTERM):
        """Ends it."""
        program = self.running.pop(name)
        program.send_signal(number)
        program.wait(20)

    def send(self, name, number):
        """A signal to it."""
        self.running[name].send_signal(number)

    def log(self, name):
        """All that it has said."""
        with open(os.path.join(self.work, name + ".log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def containerd(self):
        """Starts it."""
        self.begin("containerd", os.path.join(self.bin, "containerd"), "-c", os.path.join(self.work, "config.toml"))

    def images(self, path=""):
        """Imports what pods run. @param path  a folder that comes first in PATH"""
        import image
        pause = os.path.join(self.work, "pause")
        subprocess.run(["cc", "-static", "-Os", "-o", pause, os.path.join(HERE, "pause.c")], check=True)
        image.write(pause + ".tar", "localhost/pause:1", ["/pause"], files=[("pause", pause)])
        links = [(n, "usr/" + n) for n in ("bin", "lib", "lib64", "sbin") if os.path.islink("/" + n)]
        app = os.path.join(self.work, "app.tar")
        image.write(app, IMAGE, ["/usr/bin/sh"], links=links, env=["FROM_IMAGE=1", f"PATH={path}:/usr/bin" if path else "PATH=/usr/bin"])
        for tar in (pause + ".tar", app):
            subprocess.run([os.path.join(self.bin, "ctr"), "-n", "k8s.io", "images", "import", *self.import_by,
                            "--snapshotter", "native", tar], check=True, stdout=subprocess.DEVNULL)

    def client(self):
        """Of its CRI."""
        import cri
        return cri.Client("/run/containerd/containerd.sock", self.work, IMAGE, ("/usr", "/etc"),
                          f"/xsched-{os.getpid()}-{self.env['XS_OUTER']}")

    def xserver(self, *more):
        """Starts it."""
        self.begin("xserver", os.path.join(self.build, "bin", "xserver"), "--socket=/run/xsched/xserver.sock", "--port=0",
                   "--pod-limits-file=/run/xsched-kube/limits", *more)
        wait_for(lambda: os.path.exists("/run/xsched/http.sock"), "xserver")

    def agent(self, *more):
        """Starts it; it has registered with the runtime when this returns."""
        seen = self.log("agent").count("registered with the runtime") if os.path.exists(os.path.join(self.work, "agent.log")) else 0
        self.agent_arguments = list(more)
        self.begin("agent", "/usr/bin/python3", "-B", "-m", "xsched_kube", "agent", "--cdi=/run/cdi", "--nri=/run/nri/nri.sock",
                   f"--xsched={self.build}/bin/xsched", f"--table={self.work}/table", "--node=node1", *more,
                   env={"PYTHONPATH": os.path.join(ROOT, "integration", "kubernetes")})
        self.registered(seen)

    def registered(self, times):
        """Waits until the agent has registered more often than so."""
        wait_for(lambda: self.log("agent").count("registered with the runtime") > times, "the agent's registration")

    def table(self, text):
        """Writes the agent's table, in one step, and waits until the agent has read it."""
        seen = self.log("agent").count("/table read")
        with open(os.path.join(self.work, "table.new"), "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(os.path.join(self.work, "table.new"), os.path.join(self.work, "table"))
        wait_for(lambda: self.log("agent").count("/table read") > seen, "the table")

    def clean(self):
        """Ends what runs, and removes control groups."""
        for name in list(self.running):
            try:
                self.send(name, signal.SIGCONT)
                self.end(name, signal.SIGKILL)
            except (OSError, subprocess.TimeoutExpired):
                pass


def wait_for(condition, what, seconds=60):
    """Returns what the condition gives, as soon as that is true."""
    until = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def remove_cgroups(name):
    """Those of a test, in all hierarchies."""
    for top, folders, _ in os.walk("/sys/fs/cgroup"):
        for folder in [f for f in folders if f == name]:
            for inner, _, _ in os.walk(os.path.join(top, folder), topdown=False):
                try:
                    os.rmdir(inner)
                except OSError:
                    pass
            folders.remove(folder)
        if top.count("/") > 4:
            folders.clear()


def outside(script, arguments, work):
    """Runs a script in namespaces of its own. @return its exit status"""
    env = {**os.environ, "XS_OUTER": str(os.getpid())}
    os.makedirs(work, exist_ok=True)
    try:
        return subprocess.run(["unshare", "-m", "-p", "-n", "-f", "-i", "-u", "--kill-child", "--mount-proc", "/usr/bin/python3", "-B",
                               script, "--inside", work, *arguments], env=env, check=False).returncode
    finally:
        remove_cgroups(f"xsched-1-{os.getpid()}")
        shutil.rmtree(work, ignore_errors=True)
