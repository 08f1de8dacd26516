# SPDX-License-Identifier: Apache-2.0
"""The demo's picture: distribution of the urgent side's latency, and a stretch of the timeline."""
COLOURS = {"alone": "#4c9f70", "native": "#c8553d", "xsched": "#2f5d9b"}
NAMES = {"alone": "alone", "native": "shared natively", "xsched": "shared under XSched"}
WINDOW_S = 0.4


def draw(path, blocks, goal_ms, title):
    """blocks: {variant: [block]}; a block has latencies_ms, requests (intended, begin, end in ns) and low_done_ns."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 8.5))
    grid = figure.add_gridspec(4, 1, height_ratios=[2.6, 1, 1, 1], hspace=0.55)
    axes = figure.add_subplot(grid[0])
    for variant, list_ in blocks.items():
        latencies = sorted(x for block in list_ for x in block["latencies_ms"])
        share = [100 * (i + 1) / len(latencies) for i in range(len(latencies))]
        axes.step(latencies, share, where="post", color=COLOURS[variant], label=NAMES[variant])
    axes.axvline(goal_ms, color="#888888", linestyle=":", label="1.5 x P99 alone")
    axes.axhline(99, color="#cccccc", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("latency of a request, ms, from its intended arrival")
    axes.set_ylabel("requests done, %")
    axes.set_title(title)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.tick_params(axis="x", which="minor", labelsize=7)
    axes.legend(loc="lower right")

    low_known = any(b["low_done_ns"] for list_ in blocks.values() for b in list_)
    for row, (variant, list_) in enumerate(blocks.items(), 1):
        axes = figure.add_subplot(grid[row])
        block = list_[len(list_) // 2]
        start = block["requests"][len(block["requests"]) // 2][0] - 10e6
        for intended, _, end in block["requests"]:
            if start <= intended <= start + WINDOW_S * 1e9:
                axes.broken_barh([((intended - start) / 1e6, (end - intended) / 1e6)], (1.1, 0.8),
                                 color=COLOURS[variant])
        low = [(t - start) / 1e6 for t in block["low_done_ns"] if start <= t <= start + WINDOW_S * 1e9]
        axes.vlines(low, 0.1, 0.9, color="#777777", linewidth=0.7)
        axes.set_xlim(0, WINDOW_S * 1e3)
        axes.set_ylim(0 if low_known else 1, 2)
        axes.set_yticks([0.5, 1.5] if low_known else [1.5],
                        ["low: kernel done", "high: request"] if low_known else ["high: request"], fontsize=8)
        axes.set_title(NAMES[variant], fontsize=9, loc="left")
        if row == len(blocks):
            axes.set_xlabel("time, ms")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
