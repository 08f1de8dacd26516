# SPDX-License-Identifier: Apache-2.0
"""Tables of README.md from first.gz and second.gz: PYTHONPATH=../../../bench python3 analyse.py, in this folder."""

import gzip

from suite import raw, results, stats

rows = []
for name, add in (("first.gz", 0), ("second.gz", 10)):
    for r in raw.expand(gzip.open(name, "rt", encoding="utf-8")):
        if "run" in r:
            r["run"] += add
        rows.append(r)
R = results.Results(rows)
f = lambda x: f"{x.value:.3f} ({x.low:.3f} .. {x.high:.3f})"
V = ("alone", "native", "alone-xsched", "xsched-auto", "gates", "channels")
print("wrong:", sum(r.get("wrong", 0) for r in rows), "levels", {r.get("level") for r in rows if r.get("variant") in V[2:]})
for w, metrics in (("F", ()), ("H", ("samples", "ttft_samples", "token_samples")), ("A", ("samples",))):
    print("==", w)
    for m in metrics:
        for v in V:
            if not R.find("cuda", w, v, "high", m):
                continue
            a = [R.quantile("cuda", w, v, "high", q, m) for q in (.5, .9, .99)]
            print(m, v, *(f(x) for x in a), a[0].n, end=" | ")
            for base in ("xsched-auto", "alone-xsched"):
                if v in V[3:] and v != base:
                    print(f"/{base}:", *(f(R.quantile_ratio("cuda", w, v, base, "high", q, m, same=True)) for q in (.5, .9, .99)), end=" ")
            print()
            print("    per block P50, P99:", *(f"{stats.quantile(s,.5):.3g},{stats.quantile(s,.99):.3g}" for _, s in sorted(R.blocks("cuda", w, v, "high", m).by_run.items())),
                  "mean", *(f"{sum(s)/len(s):.4g}" for _, s in sorted(R.blocks("cuda", w, v, "high", m).by_run.items())))
    if "token_samples" in metrics:
        for v in V:
            if R.find("cuda", w, v, "high", "token_samples"):
                b = R.blocks("cuda", w, v, "high", "token_samples")
                print("tokens >0.9, >1.0 ms", v, sum(x > .9 for x in b.all), sum(x > 1 for x in b.all), b.n, "P99.5", b.quantile(.995), "P99.9", b.quantile(.999))
    for side in ("high", "low"):
        for v in ("alone-low",) + V:
            if not R.find("cuda", w, v, side, "throughput"):
                continue
            print(side, v, f(R.mean("cuda", w, v, side)), [round(r["value"], 2) for r in sorted(R.find("cuda", w, v, side, "throughput"), key=lambda r: r["run"])], end=" ")
            for base in ("xsched-auto", "alone-xsched", "alone", "alone-low", "native"):
                if R.find("cuda", w, base, side, "throughput") and v in V[2:] and v != base:
                    x = R.paired_ratio("cuda", w, v, base, side, "throughput")
                    by = [{r["run"]: r["value"] for r in R.find("cuda", w, n, side, "throughput")} for n in (v, base)]
                    print(f"/{base}", f(x), [round(by[0][k] / by[1][k], 3) for k in sorted(by[0]) if k in by[1]], end=" ")
            print()
    for v in V:
        c = [(r["run"], r["cpu_ms"] / r["n"]) for r in R.find("cuda", w, v, "low", "checksum")]
        if c:
            print("low cpu ms per unit", v, [round(x, 1) for _, x in sorted(c)])
        s = {r["run"]: r["value"] for r in R.find("cuda", w, v, "server", "cpu")}
        if s:
            t = {r["run"]: r["value"] for r in R.find("cuda", w, v, "machine", "seconds")}
            print("   server cpu share", v, [round(s[k] / 1e3 / t[k], 3) for k in sorted(s)])
