#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of `xcli top` at several widths and of `xsched doctor` (SVG, from what a terminal would show), of a recording
(SVG, by `xsched record`) and of the status page (PNG, from a headless Chromium) into docs/screenshots. The programs only
pretend to work, on devices of a fake /sys/bus and a fake NVML; those of the doctor and of the recording compute on PoCL.
Needs a build with its tests.

usage: scripts/screenshots.py [BUILD_DIR]"""
import html
import os
import shutil
import subprocess
import sys
import time

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["XSCHED_BUILD_DIR"] = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(top, "build/gcc"))
sys.path.insert(0, os.path.join(top, "tests/xserver"))

import browser  # noqa: E402
import test_devices  # noqa: E402
from stage import BUILD, Stage, Terminal  # noqa: E402

FOLDER = os.path.join(top, "docs/screenshots")
CELL_W, CELL_H, FONT = 8.43, 18, 14
COLORS = {"default": "#d8d8d8", "green": "#7ec56f", "brown": "#e0b040", "yellow": "#e0b040", "red": "#e06c60"}
BACK = "#1c1c1c"


def svg(screen):
    """Each run of characters that look the same becomes one text."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{screen.columns * CELL_W + 16:.0f}" '
           f'height="{screen.lines * CELL_H + 16}">',
           f'<rect width="100%" height="100%" rx="4" fill="{BACK}"/>',
           f'<g font-family="DejaVu Sans Mono, Menlo, monospace" font-size="{FONT}" xml:space="preserve">']
    for y in range(screen.lines):
        x = 0
        while x < screen.columns:
            c, end = screen.buffer[y][x], x
            look = (c.fg, c.bold, c.reverse)
            while end < screen.columns and (lambda d: (d.fg, d.bold, d.reverse))(screen.buffer[y][end]) == look:
                end += 1
            text = "".join(screen.buffer[y][i].data for i in range(x, end))
            left, base = 8 + x * CELL_W, 8 + y * CELL_H
            color = COLORS.get(c.fg, COLORS["default"])
            if c.reverse:
                out.append(f'<rect x="{left:.1f}" y="{base}" width="{(end - x) * CELL_W:.1f}" height="{CELL_H}" '
                           f'fill="{color}"/>')
                color = BACK
            if text.strip():
                weight = ' font-weight="bold"' if c.bold else ""
                out.append(f'<text x="{left:.1f}" y="{base + 14}" fill="{color}"{weight} textLength='
                           f'"{(end - x) * CELL_W:.1f}" xml:space="preserve">{html.escape(text)}</text>')
            x = end
    return "\n".join(out + ["</g>", "</svg>", ""])


def shrink(file):
    """A page has few colours; python3-pil, which python3-matplotlib brings, leaves no more in the file."""
    from PIL import Image
    Image.open(file).convert("RGB").quantize(48).save(file, optimize=True)


def doctor():
    """What it says of the machine, of a program that is scheduled and of one that is not."""
    stage = Stage()
    tools = {"PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
    load = [f"{BUILD}/demo/oclload", "requests", "--iterations", "20000", "--kernels", "1", "--period-us", "50000",
            "--count", "20000"]
    programs = []
    try:
        programs.append(subprocess.Popen([f"{BUILD}/bin/xsched", "run", "-q", "--priority", "10", "--", *load],
                                         env=stage.environment, stdout=subprocess.DEVNULL))
        programs.append(subprocess.Popen(load, env=stage.environment, stdout=subprocess.DEVNULL))
        scheduled, other = (p.pid for p in programs)
        end = time.monotonic() + 60
        while not stage.xcli("list", "--json").stdout.count(f'"pid": {scheduled}') and time.monotonic() < end:
            time.sleep(0.1)
        commands = ("xsched doctor", f"xsched doctor {scheduled}", f"xsched doctor {other}")
        script = "; ".join(f"echo '$ {c}'; {c}" for c in commands)
        terminal = Terminal(["/bin/sh", "-c", script], 118, 14, {**stage.environment, **tools})
        terminal.end()
        with open(f"{FOLDER}/doctor.svg", "w", encoding="utf-8") as f:
            f.write(svg(terminal.screen))
        print("\n".join(terminal.lines()))
    finally:
        for p in programs:
            p.kill()
            p.wait()
        stage.close()


def recording():
    """The picture that the example of a timeline makes."""
    environment = {**os.environ, "EXAMPLE_DEVICE": "opencl", "PYTHONPATH": f"{top}/python", "LD_LIBRARY_PATH": f"{BUILD}/lib"}
    subprocess.run([sys.executable, "-B", f"{top}/examples/python/timeline/main.py", "--demo", "--out", f"{FOLDER}/who.svg"],
                   check=True, env=environment)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    doctor()
    recording()
    bus = test_devices.sys_bus()
    nvidia, amd = test_devices.ident(test_devices.NVIDIA), test_devices.ident(test_devices.AMD)
    stage = test_devices.Here(bus) if test_devices.can() else Stage()
    try:
        for name, priority, queues, percent, device in (
                ("python3 serve.py --model resnet18", 20, 2, 30, nvidia),
                ("python3 train.py --batch 1024", 0, 3, 95, nvidia),
                ("./simulate --steps 1000000", 5, 1, 60, amd),
                ("python3 notebook.py", 5, 2, 0, amd)):
            actor = stage.actor(name)
            for cell in range(queues):
                actor.tell(f"queue {cell} {device} {priority}")
            if "train" in name:
                actor.tell(f"memory {11 << 30} {16 << 30}")
            if percent:
                actor.tell(f"work 0 {percent}")
        for name, columns, rows, keys in (("132", 132, 16, "t\x1bOB"), ("80", 80, 16, "\x1bOB"), ("40", 40, 12, "\x1bOB"),
                                          ("20", 20, 8, "\x1bOB"), ("detail", 100, 15, "\x1bOB\n")):
            terminal = Terminal([f"{BUILD}/bin/xcli", "top", "-f", "2", "--sort", "pid"], columns, rows,
                                stage.environment)
            terminal.read(1.5)
            terminal.press(keys)
            terminal.read(1.5)
            with open(f"{FOLDER}/top-{name}.svg", "w", encoding="utf-8") as f:
                f.write(svg(terminal.screen))
            print("\n".join(terminal.lines()))
            terminal.press("qq" if name == "detail" else "q")
            terminal.end()
        if browser.path():
            b = browser.Browser(f"http://127.0.0.1:{stage.port}/", 1100, 760)
            b.wait_for("document.querySelectorAll('#programs tr').length == 4")
            b.wait_for("shareHistory.length > 40")
            for name, width, height, dark in (("", 1100, 760, False), ("-dark", 1100, 760, True), ("-narrow", 390, 844, False)):
                b.look(width, height, dark)
                seen = b.value("shareHistory.length")
                b.wait_for(f"innerWidth == {width} && shareHistory.length > {seen} + 1")
                b.screenshot(f"{FOLDER}/status-page{name}.png")
                shrink(f"{FOLDER}/status-page{name}.png")
            b.close()
        else:
            print("no chromium: the status page stays as it was")
    finally:
        stage.close()
        shutil.rmtree(bus)


if __name__ == "__main__":
    main()
