#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Policy AWF on a desktop: under Xvfb two programs share a (fake) device; the one whose window is active is fast, and that
changes with the focus: run.py BIN DESKTOP PAIR SHIM FOLDER_OF_THE_FAKE

BIN has xserver and xsched-window. 77: no Xvfb here."""
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time


class Desktop:
    def __init__(self, path, env):
        self.p = subprocess.Popen([path], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words):
        self.p.stdin.write(" ".join(map(str, words)) + "\n")
        self.p.stdin.flush()
        return int(self.p.stdout.readline())


class Program:
    """Kernels of 1 ms without end; counts those that ended."""

    def __init__(self, command, env):
        self.ends, self.p = [], subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.p.stdout:
            self.ends.append(float(line.split()[1]))


def rates(programs, seconds):
    """Kernels a second of each, in a stretch that begins when the change has had time to arrive."""
    time.sleep(0.5)
    begin = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
    time.sleep(seconds)
    end = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
    return [sum(begin < e < end for e in p.ends) / seconds for p in programs]


def until(what, condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise SystemExit(f"does not come: {what}")


def main(bin_, desktop, pair, shim, fake):
    if not shutil.which("Xvfb"):
        print("skipped: Xvfb is not installed (xvfb)")
        return 77
    started, bad = [], []
    with tempfile.TemporaryDirectory() as folder:
        try:
            r, w = os.pipe()
            started.append(subprocess.Popen(["Xvfb", "-displayfd", str(w), "-screen", "0", "320x240x24", "-nolisten", "tcp"],
                                            pass_fds=[w], stderr=subprocess.DEVNULL))
            os.close(w)
            display = ":" + os.read(r, 32).decode().strip()
            env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_PRELOAD"))}
            env.update(DISPLAY=display, XSCHED_SOCKET=os.path.join(folder, "xs.sock"), XDG_RUNTIME_DIR=folder)
            started.append(subprocess.Popen([os.path.join(bin_, "xserver"), "--port", "0", "HPF"], env=env,
                                            stderr=subprocess.DEVNULL))
            until("xserver", lambda: os.path.exists(os.path.join(folder, "xs.http.sock")))
            at = Desktop(desktop, env)
            started.append(at.p)
            other = at("create", 1)   # a window that belongs to no program here
            at("active", other)
            monitor = subprocess.Popen([os.path.join(bin_, "xsched-window"), "--set-policy", "monitor"], env=env,
                                       stdout=subprocess.PIPE, text=True)
            started.append(monitor)
            preload = dict(env, LD_PRELOAD=shim, LD_LIBRARY_PATH=fake, XSCHED_PRIORITY="0")
            viewer = Program([pair, "600"], preload)
            # the second is started by something like a terminal, whose window it is
            terminal = Program(["/bin/sh", "-c", f"'{pair}' 600; :"], preload)
            programs = [viewer, terminal]
            started += [p.p for p in programs]
            until("both run", lambda: all(len(p.ends) > 20 for p in programs))
            windows = [at("create", p.p.pid) for p in programs]

            def see(what, good):
                for _ in range(4):    # this machine may have had something else to do
                    got = rates(programs, 0.7)
                    print(f"{what}: viewer {got[0]:.0f}/s, terminal's program {got[1]:.0f}/s")
                    if good(*got):
                        return
                bad.append(what)

            see("another window active", lambda a, b: a > 20 and b > 20)
            at("active", windows[0])
            see("viewer active", lambda a, b: a > 20 and b < a / 5)
            at("active", windows[1])
            see("terminal active", lambda a, b: b > 20 and a < b / 5)
            at("active", other)
            see("another window active again", lambda a, b: a > 20 and b > 20)
            at("unmanage")            # without a manager the input focus counts
            at("focus", windows[0])
            see("viewer has the focus", lambda a, b: a > 20 and b < a / 5)
            at("active", windows[1])
            viewer.p.kill()           # whoever leaves takes its window along
            at("active", windows[0])
            see("the viewer is gone", lambda a, b: b > 20)
            # the launcher: no second monitor where one runs, and it becomes the program
            run = subprocess.run([os.path.join(bin_, "xsched-window"), "run", "--", "/bin/sh", "-c", "echo $XSCHED_SCHEDULER"],
                                 env=env, capture_output=True, text=True, timeout=60)
            if run.stdout != "GLB\n":
                bad.append(f"run: {run.stdout!r} {run.stderr!r}")
            again = subprocess.run([os.path.join(bin_, "xsched-window"), "monitor"], env=env, capture_output=True, text=True,
                                   timeout=60)
            if again.returncode != 1 or "a monitor watches" not in again.stderr:
                bad.append(f"a second monitor: {again.returncode} {again.stderr!r}")
            once = subprocess.run([os.path.join(bin_, "xsched-window"), "--once", "monitor"], env=env, capture_output=True,
                                  text=True, timeout=60)
            if once.returncode != 0 or not once.stdout.startswith("active: "):
                bad.append(f"--once: {once.returncode} {once.stdout!r} {once.stderr!r}")
            if os.getuid() == 0:      # another user, who is no operator: somebody else's window, then one of nobody
                own = os.path.join(folder, "other")
                os.mkdir(own)
                os.chown(own, 61002, 61002)
                os.chmod(folder, 0o711)
                tool = shutil.copy(os.path.join(bin_, "xsched-window"), own)  # the tree may be root's alone
                other_user = subprocess.run([tool, "--once", "monitor"], timeout=60, text=True, capture_output=True, user=61002,
                                            group=61002, extra_groups=[], env=dict(env, XDG_RUNTIME_DIR=own))
                if other_user.returncode != 0 or not other_user.stdout.startswith("active: 0"):
                    bad.append(f"another user: {other_user.returncode} {other_user.stdout!r} {other_user.stderr!r}")
            if monitor.poll() is not None:
                bad.append(f"the monitor ended with status {monitor.returncode}")
            started[0].terminate()    # the display closes
            until("the monitor ends with its display", lambda: monitor.poll() is not None)
            lines = monitor.stdout.read().split("\n")
            if not lines[0].startswith("active: ") or monitor.returncode != 0:
                bad.append(f"monitor: {lines[:3]}, status {monitor.returncode}")
            no = subprocess.run([os.path.join(bin_, "xsched-window"), "monitor"], env=env, capture_output=True, text=True,
                                timeout=60)
            if no.returncode != 1 or f"no X server answers at {env['DISPLAY']}; set" not in no.stderr:
                bad.append(f"without a display: {no.returncode} {no.stderr!r}")
        finally:
            for p in reversed(started):
                p.kill()
                p.wait()
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
