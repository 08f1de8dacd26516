# SPDX-License-Identifier: Apache-2.0
"""python -m xsched run|status|where"""
from __future__ import annotations

import os
import sys
from typing import List, Optional, Tuple

from ._errors import XSchedError
from ._hint_table import ALL as HINTS
from ._launcher import launcher
from ._version import VERSION

USAGE = """usage: python -m xsched run [OPTION...] [--] SCRIPT [ARGUMENT...]
       python -m xsched run [OPTION...] -m MODULE [ARGUMENT...]
       python -m xsched run [OPTION...] -c CODE [ARGUMENT...]
       python -m xsched status
       python -m xsched where

run     runs a Python program with this interpreter and its device work scheduled; options are those of `xsched run`
        (--priority N, --deadline US, --local-policy HPF, ..., see `xsched run --help`; -m is a module, so a limit of
        memory is written --memory)
status  what xserver schedules now
where   the libraries and tools that this package finds"""

# Options of `xsched run` that take a value, as the next argument or after an equals sign.
WITH_VALUE = (*(h.name for h in HINTS), "level", "threshold", "batch", "group", "filter", "local-policy", "idle-exit", "socket",
              "memory", "share")
LETTERS_WITH_VALUE = "".join(h.key for h in HINTS) + "ltbS"


def split(arguments: List[str]) -> Tuple[List[str], List[str]]:
    """Options of the launcher, and the rest."""
    i = 0
    while i < len(arguments):
        a = arguments[i]
        if a == "--":
            return arguments[:i], arguments[i + 1:]
        if a in ("-m", "-c") or not a.startswith("-") or a == "-":
            break
        if a.startswith("--"):  # the launcher takes the beginning of a name, too
            i += 2 if any(name.startswith(a[2:]) for name in WITH_VALUE) else 1
        else:  # -qp 5: the value of the last letter
            first = next((n for n, letter in enumerate(a) if letter in LETTERS_WITH_VALUE), None)
            i += 2 if first == len(a) - 1 else 1
    return arguments[:i], arguments[i:]


def run(arguments: List[str]) -> int:
    options, rest = split(arguments)
    if not rest and not {"--help", "-?", "--usage", "--help-env", "--version", "-V"} & set(options):
        print(USAGE, file=sys.stderr)
        return 64
    path = launcher()
    command = [path, "run"] + options + (["--", sys.executable] + rest if rest else [])
    sys.stdout.flush()
    os.execv(path, command)


def show_status() -> int:
    from ._server import status
    s = status()
    print(f"xserver {s.version} at {s.server}, policy {s.policy}, up {s.uptime_us / 1e6:.0f} s")
    names = {p.pid: p.cmdline for p in s.processes}
    print(f"{'handle':>18} {'pid':>7} {'platform':8} {'lv':>2} {'prio':>4} {'state':9} {'commands':>10}  program")
    for q in s.queues:
        state = ("held" if q.suspended else "running") if q.ready else "idle"
        print(f"{q.handle:#18x} {q.pid:7} {q.platform:8} {q.level:2} {q.priority:4} {state:9} {q.commands:10}  "
              f"{names.get(q.pid, '')[:60]}")
    return 0


def where() -> int:
    from ._library import load, mapped
    from ._platforms import PLATFORMS
    missing: List[XSchedError] = []  # what a program under XSched needs; a platform without a library is no fault
    print(f"package    {VERSION} {os.path.dirname(os.path.abspath(__file__))}")
    for name in ["preempt", *(p.hal for p in PLATFORMS.values())]:
        try:
            load(name)
            print(f"{name:10} {mapped(f'lib{name}.so')[0]}")
        except XSchedError as error:
            print(f"{name:10} {error.reason}")
            missing += [error] if name == "preempt" else []
    try:
        print(f"launcher   {launcher()}")
    except XSchedError as error:
        print(f"launcher   {error.reason}")
        missing.append(error)
    shims = mapped("libshim")
    print(f"shims      {', '.join(shims) if shims else 'none in this process'}")
    for lack in missing:
        print(f"xsched: {lack}", file=sys.stderr)
    return 1 if missing else 0


def main(arguments: Optional[List[str]] = None) -> int:
    args = sys.argv[1:] if arguments is None else arguments
    try:
        if args[:1] == ["run"]:
            return run(args[1:])
        if args == ["status"]:
            return show_status()
        if args == ["where"]:
            return where()
    except XSchedError as error:
        print(f"xsched: {error}", file=sys.stderr)
        return 1
    if args in (["--version"], ["-V"]):
        print(f"xsched (Python) {VERSION}")
        return 0
    asked = bool({"-h", "--help"} & set(args[:1]))
    if args and not asked:
        print(f"xsched: there is no command {' '.join(args)!r}", file=sys.stderr)
    print(USAGE, file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 64


if __name__ == "__main__":
    sys.exit(main())
