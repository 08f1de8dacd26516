#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two copies of the runtime, and a caller that depends on none of them (ctypes, compiled code): it gets the copy whose handle it
has. What one copy made goes to that copy, also where the call of a library is a jump, which hides the library: follows.py SHIM FOLDER_OF_THE_SYSTEM'S_COPY WHEEL UNTRACKED_SHIM

follows.py (without arguments) is the program itself: one line a call with the code that came back."""
import ctypes
import os
import subprocess
import sys
import threading
import time


def program():
    import torch  # pylint: disable=import-outside-toplevel,import-error
    p, u32, f32 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_float
    print("torch", torch.init(), torch.randn(1))
    randns = [1]
    hip = ctypes.CDLL(os.environ["SYSTEM_HIP"])   # by its path, as Triton
    log, tag, ns, ms = (ctypes.c_uint32 * 64)(), u32(2), ctypes.c_uint64(1000), f32(0)
    to = p(ctypes.addressof(log))
    params = (p * 3)(*(ctypes.addressof(x) for x in (ns, to, tag)))
    mod, f, stream, first, second = p(), p(), p(), p(), p()

    def step(name, code, turn=True):
        print(name, code)
        if turn:
            torch.randn(3)   # the thread's last call goes to the wheel's copy
            randns[0] += 1

    def launch(on):
        return hip.hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, on, params, None)

    def make():   # with nothing of the wheel between: such calls name nothing that a copy made
        step("module", hip.hipModuleLoadData(ctypes.byref(mod), b"code"), False)
        step("function", hip.hipModuleGetFunction(ctypes.byref(f), mod, b"work"), False)
        step("stream", hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1), False)
        step("events", hip.hipEventCreate(ctypes.byref(first)), False)
        step("events", hip.hipEventCreateWithFlags(ctypes.byref(second), 0), False)

    def work():
        step("launch", launch(None))
        step("on a stream", launch(stream))
        step("record", hip.hipEventRecord(first, None))
        step("record on a stream", hip.hipEventRecord(second, stream))
        step("wait", hip.hipStreamWaitEvent(stream, first, 0))
        step("synchronise", hip.hipEventSynchronize(second))
        step("query", hip.hipEventQuery(second))
        step("elapsed", hip.hipEventElapsedTime(ctypes.byref(ms), first, second))
        step("stream", hip.hipStreamSynchronize(stream))
        step("theirs, by a jump", torch.wait(theirs))
        step("listed, by a jump", torch.launch(listed))

    theirs, listed = torch.stream(), torch.listed()
    hip.hipSetDevice(0)
    for part in (make, work):
        t = threading.Thread(target=part)   # each begins with nothing used
        t.start()
        t.join()
    work()
    hip.hipDeviceSynchronize()
    step("destroy", hip.hipEventDestroy(first))
    print("wrote", log[0])
    while torch.log.words[0] < randns[0]:   # randn's own wait is such a jump, of a call that names no object (decision 0039)
        time.sleep(0.001)


def main(shim, system, wheel, untracked):
    bad = []

    def run(**extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        env.update(extra, LD_LIBRARY_PATH=f"{system}:{os.path.dirname(os.path.dirname(shim))}", PYTHONPATH=wheel,
                   PYTHONDONTWRITEBYTECODE="1", SYSTEM_HIP=os.path.join(system, "libamdhip64.so.6"))
        r = subprocess.run([sys.executable, os.path.abspath(__file__)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=60, check=False)
        return r.returncode, r.stdout.splitlines(), r.stderr

    def failed(lines):
        return [line for line in lines if not line.startswith(("torch", "wrote")) and not line.endswith(" 0")]

    native = run()
    if native[0] or failed(native[1]) or native[1][-1] != "wrote 4":
        bad.append(f"native: {native}")
    for extra in ({}, {"XSCHED_AUTO_XQUEUE": "ON"}, {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"},
                  {"XSCHED_DISABLE": "1"}):
        got = run(LD_PRELOAD=shim, **extra)
        if got != native:
            bad.append(f"ours, {extra}: {got}, not {native}")
    code, out, err = run(LD_PRELOAD=untracked, XSCHED_AUTO_XQUEUE="ON")
    names = {line.rsplit(" ", 1)[0] for line in failed(out)}
    if names != {"theirs, by a jump", "listed, by a jump"} or "theirs, by a jump 709" not in out:
        bad.append(f"a shim that does not know what made what: {code} {out} {err}")
    print("without knowing which copy made what:", ", ".join(failed(out)))
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else program())
