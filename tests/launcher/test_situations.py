# SPDX-License-Identifier: Apache-2.0
"""xsched doctor in the situations of situations.ini: a function of the same name brings each of them about. test_situations.py
[NAME...]"""
import configparser
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_network  # noqa: E402

BUILD = os.environ["XSCHED_BUILD_DIR"]
TESTS = os.path.join(BUILD, "tests")
FAKE_CUDA = os.path.join(TESTS, "fakes", "cuda", "driver")
FAKE_HIP = os.path.join(TESTS, "fakes", "hip", "system")
FAKE_ZE = os.path.join(TESTS, "fakes", "levelzero", "driver")
ODD = os.environ["ODD_LIBRARIES"]
STATIC = os.environ.get("STATIC_PROGRAM")
OCLLOAD = os.path.join(BUILD, "demo", "oclload")
PYTHON = "/usr/bin/python3"
ROOT = os.geteuid() == 0
NOBODY = 65534
LVP = next(iter(sorted(glob.glob("/usr/share/vulkan/icd.d/lvp_icd*") + glob.glob("/etc/vulkan/icd.d/lvp_icd*"))), None)
OURS = ("XSCHED_", "XLOG_", "LD_", "VK_", "ZE_", "OPENCL_", "OCL_", "POCL_", "CUDA_", "FAKE_", "XDG_")
# Programs that use a driver as others do: by its library's name and the functions' names. They wait for the end of their input.
CUDA = """
import ctypes, os, sys
{before}
cu = ctypes.CDLL("libcuda.so.1")
dev, ctx, stream, mem = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
def must(r):
    assert r == 0, r
must(cu.cuInit(0))
must(cu.cuDeviceGet(ctypes.byref(dev), 0))
if {work}:
    must(cu.cuCtxCreate_v2(ctypes.byref(ctx), 0, dev))
    must(cu.cuMemAlloc_v2(ctypes.byref(mem), ctypes.c_size_t(1 << 20)))
    must(cu.cuStreamCreate(ctypes.byref(stream), 1))
    for _ in range(8):
        must(cu.cuMemsetD8Async(mem, 0, ctypes.c_size_t(1 << 20), stream))
    must(cu.cuStreamSynchronize(stream))
{after}
print("up", flush=True)
sys.stdin.read()
"""
HIP = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so.6")
stream, mem = ctypes.c_void_p(), ctypes.c_void_p()
r = [hip.hipMalloc(ctypes.byref(mem), ctypes.c_size_t(1 << 20)), hip.hipStreamCreate(ctypes.byref(stream)),
     hip.hipMemsetAsync(mem, 0, ctypes.c_size_t(1 << 20), stream), hip.hipStreamSynchronize(stream)]
assert r == [0] * 4, r
print("up", flush=True)
sys.stdin.read()
"""
SLEEPER = "import sys; print('up', flush=True); sys.stdin.read()"
# OpenCL by the functions of the loader's handle.
OPENCL = """
import ctypes, os, sys
cl = ctypes.CDLL("libOpenCL.so.1", mode={mode})
for f in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
    getattr(cl, f).restype = ctypes.c_void_p
P, D = ctypes.c_void_p(), ctypes.c_void_p()
assert cl.clGetPlatformIDs(1, ctypes.byref(P), None) == 0
assert cl.clGetDeviceIDs(P, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(D), None) == 0
c = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(D), None, None, None))
q = ctypes.c_void_p(cl.clCreateCommandQueue(c, D, ctypes.c_uint64(0), None))
b = ctypes.c_void_p(cl.clCreateBuffer(c, ctypes.c_uint64(1), ctypes.c_size_t(4096), None, None))
zero = ctypes.c_int(0)
for _ in range(8):
    assert cl.clEnqueueWriteBuffer(q, b, 0, ctypes.c_size_t(0), ctypes.c_size_t(4), ctypes.byref(zero), 0, None, None) == 0
assert cl.clFinish(q) == 0
print("up", flush=True)
sys.stdin.read()
"""


def table():
    t = configparser.ConfigParser(interpolation=None, comment_prefixes=(";",), default_section="DEFAULT")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "situations.ini"), encoding="utf-8") as f:
        t.read_file(f)
    return t


def need(condition, reason):
    if not condition:
        raise unittest.SkipTest(reason)


class Situation(unittest.TestCase):
    """What a situation needs: an installation of its own that every user may read, servers, programs, doctor."""

    @classmethod
    def setUpClass(cls):
        cls.installed = os.path.realpath(tempfile.mkdtemp(prefix="xsched-test-"))
        for folder in ("bin", "lib", os.path.join("lib", "xsched"), "run"):
            os.mkdir(os.path.join(cls.installed, folder))
        for name in ("xsched", "xsched-doctor", "xserver", "xsched-http", "xcli"):
            shutil.copy2(os.path.join(BUILD, "bin", name), os.path.join(cls.installed, "bin"))
        for folder in ("lib", os.path.join("lib", "xsched")):
            for path in glob.glob(os.path.join(BUILD, folder, "*")):
                if os.path.isfile(path):
                    shutil.copy2(path, os.path.join(cls.installed, folder), follow_symlinks=False)
        for name, source in (("cuda", FAKE_CUDA), ("hip", FAKE_HIP)):
            shutil.copytree(source, os.path.join(cls.installed, name))
        subprocess.run(["chmod", "-R", "go+rX", cls.installed], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.installed)

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="xsched-test-"))
        os.chmod(self.top, 0o755)
        self.addCleanup(shutil.rmtree, self.top)
        self.bin = os.path.join(self.installed, "bin")
        self.shims = os.path.join(self.installed, "lib", "xsched")
        self.socket = os.path.join(self.top, "s", "xserver.sock")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        self.env.update(XDG_RUNTIME_DIR=self.folder("r"), HOME=self.folder("h"), LD_LIBRARY_PATH=os.path.join(self.installed, "cuda"),
                        POCL_MAX_PTHREAD_COUNT="1", POCL_CACHE_DIR=os.path.join(TESTS, "launcher", "pocl-cache"),
                        OCL_ICD_VENDORS="/nonexistent", VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent",
                        PYTHONDONTWRITEBYTECODE="1", NODEVICE_SELECT="1", XSCHED_SOCKET=self.socket)
        self.wrap = []      # before doctor: setpriv, nsenter

    def folder(self, name, owner=None, mode=0o700):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def wait_until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    # ---- servers and programs ----

    def server(self, *options, at=None, wrap=(), awaited=("xserver.sock", "http.sock")):
        at = at or self.socket
        if not os.path.isdir(os.path.dirname(at)):
            self.folder(os.path.dirname(at), mode=0o755)
        p = subprocess.Popen([*wrap, os.path.join(self.bin, "xserver"), "--socket", at, "--port", "0", *options], env=self.env,
                             stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: (p.kill(), p.wait()))
        self.wait_until(lambda: p.poll() is not None or
                        all(os.path.exists(os.path.join(os.path.dirname(at), name)) for name in awaited))
        self.assertIsNone(p.poll())
        return p

    def start(self, *command, env=None, said="up", say=None):
        p = subprocess.Popen(command, env={k: v for k, v in {**self.env, **(env or {})}.items() if v is not None},
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        if said:
            line = p.stdout.readline()
            self.assertTrue(line.startswith(said), (command, line, p.poll() is not None and p.stderr.read()))
        if say:
            p.stdin.write(say)
            p.stdin.flush()
            p.stdout.readline()   # its first result
        return p

    def run_options(self, *options, priority="7"):
        return [os.path.join(self.bin, "xsched"), "run", "-q", *(["-p", priority] if priority else []), *options, "--"]

    def cuda(self, *launcher, before="", after="", work=True, env=None, python=(PYTHON,)):
        """A program on the fake CUDA device, under `xsched run` unless the launcher says otherwise."""
        code = CUDA.format(before=before, after=after, work=work)
        return self.start(*(launcher or self.run_options()), *python, "-c", code, env=env)

    def cuda_known(self):
        """A program that works before xserver's welcome may not have come: it joins from a thread of its own."""
        p = self.cuda()
        self.wait_until(lambda: any(q["pid"] == p.pid for q in json.loads(self.xcli("list", "--json"))["xqueues"]))
        return p

    def xcli(self, *args):
        done = subprocess.run([os.path.join(self.bin, "xcli"), "--socket", self.socket, *args], env=self.env, check=False,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, (args, done.stderr))
        return done.stdout

    def as_user(self, uid=NOBODY):
        need(ROOT, "only root can become another user")
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--bounding-set=-all"]

    def namespace(self, *commands, pid=False):
        """`unshare` with these commands of the shell before the program."""
        need(ROOT, "only root can make namespaces here")
        options = ["unshare", "-m", *(["-p", "-f", "--mount-proc"] if pid else [])]
        need(subprocess.run([*options, "true"], capture_output=True, check=False).returncode == 0, "no namespaces here")
        return [*options, "sh", "-c", " && ".join([*commands, 'exec "$@"']), "sh"]

    def below(self, p):
        """The one process that `unshare -f` waits for."""
        def children():
            with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
                return f.read().split()
        self.wait_until(children)
        return int(children()[0])

    def elf_program(self, name, *flags):
        """A copy of a program that waits for its input, with a C library."""
        path = os.path.join(self.top, name)
        shutil.copy("/bin/cat", path)
        os.chmod(path, 0o755)
        return path

    def becomes(self, p, path):
        """Waits until a process is the program."""
        self.wait_until(lambda: os.readlink(f"/proc/{getattr(p, 'pid', p)}/exe") == path)
        return p

    # ---- doctor ----

    def doctor(self, pid, *options):
        return subprocess.run([*self.wrap, os.path.join(self.bin, "xsched"), "doctor", *options, *([str(pid)] if pid else [])],
                              env=self.env, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL)

    def judge(self, name, row, pid):
        """@param pid: 0 or None for the machine"""
        pid = getattr(pid, "pid", pid)
        done, as_json = self.doctor(pid), self.doctor(pid, "--json")
        status = int(row["status"] or (1 if row["causes"] else 0))
        self.assertEqual(done.returncode, status, (name, done))
        if row["stderr"]:
            self.assertRegex(done.stderr, row["stderr"])
            self.assertEqual(len(done.stderr.splitlines()), 1)
            return
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], "^" + (r"PID \d+: " if pid else r"XSched \S+: ") + row["verdict"] + "$", done.stdout)
        found = json.loads(as_json.stdout)
        self.assertEqual(sorted(p["cause"] for p in found["problems"]), sorted(row["causes"].split()), done.stdout)
        for pattern in filter(None, row["says"].split("\n")):
            self.assertRegex(done.stdout, pattern)
        for pattern in filter(None, row["never"].split("\n")):
            self.assertNotRegex(done.stdout, pattern)
        if " scheduled, priority" in lines[0]:   # a program that is scheduled is not told that it is not
            self.assertNotRegex(done.stdout, r"not schedule|past the shim|does not know it|no shim")


class Situations(Situation):
    # ---- platforms ----

    def cuda_(self):
        self.server()
        return self.cuda()

    def hip(self):
        need(os.path.exists(os.path.join(FAKE_HIP, "libamdhip64.so.6")), "no fake HIP runtime")
        self.server()
        return self.start(*self.run_options(), PYTHON, "-c", HIP, env={"LD_LIBRARY_PATH": os.path.join(self.installed, "hip")})

    def levelzero(self):
        program = os.path.join(TESTS, "levelzero", "levelzero_two_programs")
        need(os.path.exists(program), "the tests of Level Zero are not built")
        self.server()
        env = {"LD_LIBRARY_PATH": FAKE_ZE, "FAKE_ZE_DEVICE": os.path.join(self.top, "ze")}
        return self.start(*self.run_options(), program, "loop", "2000", env=env, said="ready", say="go\n")

    def vulkan_program(self, *launcher, env=None):
        program = os.path.join(TESTS, "vulkan", "vulkan_two_programs")
        need(LVP and os.path.exists(program), "no lavapipe here")
        return self.start(*(launcher or self.run_options()), program, "loop", "1000", said="ready", say="go\n",
                          env={"VK_DRIVER_FILES": LVP, "VK_ICD_FILENAMES": LVP, **(env or {})})

    def vulkan(self):
        self.server()
        return self.vulkan_program()

    def opencl_program(self, *launcher, mode="ctypes.DEFAULT_MODE"):
        need(os.path.isdir("/etc/OpenCL/vendors"), "no OpenCL platform here")
        self.server()
        return self.start(*self.run_options(), *launcher, PYTHON, "-c", OPENCL.format(mode=mode), env={"OCL_ICD_VENDORS": None})

    def opencl(self):
        return self.opencl_program()

    def opencl_as_a_layer_alone(self):
        return self.opencl_linked("env", "-u", "LD_PRELOAD")

    def opencl_by_preload_alone(self):
        return self.opencl_program("env", "-u", "OPENCL_LAYERS")

    def opencl_loaded_with_deepbind(self):
        return self.opencl_linked(mode="os.RTLD_DEEPBIND | os.RTLD_NOW")

    def opencl_linked(self, *launcher, mode="os.RTLD_NOW"):
        """A caller that is linked with the loader: its calls are bound to the loader, and the layer sees them."""
        need(os.path.isdir("/etc/OpenCL/vendors") and os.path.exists(os.path.join(ODD, "libcallsopencl.so")), "no OpenCL here")
        self.server()
        code = f"import ctypes, os, sys; lib = ctypes.CDLL({os.path.join(ODD, 'libcallsopencl.so')!r}, mode={mode}); " \
               "assert lib.work() == 0; print('up', flush=True); sys.stdin.read()"
        return self.start(*self.run_options(), *launcher, PYTHON, "-c", code, env={"OCL_ICD_VENDORS": None})

    # ---- machines ----

    def machine_without_a_device(self):
        self.env["LD_LIBRARY_PATH"] = ""

    def machine_with_a_cpu_alone(self):
        need(os.path.isdir("/etc/OpenCL/vendors"), "no OpenCL platform here")
        self.env["LD_LIBRARY_PATH"] = ""
        del self.env["OCL_ICD_VENDORS"]

    def machine_with_a_gpu(self):
        pass

    def odd_driver(self, does):
        shutil.copy(os.path.join(ODD, "libcuda.so.1"), self.top)
        self.env.update(LD_LIBRARY_PATH=self.top, ODD_CUDA=does)

    def machine_whose_driver_finds_no_device(self):
        self.odd_driver("100")

    def machine_whose_driver_fails(self):
        self.odd_driver("803")

    def machine_whose_driver_crashes(self):
        self.odd_driver("abort")

    def machine_with_a_server(self):
        self.server()

    def no_rights(self):
        """A server whose folder lets nobody in but root."""
        self.folder("s", mode=0o700)
        self.wrap = self.as_user()
        self.server()

    def machine_with_a_server_without_rights(self):
        self.no_rights()

    def machine_with_a_server_of_another_user(self):
        self.server(at=self.folder("theirs", NOBODY) + "/xserver.sock", wrap=self.as_user())

    def second_server(self, name="second.sock"):
        return self.server(at=os.path.join(self.folder("elsewhere"), name), awaited=(name,))

    def machine_with_a_second_server(self):
        self.server()
        self.second_server()

    def machine_with_five_servers(self):
        self.server()
        for i in range(4):
            self.second_server(f"{i}.sock")

    def machine_with_a_server_that_no_program_finds(self):
        self.second_server()

    def machine_with_a_server_in_sbin(self):
        top = self.folder("i", mode=0o755)
        shutil.copytree(self.installed, top, symlinks=True, dirs_exist_ok=True)
        os.mkdir(os.path.join(top, "sbin"))
        os.rename(os.path.join(top, "bin", "xserver"), os.path.join(top, "sbin", "xserver"))
        self.bin = os.path.join(top, "bin")

    def on_the_gpu(self, p):
        """NVML says that a process is on the first device of the fake driver."""
        path = os.path.join(self.top, "nvml")
        os.mkdir(path)
        shutil.copy(os.path.join(ODD, "libnvidia-ml.so.1"), path)
        self.env["LD_LIBRARY_PATH"] += ":" + path
        self.env["ODD_NVML"] = str(p.pid)

    def machine_with_a_process_on_the_gpu_that_nothing_schedules(self):
        need(ROOT, "the name of the user is in the table")
        self.server()
        self.on_the_gpu(self.cuda("env"))

    def machine_with_variables_that_mean_nothing(self):
        self.env.update(XSCHED_PRIORTY="1", XSCHED_LATE_START="ON")

    def machine_with_variables_of_integrations(self):
        self.env.update(dict.fromkeys(("XSCHED_RAY_OPTIONS", "XSCHED_RAY_PYTHON", "XSCHED_RAY_NOTE", "XSCHED_VLLM_BASE",
                                       "XSCHED_VLLM_IDLE"), "1"))

    # ---- servers ----

    def server_absent(self):
        return self.cuda(*self.run_options("--no-server"))

    def server_that_ended(self):
        server = self.server()
        server.kill()
        server.wait()
        return self.cuda(*self.run_options("--no-server"))

    def joined(self):
        """A program that has joined a server."""
        server, p = self.server(), self.cuda()

        def has_joined():
            with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
                return "/memfd:xsched-server" in f.read()
        self.wait_until(has_joined)
        return server, p

    def server_that_was_killed_just_now(self):
        server, p = self.joined()
        server.kill()
        server.wait()
        return p

    def server_that_is_stopped(self):
        server, p = self.joined()
        server.send_signal(signal.SIGSTOP)
        return p

    def server_that_is_stopped_the_program_starts_later(self):
        self.server().send_signal(signal.SIGSTOP)
        return self.cuda()

    def machine_with_a_server_that_is_stopped(self):
        self.server().send_signal(signal.SIGSTOP)

    def server_without_rights_asked_by_root(self):
        self.no_rights()
        user, self.wrap = self.wrap, []
        return self.cuda(*user, *self.run_options("--no-server"))

    def server_without_rights_asked_by_its_user(self):
        self.no_rights()
        return self.cuda(*self.wrap, *self.run_options("--no-server"))

    def other_users_program(self, **env):
        self.folder("s", NOBODY, 0o700)
        self.server(wrap=self.as_user())
        return self.cuda(*self.as_user(), *self.run_options(), env={"XDG_RUNTIME_DIR": None, **env})

    def program_of_another_user_asked_by_root(self):
        p = self.other_users_program()
        self.env["XSCHED_SOCKET"] = os.path.join(self.top, "ours.sock")
        return p

    def program_of_another_user_in_its_runtime_folder_asked_by_root(self):
        runtime = self.folder("theirs", NOBODY)
        self.folder("theirs/xsched", NOBODY)
        self.socket = os.path.join(runtime, "xsched", "xserver.sock")
        return self.other_users_program(XDG_RUNTIME_DIR=runtime, XSCHED_SOCKET=None)

    def program_of_another_user_asked_by_a_third(self):
        self.wrap = self.as_user()
        return self.start(PYTHON, "-c", SLEEPER)

    def server_that_answers_no_questions(self):
        self.server("--http=OFF", awaited=("xserver.sock",))
        p = self.cuda()

        def has_joined():
            with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
                return "/memfd:xsched-server" in f.read()
        self.wait_until(has_joined)
        return p

    def two_servers_the_program_has_joined_the_second(self):
        """A program finds the machine's server; then a server of its user comes, where programs look first."""
        box = self.start(*self.namespace("mount -t tmpfs none /run", "mkdir /run/xsched"), PYTHON, "-c", SLEEPER)
        self.wrap = ["nsenter", f"--mount=/proc/{box.pid}/ns/mnt"]
        del self.env["XSCHED_SOCKET"]
        inside = f"/proc/{box.pid}/root/run/xsched"
        server = subprocess.Popen([*self.wrap, os.path.join(self.bin, "xserver"), "--socket", "/run/xsched/xserver.sock", "--port", "0"],
                                  env=self.env, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        self.wait_until(lambda: os.path.exists(inside + "/http.sock"))
        p = self.cuda(*self.wrap, *self.run_options("--no-server"))
        self.folder("r/xsched")
        self.server(at=os.path.join(self.env["XDG_RUNTIME_DIR"], "xsched", "xserver.sock"))
        return p

    def two_users(self):
        """A program of nobody's under a server of its own, and one of ours under ours."""
        theirs = self.folder("theirs", NOBODY, 0o700) + "/xserver.sock"
        self.server(at=theirs, wrap=self.as_user())
        other = self.cuda(*self.as_user(), *self.run_options(), env={"XSCHED_SOCKET": theirs})
        self.folder("s", mode=0o700)
        self.server()
        return self.cuda(), other, theirs

    def two_users_with_a_server_each_asked_by_root(self):
        return self.two_users()[0]

    def two_users_with_a_server_each_asked_by_one(self):
        _, other, theirs = self.two_users()
        self.wrap = self.as_user()
        self.env["XSCHED_SOCKET"] = theirs
        return other

    def program_beside_one_that_nothing_schedules(self):
        need(ROOT, "the name of the user is in the table")
        self.server()
        self.on_the_gpu(self.cuda("env"))
        return self.cuda()

    # ---- programs ----

    def not_started_with_xsched_run(self):
        return self.cuda("env")

    def not_yet_used_its_device(self):
        self.server()
        return self.start(*self.run_options(), PYTHON, "-c", SLEEPER)

    def asked_the_driver_alone(self):
        self.server()
        return self.cuda(work=False)

    def no_descriptors_left(self):
        self.server()
        return self.cuda(before="import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))")

    def no_queue_any_more(self):
        self.server()
        p = self.cuda(after="must(cu.cuStreamDestroy_v2(stream))")
        self.wait_until(lambda: "has no queue" in self.doctor(p.pid).stdout)
        return p

    def exited(self):
        p = self.start(PYTHON, "-c", SLEEPER)
        p.communicate()
        return p

    def zombie(self):
        p = self.start(PYTHON, "-c", "import os, sys, time; pid = os.fork()\nif pid == 0: os._exit(0)\n"
                       "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT); print('up', pid, flush=True); sys.stdin.read()", said="")
        return int(p.stdout.readline().split()[1])

    def stopped(self):
        self.server()
        p = self.cuda()
        os.kill(p.pid, signal.SIGSTOP)
        os.waitpid(p.pid, os.WUNTRACED)
        return p

    def frozen(self):
        top = next((t for t in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(t + "/cgroup.controllers")), None)
        need(ROOT and top, "no control groups here that this user may change")
        group = f"{top}/xsched-test-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as e:
            raise unittest.SkipTest(f"no control groups here: {e}")
        p = self.start(PYTHON, "-c", SLEEPER)

        def write(file, text):
            with open(os.path.join(group, file), "w", encoding="ascii") as f:
                f.write(text)

        def end():
            write("cgroup.freeze", "0")
            p.kill()
            p.wait()
            self.wait_until(lambda: self.removed(group))
        self.addCleanup(end)
        write("cgroup.procs", str(p.pid))
        write("cgroup.freeze", "1")
        self.wait_until(lambda: "frozen 1" in open(group + "/cgroup.events", encoding="ascii").read())
        return p

    @staticmethod
    def removed(group):
        """A group stays busy for a moment after its last process."""
        try:
            os.rmdir(group)
        except OSError:
            return False
        return True

    def thread(self):
        self.server()
        p = self.cuda(before="import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()")
        return next(int(t) for t in os.listdir(f"/proc/{p.pid}/task") if int(t) != p.pid)

    def thread_of_the_kernel(self):
        for pid in range(2, 100):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[6]) & 0x200000:
                        return pid
            except OSError:
                pass
        raise unittest.SkipTest("no thread of the kernel is visible here")

    def in_a_mount_namespace(self):
        self.server()
        return self.cuda(*self.run_options(), *self.namespace("mount -t tmpfs none /mnt"))

    def in_a_mount_namespace_with_a_server_that_is_seen_only_there(self):
        """The host's socket folder under another name, as containers have it."""
        self.server()
        inside = self.namespace("mount -t tmpfs none /mnt", "mkdir /mnt/xsched", f"mount --bind {os.path.dirname(self.socket)} /mnt/xsched")
        return self.cuda(*self.run_options("--no-server"), *inside, env={"XSCHED_SOCKET": "/mnt/xsched/xserver.sock"})

    def in_a_mount_namespace_without_the_shims(self):
        self.server()
        hide = self.namespace(f"mount -t tmpfs none {os.path.join(self.installed, 'lib')}")
        return self.start(*self.run_options(), *hide, PYTHON, "-c", SLEEPER)

    def in_a_pid_namespace(self):
        self.server()
        p = self.cuda(*self.run_options(), *self.namespace("true", pid=True))
        return self.below(p)

    def in_a_pid_namespace_asked_from_inside(self):
        self.server()
        p = self.cuda(*self.run_options(), *self.namespace("true", pid=True))
        inside = self.below(p)
        self.wrap = ["nsenter", "-t", str(inside), "-m", "-p"]
        return 1

    def static(self):
        need(STATIC, "no static C library here")
        self.server()
        return self.start(*self.run_options(), STATIC)

    def of_another_word_size(self):
        """A program of 32 bits that waits, without a C library."""
        source, made, program = (os.path.join(self.top, n) for n in ("p.s", "p.o", "p"))
        with open(source, "w", encoding="ascii") as f:
            f.write(".globl _start\n_start: mov $29, %eax\nint $0x80\njmp _start\n")    # pause
        need(subprocess.run(["as", "--32", "-o", made, source], capture_output=True, check=False).returncode == 0 and
             subprocess.run(["ld", "-m", "elf_i386", "-o", program, made], capture_output=True, check=False).returncode == 0,
             "this machine's assembler makes no program of 32 bits")
        try:
            subprocess.run(["timeout", "0.1", program], check=False, capture_output=True)
            p = self.start(*self.run_options(), program, said="")
            return self.becomes(p, program)
        except OSError as e:
            raise unittest.SkipTest(f"no program of 32 bits runs here: {e}")

    def dynamic_linker(self):
        out = subprocess.run(["readelf", "-l", os.path.realpath(PYTHON)], capture_output=True, text=True, check=False).stdout
        found = re.search(r"interpreter: (\S+)\]", out)
        need(found, "no readelf here")
        return found[1]

    def by_the_dynamic_linker(self):
        self.server()
        return self.cuda(python=(self.dynamic_linker(), os.path.realpath(PYTHON)))

    def by_the_dynamic_linker_not_started_with_xsched_run(self):
        return self.cuda("env", python=(self.dynamic_linker(), os.path.realpath(PYTHON)))

    def raised(self):
        """A program of nobody's that has root's rights."""
        self.server()
        program = self.elf_program("raised")
        os.chmod(program, 0o4755)
        return self.becomes(self.start(*self.as_user()[:-1], *self.run_options(), program, said=""), program)

    def set_user_id(self):
        return self.raised()

    def set_user_id_asked_by_its_user(self):
        self.wrap = self.as_user()
        return self.raised()

    def capable(self):
        self.server()
        need(ROOT, "only root can give a file capabilities")
        program = self.elf_program("capable")
        data = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)     # CAP_NET_RAW, permitted and effective
        try:
            os.setxattr(program, "security.capability", data)
        except OSError as e:
            raise unittest.SkipTest(f"no file capabilities here: {e}")
        p = self.start(*self.as_user()[:-1], *self.run_options(), "sh", "-c", f"{program}; true", said="")
        return self.becomes(self.below(p), program)

    def file_capabilities_behind_sh_c(self):
        return self.capable()

    def file_capabilities_behind_sh_c_asked_by_its_user(self):
        self.wrap = self.as_user()
        return self.capable()

    def protected_by_itself_asked_by_its_user(self):
        self.wrap = self.as_user()
        return self.start(*self.as_user(), PYTHON, "-c", "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0);" + SLEEPER)

    def child(self, how):
        """A child of a Python program that has the shims, started with another environment."""
        self.server()
        code = f"import os, subprocess, sys\nenv = {how}\n" \
               f"p = subprocess.Popen([{PYTHON!r}, '-c', {SLEEPER!r}], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n" \
               "p.stdout.readline(); print('up', p.pid, flush=True); sys.stdin.read()"
        p = self.start(*self.run_options(), PYTHON, "-c", code, said="")
        return int(p.stdout.readline().split()[1])

    def preload_taken_away_from_children(self):
        """As heaptrack 1.4.0 does."""
        return self.child("{k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}")

    def environment_cleared_for_children(self):
        return self.child("{}")

    def environment_cleared(self):
        self.server()
        return self.start(*self.run_options(), "env", "-i", PYTHON, "-c", SLEEPER)

    def preload_taken_away(self):
        self.server()
        return self.cuda(*self.run_options(), "env", "-u", "LD_PRELOAD")

    def preload_named_twice(self):
        """podman 4.3.1 leaves two entries; the dynamic linker takes the last one, and getenv the first."""
        self.server()
        code = CUDA.format(before="", after="", work=True)
        env = {k: v for k, v in self.env.items() if k != "LD_PRELOAD"}
        words = [f"LD_PRELOAD={self.top}/none.so", *(f"{k}={v}" for k, v in env.items()), "XSCHED_PRIORITY=7",
                 f"LD_PRELOAD={self.shims}/libshimcuda.so"]
        launcher = "import ctypes, sys\ndef array(l): return (ctypes.c_char_p * (len(l) + 1))(*[x.encode() for x in l])\n" \
                   f"ctypes.CDLL(None).execve({PYTHON.encode()!r}, array([{PYTHON!r}, '-c', {code!r}]), array({words!r}))"
        return self.start(PYTHON, "-c", launcher)

    def preload_of_a_file_that_is_not_there(self):
        self.server()
        return self.start(PYTHON, "-c", SLEEPER, env={"LD_PRELOAD": os.path.join(self.top, "libshimcuda.so"), "XSCHED_PRIORITY": "7"})

    def vulkan_with_vk_layer_path(self):
        self.server()
        return self.vulkan_program(*self.run_options(), "env", "VK_LAYER_PATH=/usr/share/vulkan/explicit_layer.d")

    def vulkan_with_an_override(self):
        """As vkconfig writes it, behind the launcher: Vulkan's loader then looks for layers in these folders alone."""
        self.server()
        folder, file = self.folder("h/.local/share/vulkan/implicit_layer.d"), os.path.join(self.top, "VkLayer_override.json")
        with open(file, "w", encoding="ascii") as f:
            json.dump({"file_format_version": "1.1.2", "layer": {
                "name": "VK_LAYER_LUNARG_override", "type": "GLOBAL", "api_version": "1.3.239", "implementation_version": "1",
                "description": "override", "component_layers": [], "override_paths": ["/usr/share/vulkan/explicit_layer.d"],
                "blacklisted_layers": [], "disable_environment": {"DISABLE_VK_LAYER_LUNARG_override": "1"}}}, f)
        return self.vulkan_program(*self.run_options(), "sh", "-c", f'cp {file} {folder} && exec "$@"', "sh")

    def vulkan_not_started_with_xsched_run(self):
        return self.vulkan_program("env")

    def device_used_past_the_shim(self):
        """As Taichi does: the driver is initialised, and no call came through the shim."""
        self.server()
        box = self.namespace("mount -t tmpfs none /dev", "mknod -m 666 /dev/null c 1 3", "mknod -m 666 /dev/urandom c 1 9",
                             "touch /dev/nvidia-uvm")
        code = f"f = open('/dev/nvidia-uvm'); import ctypes; a = ctypes.CDLL({os.path.join(ODD, 'libcuda.so.1')!r});" + SLEEPER
        return self.start(*self.run_options(), *box, PYTHON, "-c", code)

    def two_copies_of_cuda(self):
        self.server()
        shutil.copy(os.path.join(ODD, "libcuda.so.1"), self.top)
        path = os.path.join(self.top, "libcuda.so.1")
        return self.cuda(work=False, after=f"other = ctypes.CDLL({path!r})")

    def two_copies_of_hip(self):
        self.server()
        paths = []
        for name in "ab":
            paths.append(os.path.join(self.folder(name), "libamdhip64.so.6"))
            shutil.copy2(os.path.join(ODD, "libcuda.so.1"), paths[-1])
        return self.start(*self.run_options(), PYTHON, "-c", f"import ctypes; a = [ctypes.CDLL(p) for p in {paths!r}];" + SLEEPER)

    def disabled(self):
        self.server()
        return self.cuda(env={"XSCHED_DISABLE": "1"})

    def disabled_by_a_value_that_is_none(self):
        self.server()
        return self.cuda(env={"XSCHED_DISABLE": "perhaps", "XSCHED_AUTO_XQUEUE": "perhaps"})

    def suspended_by_hand(self):
        self.server()
        p = self.cuda_known()
        self.xcli("suspend", str(p.pid))
        return p

    def suspended_by_hand_for_a_time(self):
        self.server()
        p = self.cuda_known()
        self.xcli("suspend", str(p.pid), "--for", "1h")
        return p

    def waits_for_a_more_important_one(self):
        need(os.path.isdir("/etc/OpenCL/vendors") and os.path.exists(OCLLOAD), "no OpenCL platform here")
        self.server()

        def load(priority):
            return self.start(*self.run_options(priority=priority), OCLLOAD, "stream", "--iterations", "50000", "--in-flight", "4",
                              env={"OCL_ICD_VENDORS": None}, said="running")
        p = load("0")
        load("9")
        self.wait_until(lambda: "suspends queue" in self.doctor(p.pid).stdout)
        return p

    def never_runs(self):
        self.server()
        p = self.cuda_known()
        self.xcli("hint", str(p.pid), "-p", "-256")
        return p

    def hint_without_effect(self):
        self.server()
        return self.cuda(*self.run_options("--utilization", "30", priority=None))

    def level_that_the_platform_lacks(self):
        need(os.path.isdir("/etc/OpenCL/vendors"), "no OpenCL platform here")
        self.server()
        return self.start(*self.run_options("--level", "3"), PYTHON, "-c", OPENCL.format(mode="ctypes.DEFAULT_MODE"),
                          env={"OCL_ICD_VENDORS": None})

    def level_that_somebody_lowered(self):
        self.server()
        p = self.cuda(*self.run_options("--level", "2"))
        found = json.loads(self.doctor(p.pid, "--json").stdout)
        self.xcli("config", "-x", str(found["queues"][0]["handle"]), "-l", "1")
        self.wait_until(lambda: json.loads(self.doctor(p.pid, "--json").stdout)["queues"][0]["level"] == 1)
        return p

    def local_policy(self):
        return self.cuda(*self.run_options("--local-policy", "HPF"))

    def policy_that_is_none(self):
        """The library does not know it either, and takes the scheduler that is named besides."""
        self.server()
        return self.cuda(*self.run_options(), env={"XSCHED_POLICY": "FIFO", "XSCHED_SCHEDULER": "GLB"})

    def preload_alone(self):
        return self.cuda("env", f"LD_PRELOAD={self.shims}/libshimcuda.so")

    def variables_that_the_program_sets_itself(self):
        self.server()
        return self.cuda("env", f"LD_PRELOAD={self.shims}/libshimcuda.so", before="os.environ['XSCHED_PRIORITY'] = '7'")

    def queues_of_its_own_without_a_shim(self):
        self.server()
        package = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python")
        lib = os.path.join(self.installed, "lib")
        after = f"""
sys.path.insert(0, {package!r})
import xsched
queue = xsched.Queue(stream, platform="cuda")
"""
        return self.cuda("env", after=after, env={"XSCHED_SCHEDULER": "GLB", "XSCHED_LIBRARY": None,
                                                  "LD_LIBRARY_PATH": self.env["LD_LIBRARY_PATH"] + ":" + lib})

    def shim_replaced(self):
        top = self.folder("i", mode=0o755)
        shutil.copytree(self.installed, top, symlinks=True, dirs_exist_ok=True)
        self.bin = os.path.join(top, "bin")
        self.server()
        p = self.cuda()
        os.unlink(os.path.join(top, "lib", "xsched", "libshimcuda.so"))
        return p

    def variable_that_means_nothing(self):
        self.server()
        return self.cuda(env={"XSCHED_PRIORTY": "3"})

    def no_shim_for_its_platform(self):
        top = self.folder("i", mode=0o755)
        shutil.copytree(self.installed, top, symlinks=True, dirs_exist_ok=True)
        os.unlink(os.path.join(top, "lib", "xsched", "libshimhip.so"))
        self.bin = os.path.join(top, "bin")
        self.server()
        path = os.path.join(self.top, "libamdhip64.so.6")
        shutil.copy2(os.path.join(ODD, "libcuda.so.1"), path)
        return self.start(*self.run_options(), PYTHON, "-c", f"import ctypes; a = ctypes.CDLL({path!r});" + SLEEPER)


class Quiet(Situations):
    """What programs of each platform print besides their own words."""

    def says_nothing(self, p):
        said = p.communicate(timeout=60)[1]
        self.assertEqual([line for line in said.splitlines() if "XSCHED" in line or "xsched" in line], [])

    def test_quiet_under_a_server(self):
        for start in (self.cuda_, self.hip, self.levelzero, self.vulkan, self.opencl):
            with self.subTest(start.__name__):
                self.setUp()
                self.says_nothing(start())

    def test_quiet_under_a_local_policy(self):
        run = self.run_options("--local-policy", "HPF")
        self.says_nothing(self.cuda(*run))
        self.says_nothing(self.vulkan_program(*run))


def slug(name):
    words = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
    return words + "_" if words == "cuda" else words


def add_tests():
    for name, row in table().items():
        if name == "DEFAULT":
            continue

        def test(self, name=name, row=row):
            self.judge(name, row, getattr(self, slug(name))())
        setattr(Situations, "test_" + slug(name), test)


add_tests()


def load_tests(loader, _, __):
    """Quiet has the situations' functions, and not their tests."""
    suite = loader.loadTestsFromTestCase(Situations)
    suite.addTests(Quiet(name) for name in loader.getTestCaseNames(Quiet) if name.startswith("test_quiet"))
    return suite


if __name__ == "__main__":
    own_network.enter()
    unittest.main(argv=[sys.argv[0], *("Situations.test_" + slug(n) for n in sys.argv[1:])], verbosity=1)
