# SPDX-License-Identifier: Apache-2.0
"""The hints: the rows of hints.def, which says what the columns are."""
from __future__ import annotations

import os
import re
from typing import Dict, List, NamedTuple

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hints.def")


class Hint(NamedTuple):
    """One row, of a queue or of the scheduler as a whole."""

    number: int     # hint_type of xserver
    symbol: str     # the variable is XSCHED_AUTO_XQUEUE_<symbol>
    name: str
    of_queue: bool
    type: str       # as the row has it: "NUMBER, 0, 100"
    usual: str
    key: str        # the letter of its option of `xsched run`, or ""
    help: str

    def value(self, value: object) -> int:
        """An integer of the range that the row allows; None: none."""
        from ._queue import integer
        kind, *_, least, most = self.type.split(", ")
        if value is None and kind == "TIME_OR_NONE":
            return -1
        return integer(value, int(least), (1 << 63) - 1 if most == "INT64_MAX" else int(most), f"the {self.name}",
                       " microseconds" if kind.startswith("TIME") else "")


_ROW = re.compile(r'(QUEUE|SCHED|LATER)_HINT\((?:\d+, \w+, )?(\w+), (\d+), (?:\w+, )?\(([^)]*)\), ([-\w]+), .*?"(\w+)", '
                  r"(?:'(.)'|0), (?:'.'|0), \"\w+\", \"([^\"]*)\"\)")


def rows(lines: List[str]) -> List[Hint]:
    """Of the lines of the file, in their order."""
    found = [m for m in map(_ROW.fullmatch, lines) if m]
    return [Hint(int(m[3]), m[2], m[6], m[1] != "SCHED", m[4], m[5], m[7] or "", m[8]) for m in found]


with open(FILE, encoding="utf-8") as _file:
    ALL = rows(_file.read().splitlines())
# Those of a queue, by name.
OF_QUEUE: Dict[str, Hint] = {h.name: h for h in ALL if h.of_queue}
