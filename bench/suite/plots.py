# SPDX-License-Identifier: Apache-2.0
"""Pictures of a folder's results: PLATFORM-WORKLOAD-KIND.png."""
import io
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402 -- which matplotlib needs itself

from . import raw, workloads  # noqa: E402
from .results import OTHER, Missing, Results, side_order  # noqa: E402

COLOURS = {"alone": "#4c9f70", "alone-hot": "#8fc4a5", "native": "#c8553d", "xsched-auto": "#2f5d9b", "xsched-1": "#7fa7d6",
           "xsched-2": "#5b84bb", "xsched-3": "#1d3f70", "mps": "#b08900", "mps-priority": "#d9b43a"}
OTHERS = ["#777777", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22"]


def colour(v, seen={}):   # noqa: B006 -- the same colour for the same name in all pictures
    if v not in COLOURS and v not in seen:
        seen[v] = OTHERS[len(seen) % len(OTHERS)]
    return COLOURS.get(v) or seen[v]


def plain(axis):
    for f in (axis.set_major_formatter, axis.set_minor_formatter):
        f(matplotlib.ticker.FormatStrFormatter("%g"))


def save(figure, folder, name):
    """With 256 colours, which are enough for lines and letters and take a third of the room."""
    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    with Image.open(whole) as image:
        image.convert("RGB").quantize(256).save(os.path.join(folder, name), optimize=True)


def sides_with(results, platform, letter, metric):
    return sorted({r["side"] for r in results.rows if r.get("platform") == platform and r["workload"] == letter
                   and r["metric"] == metric}, key=side_order)


def latency(results, folder, platform, letter):
    sides = sides_with(results, platform, letter, "samples")
    if not sides or letter == "E":
        return
    figure, all_axes = plt.subplots(1, len(sides), figsize=(min(16, 4 + 4 * len(sides)), 4.5), squeeze=False)
    for axes, side in zip(all_axes[0], sides):
        for v in results.variants(platform, letter):
            try:
                s = sorted(results.samples(platform, letter, v, side))
            except Missing:
                continue
            axes.step(s, [100 * (1 - i / len(s)) for i in range(len(s))], where="pre", label=v, color=colour(v))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(1, color="#cccccc", linewidth=0.8)
        axes.set_xlabel(f"latency of {side}, ms, from when it was due")
        axes.set_ylabel("requests that took longer, %")
        axes.tick_params(axis="x", which="minor", labelsize=6)
        plain(axes.xaxis)
        plain(axes.yaxis)
    all_axes[0][0].legend(fontsize=8)
    figure.suptitle(f"{letter}: {workloads.BY_LETTER[letter].title} ({platform})", fontsize=10)
    save(figure, folder, f"{platform}-{letter}-latency.png")


def timeline(results, folder, platform, letter):
    rows = []
    for v in results.variants(platform, letter):
        high = [r for r in results.rows if r.get("platform") == platform and r["workload"] == letter and r["variant"] == v
                and r["metric"] == "timeline"]
        low = [r for r in results.rows if r.get("platform") == platform and r["workload"] == letter and r["variant"] == v
               and r["metric"] == "timeline-ends"]
        if high and low and not v.endswith(OTHER):
            rows.append((v, high, low))
    if not rows or letter in ("E", "M"):       # one pair of sides
        return
    figure, all_axes = plt.subplots(len(rows), 1, figsize=(11, 1 + 0.9 * len(rows)), sharex=True, squeeze=False)
    for axes, (v, high, low) in zip((a[0] for a in all_axes), rows):
        axes.broken_barh([(a / 1e3, max(0.3, (b - a) / 1e3)) for a, b in high[0]["samples"] if a < 1e6], (1.1, 0.8), color=colour(v))
        axes.vlines([t / 1e3 for t in low[0]["samples"] if t < 1e6], 0.1, 0.9, color="#777777", linewidth=0.7)
        axes.set_xlim(0, 1000)
        axes.set_ylim(0, 2)
        axes.set_yticks([0.5, 1.5], ["low: done", "high: request"], fontsize=7)
        axes.set_title(v, fontsize=8, loc="left", pad=2)
    all_axes[-1][0].set_xlabel("time, ms")
    figure.suptitle(f"{letter} on {platform}: who ran when", fontsize=10)
    save(figure, folder, f"{platform}-{letter}-timeline.png")


def tradeoff(results, folder, platform, letter):
    """What the other side keeps against what the urgent side waits."""
    points = []
    for v in results.variants(platform, letter):
        try:
            points.append((v, results.quantile(platform, letter, v, "high", .99), results.mean(platform, letter, v, "low")))
        except Missing:
            pass
    if len(points) < 2:
        return
    figure, axes = plt.subplots(figsize=(7, 5))
    for v, x, y in points:
        axes.errorbar(x.value, y.value, xerr=[[x.value - x.low], [x.high - x.value]], yerr=[[y.value - y.low], [y.high - y.value]],
                      fmt="o", color=colour(v), label=v, capsize=2)
    try:
        axes.axvline(results.quantile(platform, letter, "alone", "high", .99).value, color="#4c9f70", linestyle=":", label="alone")
    except Missing:
        pass
    axes.set_xscale("log")
    plain(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("P99 of the urgent side, ms")
    axes.set_ylabel("the other side, per second")
    axes.set_title(f"{letter} on {platform}", fontsize=10)
    axes.legend(fontsize=8)
    save(figure, folder, f"{platform}-{letter}-tradeoff.png")


def preemption(results, folder, platform):
    ts = results.parameters(platform, "E")
    if not ts:
        return
    figure, axes = plt.subplots(figsize=(8, 5.5))
    for v in results.variants(platform, "E"):
        points = []
        for t in ts:
            try:
                points.append((t, results.quantile_less(platform, "E", v, "alone", "high", .99, "start_samples", t)))
            except Missing:
                pass
        if points:
            axes.errorbar([t for t, _ in points], [max(f.value, 1) / 1e3 for _, f in points], fmt="o-", capsize=2, label=v,
                          color=colour(v), yerr=[[max(0, f.value - f.low) / 1e3 for _, f in points],
                                                 [max(0, f.high - f.value) / 1e3 for _, f in points]])
    line = [min(ts), max(ts)]
    for text, style, f in (("2 T + 1 ms", ":", lambda t: 2 * t + 1), ("T", "--", lambda t: t), ("9 T", "-.", lambda t: 9 * t)):
        grid = [line[0] * (line[1] / line[0]) ** (i / 50) for i in range(51)]
        axes.plot(grid, [f(t) for t in grid], style, color="#aaaaaa", label=text, linewidth=1)
    axes.axhline(0.3, color="#dddddd", linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.set_xlabel("length T of the other side's kernels, ms")
    axes.set_ylabel("P99 until the first urgent kernel starts,\nms (alone's median taken off)")
    axes.legend(fontsize=8)
    axes.set_title(f"E on {platform}", fontsize=10)
    save(figure, folder, f"{platform}-E-preemption.png")


def shares(results, folder, platform, letter):
    rows = [v for v in results.variants(platform, letter) if all(
        results.find(platform, letter, v, s, "per_100ms") for s in ("high", "low"))]
    if not rows:
        return
    figure, all_axes = plt.subplots(len(rows), 1, figsize=(9, 1 + 1.5 * len(rows)), sharex=True, squeeze=False)
    for axes, v in zip((a[0] for a in all_axes), rows):
        high, low = (results.find(platform, letter, v, s, "per_100ms")[0]["samples"] for s in ("high", "low"))
        n = min(len(high), len(low)) // 5 * 5
        h = [sum(high[i:i + 5]) for i in range(0, n, 5)]
        l = [sum(low[i:i + 5]) for i in range(0, n, 5)]
        share = [100 * a / (a + b) if a + b else 0 for a, b in zip(h, l)]
        axes.step([i / 2 for i in range(len(share))], share, where="post", color=colour(v))
        if letter == "D":
            axes.axhline(75, color="#aaaaaa", linestyle=":")
        axes.set_ylim(0, 100)
        axes.set_title(v, fontsize=8, loc="left", pad=2)
    all_axes[-1][0].set_xlabel("time, s")
    figure.suptitle(f"{letter} on {platform}: share of the first side, % of what both did", fontsize=10)
    save(figure, folder, f"{platform}-{letter}-shares.png")


def draw_all(folder):
    rows, _ = raw.load(os.path.join(folder, raw.NAME))
    results = Results(rows)
    for w in workloads.WORKLOADS:
        for p in w.plans:
            if not results.variants(p, w.letter):
                continue
            if w.letter == "E":
                preemption(results, folder, p)
                continue
            latency(results, folder, p, w.letter)
            timeline(results, folder, p, w.letter)
            tradeoff(results, folder, p, w.letter)
            if w.letter in ("D", "F"):
                shares(results, folder, p, w.letter)
