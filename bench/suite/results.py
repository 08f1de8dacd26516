# SPDX-License-Identifier: Apache-2.0
"""Raw results, looked up: samples of all blocks together, figures block by block, intervals of ratios."""
import collections
import math

from . import stats


BASES = ("alone", "alone-low", "native", "xsched-auto")     # what others are compared with
OTHER = "-other"                             # such a one of another run, in which variants were measured that were added (merge.py)
SIDES = ("top", "mid", "high", "low", "both")


def side_order(name):
    """The urgent ones first, then by number."""
    return SIDES.index(name.rstrip("012")), name


PAIRS = 5          # blocks in pairs from which on an interval says something
BEYOND = 0.999     # requests beyond a quantile, one but for rounding


class Missing(Exception):
    """What a figure needs was not measured."""


class Figure:
    """A value with its bootstrap interval. enough: whether there is so much data that the interval says something:
    three blocks or runs, one request beyond the quantile."""

    def __init__(self, value, low, high, n, q=None, blocks=3):
        self.value, self.low, self.high, self.n = value, low, high, n
        self.enough = n >= 3 if q is None else n * (1 - q) >= BEYOND and blocks >= 3


def own_processes(rows):
    """Whether each block ran in processes of its own, so that blocks differ as starts do."""
    processes = {}
    for r in rows:
        processes.setdefault(r["run"], set()).add(r.get("process"))
    seen = [p for some in processes.values() for p in some]
    return len(processes) > 1 and None not in seen and len(seen) == len(set(seen))


class Blocks:
    """The samples of a variant, block by block."""

    def __init__(self, rows):
        if not any(r["samples"] for r in rows):
            raise Missing("no samples")
        self.rows = rows
        self.all = [x for r in rows for x in r["samples"]]
        self.n = len(self.all)
        self.by_run, self.processes = {}, {}
        for r in rows:
            self.by_run.setdefault(r["run"], []).extend(r["samples"])
            self.processes.setdefault(r["run"], set()).add(r.get("process"))
        seen = [p for some in self.processes.values() for p in some]
        self.own = own_processes(rows)
        self.count = 3 if None in seen else len(self.by_run)     # results that do not name processes have enough blocks

    def only(self, runs):
        return Blocks([r for r in self.rows if r["run"] in runs])

    def quantile(self, q):
        return stats.quantile(self.all, q)

    def draws(self, q, seed=1):
        return self.block_draws(q, seed) if self.own else stats.quantile_draws(self.all, q, seed)

    def block_draws(self, q, seed=1):
        return stats.block_draws([s for _, s in sorted(self.by_run.items())], q, seed)


class Results:
    def __init__(self, rows):
        self.rows = rows
        self.by = collections.defaultdict(list)
        self.runs = collections.defaultdict(set)     # in which runs a variant was measured
        for r in rows:
            if "variant" in r:
                self.by[r.get("platform"), r["workload"], r["variant"], r.get("side"), r["metric"], r.get("t_ms")].append(r)
                if r["metric"] in ("p50", "throughput"):
                    self.runs[r.get("platform"), r["workload"], r["variant"]].add(("added" in r, r.get("commit")))

    def find(self, platform, letter, variant, side, metric, t_ms=None):
        return self.by.get((platform, letter, variant, side, metric, t_ms), [])

    def samples(self, platform, letter, variant, side, metric="samples", t_ms=None):
        found = [x for r in self.find(platform, letter, variant, side, metric, t_ms) for x in r["samples"]]
        if not found:
            raise Missing(f"{variant} {side}")
        return found

    def blocks(self, platform, letter, variant, side, metric="samples", t_ms=None):
        """@param side  or several, whose samples are put together"""
        sides = (side,) if isinstance(side, str) else side
        return Blocks([r for s in sides for r in self.find(platform, letter, variant, s, metric, t_ms)])

    def values(self, platform, letter, variant, side, metric, t_ms=None):
        found = [r["value"] for r in self.find(platform, letter, variant, side, metric, t_ms)]
        if not found:
            raise Missing(f"{variant} {side}")
        return found

    def quantile(self, platform, letter, variant, side, q, metric="samples", t_ms=None):
        s = self.blocks(platform, letter, variant, side, metric, t_ms)
        return Figure(s.quantile(q), *stats.interval(s.draws(q)), s.n, q, s.count)

    def mean(self, platform, letter, variant, side, metric="throughput", t_ms=None):
        v = self.values(platform, letter, variant, side, metric, t_ms)
        return Figure(sum(v) / len(v), *stats.interval(stats.mean_draws(v)), len(v))

    def quantile_ratio(self, platform, letter, variant, base, side, q, metric="samples", base_side=None, own=False):
        """@param own  only where the blocks of both have processes of their own"""
        base = self.base(platform, letter, variant, base)
        a = self.blocks(platform, letter, variant, side, metric)
        b = self.blocks(platform, letter, base, base_side or side, metric)
        if own and not (a.own and b.own):
            raise Missing(f"processes of their own for {variant} and {base}")
        if a.own and b.own:
            runs = {r for r in a.by_run if r in b.by_run}
            a, b = a.only(runs), b.only(runs)
        draws = [x / y for x, y in zip(a.draws(q, 1), b.draws(q, 2))]
        return Figure(a.quantile(q) / b.quantile(q), *stats.interval(draws), min(a.n, b.n), q, min(a.count, b.count))

    def paired_quantile(self, platform, letter, variant, base, sides, q, metric="samples", base_sides=None):
        """The geometric mean of the ratios of blocks, each against the block beside it in the very process. What differs from
        start to start, and what other guests of the host do for a while, falls out; the interval is that of the blocks.
        Where a block has no request beyond the quantile, the requests of all these blocks are compared together."""
        base = self.base(platform, letter, variant, base)
        a, b = self.blocks(platform, letter, variant, sides, metric), self.blocks(platform, letter, base, base_sides or sides, metric)
        runs = sorted(r for r in a.by_run if r in b.by_run and a.processes[r] == b.processes[r] != {None})
        if not runs:
            raise Missing(f"{variant} and {base} in one process")
        a, b = a.only(runs), b.only(runs)
        if min(len(s) for x in (a, b) for s in x.by_run.values()) * (1 - q) >= BEYOND:
            logs = [math.log(stats.quantile(a.by_run[r], q) / stats.quantile(b.by_run[r], q)) for r in runs]
            figure = Figure(math.exp(sum(logs) / len(logs)), *map(math.exp, stats.interval(stats.mean_draws(logs))), a.n)
        else:
            draws = [x / y for x, y in zip(a.block_draws(q, 1), b.block_draws(q, 2))]
            figure = Figure(a.quantile(q) / b.quantile(q), *stats.interval(draws), min(a.n, b.n), q)
        figure.enough = figure.enough and len(runs) >= PAIRS
        return figure

    def quantile_less(self, platform, letter, variant, base, side, q, metric, t_ms=None):
        """A quantile less the median of another variant."""
        base = self.base(platform, letter, variant, base)
        a = self.blocks(platform, letter, variant, side, metric, t_ms)
        b = self.blocks(platform, letter, base, side, metric)
        draws = [x - y for x, y in zip(a.draws(q, 1), b.draws(0.5, 2))]
        return Figure(a.quantile(q) - b.quantile(0.5), *stats.interval(draws), a.n, q, min(a.count, b.count))

    def mean_ratio(self, platform, letter, variant, base, side, metric="throughput", t_ms=None):
        base = self.base(platform, letter, variant, base)
        a = self.values(platform, letter, variant, side, metric, t_ms)
        b = self.values(platform, letter, base, side, metric, t_ms)
        draws = [x / y for x, y in zip(stats.mean_draws(a, 1), stats.mean_draws(b, 2))]
        return Figure(sum(a) / len(a) / (sum(b) / len(b)), *stats.interval(draws), min(len(a), len(b)))

    def paired_ratio(self, platform, letter, variant, base, side, metric):
        """Block by block against the block beside it, where both ran in the same processes: what differs from block to
        block falls out."""
        base = self.base(platform, letter, variant, base)
        by = [{(r["run"], r.get("process")): r["value"] for r in self.find(platform, letter, v, side, metric)} for v in (variant, base)]
        ratios = [value / by[1][key] for key, value in sorted(by[0].items(), key=str) if by[1].get(key)]
        if not ratios:
            raise Missing(f"{variant} {side}")
        return Figure(sum(ratios) / len(ratios), *stats.interval(stats.mean_draws(ratios)), len(ratios))

    def share(self, platform, letter, variant, base=None):
        """The urgent side's part of what both did; with a base, what both did over what one does by itself."""
        high = self.values(platform, letter, variant, "high", "throughput")
        low = self.values(platform, letter, variant, "low", "throughput")
        pairs = list(zip(high, low))
        if base:
            one = self.mean(platform, letter, self.base(platform, letter, variant, base), "high").value
            v = [(h + l) / one for h, l in pairs]
        else:
            v = [h / (h + l) for h, l in pairs]
        return Figure(sum(v) / len(v), min(v), max(v), len(v))

    def variants(self, platform, letter):
        """In the order of the table, peers last."""
        from . import variants
        have = {r["variant"] for r in self.rows if r.get("platform") == platform and r["workload"] == letter
                and r["metric"] in ("p50", "throughput")}
        known = [v.name for v in variants.ROWS if v.name in have]
        return known + sorted(have - set(known))

    def base(self, platform, letter, variant, base):
        """What this variant is compared with where base is meant: that of its own run."""
        of = self.runs.get((platform, letter, variant))
        for v in (base, base + OTHER):
            if not of or self.runs.get((platform, letter, v), set()) & of:
                return v
        raise Missing(f"{base} in the run of {variant}")

    def parameters(self, platform, letter):
        return sorted({r["t_ms"] for r in self.rows if r.get("platform") == platform and r["workload"] == letter
                       and "t_ms" in r})
