#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program `operations` natively and under the shim, each operation with equal results:

  operations.py fake PROGRAM SHIM FOLDER_OF_THE_FAKE WRONG_SHIM [OUT]
  operations.py outside PROGRAM SHIM [OUT]
  operations.py at FOLDER PROGRAM SHIM [OUT]

fake: on the fake runtime. HIP_TEST_LIBRARIES names the folder that scripts/hip_libraries.sh made: then the distribution's
hipBLAS, rocBLAS, rocFFT, rocRAND and MIOpen run on it too. Each kernel that they launch is a command on a queue, and a shim that
takes registrations to another copy of the runtime fails as users met it.

outside: on a real runtime over whatever HIP_TEST_EMULATED names, a folder from outside with an executable `run`:
`run SHIM PROGRAM ARGUMENT...` starts the program there with that preload (an empty word: none), `run` alone names in one line what it
runs on. It may be an emulator of the device, and the results say so then. Unset: skipped (status 77). HIP_TEST_GROUPS: only
these groups; HIP_TEST_SECONDS=120: how long one may take. `run` must end the program when it is ended.

at: the same with that folder, for tests/gpu/verify_hip.

A library that is not there is a line with the code `missing`. An operation that fails natively counts as none. A group that does
not come to an end natively is named, and is not tried under the shim. OUT gets the rows: operation, code and sum natively, and
what it gave in each mode, `=` for the same."""
import glob
import os
import subprocess
import sys
import tempfile

GROUPS = ("runtime", "hipblas", "rocblas", "rocfft", "rocrand", "hiprand", "miopen", "rccl")
SCHEDULED = {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}
MODES = {"quiet": {}, "queues": {"XSCHED_AUTO_XQUEUE": "ON"}, "policy": SCHEDULED, "level 2": dict(SCHEDULED, XSCHED_AUTO_XQUEUE_LEVEL="2"),
         "events": dict(SCHEDULED, XSCHED_HIP_MARKS="EVENT")}
CAPTURED = 5                          # launches of `runtime` that become a graph, which is one command when it is launched
EMPTY = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}


class Fake:
    """The fake runtime, with the distribution's libraries where they are."""
    def __init__(self, program, fake, scratch):
        self.program, self.fake, self.scratch = program, fake, scratch
        top = os.environ.get("HIP_TEST_LIBRARIES", "")
        self.loader = (glob.glob(os.path.join(top, "usr/lib/*/ld-linux-*.so.*")) or [None])[0] if top else None
        self.name = "the fake runtime" + (" with the distribution's libraries" if self.loader else "")
        if not self.loader:
            print("HIP_TEST_LIBRARIES names no folder of libraries (scripts/hip_libraries.sh makes one): the runtime alone")
        self.groups = GROUPS if self.loader else GROUPS[:1]

    def command(self, preload, group, extra):
        env = dict(EMPTY, HOME=self.scratch, MIOPEN_USER_DB_PATH=self.scratch, FAKE_HIP_ARCH="gfx1100", LD_LIBRARY_PATH=self.fake, **extra)
        if not self.loader:
            return [self.program, group], dict(env, **({"LD_PRELOAD": preload} if preload else {}))
        theirs = os.path.dirname(self.loader)
        return [self.loader, "--library-path", f"{self.fake}:{theirs}", *(["--preload", preload] if preload else []), self.program,
                group], env


class Outside:
    def __init__(self, program, folder):
        self.program, self.run = program, os.path.join(folder, "run")
        self.groups = os.environ.get("HIP_TEST_GROUPS", " ".join(GROUPS)).split()
        self.name = subprocess.run([self.run], stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout.strip()

    def command(self, preload, group, extra):
        return [self.run, preload, self.program, group], dict(EMPTY, **extra)


def run(where, preload, group, **extra):
    """(status, {title: (code, sum)}, our lines)"""
    command, env = where.command(preload, group, extra)
    try:
        r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                           timeout=float(os.environ.get("HIP_TEST_SECONDS", "120")), check=False)
        status, out, err = r.returncode, r.stdout, r.stderr
    except subprocess.TimeoutExpired as e:
        status, (out, err) = "time", ((x or b"").decode(errors="replace") for x in (e.stdout, e.stderr))
    lines = [line.split("\t") for line in out.splitlines() if line.count("\t") == 2]
    return status, {t: (c, s) for t, c, s in lines}, [x for x in err.splitlines() if "XSCHED" in x]


def compare(where, shim):
    """Rows (group, title, native, [what each mode gave]), what is wrong, and the groups that do not end natively."""
    rows, bad, endless = [], [], []
    for group in where.groups:
        native = run(where, "", group)
        if native[0] == "time":
            endless.append(group)
            print(f"{group}: does not come to an end natively, after {len(native[1])} operations", flush=True)
            continue
        again = run(where, "", group)
        stable = {t for t in native[1] if again[1].get(t) == native[1][t]}
        modes = {mode: run(where, shim, group, XLOG_LEVEL="WARN", **extra) for mode, extra in MODES.items()}
        for title, value in native[1].items():
            got = [m[1].get(title, ("-", "-")) for m in modes.values()]
            same = [g == value or title not in stable and g[0] == value[0] for g in got]
            rows.append((group, title, value, ["=" if s else " ".join(g) for s, g in zip(same, got)]))
            bad += [f"{title}, {mode}: {g}, natively {value}" for mode, g, s in zip(modes, got, same) if not s]
        for mode, m in modes.items():
            if m[0] != native[0] or set(m[1]) != set(native[1]):
                bad.append(f"{group}, {mode}: status {m[0]}, natively {native[0]}; {len(m[1])} of {len(native[1])} operations; {m[2]}")
            elif any("ERRO" in x for x in m[2]):
                bad.append(f"{group}, {mode}: said {m[2]}")
        print(f"{group}: {len(native[1])} operations natively, {len(stable)} the same twice, status {native[0]}", flush=True)
    return rows, bad, endless


def launches(where, shim, scratch, groups):
    """Whether each kernel that was launched is a command: how many, and those that are not."""
    all_, passed = 0, []
    for group in groups:
        trace = os.path.join(scratch, "trace." + group)
        run(where, shim, group, XSCHED_AUTO_XQUEUE="ON", XSCHED_TRACE=trace)
        if not os.path.exists(trace):
            continue
        with open(trace, encoding="ascii") as f:
            calls = [line.split() for line in f if not line.startswith("#")]
        kernels = [c for c in calls if "LaunchKernel" in c[2] or "LaunchCooperativeKernel" in c[2]]
        all_ += len(kernels)
        others = [" ".join(c[2:4]) for c in kernels if c[3] != "submit"]
        passed += others[CAPTURED if group == "runtime" else 0:]
    return all_, passed


def main(way, *more):
    folder = os.environ.get("HIP_TEST_EMULATED", "")
    if way == "at":
        folder, *more = more
    program, shim, *more = more
    with tempfile.TemporaryDirectory() as scratch:
        if way == "fake":
            fake, wrong = more[:2]
            where, out = Fake(program, fake, scratch), more[2:]
        else:
            if not folder:
                print("skipped: HIP_TEST_EMULATED names no folder with a runtime and a device (docs/hip.md says what is in it)")
                return 77
            where, out = Outside(program, folder), more
        rows, bad, endless = compare(where, shim)
        counted = [r for r in rows if r[2][0] == "0"]
        failed = [f"{r[1]}: {r[2][0]}" for r in rows if r[2][0] != "0"]
        equal = sum(set(r[3]) == {"="} for r in counted)
        kernels, passed = launches(where, shim, scratch, [g for g in where.groups if g not in endless])
        least = (1, 1) if way == "at" else (20, 40)       # whatever a user has installed
        if passed or kernels < least[0]:
            bad.append(f"{kernels} launches, not commands: {passed[:5]}")
        if len(counted) < least[1]:
            bad.append(f"only {len(counted)} operations work natively: {failed}")
        head = [f"# {where.name}: {len(counted)} operations work natively, {equal} are the same under the shim in {len(MODES)} modes; "
                f"{kernels} launches, each a command: {not passed}"]
        if way == "fake" and where.loader:
            elsewhere = os.path.join(os.path.dirname(fake), "wheel/torch/lib/libamdhip64.so")
            status, lines, _ = run(where, wrong, "hipblas", SYSTEM_HIP=elsewhere)
            differs = [f"{r[1]}: {' '.join(lines.get(r[1], ('none',)))}" for r in rows if r[0] == "hipblas" and lines.get(r[1]) != r[2]]
            if not differs:
                bad.append("a shim with a second runtime was not found out")
            head.append(f"# a shim with a second runtime: status {status}, first {differs[:1]}")
    print("\n".join(head + ["does not work natively: " + "; ".join(failed + [f"{g}: does not end" for g in endless])] + ["wrong: " + x for x in bad]))
    if out:
        with open(out[0], "w", encoding="utf-8") as f:
            print("\n".join(head + ["operation\tcode\tsum\t" + "\t".join(MODES)] +
                            ["\t".join([r[1], *r[2], *r[3]]) for r in rows]), file=f)
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
