# SPDX-License-Identifier: Apache-2.0
"""The platforms: the rows of platforms.def, which says what the columns are."""
from __future__ import annotations

import os
from typing import List, Tuple

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "platforms.def")


class Platform:
    """One row; each column as it stands there, without quotes."""

    __slots__ = ("number", "name", "stem", "prefix", "api", "calls", "library", "vendor", "sonames", "layers", "probe",
                 "module", "devices")

    def __init__(self, cells: List[str]) -> None:
        (self.number, self.name, self.stem, self.prefix, self.api, self.calls, self.library, self.vendor, self.sonames,
         self.layers, self.probe, self.module, self.devices) = cells

    @property
    def preloaded(self) -> bool:
        """Whether its shim is preloaded, by LD_PRELOAD."""
        return not self.layers.startswith("only ")

    @property
    def layer_variables(self) -> List[Tuple[str, str, str]]:
        """The variables by which its loader takes the shim: name, value, the text between values. Without those that count
        only where the program's user has set them."""
        cells = [w.partition("=") for w in self.layers.split(" ") if "=" in w and "?=" not in w]
        return [(name.rstrip(",!").partition(">")[0], value, "," if name.endswith(",") else ":") for name, _, value in cells]

    @property
    def hal(self) -> str:
        """Its library, as _library.load calls it."""
        return f"hal{self.stem}"

    @property
    def maker(self) -> str:
        """The function that makes a hardware queue of a stream."""
        return f"{self.api}QueueCreate"

    @property
    def getter(self) -> str:
        """The function that finds the hardware queue of a stream; not every platform has one."""
        return f"{self.api}QueueGet"


def rows(lines: List[str]) -> List[Platform]:
    """Of the lines of the file, in their order."""
    begin, end = "XS_PLATFORM(", ")"
    return [Platform([cell.strip('"') for cell in line[len(begin):-len(end)].split(", ")])
            for line in lines if line.startswith(begin)]


with open(FILE, encoding="utf-8") as _file:
    ALL = rows(_file.read().splitlines())
# Those that there is code for, by stem.
PLATFORMS = {p.stem: p for p in ALL if p.api}
