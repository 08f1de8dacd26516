#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the figures of docs/results into the documents that MADE names: figures.py [--check]

Each folder docs/results/DATE-DEVICE/ holds raw results as JSON lines, one measurement a line (docs/results/README.md).
docs/benchmarks.md gets a section for each workload that the newest suite.jsonl with it has: what is wanted and whether it was
reached, latencies, rates; a new suite.jsonl, workload or variant needs no change here. Below them stands what SECTIONS takes
from the other files. README.md gets the figures of its picture (scripts/bars.py), docs/path-cost.md PATHS, docs/others.md PEERS.
--check only says whether all are up to date.
"""
import collections
import functools
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "docs/results")
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from suite import raw, report, stats, targets, variants, workloads  # noqa: E402
from suite.results import OTHER, Missing, Results  # noqa: E402

PLATFORMS = ("cuda", "hip")
TUNED = tuple(v.name for v in variants.ROWS)

# (workload, side, metric, what it is called, [(variant, its name)])
SHORT = [
    ("demo", "high", "p50", "demo (PoCL): urgent P50, ms", [("alone", "alone"), ("native", "native"), ("xsched", "XSched")]),
    ("demo", "high", "p99", "demo: urgent P99, ms", [("alone", "alone"), ("native", "native"), ("xsched", "XSched")]),
    ("demo", "low", "throughput", "demo: the other side, 1/s", [("native", "native"), ("xsched", "XSched")]),
    ("opencl-standalone", "", "overhead", "OpenCL program of 0.1 ms kernels by itself: overhead, %", [("xsched", "XSched")]),
    ("submit-path", "", "instructions", "instructions of a submit",
     [("direct", "direct call"), ("no-policy", "no policy"), ("scheduled", "scheduled"), ("scheduled-batch-8", "a mark every 8")]),
    ("submit-path", "", "more-than-direct", "time of a submit, ns more than the direct call",
     [("no-policy", "no policy"), ("scheduled", "scheduled")]),
    ("decision", "", "p99", "decision P99, xserver awake, us",
     [("awake: 2 clients, 2 queues", "2 queues"), ("awake: 64 clients, 64 queues", "64 processes"),
      ("awake: 3 clients, 10000 queues", "10,000 queues")]),
    ("decision", "", "p99", "decision P99, xserver asleep and in a real-time class, us",
     [("asleep: 2 clients, 2 queues", "2 queues"), ("asleep: 64 clients, 64 queues", "64 processes"),
      ("futex wake-up alone", "this machine's own wake-up")]),
    ("idle", "client", "cpu", "CPU of an idle process with 100 queues, ms/s", [("xsched", "XSched")]),
    ("idle", "server", "cpu", "CPU of an idle xserver, ms/s", [("xsched", "XSched")]),
    ("idle", "client", "pss-growth", "memory of an idle process with 100 queues, KiB", [("xsched", "XSched")]),
    ("idle", "client", "threads-more", "its threads more", [("xsched", "XSched")]),
]

# what docs/benchmarks.md shows below the workloads of the suite: heading -> rows. One whose raw data is not there is left out
SECTIONS = {"Without a GPU": SHORT}

# what docs/explanation/costs.md shows besides
COSTS = [
    ("python with-block", "", "queue named", "`with xsched.priority(5, queue):`, ns",
     [("under xserver", "under xserver"), ("schedules itself", "local policy")]),
    ("python with-block", "", "queue named, least batch", "the same, the best of the batches, ns",
     [("under xserver", "under xserver"), ("schedules itself", "local policy")]),
    ("python with-block", "", "current stream, PyTorch's stand-in", "`with xsched.priority(5):`, PyTorch being a stand-in, ns",
     [("under xserver", "under xserver"), ("schedules itself", "local policy")]),
    ("python with-block", "", "block used again", "a block used again, ns",
     [("under xserver", "under xserver"), ("schedules itself", "local policy")]),
    ("scrape", "", "p50", "xserver: a scrape of 1,000 queues, ms", [("1000 queues", "over its Unix socket")]),
]

# what docs/others.md shows
PEERS = {"alone": "alone", "alone-xsched": "alone, under XSched", "native": "native time slices",
         "stream-priority": "stream priorities", "mps": "MPS as it comes", "mps-priority": "MPS, client priorities",
         "xsched-auto": "XSched, default level", "space": "XSched, in space"}

# what docs/path-cost.md shows: (workload, variant, metric, side, path, unit)
PATHS = [
    ("calls", "call that passes through", "instructions", "", "call that no row marks as a launch (CUDA)", "instructions"),
    ("calls", "launch, no XQueue", "instructions", "", "launch, no XQueue on the stream (CUDA)", "instructions"),
    ("calls", "launch, XQueue, no policy", "instructions", "", "launch, XQueue, no policy (CUDA)", "instructions"),
    ("calls", "synchronising call, no XQueue", "instructions", "", "synchronising call, no XQueue (CUDA)", "instructions"),
    ("calls", "synchronising call, XQueue", "instructions", "", "synchronising call, XQueue (CUDA)", "instructions"),
    ("calls", "ioctl", "instructions", "", "ioctl(2) that makes no object of the driver", "instructions"),
    ("submit-path", "direct", "instructions", "", "submit, the device's own call", "instructions"),
    ("submit-path", "no-policy", "instructions", "", "submit, XQueue, no policy", "instructions"),
    ("submit-path", "scheduled", "instructions", "", "submit, XQueue, scheduled, nothing to wait for", "instructions"),
    ("submit-path", "scheduled-batch-8", "instructions", "", "the same with a completion mark every 8 commands", "instructions"),
    ("decision", "awake: 2 clients, 2 queues", "p50", "", "a queue gets ready, another process's is held: P50, xserver awake", "us"),
    ("decision", "asleep: 2 clients, 2 queues", "p50", "", "the same, xserver asleep", "us"),
    ("decision", "awake: 3 clients, 10000 queues", "p50", "", "the same, awake, with 10,000 queues", "us"),
    ("start", "alone", "wall", "", "start and end of a program that does nothing, plain", "ms"),
    ("start", "xsched", "wall", "", "the same with all shims preloaded, once for each process", "ms"),
    ("idle", "xsched", "cpu", "client", "idle process with 100 queues: CPU", "ms/s"),
    ("idle", "xsched", "cpu", "server", "idle xserver: CPU", "ms/s"),
]


def show(value):
    return f"{value:.4g}"


def link(folder, name="", base="results/"):
    return f"[{folder}]({base}{folder}{'/' + name if name else ''})"


def named(letter):
    return f"{letter} ({workloads.BY_LETTER[letter].name})"


@functools.lru_cache(maxsize=None)
def suites():
    """[(folder, Results)], the newest first"""
    found = []
    for path in sorted(glob.glob(os.path.join(RESULTS, "*", raw.NAME)), reverse=True):
        results = Results(raw.load(path)[0])
        found.append((max((r["date"] for r in results.rows if "date" in r), default=""), os.path.basename(os.path.dirname(path)),
                      results))
    return [(folder, results) for _, folder, results in sorted(found, key=lambda x: x[:2], reverse=True)]


def merged(rows):
    """The rows of E differ in T only: one line for all lengths, with the one that is worst off."""
    by = collections.OrderedDict()
    for t, platform, f, verdict in rows:
        of = re.sub(r", T = [\d.]+ ms", "", t.text) if t.letter == "E" else t.text
        by.setdefault((t.letter, platform, of), []).append((t, f, verdict))
    for (letter, platform, text), some in by.items():
        def off(x):
            return x[1].value / x[0].limit if x[0].at_most else x[0].limit / x[1].value
        t, f, verdict = some[0] if len(some) == 1 else max(
            some, key=lambda x: (stats.VERDICTS.index(x[2]), off(x)))
        if len(some) > 1:
            met = sum(v == "met" for _, _, v in some)
            verdict = "met" if met == len(some) else f"met for {met} of {len(some)} T; {verdict} at {length(t)}"
            text += f" (shown: {length(t)})"
        else:
            text = t.text
        yield letter, platform, text, f, t.unit, verdict


def length(target):
    return re.search(r"T = ([\d.]+ ms)", target.text).group(0)


def verdicts(found):
    """letter -> [(platform, text, figure, unit, verdict, folder)]: each target from the newest run that has it"""
    seen, rows = set(), {}
    for folder, results in found:
        for letter, platform, text, f, unit, verdict in merged(list(targets.table(results))):
            key = (letter, platform, text.split(" (shown")[0])
            if key not in seen:
                seen.add(key)
                rows.setdefault(letter, []).append((platform, text, f, unit, verdict, folder))
    return rows


def target_part(rows):
    return report.table(["wanted", "measured (95 % interval)", "n", ""],
                        [[text + (f" ({platform})" if platform not in PLATFORMS + ("host",) else ""),
                          report.with_interval(f) + (f" {unit}" if unit not in ("x", "1") else ""), str(f.n), verdict]
                         for platform, text, f, unit, verdict, _ in sorted(rows, key=lambda r: r[0] not in PLATFORMS + ("host",))])


def ratio(results, platform, letter, variant, base, side):
    """Of one run; "" where either was not measured."""
    return report.cell(lambda: report.with_interval(
        results.mean_ratio(platform, letter, variant, base, side)))


def latency_part(found, letter):
    """(folder, lines) of the newest run that compares variants of this workload with native sharing"""
    for folder, results in found:
        for platform in PLATFORMS:
            if letter == "E" or not results.find(platform, letter, "native", "high", "samples"):
                continue    # a comparison of its own, e.g. watched with unwatched
            rows, tokens, other = [], [], report.of_another_run(results, letter, platform)   # ratios are of one run
            for v in results.variants(platform, letter):
                if v not in TUNED or v in other or not results.find(platform, letter, v, "high", "samples"):
                    continue
                q = [results.quantile(platform, letter, v, "high", x) for x in (.5, .9, .99)]
                rows.append([v, *(show(x.value) for x in q), ratio(results, platform, letter, v, "native", "low"), str(q[0].n)])
                tokens.append(report.cell(lambda v=v: show(results.mean(platform, letter, v, "high", "tokens").value)))
            if rows:
                header = ["", "urgent P50, ms", "P90", "P99", "the other side / native", "n"]
                if any(tokens):
                    header.append("tokens a second")
                    rows = [[*r, t] for r, t in zip(rows, tokens)]
                return folder, report.table(header, rows)
    return None, []


def preemption_part(found):
    for folder, results in found:
        ts = results.parameters("cuda", "E")
        rows = []
        for v in [v for v in results.variants("cuda", "E") if v in workloads.E_CUDA.variants]:
            try:
                cells = [results.quantile_less("cuda", "E", v, "alone", "high", .99, "start_samples", t) for t in ts]
            except Missing:
                continue
            rows.append([v, *(f"{c.value:.0f}" for c in cells), str(min(c.n for c in cells))])
        if rows:
            return folder, ["P99 until an urgent kernel starts, us, beside kernels of length T, the median alone taken off "
                            "(whole jobs: [others](others.md#figures-beside-mps-and-stream-priorities)):", ""] + report.table(
                                ["", *(f"T = {t:g} ms" for t in ts), "n"], rows)
    return None, []


def devices(results, letter):
    return ", ".join(sorted({r["device"] for r in results.rows if r.get("workload") == letter and "device" in r}))


@functools.lru_cache(maxsize=None)
def load():
    """workload -> (folder, rows), the newest folder of each; the suite's own files apart"""
    newest = {}
    for path in sorted(glob.glob(os.path.join(RESULTS, "*", "*.jsonl"))):
        folder = os.path.basename(os.path.dirname(path))
        rows = collections.defaultdict(list)
        if os.path.basename(path) == raw.NAME:
            continue
        with open(path, encoding="utf-8") as f:
            for row in raw.expand(line for line in f if line.strip()):
                if "workload" not in row:
                    sys.exit(f"{path}: a row has no workload: {row}")
                if row.get("report", True):
                    rows[row["workload"]].append(row)
        for workload, found in rows.items():
            if workload in newest and newest[workload][0] == folder:
                newest[workload][1].extend(found)
            else:
                newest[workload] = (folder, found)
    return newest


def short_part(newest, wanted=SHORT, base="results/"):
    rows = []
    for workload, side, metric, text, names in wanted:
        if workload not in newest:
            continue
        folder, found = newest[workload]
        parts, n = [], 0
        for variant, name in names:
            of = [r for r in found if r["variant"] == variant and (r.get("side") or "") == side and r["metric"] == metric]
            if of:
                parts.append(f"{name} {show(stats.median([float(r['value']) for r in of]))}")
                n = max(n, sum(int(r.get("n") or 1) for r in of))
        if parts:
            rows.append([text, ", ".join(parts), str(n), link(folder, base=base)])
    return report.table(["", "median over runs", "samples", "data"], rows) if rows else []


def path_part():
    newest, rows = load(), []
    for workload, variant, metric, side, text, unit in PATHS:
        folder, found = newest.get(workload, ("", []))
        of = [r for r in found if r["variant"] == variant and (r.get("side") or "") == side and r["metric"] == metric]
        if of:
            rows.append([text, f"{show(stats.median([float(r['value']) for r in of]))} {unit}", str(sum(int(r["n"]) for r in of)),
                         f"[{folder}](results/{folder})"])
    return "\n".join(report.table(["path", "median", "n", "data"], rows)).rstrip()


def cost_part():
    """What costs something whether or not anybody competes, and what watching costs on a GPU."""
    newest = load()
    watched = [[f"{text} ({link(folder, 'report.md', '../results/')}, n = {f.n})", report.with_interval(f), verdict]
               for folder, results in suites() for letter, platform, text, f, _, verdict in merged(targets.table(results))
               if letter == "A" and text.startswith("watched") and platform in PLATFORMS]
    out = short_part(newest, COSTS + [row for row in SHORT if row[0] not in ("demo", "decision")], "../results/")
    if watched:
        out += [f"Workload {named('A')} while a client reads /metrics each second, top looks and a recording runs:", ""]
        out += report.table(["", "watched / unwatched", ""], watched)
    return "\n".join(out).rstrip()


def peers(results, letter):
    """[(variant, what to call it)]: of the newest run, then of the one that has the peers, if that is another."""
    other = report.of_another_run(results, letter, "cuda")
    first = [(v, text) for v, text in PEERS.items() if v not in other]
    more = [(v if v in other else v + OTHER, f"{text}, another run") for v, text in PEERS.items() if v in other or v + OTHER in other]
    return first + (more if any(v in other for v in PEERS) else [])


def by_itself(results, letter, metric):
    """The variant that is the urgent side by itself: under XSched where it was not measured without."""
    return "alone" if results.find("cuda", letter, "alone", "high", metric) else "alone-xsched"


def peer_requests(results, letter):
    metrics = ["samples", *["token_samples"] * (letter in "HL")]
    rows, left_out = [], {"alone", "alone-xsched"} - {by_itself(results, letter, "samples")}
    for v, text in [x for x in peers(results, letter)
                    if x[0] not in left_out and results.find("cuda", letter, x[0], "high", "samples")]:
        q = [results.quantile("cuda", letter, v, "high", x, m) for m in metrics for x in (.5, .99)]
        low = ratio(results, "cuda", letter, v, "native", "low")
        rows.append([text, *map(report.with_interval, q), low, str(q[0].n)])
    token = ["a token, P50", "P99"] * (letter in "HL")
    return report.table(["", "urgent P50, ms", "P99", *token, "the other side / native", "n"], rows)


def peer_rates(results, letter):
    alone = by_itself(results, letter, "throughput")
    low = alone.replace("alone", "alone-low")
    rows = [[text, ratio(results, "cuda", letter, v, alone, "high"), ratio(results, "cuda", letter, v, low, "low")]
            for v, text in peers(results, letter)
            if v not in ("alone", "alone" + OTHER, "alone-xsched") and results.find("cuda", letter, v, "high", "throughput")]
    return report.table(["", "production / alone", "the other side / alone"], rows)


def peer_jobs(results):
    """Whole jobs, not only their first kernel. Level 3 is the default level where it works."""
    ts, rows = results.parameters("cuda", "E"), []
    for v in ("native", "mps-priority", "xsched-3"):
        if results.find("cuda", "E", v, "high", "samples", ts[0]):
            q = [[results.quantile("cuda", "E", v, "high", x, t_ms=t) for x in (.5, .99)] for t in ts]
            rows.append([PEERS.get(v, "XSched, level 3"), *(f"{show(a.value)}, {show(b.value)}" for a, b in q), str(min(a.n for a, _ in q))])
    alone = results.quantile("cuda", "E", "alone", "high", .5)
    return report.table([f"alone {report.with_interval(alone)} ms", *(f"T = {t:g} ms" for t in ts), "least n"], rows)


def peer_title(letter, folder, results):
    w = workloads.BY_LETTER[letter]
    return f"**{letter}, {w.name}**: {described(w)}, {devices(results, letter)} ([report](results/{folder}/report.md))"


def peers_part():
    """Beside MPS and stream priorities, on the device that has them: of each workload the newest run that has native."""
    out, found = [], suites()
    for letter, metric, table in (*((x, "samples", peer_requests) for x in "ACGHLNQRB"), ("F", "throughput", peer_rates)):
        for folder, results in [x for x in found if x[1].find("cuda", letter, "native", "high", metric)][:1]:
            out += [peer_title(letter, folder, results), ""]
            out += table(results, letter)
    for folder, results in [x for x in found if x[1].find("cuda", "E", "mps-priority", "high", "samples", .1)][:1]:
        out += [peer_title("E", folder, results), "",
                "An urgent job of ten kernels beside kernels of length T, P50 and P99 of the job, ms:", "", *peer_jobs(results)]
    return "\n".join(out).rstrip() or "none yet"


def benchmarks():
    found = suites()
    judged = verdicts(found)
    apart = load()
    sections, glance = [], []
    for letter in sorted(workloads.BY_LETTER):
        w, rows = workloads.BY_LETTER[letter], judged.get(letter, [])
        folder, table = preemption_part(found) if letter == "E" else latency_part(found, letter)
        folders = sorted({r[-1] for r in rows} | ({folder} if folder else set()))
        title = f"{letter}: {w.name}"
        if not folders:
            folder, own = apart.get(letter, ("", []))
            glance.append([title, ", ".join(sorted({r["device"] for r in own})), "in a report of its own" if own else "not run",
                           link(folder, "README.md") if own else ""])
            continue
        counts = collections.Counter(r[4].split(";")[0] for r in rows)
        where = ", ".join(sorted({devices(results, letter) for name, results in found if name in folders} - {""}))
        glance.append([f"[{title}](#{anchor(title)})", where,
                       ", ".join(f"{n} {v}" for v, n in sorted(counts.items()) if v != "no target"),
                       ", ".join(link(x, "report.md") for x in folders)])
        sections += [f"### {title}", "", described(w) + ".", ""] + (target_part(rows) if rows else []) + table
    short = [line for title, rows in SECTIONS.items() for part in [short_part(apart, rows)] if part
             for line in [f"### {title}", "", *part]]
    if not sections and not short:
        return "none yet"
    return "\n".join(["## Workloads", ""] + report.table(["workload", "device", "targets", "report, pictures, raw data"], glance)
                     + sections + short).rstrip()


def described(workload):
    """Its title as a sentence that can be read by itself."""
    text = re.sub(r"^the same as|\bA(?= on each)", lambda m: named("A") + (" as" if m.group(0) != "A" else ""), workload.title)
    return text if text.startswith("llama.cpp") else text[0].upper() + text[1:]


def anchor(title):
    """As GitHub makes them."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def gains():
    """What README.md's picture shows: two times {name, folder, unit, rows: [(variant, value, the other side's rate or None)]}."""
    out = []
    for folder, results in suites():
        if all(results.find("cuda", "L", v, "high", "tokens") for v in ("alone-xsched", "native", "xsched-auto")):
            batch = results.find("cuda", "L", "native", "low", "throughput")[0]["batch"]
            rows = [(v, results.mean("cuda", "L", v, "high", "tokens").value,
                     results.mean("cuda", "L", v, "low", "throughput").value * batch if v != "alone-xsched" else None)
                    for v in ("alone-xsched", "native", "mps-priority", "xsched-auto") if results.find("cuda", "L", v, "high", "tokens")]
            out.append({"folder": folder, "device": devices(results, "L"), "rows": rows})
            break
    folder, found = load()["demo"]

    def median(variant, side, metric):
        return stats.median([float(r["value"]) for r in found if (r["variant"], r.get("side"), r["metric"]) == (variant, side, metric)])
    out.append({"folder": folder, "device": "PoCL on one core", "rows": [
        (v, median(v, "high", "p99"), median(v, "low", "throughput") if v != "alone" else None) for v in ("alone", "native", "xsched")]})
    return out


def gains_part():
    llama, demo = gains()
    of = {v: (value, low) for v, value, low in llama["rows"]}
    urgent = {v: value for v, value, _ in demo["rows"]}
    other = {v: low for v, _, low in demo["rows"]}
    return (f"llama.cpp's server beside the training of ResNet-50 on one H100, tokens a second: {of['alone-xsched'][0]:.0f} alone, "
            f"{of['native'][0]:.0f} native,\n{of['mps-priority'][0]:.0f} under NVIDIA's MPS with priorities, {of['xsched-auto'][0]:.0f} "
            f"under XSched. The server computes nearly all of the time, so the training pays: "
            f"{of['native'][1]:,.0f} images a\nsecond native, {of['mps-priority'][1]:,.0f} under MPS, {of['xsched-auto'][1]:,.0f} under XSched "
            f"({link(llama['folder'], 'report.md', 'docs/results/')}).\n"
            f"`make demo`, P99 of an urgent request: {urgent['alone']:.1f} ms alone, {urgent['native']:.1f} native, {urgent['xsched']:.1f} "
            f"under XSched; the background program keeps {other['xsched'] / other['native'] * 100:.0f} % of its native rate\n"
            f"({link(demo['folder'], 'README.md', 'docs/results/')}).")


MADE = {"README.md": gains_part, "docs/benchmarks.md": benchmarks, "docs/path-cost.md": path_part,
        "docs/explanation/costs.md": cost_part, "docs/others.md": peers_part}


def main():
    late = False
    for name, get in MADE.items():
        path = os.path.join(ROOT, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        new = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _, get=get: f"{BEGIN}\n{get()}\n{END}", text, flags=re.S)
        if "--check" in sys.argv:
            print(f"{name}: " + ("up to date" if new == text else "run scripts/figures.py"))
            late |= new != text
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    return late


if __name__ == "__main__":
    sys.exit(main())
