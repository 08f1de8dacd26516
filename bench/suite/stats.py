# SPDX-License-Identifier: Apache-2.0
"""Quantiles and bootstrap intervals.

A quantile of a resample of n values is the k-th smallest of n draws with replacement, and the k-th smallest of n
uniform numbers has the distribution Beta(k, n - k + 1): one draw gives the bootstrap's answer without resampling."""
import math
import random

DRAWS = 2000


def quantile(values, q):
    """Nearest rank."""
    v = sorted(values)
    return v[min(len(v) - 1, max(0, math.ceil(q * len(v)) - 1))]


def median(values):
    v = sorted(values)
    m = len(v) // 2
    return v[m] if len(v) % 2 else (v[m - 1] + v[m]) / 2


def interval(draws, level=0.95):
    d = sorted(draws)
    cut = (1 - level) / 2
    return d[int(cut * len(d))], d[min(len(d) - 1, int((1 - cut) * len(d)))]


def quantile_draws(values, q, seed=1, draws=DRAWS):
    rng = random.Random(seed)
    v = sorted(values)
    return [resampled(v, q, rng) for _ in range(draws)]


def resampled(v, q, rng):
    """The quantile of one resample of these sorted values."""
    n = len(v)
    k = min(n, max(1, math.ceil(q * n)))
    return v[min(n - 1, int(n * rng.betavariate(k, n - k + 1)))]


def block_draws(blocks, q, seed=1, draws=DRAWS):
    """The same where each block (a list of values) is a start of its own: blocks are drawn first, then values of theirs. As
    many blocks are drawn alike whatever the seed, so that two variants keep the blocks that they share side by side. With as
    few as five blocks of processes that are not shared, five of six intervals hold the truth rather than nineteen of twenty."""
    which, rng = random.Random(0), random.Random(seed)
    pooled, out = {}, []
    for _ in range(draws):
        drawn = tuple(sorted(which.randrange(len(blocks)) for _ in blocks))
        if drawn not in pooled:
            pooled[drawn] = [x for i in drawn for x in blocks[i]]
            pooled[drawn].sort()
        out.append(resampled(pooled[drawn], q, rng))
    return out


def mean_draws(values, seed=1, draws=DRAWS):
    """Resamples of a mean; of one value there is nothing to draw."""
    rng = random.Random(seed)
    n = len(values)
    if n < 2:
        return list(values) * draws
    return [sum(values[rng.randrange(n)] for _ in range(n)) / n for _ in range(draws)]


VERDICTS = ("met", "likely met", "undecided", "likely not met", "not met")     # the best first


def compare(value, low, high, limit, at_most=True):
    """met when the whole interval is on the right side, not met when none of it is, else what the value says."""
    if not at_most:
        value, low, high, limit = -value, -high, -low, -limit
    if high <= limit:
        return "met"
    if low > limit:
        return "not met"
    return "likely met" if value <= limit else "likely not met"
