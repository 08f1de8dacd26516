# SPDX-License-Identifier: Apache-2.0
"""What Slurm's jobs used of the nodes' devices: the logs of all nodes as one table.

    python3 xsched_sacct.py [--by job|step|user] [--json] FILE...

FILE: logs that the plugin wrote (account=FILE in plugstack.conf), one or several of each node; `-` reads the standard input, as
in `clush -a -N cat /var/log/xsched-jobs.jsonl | python3 xsched_sacct.py -`. A line that stands there twice counts once. A job
that Slurm started anew, and an array or a heterogeneous job, counts as one job; its steps are shown one by one.
"""
import argparse
import json
import pwd
import signal
import sys

SUMS = ("programs", "commands", "service_us", "running_us", "waiting_us", "preemptions")


def read(paths):
    """The lines, each once. A line that is none (a node lost its power while it wrote) is named and left out."""
    seen = {}
    for path in paths:
        with (sys.stdin if path == "-" else open(path, encoding="utf-8")) as lines:
            for number, text in enumerate(lines, 1):
                if not text.strip():
                    continue
                try:
                    row = json.loads(text)
                    int(row["job"]), str(row["step"]), str(row["host"]), [int(row[name]) for name in SUMS]
                except (ValueError, TypeError, KeyError) as error:
                    print(f"{path}:{number}: left out, it is no line of the log ({error})", file=sys.stderr)
                    continue
                seen.setdefault(json.dumps(row, sort_keys=True), row)
    return list(seen.values())


def job_of(row):
    return int(row.get("array_job") or row.get("het_job") or row["job"])


def step_of(row):
    job = str(row.get("het_job") or row["job"])
    if "array_task" in row:
        job = f"{row['array_job']}_{row['array_task']}"
    again = f"+{row['restarts']}" if row.get("restarts") else ""
    return f"{job}.{row['step']}{again}"


KEYS = {"job": job_of, "step": step_of, "user": lambda row: int(row["uid"])}


def merge(rows, by):
    """One sum for each key, in the order in which they ended first."""
    merged = {}
    for row in sorted(rows, key=lambda r: r.get("ended", 0)):
        key = KEYS[by](row)
        into = merged.setdefault(key, {by: key, "hosts": set(), "priority": set(), **dict.fromkeys(SUMS, 0)})
        into["hosts"].add(row["host"])
        into["priority"].add(int(row.get("priority", 0)))
        for name in SUMS:
            into[name] += int(row[name])
    for row in merged.values():
        row["hosts"], row["priority"] = sorted(row["hosts"]), sorted(row["priority"])
    return list(merged.values())


def text_of(key, by):
    """A user's name where this host knows it."""
    try:
        return pwd.getpwuid(key).pw_name if by == "user" else str(key)
    except KeyError:
        return str(key)


def table(rows, by):
    head = (by.upper(), "HOSTS", "PRIORITY", "PROGRAMS", "COMMANDS", "DEVICE s", "WAITED s", "PREEMPTIONS")
    lines = [head] + [(text_of(r[by], by), str(len(r["hosts"])), ",".join(map(str, r["priority"])), str(r["programs"]), str(r["commands"]),
                       f"{r['service_us'] / 1e6:.3f}", f"{r['waiting_us'] / 1e6:.3f}", str(r["preemptions"])) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="FILE -: the standard input")
    parser.add_argument("--by", choices=sorted(KEYS), default="job", help="what a row is (default: job)")
    parser.add_argument("--json", action="store_true", help="a JSON object a row")
    parser.add_argument("files", nargs="+", metavar="FILE")
    chosen = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        rows = merge(read(chosen.files), chosen.by)
    except OSError as error:
        sys.exit(f"{parser.prog}: {error}")
    if chosen.json:
        for row in rows:
            print(json.dumps(row, sort_keys=True))
    else:
        table(rows, chosen.by)


if __name__ == "__main__":
    main()
