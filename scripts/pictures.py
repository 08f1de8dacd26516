#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/explanation with xsched-sim: pictures.py [--check | BUILD]     (default build/gcc)

The scheduler's own code runs in virtual time, so the figures are the same on every machine. They go to
docs/results/simulator/, from which the pictures are drawn. --check runs and writes nothing, and exits with 1 unless the pictures are
what these figures give.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHECK = sys.argv[1:] == ["--check"]
SIM = os.path.join(ROOT, sys.argv[1] if len(sys.argv) > 1 and not CHECK else "build/gcc", "bin/xsched-sim")
COLOURS = ("#2f5d9b", "#c8553d", "#4c9f70", "#8d6a9f")
LENGTHS_US = (100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)


def sim(*arguments):
    return json.loads(subprocess.run([SIM, "--json", *arguments], capture_output=True, text=True, check=True).stdout)


def by_name(result):
    return {q["queue"]: q for q in result["queues"]}


def levels():
    """P99 of an urgent job of 4 ms that comes at random each 50 ms, by the length of the background's kernels."""
    rows = []
    for variant in ("alone", "native", "level 1", "level 2", "level 3"):
        for length in LENGTHS_US:
            level = variant[-1] if variant.startswith("level") else "1"
            high = f"high priority=10 arrival=poisson period_us=50000 commands=4 level={level}"
            low = f"low commands=64 length_us={length} inflight_us=2000 level={level} interrupt_us=500"
            arguments = ["--duration", "60", "-q", high] + ([] if variant == "alone" else ["-q", low])
            got = by_name(sim(*(["--native"] if variant == "native" else []), *arguments))
            rows.append({"workload": "levels", "variant": variant, "side": "high", "metric": "p99",
                         "value": got["high"]["p99_ns"] / 1e6, "unit": "ms", "n": got["high"]["jobs"], "t_ms": length / 1e3})
            if "low" in got:
                rows.append({"workload": "levels", "variant": variant, "side": "low", "metric": "share",
                             "value": got["low"]["share"], "unit": "%", "n": 1, "t_ms": length / 1e3})
    return rows


def policies():
    """Shares of three programs that always have work."""
    hints = {"HPF": ("priority=10", "priority=5", "priority=0"), "UP": ("utilization=60", "utilization=30", "utilization=10"),
             "CFS": ("priority=5", "priority=0", "priority=-5"), "MLFQ": ("", "", ""),
             "none": ("", "", "")}
    rows = []
    for policy, three in hints.items():
        arguments = ["--duration", "20", *(["--native"] if policy == "none" else ["--policy", policy])]
        for name, hint, length in zip("abc", three, (1000, 3000, 1000)):
            arguments += ["-q", f"{name} {hint} commands=64 length_us={length}"]
        for name, q in by_name(sim(*arguments)).items():
            rows.append({"workload": "policies", "variant": policy, "side": name, "metric": "share", "value": q["share"],
                         "unit": "%", "n": 1, "detail": three["abc".index(name)]})
    return rows


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="#fff"/>' + "".join(parts) + "</svg>\n")


def log_chart(rows):
    from math import log10
    left, top, width, height, low, high = 60, 40, 520, 300, 1.0, 10000.0

    def x(ms):
        return left + (log10(ms) + 1) / 2.8 * width

    def y(ms):
        return top + height - (log10(min(ms, high)) - log10(low)) / log10(high / low) * height

    parts = [f'<text x="{left}" y="22" font-size="14">P99 of an urgent job of 4 ms, by the length of the background\'s '
             "kernels</text>"]
    for v in (1, 10, 100, 1000, 10000):
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text>')
    for v in (0.1, 1, 10, 50):
        parts.append(f'<text x="{x(v):.1f}" y="{top + height + 16}" text-anchor="middle">{v:g}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">length of a kernel, ms</text>'
                 f'<text x="14" y="{top + height / 2}" transform="rotate(-90 14 {top + height / 2})" '
                 'text-anchor="middle">P99, ms</text>')
    lines = {}
    for r in rows:
        if r["metric"] == "p99":
            lines.setdefault(r["variant"], []).append((r["t_ms"], r["value"]))
    for i, (name, points) in enumerate(lines.items()):
        colour = ("#888888",) + COLOURS
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour[i]}" stroke-width="2"/>'
                     f'<text x="{left + width + 8}" y="{y(points[-1][1]) + 4 + (i == 4) * 10 - (i == 3) * 4:.1f}" '
                     f'fill="{colour[i]}">{name}</text>')
    return svg(left + width + 80, top + height + 46, parts)


def share_chart(rows):
    left, width, y, parts = 70, 520, 44, ['<text x="10" y="22" font-size="14">Shares of three programs that always have '
                                          "work</text>"]
    for policy in dict.fromkeys(r["variant"] for r in rows):
        at = left
        parts.append(f'<text x="10" y="{y + 20}">{policy}</text>')
        for i, r in enumerate(q for q in rows if q["variant"] == policy):
            w = r["value"] / 100 * width
            parts.append(f'<rect x="{at:.1f}" y="{y + 4}" width="{w:.1f}" height="24" fill="{COLOURS[i]}"/>')
            if w > 40:
                parts.append(f'<text x="{at + w / 2:.1f}" y="{y + 20}" fill="#fff" text-anchor="middle">{r["side"]} '
                             f'{r["value"]:.0f} %</text>')
            at += w
        parts.append(f'<text x="{left + width + 10}" y="{y + 20}" font-size="10">'
                     f'{", ".join(r["detail"] for r in rows if r["variant"] == policy and r["detail"])}</text>')
        y += 36
    return svg(left + width + 260, y + 10, parts)


CHARTS = (("levels", levels, log_chart), ("policies", policies, share_chart))


def check():
    bad = []
    for name, _, chart in CHARTS:
        with open(os.path.join(ROOT, "docs/results/simulator", name + ".jsonl"), encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        with open(os.path.join(ROOT, "docs/explanation", name + ".svg"), encoding="utf-8") as f:
            if f.read() != chart(rows):
                bad.append(f"docs/explanation/{name}.svg is not what its figures give: run scripts/pictures.py")
    print("\n".join(bad))
    return 1 if bad else 0


def main():
    results = os.path.join(ROOT, "docs/results/simulator")
    os.makedirs(results, exist_ok=True)
    for name, measure, chart in CHARTS:
        rows = measure()
        with open(os.path.join(results, name + ".jsonl"), "w") as f:
            f.writelines(json.dumps(dict(r, report=False, device="xsched-sim")) + "\n" for r in rows)
        with open(os.path.join(ROOT, "docs/explanation", name + ".svg"), "w") as f:
            f.write(chart(rows))
        print(f"docs/explanation/{name}.svg, {len(rows)} figures")


if CHECK:
    sys.exit(check())
main()
