# SPDX-License-Identifier: Apache-2.0
"""What is wanted, and whether the results say so. One row a target: met when the whole 95 % interval is on the right
side of the limit, not met when none of it is. In between, the value says whether it is likely met: on hosts that are shared with
others a side alone differs by more between its own turns than most limits allow, and an interval that decides would take many
times the turns. Undecided is what has too little data. Some rows have no limit: they only show what was found.

A GPU's programs are compared with themselves: one process by turns, block by block. Two starts of one PyTorch program differ by
up to 1.6 x. Of requests P90 is judged, since a block has 30 to 50 of them, and P99 of an eager program says what the host did. Where a block
has fewer than ten, as in N, P90 is that of the requests of all blocks."""
import dataclasses

from . import stats
from .results import Missing

OURS = "xsched-auto"
GPU = ("cuda", "hip")
CPU = ("opencl", "fake")


@dataclasses.dataclass(frozen=True)
class Target:
    letter: str
    text: str
    limit: float                  # or None
    figure: object                # of (results, platform)
    at_most: bool = True
    platforms: tuple = GPU
    unit: str = "x"


def latency(letter, q, limit, text, base="alone", metric="samples", side="high", platforms=GPU, variant=OURS, **how):
    return Target(letter, text, limit,
                  lambda r, p: r.quantile_ratio(p, letter, variant, base, side, q, metric, **how), platforms=platforms)


def same_process(letter, q, limit, text, base="alone-xsched", metric="samples", side="high", variant=OURS, base_side=None):
    """Two starts of one program differ for as long as they live; what the others cost it shows within one of them, by turns."""
    return Target(letter, f"{text} in the same process ({base})", limit,
                  lambda r, p: r.paired_quantile(p, letter, variant, base, side, q, metric, base_side))


def kept(letter, limit, text, base="native", side="low", platforms=GPU):
    return Target(letter, text, limit, lambda r, p: r.mean_ratio(p, letter, OURS, base, side), False, platforms)


def start(variant, t, limit_us, text, q=0.99):
    return Target("E", text, limit_us,
                  lambda r, p: r.quantile_less(p, "E", variant, "alone", "high", q, "start_samples", t),
                  unit="us", platforms=GPU + CPU)


def watched():
    """What metrics, top and a recording cost those who are watched. The other side by pairs of blocks; the urgent one over all
    requests, since the median of a short block may lie in one heap of samples or the next."""
    yield latency("A", 0.50, 1.005, "watched: urgent P50 at most 1.005 x unwatched", OURS, variant="xsched-watched",
                  platforms=GPU + CPU)
    yield Target("A", "watched: the other side at least 0.995 x unwatched", 0.995,
                 lambda r, p: r.paired_ratio(p, "A", "xsched-watched", OURS, "low", "throughput"), False, GPU + CPU)


def e_targets(t):
    us = t * 1e3
    yield start("xsched-1", t, 2 * us + 1000, f"level 1, T = {t:g} ms: P99 at most 2 T + 1 ms")
    yield start("xsched-1-n8", t, 9 * us, f"level 1, threshold 8, T = {t:g} ms: P99 at most 9 T")
    yield start("xsched-2", t, max(1.2 * us, us + 250), f"level 2, T = {t:g} ms: P99 at most the larger of 1.2 T and T + 0.25 ms")
    yield start("xsched-3", t, 300, f"level 3, time slices, T = {t:g} ms: P99 at most 300 us")


def m_targets(i, name):
    yield latency("M", 0.90, 1.10, f"{name} device: urgent P90 with both devices busy at most 1.10 x with the other idle",
                  f"xsched-{name}", side=f"high{i}")
    yield kept("M", 0.97, f"{name} device: the other side at least 0.97 x with the other device idle", f"xsched-{name}", f"low{i}")


def in_space(letter, q, limit, text, **how):
    return same_process(letter, q, limit, f"in space, {text}", "alone-space", variant="space", **how)


def kept_in_space(letter, limit, text, base, side="low"):
    return Target(letter, f"in space, {text}", limit, lambda r, p: r.mean_ratio(p, letter, "space", base, side), False, GPU)


def space_targets(t_ms):
    """Programs that share the device at one time, each against itself in the very process."""
    for letter, most, others in (("A", 1.05, 0.99), ("C", 1.10, 0.95)):
        yield in_space(letter, 0.90, most, f"urgent P90 at most {most:.2f} x alone")
        yield kept_in_space(letter, others, f"the other side at least {others:.2f} x native", "native")
    yield Target("F", "in space, production keeps at least 0.97 of its own in the same process", 0.97,
                 lambda r, p: r.paired_ratio(p, "F", "space", "alone-space", "high", "throughput"), False)
    yield kept_in_space("F", 0.45, "the opportunistic side gets at least 0.45 of its own", "alone-low-space")
    yield in_space("G", 0.90, 1.10, "urgent P90 at most 1.10 x alone")
    yield in_space("H", 0.99, 1.10, "time for a token, P99 at most 1.10 x alone", metric="token_samples")
    yield in_space("L", 0.99, 1.10, "time for a token, P99 at most 1.10 x alone", metric="token_samples")
    for letter in ("H", "L"):     # a token is time of the device, so that two starts may be compared
        yield latency(letter, 0.50, 1.01, "alone in space: median time for a token at most 1.01 x alone in time", "alone-xsched",
                      "token_samples", variant="alone-space")
    for letter in ("N", "Q", "R"):
        yield in_space(letter, 0.50, 1.05, "urgent P50 at most 1.05 x alone")
        yield in_space(letter, 0.90, 1.10, "urgent P90 at most 1.10 x alone")
    yield kept_in_space("N", 0.9, "the other side at least 0.9 of what MPS with priorities leaves it", "mps-priority")
    for t in t_ms:                # beside kernels of 50 ms a request takes as long as they do: some 60 in a run, too few for P99
        q = 0.99 if t < 50 else 0.95
        yield start("space", t, max(1.2 * t * 1e3, t * 1e3 + 250),
                    f"in space, T = {t:g} ms: P{100 * q:.0f} at most the larger of 1.2 T and T + 0.25 ms", q)


def vllm_targets():
    for letter in ("V1", "V8", "V32"):
        yield Target(letter, "tokens a second while decoding, at least 0.98 of alone in the same process (alone-xsched)", 0.98,
                     lambda r, p, letter=letter: r.paired_ratio(p, letter, OURS, "alone-xsched", "high", "tokens"), False)
        yield same_process(letter, 0.99, 1.02, "time for a token, P99 at most 1.02 x alone", metric="token_samples")
        yield same_process(letter, 0.99, 1.05, "time to the first token, P99 at most 1.05 x alone", metric="ttft_samples")
    yield kept("V8", 0.4, "the training at least 0.4 of its own in the same process", "alone-low-xsched")
    yield same_process("W", 0.90, 1.10, "time to the first token, P90 at most 1.10 x alone", metric="ttft_samples")
    yield same_process("W", 0.90, 1.10, "time for a token, P90 at most 1.10 x alone", metric="token_samples")
    yield kept("W", 0.75, "the other side at least 0.75 of what MPS with priorities leaves it", "mps-priority")


def of_programs(letter, variant, metric, side=None):
    """Figures that programs printed: the median of the runs, from the smallest to the largest."""
    from .results import Figure

    def get(r, _):
        v = r.values("host", letter, variant, side, metric)
        return Figure(stats.median(v), min(v), max(v), len(v))
    return get


def order(r, p):
    """The smallest step from one group's P99 to the next one's: above 1 when they are in order."""
    from .results import Figure
    p99 = []
    for group in ("top", "mid", "low"):
        s = r.blocks(p, "I", OURS, (f"{group}1", f"{group}2"))
        p99.append((s.quantile(0.99), s.draws(0.99, len(p99) + 1), s))
    steps = [(b[0] / a[0], stats.interval([y / x for x, y in zip(a[1], b[1])])) for a, b in zip(p99, p99[1:])]
    value, (low, high) = min(steps)
    return Figure(value, low, high, min(x[2].n for x in p99), 0.99, min(x[2].count for x in p99))


def table(results):
    """The targets that have a place in these results."""
    t_ms = sorted({t for p in GPU + CPU for t in results.parameters(p, "E")})
    rows = [
        same_process("A", 0.90, 1.10, "urgent P90 at most 1.10 x alone"),
        latency("A", 0.50, None, "attached: urgent median of alone-xsched over alone, starts of their own", variant="alone-xsched",
                platforms=GPU + CPU, own=True),
        kept("A", 0.97, "the other side at least 0.97 x native"),
        latency("A", 0.99, 1.5, "urgent P99 at most 1.5 x alone", platforms=("opencl",)),
        kept("A", 0.85, "the other side at least 0.85 x native", platforms=("opencl",)),
        *watched(),
        latency("B", 0.90, 1.5, "urgent P90 at most 1.5 x alone"),
        latency("B", 0.90, 1.15, "further: urgent P90 at most 1.15 x alone"),
        kept("B", 0.95, "the other side at least 0.95 x native"),
        latency("B", 0.90, 1.5, "urgent P90 at most 1.5 x alone", platforms=CPU),
        same_process("C", 0.90, 1.05, "urgent P90 at most 1.05 x alone"),
        Target("D", "share of the 75 % side, points from 75", 1, lambda r, p: points(r, p), platforms=GPU + CPU, unit="points"),
        Target("D", "sum of both at least 0.98 of one alone", 0.98, lambda r, p: r.share(p, "D", OURS, "alone"), False,
               GPU + CPU),
        *(x for t in t_ms for x in e_targets(t)),
        Target("F", "production keeps at least 0.99 of its own in the same process (alone-xsched)", 0.99,
               lambda r, p: r.paired_ratio(p, "F", OURS, "alone-xsched", "high", "throughput"), False),
        kept("F", 0.25, "the opportunistic side gets at least 0.25 of its own in the same process", "alone-low-xsched"),
        same_process("G", 0.90, 1.04, "urgent P90 at most 1.04 x alone"),
        same_process("H", 0.90, 1.10, "time to the first token, P90 at most 1.10 x alone", metric="ttft_samples"),
        same_process("H", 0.99, 1.05, "time for a token, P99 at most 1.05 x alone", metric="token_samples"),
        Target("L", "tokens a second while decoding, at least 0.97 of alone in the same process (alone-xsched)", 0.97,
               lambda r, p: r.paired_ratio(p, "L", OURS, "alone-xsched", "high", "tokens"), False),
        same_process("L", 0.50, 1 / 0.9, "prompt: time to the first token, P50 at most 1.11 x alone", metric="ttft_samples"),
        Target("O", "tokens a second, at least 0.9 of alone", 0.9,
               lambda r, p: r.mean_ratio(p, "O", OURS, "alone", "high", "tokens"), False),
        Target("O", "the same against alone-xsched in the same processes", 0.9,
               lambda r, p: r.paired_ratio(p, "O", OURS, "alone-xsched", "high", "tokens"), False),
        *(same_process(letter, 0.90, 1.10, "urgent P90 at most 1.10 x alone") for letter in ("Q", "R")),
        *vllm_targets(),
        *space_targets(t_ms),
        same_process("P", 0.90, 1.10, "urgent P90 at most 1.10 x alone"),
        Target("I", "P99 in the order of the groups (smallest step)", 1, order, False),
        same_process("I", 0.90, 1.15, "P90 of the top group at most 1.15 x both of its tasks without the others", "alone-group-xsched",
                     side=("top1", "top2")),
        Target("J", "decision P99, awake, 2 processes: at most 20 us", 20, of_programs("J", "awake: 2 clients, 2 queues", "p99", ""),
               platforms=("host",), unit="us"),
        Target("J", "decision P99, awake, 64 processes: at most 20 us", 20,
               of_programs("J", "awake: 64 clients, 64 queues", "p99", ""), platforms=("host",), unit="us"),
        Target("J", "decision P99, awake, 10,000 queues: at most 100 us", 100,
               of_programs("J", "awake: 3 clients, 10000 queues", "p99", ""), platforms=("host",), unit="us"),
        Target("K", "memory of an idle process with 100 queues: less than 1024 KiB", 1024,
               of_programs("K", "xsched", "pss-growth", "client"), platforms=("host",), unit="KiB"),
        Target("K", "threads of an idle process with 100 queues: at most 1", 1,
               of_programs("K", "xsched", "threads-more", "client"), platforms=("host",), unit="1"),
        *(x for i, name in enumerate(("first", "second")) for x in m_targets(i, name)),
        same_process("M", 0.50, 1.10, "beside a program on both devices: urgent median at most 1.10 x alone",
                     "alone-second-xsched", side="high1", variant="xsched-span"),
    ]
    out = []
    for t in rows:
        for p in t.platforms:
            try:
                f = t.figure(results, p)
            except (Missing, ZeroDivisionError):
                continue
            if t.limit is None:
                verdict = "no target"
            else:
                verdict = stats.compare(f.value, f.low, f.high, t.limit, t.at_most) if f.enough else "undecided"
            out.append((t, p, f, verdict))
    return out


def points(r, p):
    from .results import Figure
    f = r.share(p, "D", OURS)
    away = [abs(100 * x - 75) for x in (f.value, f.low, f.high)]
    return Figure(away[0], min(away) if not f.low <= 0.75 <= f.high else 0, max(away), f.n)
