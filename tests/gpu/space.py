# SPDX-License-Identifier: Apache-2.0
"""Sharing in space on a GPU, by programs that know nothing of it (the driver through ctypes).

  space.py load SECONDS       launches kernels that count, and checks what they counted; prints one JSON line
  space.py park STREAMS       puts a closed gate into so many streams, with kernels behind each, until its input ends
  space.py life BUILD         one daemon for several programs of `xsched run --share=space`, which ends after them
  space.py kills BUILD TIMES  the helper, MPS's control daemon, its server and xserver are killed under load, each so often
  space.py victims BUILD TIMES  a program with kernels outstanding is killed (kill -9) beside another one, whose outcome counts
  space.py see                prints which devices the driver and NVML show to this program, under which CUDA_VISIBLE_DEVICES
  space.py numbers BUILD      each form of CUDA_VISIBLE_DEVICES in space and under a daemon of one device: what the program saw, and
                              whether it met the device that it meets without MPS. Two devices show more than one.
  space.py gates BUILD        what closed gates in one program's streams do to another program of the same MPS server

Rows on stdout; ends with 1 when something is wrong."""
import collections
import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid

PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 at) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [at];
  mov.u64 %rd2, 1;
  red.global.add.u64 [%rd1], %rd2;
  ret;
}
"""
MPS_ENABLED = 133


class Driver:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        mps = ctypes.c_int()
        self.lib.cuDeviceGetAttribute(ctypes.byref(mps), MPS_ENABLED, device)
        self.mps = mps.value
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        module, self.add = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.add), module, b"add")

    def call(self, name, *args):
        r = getattr(self.lib, name)(*args)
        if r:
            print(json.dumps({"error": r, "call": name}), flush=True)
            sys.exit(3)

    def stream(self):
        s = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(s), 1)
        return s

    def word(self):
        """Zeroed memory of the device."""
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), 8)
        self.call("cuMemsetD8_v2", at, 0, 8)
        return at

    def host_words(self):
        self.shared, at = mmap.mmap(-1, 4096), ctypes.c_uint64()
        host = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self.shared)))
        self.call("cuMemHostRegister_v2", host, ctypes.c_size_t(4096), 2)
        self.call("cuMemHostGetDevicePointer_v2", ctypes.byref(at), host, 0)
        return ctypes.cast(host, ctypes.POINTER(ctypes.c_uint64)), at

    def launch(self, stream, at):
        p = ctypes.c_uint64(at.value)
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(p), ctypes.c_void_p))
        self.call("cuLaunchKernel", self.add, 1, 1, 1, 1, 1, 1, 0, stream, params, None)

    def value(self, at):
        v = ctypes.c_uint64()
        self.call("cuMemcpyDtoH_v2", ctypes.byref(v), at, 8)
        return v.value


def load(seconds):
    d = Driver()
    s, at, n, took = d.stream(), d.word(), 0, []
    print(json.dumps({"ready": os.getpid(), "mps": d.mps}), flush=True)
    began = time.monotonic()
    end = began + seconds
    while time.monotonic() < end:
        t = time.perf_counter()
        for _ in range(50):
            d.launch(s, at)
        d.call("cuStreamSynchronize", s)
        took.append((time.perf_counter() - t) * 1e6)
        n += 50
    ended, longest = time.monotonic(), max(took)
    took.sort()
    found = d.value(at)
    print(json.dumps({"launches": n, "right": found == n, "mps": d.mps, "began": round(began, 3), "ended": round(ended, 3),
                      "longest_us": round(longest), "p50_us": round(took[len(took) // 2], 1),
                      "p99_us": round(took[int(len(took) * .99)], 1)}), flush=True)
    return 0 if found == n else 1


def park(streams):
    d = Driver()
    words, at = d.host_words()
    all_streams = [d.stream() for _ in range(streams)]
    count = d.word()
    d.launch(all_streams[0], count)
    d.call("cuStreamSynchronize", all_streams[0])
    for s in all_streams:
        d.call("cuStreamWaitValue64_v2", s, at, ctypes.c_uint64(1), 0)
        for _ in range(8):
            d.launch(s, count)
    free = d.stream()
    t = time.perf_counter()
    done = False
    d.launch(free, count)
    while time.perf_counter() - t < 2 and not done:       # another stream of the same program
        done = d.lib.cuStreamQuery(free) == 0
    print(json.dumps({"parked": streams, "own_other_stream_runs": done}), flush=True)
    sys.stdin.read()
    words[0] = 1
    for s in all_streams:
        d.call("cuStreamSynchronize", s)
    return 0


def nvml_uuid(index):
    """Of NVML's device with this number, as vLLM and PyTorch's monitoring look one up."""
    try:
        lib = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    device, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    bad = lib.nvmlInit_v2() or lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
    return None if bad or lib.nvmlDeviceGetUUID(device, text, 96) else text.value.decode()


def see():
    lib = ctypes.CDLL("libcuda.so.1")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count, device, mps, uuids, raw = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), [], ctypes.create_string_buffer(16)
    error = lib.cuInit(0) or lib.cuDeviceGetCount(ctypes.byref(count))
    for i in range(count.value):
        lib.cuDeviceGet(ctypes.byref(device), i)
        lib.cuDeviceGetUuid(raw, device)
        uuids.append(f"GPU-{uuid.UUID(bytes=raw.raw)}")
        lib.cuDeviceGetAttribute(ctypes.byref(mps), MPS_ENABLED, device)
    first = (visible or "0").split(",", maxsplit=1)[0]
    print(json.dumps({"visible": visible, "error": error, "count": count.value, "uuids": uuids, "mps": mps.value,
                      "nvml": nvml_uuid(int(first)) if first.isdigit() else None}), flush=True)
    return 0


# ---- what starts those ----

class Bad(Exception):
    pass


def row(**what):
    print(json.dumps(what), flush=True)


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Place:
    """A runtime folder of its own, so that nothing else of this user is met."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.top = tempfile.mkdtemp(prefix="xsp-", dir="/tmp")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "CUDA_MPS_"))}
        libs = os.path.join(self.build, "server-lib")
        self.env.update(XDG_RUNTIME_DIR=self.top, XSPACE=self.top)
        if os.path.isdir(libs):
            self.env["LD_LIBRARY_PATH"] = ":".join(p for p in (libs, self.env.get("LD_LIBRARY_PATH")) if p)

    def start(self, *args, share="space", priority="0", idle="2", **kwargs):
        return subprocess.Popen([os.path.join(self.build, "bin", "xsched"), "run", f"--share={share}", "--priority", priority,
                                 "--idle-exit", idle, "--", sys.executable, os.path.abspath(__file__), *args], env=self.env,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **kwargs)

    def processes(self, *names):
        """Those of this place by the name of their program."""
        found = []
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    comm = f.read().strip()
                with open(f"/proc/{pid}/environ", "rb") as f:
                    ours = f"XSPACE={self.top}".encode() in f.read()
            except (OSError, UnicodeDecodeError):
                continue
            if ours and any(n[:15].startswith(comm) or comm.startswith(n[:15]) for n in names):
                found.append(int(pid))
        return found

    def end(self):
        for pid in self.processes("xsched-space", "xserver"):
            os.kill(pid, signal.SIGKILL)
        own = os.path.join(self.top, "xsched")
        for folder in (os.path.join(own, n) for n in (os.listdir(own) if os.path.isdir(own) else ())):
            if os.path.isdir(os.path.join(folder, "mps")):
                subprocess.run(["nvidia-cuda-mps-control"], input="quit -t 2\n", text=True, timeout=60, check=False,
                               env={**self.env, "CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, "mps")}, capture_output=True)


def first_line(p, seconds=90):
    line = p.stdout.readline()
    if not line:
        raise Bad(f"ended at once: {p.wait(seconds)} {p.stderr.read().decode()}")
    return json.loads(line)


def last(p, seconds=60):
    """Of a program whose pipes have no buffer (bufsize=0): communicate() does not see what readline() has read ahead."""
    out, err = (text.decode() for text in p.communicate(timeout=seconds))
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return p.returncode, (lines or [{}])[-1], err


def life(build):
    place = Place(build)
    try:
        programs = [place.start("load", "4", priority=str(i)) for i in (0, 5, 10)]
        ready = [first_line(p) for p in programs]
        row(test="life", metric="under_mps", value=sum(r["mps"] for r in ready), of=3)
        control, helper = place.processes("nvidia-cuda-mps-control"), place.processes("xsched-space")
        row(test="life", metric="daemons", value=len(control), helpers=len(helper))
        for p in programs:
            status, found, err = last(p)
            row(test="life", metric="program", status=status, said=err.strip(), **found)
            if status or not found.get("right"):
                raise Bad(f"a program: {status} {found} {err}")
        began = time.monotonic()
        gone = until(lambda: not place.processes("nvidia-cuda-mps-control", "xsched-space"))
        row(test="life", metric="ended_after_s", value=round(time.monotonic() - began, 2), gone=gone)
        if sum(r["mps"] for r in ready) != 3 or len(helper) != 1 or not control or not gone:
            raise Bad("the daemon's life")
    finally:
        place.end()


def outcome(p):
    """Of a program that was running when something was killed."""
    try:
        status, found, _ = last(p, 60)
    except subprocess.TimeoutExpired:
        p.kill()
        return "hung"
    return "right" if found.get("right") else f"vendor's error {found['error']}" if "error" in found else f"status {status}"


def outcome_of_new(place):
    """Of a program that starts afterwards."""
    new = place.start("load", "0.2", idle="30")
    try:
        status, found, err = last(new, 90)
    except subprocess.TimeoutExpired:
        new.kill()
        return "new: hung"
    return f"new: {'space' if found.get('mps') else 'time'}" if found.get("right") else f"new: {status} {found} {err[-200:]}"


def is_bad(kind):
    return "hung" in kind or kind.startswith("status") or (kind.startswith("new") and kind not in ("new: space", "new: time"))


def counted(test, what, times, outcomes):
    """@param outcomes  each one, as outcome() and outcome_of_new() say it
    @return how many are wrong"""
    row(test=test, what=what, times=times, outcomes=collections.Counter(outcomes))
    return sum(map(is_bad, outcomes))


def kills(build, times):
    """Programs go on, or end with the vendor's error; a new one starts; nothing hangs."""
    place, bad = Place(build), 0
    for what in ("xsched-space", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "xserver"):
        outcomes = []
        for _ in range(times):
            programs = [place.start("load", "1.5", priority=p, idle="30") for p in ("0", "10")]
            for p in programs:
                first_line(p)
            for pid in place.processes(what):
                os.kill(pid, signal.SIGKILL)
            outcomes += [*map(outcome, programs), outcome_of_new(place)]
        bad += counted("kills", what, times, outcomes)
    place.end()
    if bad:
        raise Bad(f"{bad} outcomes")


def victims(build, times):
    """kill -9 of a program with work outstanding. MPS promises nothing for the other one: outcomes are counted. A hang of the
    other one may be one of the device, so the test ends with it."""
    place = Place(build)
    try:
        for priority, others in (("0", "10"), ("10", "0")):
            outcomes = []
            for i in range(times):
                victim = place.start("load", "30", priority=priority, idle="30")
                other = place.start("load", "1.5", priority=others, idle="30")
                pid = first_line(victim)["ready"]
                first_line(other)
                time.sleep(0.05 + 0.9 * i / times)          # another moment each time, with up to 50 kernels outstanding
                os.kill(pid, signal.SIGKILL)
                victim.communicate(timeout=60)
                outcomes += [outcome(other), outcome_of_new(place)]
                if any("hung" in kind for kind in outcomes):
                    break
            if counted("victims", f"priority {priority}", times, outcomes):
                raise Bad("outcomes")
    finally:
        place.end()


def numbers(build):
    place, wrong = Place(build), []
    place.env.pop("CUDA_VISIBLE_DEVICES", None)

    def seen_with(value, share=None):
        """share None: no XSched, but the MPS daemon that the environment names."""
        place.env.update({} if value is None else {"CUDA_VISIBLE_DEVICES": value})
        p = place.start("see", share=share, idle="30") if share else \
            subprocess.Popen([sys.executable, os.path.abspath(__file__), "see"], env=place.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        _, found, err = last(p, 90)
        place.env.pop("CUDA_VISIBLE_DEVICES", None)
        return {**found, **({"said": err.strip()[-300:]} if err.strip() else {})}

    try:
        all_of_it = seen_with(None)
        uuids = all_of_it["uuids"]
        row(test="numbers", metric="native", **all_of_it)
        forms = [(str(i), "0", u) for i, u in enumerate(uuids)]
        forms += [(v, v, u) for u in uuids for v in (u, u[:16])] + ([(None, None, uuids[0])] if len(uuids) == 1 else [])
        for value, sees, of in forms:
            native, found = seen_with(value), seen_with(value, share="space")
            good = native.get("uuids") == found.get("uuids") == [of] and found.get("mps") == 1 and found.get("visible") == sees
            row(test="numbers", metric="space", given=value, good=good, native_uuids=native.get("uuids"), **found)
            wrong += [] if good else [value]
        for value in ("-1", "", "void", *([None, "1,0"] if len(uuids) > 1 else [])):   # in time, as without XSched
            native, found = seen_with(value), seen_with(value, share="space")
            good = all(native.get(k) == found.get(k) for k in ("visible", "error", "count", "uuids")) and not found.get("mps")
            row(test="numbers", metric="time", given=value, good=good, **found)
            wrong += [] if good else [value]
        pipe = os.path.join(place.top, "own")                                          # what MPS itself does
        os.mkdir(pipe)
        place.env.update(CUDA_MPS_PIPE_DIRECTORY=pipe, CUDA_MPS_LOG_DIRECTORY=pipe)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env={**place.env, "CUDA_VISIBLE_DEVICES": uuids[-1]}, check=True,
                       timeout=60, capture_output=True)
        for value in (None, "0", uuids[-1], uuids[-1][:16], "0,-1", str(len(uuids) - 1), "1", uuids[0]):
            row(test="numbers", metric="daemon", daemon=uuids[-1], given=value, **seen_with(value))
    finally:
        if "CUDA_MPS_PIPE_DIRECTORY" in place.env:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit -t 2\n", text=True, timeout=60, check=False, env=place.env,
                           capture_output=True)
        place.end()
    if wrong:
        raise Bad(f"CUDA_VISIBLE_DEVICES={wrong}")


def gates(build):
    """The other program's latency and the program's own other stream, for more closed gates and more connections to the device."""
    place = Place(build)
    try:
        # A program has two connections where nothing is said. The last number of each row uses all of them.
        for connections, streams in [(c, s) for _ in range(2) for c in (None, "4", "8", "16", "32")
                                     for s in sorted({0, 1, 3, 7, 15, 31, int(c or 2)}) if s <= int(c or 2)]:
            place.env.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
            if connections:
                place.env["CUDA_DEVICE_MAX_CONNECTIONS"] = connections
            parked = place.start("park", str(streams), share="space", idle="30") if streams else None
            own = first_line(parked) if parked else {}
            other = place.start("load", "0.6", share="space", priority="10", idle="30")
            try:
                status, found, err = last(other, 30)
            except subprocess.TimeoutExpired:
                other.kill()
                status, found, err = None, {"hung": True}, ""
            row(test="gates", connections=connections, gates=streams, status=status, said=err.strip()[-200:], **own, **found)
            if parked:
                parked.communicate(timeout=60)
    finally:
        place.end()


def main(args):
    try:
        if args[:1] == ["load"]:
            return load(float(args[1]))
        if args[:1] == ["park"]:
            return park(int(args[1]))
        if args[:1] == ["see"]:
            return see()
        if args[:1] == ["life"]:
            life(args[1])
        elif args[:1] == ["kills"]:
            kills(args[1], int(args[2]))
        elif args[:1] == ["victims"]:
            victims(args[1], int(args[2]))
        elif args[:1] == ["numbers"]:
            numbers(args[1])
        elif args[:1] == ["gates"]:
            gates(args[1])
        else:
            print(__doc__)
            return 2
    except Bad as e:
        row(failed=str(e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
