# SPDX-License-Identifier: Apache-2.0
"""report.md from the raw results of a folder, and the check that it is just that."""
import json
import os
import sys

from . import raw, stats, targets, variants, workloads
from .results import OTHER, Missing, Results, own_processes, side_order

NAME = "report.md"
# whose results are the right ones
STANDALONE = ("native", *(v.name for v in variants.ROWS if v.uses == "native"))
# of programs that were started alike; the first rows that say so do not say whether the system did it
ADDRESSES = {True: ", at the same addresses", False: ", but at random addresses, since the system refused others",
             None: ", and without randomised addresses where the system allows that"}


def number(x):
    return f"{x:.4g}"


def with_interval(f):
    return f"{number(f.value)} ({number(f.low)} .. {number(f.high)})"


def table(header, rows):
    out = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return out + ["| " + " | ".join(r) + " |" for r in rows] + [""]


def cell(get):
    """"" where it was not measured."""
    try:
        return get()
    except (Missing, ZeroDivisionError):
        return ""


def heads(results):
    """Device, driver, framework, commits and dates of what was measured."""
    seen = {}
    for r in results.rows:
        if r.get("metric") in ("skipped", "rate", "rounds_per_ms"):
            continue
        key = (r.get("platform"), r.get("device"), r.get("driver"), r.get("framework"))
        have = seen.setdefault(key, (set(), set(), set()))
        have[0].add(r.get("commit") or "?")
        have[1].add(r["date"][:10])
        have[2].add(r["workload"])
    return table(["platform", "device", "driver", "framework", "workloads", "commit", "date"],
                 [[p, d, dr, f, ", ".join(sorted(w)), ", ".join(sorted(c)), ", ".join(sorted(t))]
                  for (p, d, dr, f), (c, t, w) in sorted(seen.items(), key=str)])


def target_table(results, notes):
    rows = []
    for t, platform, f, verdict in targets.table(results):
        rows.append([t.letter, platform, t.text, with_interval(f) + (f" {t.unit}" if t.unit not in ("x", "1") else ""), str(f.n),
                     verdict, notes.get(f"{t.letter}/{platform}", "") if verdict not in ("met", "no target") else ""])
    if not rows:
        return ["No target has a place in these results.", ""]
    noted = any(r[-1] for r in rows)
    header = ["", "platform", "wanted", "measured (95 % interval)", "n", "", "what bounds it, what to try next"]
    return table(header if noted else header[:-1], [r if noted else r[:-1] for r in rows])


def same_results(results, platform, letter, side, variant):
    """Whether this variant computed what the standalone program did."""
    mine = [r for r in results.rows if r.get("platform") == platform and r["workload"] == letter and r.get("side") == side
            and r["metric"] == "checksum"]
    of = [r for r in mine if r["variant"] == variant]
    if not of:
        return ""
    if any(r.get("wrong") for r in of):
        return "NO"
    groups = {}
    for r in mine:
        if r["variant"] in STANDALONE:
            groups.setdefault(r.get("t_ms"), set()).add(r["value"])
    common = set().union(*groups.values()) if groups else set()
    for r in of:
        base = groups.get(r.get("t_ms"), common)
        if base and r["value"] not in base:
            return "NO"
    return "yes"


def differing(folder):
    """[(platform, workload, variant, side)] whose results are not those of the standalone program."""
    results = Results(raw.load(os.path.join(folder, raw.NAME))[0])
    keys = sorted({(r["platform"], r["workload"], r["variant"], r["side"]) for r in results.rows if r["metric"] == "checksum"})
    return [k for k in keys if same_results(results, k[0], k[1], k[3], k[2]) == "NO"]


def alone_of(side):
    """The variant in which this side is by itself."""
    return {"low": "alone-low", "high1": "alone-second", "both0": "alone-span", "both1": "alone-span"}.get(side, "alone")


def high_table(results, platform, letter, side):
    rows, alone = [], alone_of(side)
    for v in results.variants(platform, letter):
        if not results.find(platform, letter, v, side, "samples"):
            continue
        q = {x: results.quantile(platform, letter, v, side, x) for x in (.5, .9, .99)}
        blocks = results.values(platform, letter, v, side, "p99")
        level = {r["level"] for r in results.find(platform, letter, v, side, "p50") if "level" in r}
        rows.append([v, "/".join(map(str, sorted(level))), with_interval(q[.5]), with_interval(q[.9]), with_interval(q[.99]),
                     f"{number(min(blocks))} .. {number(max(blocks))}",
                     *(cell(lambda x=x: number(results.quantile_ratio(platform, letter, v, alone, side, x).value))
                       for x in (.5, .99)),
                     str(q[.5].n), same_results(results, platform, letter, side, v)])
    return table([f"{side}", "level", "P50 ms", "P90 ms", "P99 ms", "P99 of the blocks", f"P50 / {alone}", f"P99 / {alone}", "n",
                  "results equal"], rows) if rows else []


def extra_table(results, platform, letter, side, prefix, title, unit):
    rows = []
    for v in results.variants(platform, letter):
        if results.find(platform, letter, v, side, prefix + "samples"):
            rows.append([v] + [with_interval(results.quantile(platform, letter, v, side, q, prefix + "samples"))
                               for q in (.5, .99)]
                        + [cell(lambda q=q: number(results.quantile_ratio(platform, letter, v, "alone", side, q,
                                                                           prefix + "samples").value))
                           for q in (.5, .99)])
    return table([title, f"P50 {unit}", f"P99 {unit}", "P50 / alone", "P99 / alone"], rows) if rows else []


def throughput_table(results, platform, letter, side, base):
    rows = []
    for v in results.variants(platform, letter):
        found = results.find(platform, letter, v, side, "throughput")
        if not found:
            continue
        batch = found[0].get("batch", 1)
        values = [r["value"] * batch for r in found]
        rows.append([v, number(sum(values) / len(values)), f"{number(min(values))} .. {number(max(values))}",
                     cell(lambda: with_interval(results.mean_ratio(platform, letter, v, base, side))),
                     str(len(values)),
                     same_results(results, platform, letter, side, v)])
    batches = {r.get("batch", 1) for v in results.variants(platform, letter)
               for r in results.find(platform, letter, v, side, "throughput")}
    what = "per second" + (f" (batch {', '.join(map(str, sorted(batches)))})" if batches - {1} else "")
    return table([side, what, "blocks", f"/ {base}", "blocks", "results equal"], rows) if rows else []


def e_table(results, platform):
    """Preemption latency: P99 of the start of the first kernel, less the median of the same alone; and what is left."""
    out = []
    alone = ("alone", "alone" + OTHER)
    order = [v for v in results.variants(platform, "E") if v not in alone]
    if not cell(lambda: results.samples(platform, "E", "alone", "high", "start_samples")):
        return ["alone was not measured", ""]
    for v, when in zip(alone, ("", ", in the run of variants that were added")):
        if results.find(platform, "E", v, "high", "start_samples"):
            a50, a99 = (results.quantile(platform, "E", v, "high", q, "start_samples") for q in (.5, .99))
            out.append(f"Alone{when}, the first kernel starts after {with_interval(a50)} us (P50), "
                       f"{with_interval(a99)} us (P99), n = {a50.n}.")
    out += ["Below, that median is taken off.", ""]
    rows = []
    for v in order:
        for t in results.parameters(platform, "E"):
            if not results.find(platform, "E", v, "high", "start_samples", t):
                continue
            def less(q):
                return results.quantile_less(platform, "E", v, "alone", "high", q, "start_samples", t)
            rows.append([v, f"{t:g}", cell(lambda: with_interval(less(.5))), cell(lambda: with_interval(less(.99))),
                         cell(lambda: f"{less(.99).value / (1e3 * t):.3g}"),
                         cell(lambda: with_interval(results.mean_ratio(platform, "E", v, "native", "low", t_ms=t))),
                         str(results.blocks(platform, "E", v, "high", "start_samples", t).n),
                         same_results(results, platform, "E", "high", v)])
    return out + table(["variant", "T ms", "P50 us", "P99 us", "P99 / T", "low / native", "n", "results equal"], rows)


def d_table(results, platform):
    rows = []
    for v in results.variants(platform, "D"):
        rows.append([v, cell(lambda: number(100 * results.share(platform, "D", v).value)),
                     cell(lambda: with_interval(results.share(platform, "D", v, "alone"))),
                     str(len(results.find(platform, "D", v, "high", "throughput")))])
    return table(["variant", "share of the 75 % side, %", "sum of both / one alone", "blocks"], [r for r in rows if r[1] or r[2]])


def m_table(results, platform):
    """What one device's pair has with the other device busy, over what it has with the other one idle."""
    rows = []
    for kind, at_once in (("native", "native"), ("xsched", "xsched-auto")):
        for d, name in enumerate(("first", "second")):
            apart = f"{kind}-{name}"
            rows.append([name, at_once]
                        + [cell(lambda q=q: with_interval(results.quantile_ratio(platform, "M", at_once, apart, f"high{d}", q)))
                           for q in (.5, .9, .99)]
                        + [cell(lambda: with_interval(results.mean_ratio(platform, "M", at_once, apart, f"low{d}")))])
    rows = [r for r in rows if any(r[2:])]
    return ["Both devices busy over the other one idle:", ""] + table(
        ["device", "variant", "urgent P50", "urgent P90", "urgent P99", "the other side"], rows) if rows else []


def program_table(results, letter):
    rows = {}
    for r in results.rows:
        if r["workload"] == letter and r.get("platform") == "host" and r.get("report", True):
            rows.setdefault((r["variant"], r.get("side") or "", r["metric"], r["unit"]), []).append(r)
    return table(["variant", "side", "metric", "median of the runs", "runs", "n"],
                 [[v, s, f"{m}, {u}" if u != "1" else m, number(stats.median([r["value"] for r in f])), str(len(f)),
                   str(sum(int(r.get("n") or 1) for r in f))] for (v, s, m, u), f in sorted(rows.items())])


def of_another_run(results, letter, platform):
    """Variants that were measured in another run than the rest (merge.py), and when: {variant: date}."""
    return {r["variant"]: r["added"][:16] for r in reversed(results.rows)
            if r["workload"] == letter and r.get("platform") == platform and "added" in r}


def added(results, w, platform):
    dates = of_another_run(results, w.letter, platform)
    return [f"Measured in another run than the rest, so that figures beside each other compare across runs: "
            + ", ".join(f"{v} ({t})" for v, t in sorted(dates.items())) + ". Ratios are to what the same run had, and missing where "
            "that is not here.", ""] if dates else []


def clock_table(results, w, platform):
    """What the device said of itself meanwhile (clocks.py): medians of the blocks."""
    rows = []
    for v in results.variants(platform, w.letter):
        found = {}
        for r in results.rows:
            if r["metric"] == "clock" and (r.get("platform"), r["workload"], r["variant"]) == (platform, w.letter, v):
                found.setdefault(r["side"], []).append(r)
        for device, of in sorted(found.items()):
            known = [[r[k] for r in of if r[k] is not None] for k in ("value", "memory_mhz", "power_w", "degrees", "busy")]
            middle = [number(stats.median(values)) if values else "" for values in known]
            rows.append([device, v, middle[0], number(min(r["lowest"] for r in of)), *middle[1:],
                         ", ".join(sorted({x for r in of for x in r["reasons"]})), str(sum(r["n"] for r in of))])
    return ["The device meanwhile, as nvidia-smi says:", ""] + table(
        ["device", "variant", "clock MHz", "lowest", "memory MHz", "power W", "degrees C", "busy %", "held down by", "n"], rows) if rows else []


def workload_part(results, w, platform):
    out = [f"### {w.letter} on {platform}", "", w.title + "." if platform in ("cuda", "hip") or platform == "host"
           else w.title + f". On {platform} the same shape with kernels of stated lengths.", ""]
    out += added(results, w, platform)
    if platform == "host":
        return out + program_table(results, w.letter)
    sides = sorted({r["side"] for r in results.rows if r.get("platform") == platform and r["workload"] == w.letter
                    and r.get("side") and r["metric"] in ("p50", "throughput")},
                   key=side_order)
    if w.letter == "E":
        out += e_table(results, platform)
    else:
        for s in sides:
            out += high_table(results, platform, w.letter, s)
            out += extra_table(results, platform, w.letter, s, "ttft_", "first token", "ms")
            out += extra_table(results, platform, w.letter, s, "token_", "a token", "ms")
        for s in sides:
            of_alone = w.letter in ("D", "F") or s.startswith("both")
            out += throughput_table(results, platform, w.letter, s, alone_of(s) if of_alone else "native")
        if w.letter == "D":
            out += d_table(results, platform)
        if w.letter == "M":
            out += m_table(results, platform)
    out += clock_table(results, w, platform)
    for name in (f"{platform}-{w.letter}-{kind}.png" for kind in ("latency", "timeline", "tradeoff", "preemption", "shares")):
        if name in results.plots:
            out += [f"![{name[:-4]}]({name})", ""]
    return out


def disturbance(results):
    """What the driver itself took of a processor while others were measured."""
    worst, total, seconds = (0, ""), 0.0, 0.0
    length = {r["cell"]: r["value"] for r in results.rows if r["metric"] == "seconds"}
    for r in results.rows:
        if r.get("side") == "driver" and r["metric"] == "cpu" and r.get("cell") in length:
            total += r["value"]
            seconds += length[r["cell"]]
            worst = max(worst, (r["value"] / (10 * length[r["cell"]]), r["cell"]))
    if not seconds:
        return []
    return [f"While others were measured, the driver of the benchmark took {total / (10 * seconds):.3f} % of one processor on "
            f"average ({total:.0f} ms of {seconds:.0f} s; at most {worst[0]:.2f} %, in {worst[1]}): it sends one line to each "
            "client and sleeps until the answers come. Clients keep their samples in memory and print them afterwards.", ""]


def alike(results):
    """Where programs were started alike (starts.py), in what, and on how many CPUs each."""
    where, kinds = {}, {}
    for (platform, letter, _, side, metric, _), rows in results.by.items():
        if (side, metric) == ("machine", "seconds"):
            where.setdefault(f"{letter} on {platform}", []).extend(rows)
    for name, rows in sorted(where.items()):
        if all(r.get("alike") for r in rows):
            kept = {r.get("addresses") for r in rows}
            cpus = sorted({min(r["cpus"].values()) if r.get("cpus") else 0 for r in rows})
            kinds.setdefault(ADDRESSES[kept.pop() if len(kept) == 1 else None], []).append(
                name + (f" (each process on {' or '.join(map(str, cpus))} CPUs of its own)" if 0 not in cpus else ""))
    said = [f"In {', '.join(names)} programs were started alike: with the same PYTHONHASHSEED{text}."
            for text, names in sorted(kinds.items(), key=lambda k: k[1])]
    return [" ".join(said), ""] if said else []


def starts(results):
    """Where each block began with new processes, and how intervals are made there."""
    there = set()
    for (platform, letter, variant, side, metric, t_ms), rows in results.by.items():
        if metric in ("samples", "throughput") and own_processes(rows):
            there.add(f"{letter} on {platform}")
    return [f"But in {', '.join(sorted(there))} processes are started anew for each block, since one program differs from start to "
            "start more than from request to request; within a block they are shared as said of the variants. There an interval of "
            "a quantile draws blocks first and then requests of theirs, and a ratio draws the same blocks for both. With five "
            "blocks such an interval between different processes is still too narrow (it holds the truth some five times of six); "
            "one within the same process is not.", ""] if there else []


def skipped(results):
    done = {(r.get("platform"), r["workload"], r["variant"]) for r in results.rows if r["metric"] in ("p50", "throughput", "p99")}
    whole = {(p, w) for p, w, _ in done}
    rows = {}
    for r in results.rows:
        key = (r.get("platform"), r["workload"], r["variant"])
        if r["metric"] == "skipped" and key not in done and (r["variant"] or key[:2] not in whole):
            rows[key] = r["why"]
    return table(["platform", "workload", "variant", "why"],
                 [[p, w, v or "all", " ".join(why.split())[:160].replace("|", "/")] for (p, w, v), why in sorted(rows.items())]) \
        if rows else ["Nothing.", ""]


def there(folder):
    """The raw results of a folder, which are not nothing because they are somewhere else."""
    path = os.path.join(folder, raw.NAME)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no {raw.NAME} in {folder}")
    return path


def make(folder):
    """@return the text of the report"""
    rows, _ = raw.load(there(folder))
    results = Results(rows)
    results.plots = {n for n in os.listdir(folder) if n.endswith(".png")}
    notes = read_notes(folder)
    out = ["# Benchmark report", "", f"Made from {raw.NAME} by `bench/run --report`; `bench/run --check` says whether it still is.", ""]
    out += [*notes.get("head", []), ""] if notes.get("head") else []
    out += heads(results) + ["## Targets", ""] + target_table(results, notes) + [*notes.get("targets", []), ""]
    out += ["## Workloads", ""]
    for w in workloads.WORKLOADS:
        for p in [*w.plans] or ["host"]:
            if any(r["workload"] == w.letter and r.get("platform") == p and r["metric"] in ("p50", "throughput", "p99", "cpu")
                   for r in rows):
                out += workload_part(results, w, p) + [*notes.get(f"text/{w.letter}/{p}", [])]
                out += [""] if notes.get(f"text/{w.letter}/{p}") else []
    out += ["## Skipped", ""] + skipped(results)
    out += ["## How it was measured", "",
            "Variants alternate block by block in the same processes; each block of a variant gets the same arrivals. The urgent "
            "side's latency counts from when a request was due, so waiting counts. Intervals are bootstrap 95 % intervals over "
            "all requests (quantiles) or over blocks (throughput). A target is met when its whole interval is within the limit, not met "
            "when none of it is; in between it is likely met or likely not met, as the value says. It is undecided with less than "
            "three blocks, or no request beyond the quantile. "
            "Every client checks its own results; \"results equal\" says that they are also those of the standalone program.", ""]
    out += starts(results) + alike(results) + disturbance(results)
    used = {r["variant"] for r in rows if r.get("variant")}
    out += ["Variants: " + "; ".join(f"{v.name}: {v.text}" for v in variants.ROWS if v.name in used) + ".", ""]
    while out and not out[-1]:
        out.pop()
    return "\n".join(out) + "\n"


def unexplained(folder):
    """Targets that are not met and have no word of why."""
    notes = read_notes(folder)
    found = {f"{t.letter}/{p}" for t, p, _, verdict in targets.table(Results(raw.load(os.path.join(folder, raw.NAME))[0]))
             if verdict == "not met"}
    return sorted(found - set(notes))


def read_notes(folder):
    """Texts for the report that people write (HACKING.md)."""
    path = os.path.join(folder, "notes.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        try:
            notes = json.load(f)
        except ValueError as e:
            raise ValueError(f"{path}: {e}")
    if not isinstance(notes, dict):
        raise ValueError(f"{path}: an object is wanted")
    return notes


def main(write, check):
    status = 0
    for folder in write:
        there(folder)
        try:
            from . import plots
            plots.draw_all(folder)
        except ImportError as e:
            print(f"no plots: {e} (package python3-matplotlib, for this Python)", file=sys.stderr)
        text = make(folder)
        with open(os.path.join(folder, NAME), "w", encoding="utf-8") as f:
            f.write(text)
        print(os.path.join(folder, NAME))
        for key in unexplained(folder):
            print(f"notes.json has no \"{key}\": what bounds it and what to try next")
    for folder in check:
        with open(os.path.join(folder, NAME), encoding="utf-8") as f:
            same = f.read() == make(folder)
        print(f"{folder}: " + ("the report is what the raw results give" if same else f"{NAME} is not what the raw results give"))
        status |= not same
    return int(status)
