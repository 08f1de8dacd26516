#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py FILE...: medians, P90 and P99 of the urgent side and the rate of the other one, from raw rows of bench/run."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
from suite.raw import expand  # noqa: E402
from suite.stats import quantile  # noqa: E402


for path in sys.argv[1:]:
    samples, rates = collections.defaultdict(list), collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for r in expand(f):
            if r["metric"] in ("samples", "token_samples"):
                samples[r["workload"], r["metric"], r["variant"]] += r["samples"]
            elif r["metric"] == "throughput":
                rates[r["workload"], r["variant"], r["side"]].append(r["value"])
    print(f"\n{path}\n\n|  | variant | P50 ms | P90 ms | P99 ms | n | the other side, 1/s | / native |\n|---|---|---|---|---|---|---|---|")
    for (workload, metric, variant), v in sorted(samples.items()):
        low, native = rates.get((workload, variant, "low")), rates.get((workload, "native", "low"))
        mean = sum(low) / len(low) if low else 0
        what = workload + (", a token" if metric == "token_samples" else "")
        print(f"| {what} | {variant} | {quantile(v, .5):.3f} | {quantile(v, .9):.3f} | {quantile(v, .99):.3f} | {len(v)} | "
              + (f"{mean:.2f}" if low and metric == "samples" else "") + " | "
              + (f"{mean * len(native) / sum(native):.3f}" if low and native and metric == "samples" else "") + " |")
    for (workload, variant, side), v in sorted(rates.items()):
        if workload == "D" and side == "high":
            high, low = sum(v), sum(rates.get((workload, variant, "low"), [0]))
            alone = sum(rates[workload, "alone", "high"])
            print(f"| D | {variant} | | | | {len(v)} | share {100 * high / (high + low):.1f} % | sum / alone {(high + low) / alone:.3f} |")
