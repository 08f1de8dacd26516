#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each function that touches or names device memory waits while memory is out, or it is written why not:
check_swap.py CUDA_API_DEF KINDS_DEF SWAP_CALLS_DEF STAYS

By names. Checks first that it finds a row that is missing on purpose."""
import re
import sys

MEMORY = re.compile(r"^cu(Mem|Pointer|Array|Mipmapped|Tex|Surf|Ipc.*Mem|Import|External|Multicast|LogicalEndpointBind|Launch|"
                    r"Stream(Begin|Write|Wait|Batch)|CtxEnablePeer|Ctx(Destroy|Detach)|DevicePrimaryCtxRe|"
                    r"Graph(Add|Exec|Instantiate|Launch|Upload|Clone|Update|.*SetParams)|Graphics.*Mapped|TensorMap)")


def read(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def missing(rows, handled, reasons):
    return sorted(s for s in rows if MEMORY.match(s) and s not in handled and not any(r.fullmatch(s) for r in reasons))


def main(api, kinds, calls, stays):
    text = read(api)
    rows = {m[2]: m[1] for m in re.finditer(r"\bCU\((\w+),\s*(\w+),", text)}
    rows |= {m[1]: "PASS" for m in re.finditer(r"\bCU_PASS\((\w+),", text)}
    with open(kinds, encoding="utf-8") as f:
        counted = {m[1] for m in re.finditer(r"#define XS_KIND_(\w+)\s+\d,\s*\w+,\s*\w+,\s*1,", f.read())}
    listed = {m[1] for m in re.finditer(r"\bSWAP\(\w+, (\w+)\)", read(calls))}
    handled = listed | {s for s, kind in rows.items() if kind in counted}
    with open(stays, encoding="utf-8") as f:
        lines = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
    reasons = [re.compile(line[0]) for line in lines if len(line) == 2]
    if len(rows) < 500 or "SUBMIT" not in counted or "cuMemcpyDtoH_v2" not in missing(rows, handled - {"cuMemcpyDtoH_v2"}, reasons):
        print("the check itself does not find anything")
        return 1
    said = [f"{s} does not wait while memory is out, and nothing says why" for s in missing(rows, handled, reasons)]
    said += [f"{stays}: no function is {r.pattern}" for r in reasons if not any(r.fullmatch(s) and s not in handled for s in rows)]
    said += [f"{stays}: {line}: no reason" for line in lines if len(line) != 2]
    said += [f"swap_calls.def: {s} has no row" for s in sorted(listed - rows.keys())]
    print("\n".join(said) or f"{len(handled)} functions wait, {len(reasons)} reasons")
    return 1 if said else 0


sys.exit(main(*sys.argv[1:]))
