#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function that takes a stream, waits or frees something passes through the shim unless it is written why:
check_streams.py API.def NEEDS_NOTHING

By names; scripts/surface.py does it by the prototypes of the vendor's headers, too. Checks first that it finds a row that
is wrong on purpose."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
import surface  # noqa: E402


def main(api, nothing):
    table = surface.rows(surface.read(api))
    reasons, absent = surface.reasons(nothing)
    wrong = surface.Row("PASS", "newMemcpyAsync", "newMemcpyAsync", 3020, "LEGACY")
    if len(table) < 500 or not surface.unreasoned({**table, wrong.symbol: wrong}, reasons, ())[0]:
        print("the check itself does not find anything")
        return 1
    without, used = surface.unreasoned(table, reasons, ())
    said = [f"{symbol} passes through, and nothing says why" for symbol in without]
    said += [f"{nothing}: no function is {r}" for r in reasons if r not in used]
    said += [f"{nothing}: {name} has a row" for name in sorted(absent & table.keys())]
    print("\n".join(said) or f"{len(table)} functions, {len(reasons)} reasons")
    return 1 if said else 0


sys.exit(main(*sys.argv[1:]))
