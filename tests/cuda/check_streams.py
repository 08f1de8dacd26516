#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function that takes a stream, waits or frees something passes through the shim unless it is written why:
check_streams.py CUDA_API_DEF NEEDS_NOTHING [CUDA_H]

By names, and where the vendor's header is there by its prototypes. Checks first that it finds a row that is wrong on
purpose."""
import re
import sys

NAMES = re.compile(r"Stream|Async|Synchron|Query|Wait|Event|Launch|Memcpy|Memset|Free|Unload|Destroy|Prefetch|Capture|"
                   r"Reset|Batch|Map|Import|Export|Unregister")


def rows(text):
    return dict([(s, k) for k, s in re.findall(r"^CU\((\w+), (\w+),", text, re.M)] +
                [(s, "PASS") for s in re.findall(r"^CU_PASS\((\w+),", text, re.M)])


def check(table, reasons, header):
    """-> complaints, reasons used"""
    said, used = [], set()
    takes = set(re.findall(r"CUDAAPI\s+(cu\w+)\s*\([^;]*?\bCUstream\b\s*\w", header))
    for symbol, kind in sorted(table.items()):
        if kind != "PASS" or not (NAMES.search(symbol) or symbol in takes):
            continue
        why = [r for r in reasons if re.fullmatch(r, symbol)]
        used.update(why)
        if not why:
            said.append(f"{symbol} passes through, and nothing says why")
    return said, used


def main(api, nothing, header=None):
    with open(api, encoding="ascii") as f:
        table = rows(f.read())
    with open(nothing, encoding="ascii") as f:
        reasons = [line.split()[0] for line in f if line.strip() and not line.startswith("#")]
    prototypes = ""
    if header:
        with open(header, encoding="utf-8") as f:
            prototypes = f.read()
    if len(table) < 500 or not check(dict(table, cuMemcpyHtoDAsync_v2="PASS"), reasons, prototypes)[0]:
        print("the check itself does not find anything")
        return 1
    said, used = check(table, reasons, prototypes)
    said += [f"{nothing}: no function is {r}" for r in reasons if r not in used]
    print("\n".join(said) or f"{len(table)} functions, {len(reasons)} reasons")
    return 1 if said else 0


sys.exit(main(*sys.argv[1:]))
