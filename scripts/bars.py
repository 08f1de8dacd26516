#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/explanation/llama.svg from the raw results of workload L: bars.py [--check]

--check: draws nothing, and exits with 1 unless the picture is what the results give."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import raw, results  # noqa: E402

SOURCE = os.path.join(ROOT, "docs/results/2026-11-26-h100-llama", raw.NAME)
PICTURE = os.path.join(ROOT, "docs/explanation/llama.svg")
ROWS = (("alone", "alone", "#888888"), ("native", "native time slices", "#c8553d"), ("mps-priority", "MPS with priorities", "#8d6a9f"),
        ("xsched-auto", "XSched", "#2f5d9b"))
LEFT, WIDTH, STEP = 150, 420, 34


def draw(of):
    """@param of  Results
    @return the picture's text"""
    tokens = {v: of.mean("cuda", "L", v, "high", "tokens").value for v, *_ in ROWS}
    batch = of.find("cuda", "L", "native", "low", "throughput")[0]["batch"]
    images = {v: of.mean("cuda", "L", v, "low", "throughput").value * batch for v, *_ in ROWS if v != "alone"}
    height = 52 + STEP * len(ROWS) + 26
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 250}" height="{height}" font-family="sans-serif" '
            'font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
            '<text x="10" y="24" font-size="15">llama.cpp\'s server beside the training of ResNet-50 on one H100: tokens a second</text>']
    for i, (variant, name, colour) in enumerate(ROWS):
        y, width = 42 + STEP * i, tokens[variant] / max(tokens.values()) * WIDTH
        beside = f"training: {images[variant]:,.0f} images a second" if variant in images else "no training"
        text.append(f'<text x="{LEFT - 10}" y="{y + 17}" text-anchor="end">{name}</text>'
                    f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="24" fill="{colour}"/>'
                    f'<text x="{LEFT + width + 8:.1f}" y="{y + 17}"><tspan font-weight="bold">{tokens[variant]:.0f}</tspan>'
                    f'<tspan fill="#555">  {beside}</tspan></text>')
    alone = of.mean("cuda", "L", "alone-low", "low", "throughput").value * batch
    text.append(f'<text x="{LEFT}" y="{height - 16}" fill="#555">The training by itself: {alone:,.0f} images a second.</text></svg>\n')
    return "\n".join(text)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = draw(results.Results(raw.load(SOURCE)[0]))
    if sys.argv[1:]:
        with open(PICTURE, encoding="utf-8") as f:
            if f.read() == text:
                return 0
        print(f"{PICTURE} is not what {SOURCE} gives: run scripts/bars.py", file=sys.stderr)
        return 1
    with open(PICTURE, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
