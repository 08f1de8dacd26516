# SPDX-License-Identifier: Apache-2.0
"""When requests arrive: offsets in microseconds from seeded generators. A seed gives the same arrivals always, and
each variant of a block gets the same ones."""
import math
import random

KINDS = ("periodic", "poisson", "lognormal", "uniform")
SIGMA = 2.0


def gap(kind, rng, mean):
    if kind == "periodic":
        return mean
    if kind == "poisson":
        return rng.expovariate(1 / mean)
    if kind == "lognormal":
        return rng.lognormvariate(math.log(mean) - SIGMA * SIGMA / 2, SIGMA)
    if kind == "uniform":            # 0.7 to 1.3 of the mean
        return rng.uniform(0.7, 1.3) * mean
    raise ValueError(f"no such arrivals: {kind}")


def offsets(kind, rate, count, seed):
    """Times of count arrivals at rate a second on average, beginning at 0. A drawn sequence is stretched to the
    asked rate, so that few heavy-tailed gaps do not change the load from seed to seed."""
    rng = random.Random(seed)
    mean = 1e6 / rate
    gaps = [gap(kind, rng, mean) for _ in range(count - 1)]
    total = sum(gaps)
    scale = mean * len(gaps) / total if total else 1
    at, out = 0.0, [0.0]
    for g in gaps:
        at += g * scale
        out.append(at)
    return out


def gaps(kind, mean_us, count, seed):
    rng = random.Random(seed)
    return [gap(kind, rng, mean_us) for _ in range(count)]
