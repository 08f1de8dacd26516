# SPDX-License-Identifier: Apache-2.0
"""What clients have in common whose answer is tokens: the lines of bench/clients/load.c, obeyed and answered."""
import json
import resource
import sys
import time


def say(row):
    sys.stdout.write(json.dumps(row, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def sleep_until(ns):
    left = ns - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)


def obey(line, role, request, unit, verdict):
    """Obeys one line.
    @param request  makes a whole request, and returns when each part of its answer came, in ns of CLOCK_MONOTONIC
    @param unit     does what mode closed counts
    @param verdict  returns the checksum and how many results were wrong so far
    @return whether it was understood"""
    words = line.split()
    if words[:2] != ["run", role] or len(words) < 3:
        print(f"not understood: {line[:80]}", file=sys.stderr)
        return False
    mode, o = words[2], dict(w.split("=", 1) for w in words[3:])
    start, end, fill_ns = int(o["start"]), int(o["end"]), int(float(o.get("fill_us", 0)) * 1e3)
    cpu, before = resource.getrusage(resource.RUSAGE_SELF), verdict()[1]
    row, done, tokens = {"role": role}, [], []
    sleep_until(start)
    if mode == "closed":
        while time.monotonic_ns() < end:
            unit()
            done.append(round((time.monotonic_ns() - start) / 1e3))
        row["ends_us"] = done[:4000]
    else:
        for text in filter(None, o.get("at", "").split(",")):
            due = (time.monotonic_ns() if mode == "gap" else start) + int(float(text) * 1e3)
            if due >= end and done:
                break
            while fill_ns and due > time.monotonic_ns() + 3 * fill_ns:
                request()
                time.sleep(fill_ns / 1e9)
            sleep_until(due)
            begun = time.monotonic_ns()
            times = request()
            done.append([round((t - start) / 1e3, 1) for t in (due, begun, times[0], time.monotonic_ns())])
            tokens += [round((b - a) / 1e3, 1) for a, b in zip(times, times[1:])]
        row.update(requests_us=done, tokens_us=tokens)
    after, (checksum, wrong) = resource.getrusage(resource.RUSAGE_SELF), verdict()
    row.update(n=len(done), seconds=(time.monotonic_ns() - start) / 1e9, checksum=checksum, wrong=wrong - before,
               cpu_ms=round(1e3 * (after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime), 1))
    say(row)
    return True
