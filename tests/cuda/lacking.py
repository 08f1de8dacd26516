#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A driver that lacks functions, as older ones and emulations do: lacking.py PROGRAM SHIM FOLDER_OF_THE_FAKE USED.DEF

Of each function that we call ourselves there is a copy of the fake driver without it, one without all that came after
CUDA 9, and one without all that scheduling needs. The program (ways/program.c) does with each what it does without XSched, whichever level is asked for. Level 2 is
had or refused with one line; so is scheduling as a whole."""
import os
import re
import subprocess
import sys
import tempfile

# without them the program itself does nothing
ITS_OWN = {"cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuStreamSynchronize"}
NEWER = ("cuDevicePrimaryCtxRelease_v2", "cuStreamGetCtx", "cuStreamIsCapturing", "cuStreamWaitValue64_v2",
         "cuStreamWriteValue64_v2", "cuThreadExchangeStreamCaptureMode")
# what is needed for anything, for a created stream, and for level 2
ALL = ("cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxGetDevice", "cuDeviceGetAttribute")
CREATED = {"cuStreamGetCtx"}
GATES = {"cuStreamWaitValue64_v2", "cuStreamWriteValue64_v2", "cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2"}


def without(driver, names, folder):
    with open(driver, "rb") as f:
        text = f.read()
    for name in names:
        old = b"\0" + name.encode() + b"\0"
        assert old in text, name
        text = text.replace(old, b"\0no" + old[3:])
    os.makedirs(folder)
    with open(os.path.join(folder, "libcuda.so.1"), "wb") as f:
        f.write(text)


def run(program, folder, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
    r = subprocess.run([program, "open", "libcuda.so.1"], env=dict(env, LD_LIBRARY_PATH=folder, **more), text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return r.returncode, r.stdout.split("\n")[0], r.stderr


def said(text):
    return [line.split("] ", 1)[-1] for line in text.splitlines()]


def want(lacks, level):
    """What it prints, and the one line in the log."""
    lacks = set(lacks)
    if lacks & set(ALL):
        return "scheduled 0", f"lacks functions that scheduling needs ({', '.join(n for n in ALL if n in lacks)})"
    if lacks & CREATED:
        return "scheduled 0", None
    gates = not lacks & GATES
    if level == "3" or (level == "2" and not gates):
        return "scheduled 6", f"no preemption level {level} here; level {2 if gates else 1} takes its place"
    return "scheduled 6", None


def main(program, shim, fake, used):
    with open(used, encoding="ascii") as f:
        text = f.read()
    names = re.findall(r"^CUDA_USED\((\w+)", text, re.M)
    moves = re.findall(r"^CUDA_USED\((\w+)", text.split("/* swap */")[1], re.M)
    bad = ran = 0
    with tempfile.TemporaryDirectory() as top:
        for lacks in [()] + [(n,) for n in names if n not in ITS_OWN] + [NEWER, ALL]:
            folder = os.path.join(top, "without-" + "-".join(lacks))
            without(os.path.join(fake, "libcuda.so.1"), lacks, folder)
            if run(program, folder) != (0, "no XSched", ""):
                print("without XSched, without", lacks, run(program, folder))
                bad += 1
            for level in ("1", "2", "3", "auto"):
                code, out, log = run(program, folder, LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF",
                                     XSCHED_AUTO_XQUEUE_LEVEL=level)
                out_want, line = want(lacks, level)
                log = said(log)
                ran += 1
                if code or out != out_want or len(log) != bool(line) or (line and line not in log[0]):
                    print(f"without {lacks}, level {level}: {code} {out!r} {log}, not {out_want!r} {line!r}")
                    bad += 1
            if len(lacks) == 1 and lacks[0] in moves:
                code, out, log = run(program, folder, LD_PRELOAD=shim, XSCHED_SWAP="ON")
                ran += 1
                if code or not re.fullmatch(r"swap: this driver lacks functions .*", "\n".join(said(log))):
                    print(f"without {lacks}, swap: {code} {out!r} {log}")
                    bad += 1
    print(f"{ran} runs, {bad} wrong")
    return 1 if bad or ran < 80 else 0


sys.exit(main(*sys.argv[1:]))
