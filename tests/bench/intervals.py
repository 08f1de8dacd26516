#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What intervals of quantiles say, on made-up results: intervals.py ROOT

Where each block has processes of its own, the interval is as wide as blocks differ; two variants in the same processes differ
by less than those starts do; and rows of the target table that need to know the processes are absent where they are not
named."""
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "bench"))
from suite import report, stats, targets  # noqa: E402
from suite.results import Results  # noqa: E402

BLOCKS = 5
OFF = (1.0, 1.1, 0.9, 1.1, 0.9)            # how a start differs


def rows(variant, process, scale, seed):
    """@param process  of a block, or None as older results have it; scale  of a block"""
    rng = random.Random(seed)
    for block in range(BLOCKS):
        row = {"workload": "A", "platform": "cuda", "variant": variant, "side": "high", "metric": "samples", "run": block,
               "samples": [scale(block) * rng.gauss(4, 0.1) for _ in range(200)]}
        yield row if process is None else dict(row, process=process(block))


def made_up(processes, scale=lambda block: 1):
    """alone in one kind of process, alone-xsched and xsched-auto, 1.02 x, in another"""
    native, xsched = processes
    return Results([*rows("alone", native, lambda b: 1, 1), *rows("alone-xsched", xsched, scale, 2),
                    *rows("xsched-auto", xsched, lambda b: 1.02 * scale(b), 3)])


def ratio(results, base, **how):
    return results.quantile_ratio("cuda", "A", "xsched-auto", base, "high", .5, **how)


def paired(results):
    return results.paired_quantile("cuda", "A", "xsched-auto", "alone-xsched", "high", .9)


def width(figure):
    return figure.high - figure.low


def texts(results):
    return {t.text: verdict for t, _, _, verdict in targets.table(results)}


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def main():
    one = (lambda b: "1@1", lambda b: "2@1")
    each = (lambda b: f"1@{b}", lambda b: f"2@{b}")
    alike, differ = made_up(each), made_up(each, OFF.__getitem__)

    narrow, wide = ratio(alike, "alone"), ratio(differ, "alone")
    need(width(narrow) < 0.02 and narrow.low < 1.02 < narrow.high, f"starts alike: {report.with_interval(narrow)}")
    need(width(wide) > 0.10 and wide.low < 1.02 < wide.high, f"starts differ: {report.with_interval(wide)}")
    shared = paired(differ)
    need(shared.enough and width(shared) < width(wide) / 5 and shared.low < 1.02 < shared.high,
         f"starts shared: {report.with_interval(shared)}")
    drifts = paired(made_up(one, lambda block: 1 + block / 4))      # of the host, while one pair of processes runs
    need(width(drifts) < 0.05 and drifts.low < 1.02 < drifts.high, f"a host that becomes slower: {report.with_interval(drifts)}")
    own = differ.quantile("cuda", "A", "xsched-auto", "high", .5)
    need(width(own) / own.value > 0.10, f"a quantile itself: {report.with_interval(own)}")

    # one start for all blocks, and results that do not say: over all requests
    for processes in (one, (None, None)):
        need(width(ratio(made_up(processes), "alone")) < 0.02, "no starts to draw")

    in_process = next(t for t in texts(alike) if "in the same process" in t)
    attached = next(t for t in texts(alike) if t.startswith("attached"))
    need(texts(alike)[in_process] == "met" and texts(alike)[attached] == "no target", texts(alike))
    need(in_process in texts(made_up(one)) and attached not in texts(made_up(one)), "one start says nothing of starts")
    need(not {in_process, attached} & set(texts(made_up((None, None)))), "processes that are not named")

    of = [stats.compare(v, low, high, 1.1) for v, low, high in ((1.0, .9, 1.1), (1.09, .9, 1.2), (1.11, .9, 1.2), (1.3, 1.2, 1.4))]
    need(of == [v for v in stats.VERDICTS if v != "undecided"], of)
    need(stats.compare(.98, .9, 1.1, .97, False) == "likely met" and stats.compare(.96, .9, 1, .97, False) == "likely not met",
         "what is wanted at least")
    # a block that was interrupted went on in another process: it is no pair
    broken = made_up(each)
    next(r for r in broken.rows if r["variant"] == "xsched-auto" and r["run"] == 2)["process"] = "2@later"
    need(paired(broken).n == 200 * (BLOCKS - 1) and not paired(broken).enough, "pairs are of one process, and five of them")
    # a block that one of two lacks is not compared
    short = Results([r for r in differ.rows if (r["variant"], r["run"]) != ("xsched-auto", 4)])
    need(ratio(short, "alone").n == 200 * (BLOCKS - 1), "blocks that both have")
    # two starts are too few
    need(texts(Results([r for r in alike.rows if r["run"] < 2]))[in_process] == "undecided", "two blocks")

    # blocks of nine requests have no P90: it is that of all 45, as wide as blocks differ. Of five in all there is none
    def few(results, most):
        return Results([dict(r, samples=r["samples"][:most]) for r in results.rows])
    together = paired(few(differ, 9))
    a, b = (few(differ, 9).blocks("cuda", "A", v, "high").all for v in ("xsched-auto", "alone-xsched"))
    need(together.n == 45 and together.value == stats.quantile(a, .9) / stats.quantile(b, .9), "nine requests a block")
    need(together.low < 1.02 < together.high and together.enough and width(together) > width(shared), report.with_interval(together))
    need(texts(few(alike, 9))[in_process] == "met", "P90 of 45 requests")
    need(texts(few(alike, 1))[in_process] == "undecided", "one request a block")
    need(report.starts(differ) and not report.starts(made_up(one)), "the report says how intervals are made")
    # also of sides that are never waited for
    for process, said in ((each[0], True), (one[0], False), (lambda b: None, False)):
        closed = Results([{"workload": "D", "platform": "cuda", "variant": "native", "side": "high", "metric": "throughput",
                           "run": b, "value": 1.0, "process": process(b)} for b in range(3)])
        need(("D on cuda" in "".join(report.starts(closed))) == said, f"closed loops: {report.starts(closed)}")


main()
