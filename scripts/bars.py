#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws README.md's picture, docs/explanation/gains.svg, from the raw results that figures.gains finds: bars.py [--check]

--check: draws nothing, and exits with 1 unless the picture is what the results give."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import figures  # noqa: E402

PICTURE = os.path.join(figures.ROOT, "docs/explanation/gains.svg")
ALONE, OURS = ("alone", "#888888"), ("XSched", "#2f5d9b")
NAMES = {"alone": ALONE, "alone-xsched": ALONE, "native": ("native", "#c8553d"), "mps-priority": ("MPS", "#d9a441"),
         "xsched-auto": OURS, "xsched": OURS}
LEFT, WIDTH, STEP, HEAD, GAP = 80, 430, 30, 40, 22


def panel(y, title, rows, show, beside):
    """@param rows  [(variant, value, the other program's rate or None)]
    @return the parts, and where the next panel begins"""
    rows = [r for r in rows if r[0] in NAMES]
    parts = [f'<text x="10" y="{y + 20}" font-size="14">{title}</text>']
    for i, (variant, value, low) in enumerate(rows):
        name, colour = NAMES[variant]
        top, width = y + HEAD + STEP * i, value / max(r[1] for r in rows) * WIDTH
        parts.append(f'<text x="{LEFT - 10}" y="{top + 16}" text-anchor="end">{name}</text>'
                     f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="22" fill="{colour}"/>'
                     f'<text x="{LEFT + width + 8:.1f}" y="{top + 16}"><tspan font-weight="bold">{show(value)}</tspan>'
                     f'<tspan fill="#555">  {"" if low is None else beside(low)}</tspan></text>')
    return parts, y + HEAD + STEP * len(rows) + GAP


def draw(gains):
    """@param gains  of figures.gains
    @return the picture's text"""
    llama, demo = gains
    parts, y = panel(4, "llama.cpp's server beside the training of ResNet-50 on one GPU: tokens a second, more is better", llama["rows"],
                     lambda v: f"{v:.0f}", lambda low: f"training: {low:,.0f} images a second")
    more, y = panel(y, "make demo, two programs on one CPU core: P99 of an urgent request, ms, less is better", demo["rows"],
                    lambda v: f"{v:.1f}", lambda low: f"background: {low:.0f} kernels a second")
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="{y - GAP + 12}" font-family="sans-serif" '
                      'font-size="13"><rect width="100%" height="100%" fill="#fff"/>', *parts, *more, "</svg>\n"])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = draw(figures.gains())
    if sys.argv[1:]:
        with open(PICTURE, encoding="utf-8") as f:
            if f.read() == text:
                return 0
        print(f"{PICTURE} is not what docs/results gives: run scripts/bars.py", file=sys.stderr)
        return 1
    with open(PICTURE, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
