#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a folder of a vendor's headers has and our tables lack: surface.py FOLDER...

FOLDER: CUDA's headers (cuda.h, cudaTypedefs.h and what is beside them, as in the wheel nvidia-cuda-runtime), or HIP's
(hip/hip_runtime_api.h). Needs no toolkit and compiles nothing. One line for each thing that is missing:

  no row        a declared function, or its form for per-thread default streams, that the table does not have
  no version    a version of a function (PFN_NAME_vVERSION) that no row answers cuGetProcAddress with
  differs       a row whose parameters or whose stream are not those of the prototype
  no reason     a row passes through, takes a stream, waits, frees or maps something, and nothing says why

src/shim/cuda/cuda_api.def and src/shim/hip/hip_api.def are the tables. needs_nothing.txt in tests/cuda and in tests/hip has the
reasons, and the functions that need no row. Exit status: 0 nothing is missing, 1 something is, 2 a folder cannot be read as headers."""
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLES = {"cuda": "src/shim/cuda/cuda_api.def", "hip": "src/shim/hip/hip_api.def"}
NEEDS_NOTHING = {platform: f"tests/{platform}/needs_nothing.txt" for platform in TABLES}
CUDA_HEADERS = ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")
CUDA_TYPEDEFS = ("cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h", "cudaProfilerTypedefs.h")
LEAST = 200        # functions that a vendor's header declares; with fewer it was not understood

# Names that look as if the function had to do with streams, work, waiting, or the lives of things.
NAMES = re.compile(r"Stream|Async|Synchron|Query|Wait|Event|Launch|Memcpy|Memset|Free|Unload|Destroy|Prefetch|Capture|"
                   r"Reset|Batch|Map|Import|Export|Unregister")


class NoHeaders(Exception):
    """A folder that cannot be read as headers."""


class Row:
    """A row of a table; params and stream only where it has a prototype."""

    def __init__(self, kind, symbol, name, version, streams, params=None, stream=None):
        self.kind, self.symbol, self.name, self.version, self.streams = kind, symbol, name, int(version), streams
        self.params, self.stream = params, stream


def rows(text):
    """Symbol -> Row"""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r",\s+", ", ", text)
    found = [Row(*m) for m in re.findall(r"^(?:CU|HIP)\((\w+), (\w+), (\w+), (\d+), (\w+), \(([^()]*)\), \([^()]*\), ([^,]+),",
                                         text, re.M)]
    found += [Row("PASS", *m) for m in re.findall(r"^(?:CU|HIP)_(?:PASS|OWN)\((\w+), (\w+), (\d+), (\w+)\)", text, re.M)]
    return {r.symbol: r for r in found}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def table(platform):
    return rows(read(os.path.join(TOP, TABLES[platform])))


def reasons(path):
    """-> patterns of rows that need nothing, names of functions that need no row"""
    words = [line.split(None, 2) for line in read(path).splitlines() if line.strip() and not line.startswith("#")]
    for w in words:
        if len(w) < (3 if w[0] == "absent" else 2):
            raise ValueError(f"{path}: no reason: {' '.join(w)}")
    return [w[0] for w in words if w[0] != "absent"], {w[1] for w in words if w[0] == "absent"}


def unreasoned(table_, patterns, takes_stream):
    """-> symbols that pass through without a reason, patterns that were used"""
    without, used = [], set()
    for symbol, row in sorted(table_.items()):
        if row.kind != "PASS" or not (NAMES.search(symbol) or symbol in takes_stream):
            continue
        why = [p for p in patterns if re.fullmatch(p, symbol)]
        used.update(why)
        if not why:
            without.append(symbol)
    return without, used


# ---- headers ----

def code(path):
    """A header without comments; nothing where there is no such file."""
    if not os.path.exists(path):
        return ""
    text = read(path)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    opened, closed = (len(re.findall(rf"^[ \t]*#[ \t]*{word}", text, re.M)) for word in ("if", "endif"))
    if "/*" in text or text.count("(") != text.count(")") or opened != closed:
        raise NoHeaders(f"{path}: cut off, or no C header")
    return text


def parameters(text):
    text = re.sub(r"\s+", " ", text).strip()
    return [] if text in ("", "void") else [p.strip() for p in text.split(",")]


def declared(text, call, result):
    """Function -> parameters. @param call  what stands between result and name"""
    return {name: parameters(params)
            for name, params in re.findall(r"\b" + result + r"\s+" + call + r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;", text)}


def cuda_headers(folder):
    """-> version, functions, suffixed symbol -> its function, [(name, version, suffix)]"""
    text = "".join(code(os.path.join(folder, h)) for h in CUDA_HEADERS)
    version = re.search(r"#\s*define\s+CUDA_VERSION\s+(\d+)", text)
    functions = declared(text, r"CUDAAPI\s+", "CUresult")
    suffixed = {f"{f}_{kind.lower()}": f
                for kind, f in re.findall(r"#\s*define\s+cu\w+\s+__CUDA_API_(PTSZ|PTDS)\((cu\w+)\)", text)}
    types = "".join(code(os.path.join(folder, h)) for h in CUDA_TYPEDEFS)
    versions = re.findall(r"\bPFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\s*\)", types)
    if not version or len(functions) < LEAST or not suffixed or not versions:
        raise NoHeaders(f"{folder}: cuda.h and cudaTypedefs.h are not there, or not understood ({len(functions)} functions)")
    return int(version.group(1)), functions, suffixed, sorted({(n, int(v), s) for n, v, s in versions})


def hip_headers(folder):
    """-> version, functions"""
    where = os.path.join(folder, "hip") if os.path.isdir(os.path.join(folder, "hip")) else folder
    text = code(os.path.join(where, "hip_runtime_api.h"))
    version = [re.search(rf"#\s*define\s+HIP_VERSION_{part}\s+(\d+)", code(os.path.join(where, "hip_version.h")))
               for part in ("MAJOR", "MINOR")]
    text = re.sub(r"\b(?:template\s*<[^>]*>|static|inline)\s+(?:static\s+|inline\s+)*hipError_t\b", "", text)
    functions = declared(text, "", "hipError_t")
    functions.update({f"{f}_spt": functions.get(f) for f in re.findall(r"#\s*define\s+hip\w+\s+__HIP_API_SPT\((hip\w+)\)", text)})
    if len(functions) < LEAST or not all(version):
        raise NoHeaders(f"{folder}: hip_runtime_api.h and hip_version.h are not there, or not understood "
                        f"({len(functions)} functions)")
    return ".".join(v.group(1) for v in version), functions


# ---- what is missing ----

def why(symbol, params, stream):
    """What a function without a row might do."""
    if any(re.search(rf"\b{stream}\b", p) for p in params or []):
        return "takes a stream"
    return "may submit, wait, free or map" if NAMES.search(symbol) else "passes"


def no_rows(functions, table_, absent, stream):
    return [f"no row: {symbol} ({why(symbol, params, stream)})"
            for symbol, params in sorted(functions.items()) if symbol not in table_ and symbol not in absent]


def differs(row, params, stream):
    """What a row's prototype has otherwise than the vendor's; None: nothing."""
    ours = parameters(row.params)
    if len(ours) != len(params):
        return f"{len(ours)} parameters, the header has {len(params)}"
    params = [re.sub(r"\s*(?:=.*|__dparm\(.*\))$", "", p) for p in params]   # HIP's have defaults for C++
    at = [i for i, p in enumerate(params) if re.search(rf"\b{stream}\b\s*\w*$", p)]
    names = [re.search(r"(\w+)$", p).group(1) for p in ours]
    if at and (row.stream not in names or names.index(row.stream) not in at):
        return f"its stream is {row.stream}, the header's is {params[at[0]]}"
    return None


def prototypes(functions, table_, stream):
    both = ((symbol, row, functions.get(symbol)) for symbol, row in sorted(table_.items()) if row.params is not None)
    others = ((symbol, differs(row, params, stream)) for symbol, row, params in both if params is not None)
    return [f"differs: {symbol}: {other}" for symbol, other in others if other]


def no_reasons(functions, table_, patterns, stream):
    takes = {s for s, params in functions.items() if any(re.search(rf"\b{stream}\b", p) for p in params or [])}
    return [f"no reason: {s} passes through" for s in unreasoned(table_, patterns, takes)[0]]


def cuda(folder, table_, patterns, absent):
    """-> complaints, what was compared"""
    version, functions, suffixed, versions = cuda_headers(folder)
    every = dict(functions, **{s: functions.get(f, []) for s, f in suffixed.items()})
    said = no_rows(every, table_, absent, "CUstream")
    answers = {(r.name, r.version, r.streams) for r in table_.values()}
    for name, since, suffix in versions:
        streams = ("PTDS",) if suffix else ("LEGACY", "ANY")
        if name not in absent and not any((name, since, s) in answers for s in streams):
            said.append(f"no version: {name} of {since}{' ' + suffix if suffix else ''}")
    said += prototypes(every, table_, "CUstream")
    said += no_reasons(every, table_, patterns, "CUstream")
    return said, f"CUDA {version // 1000}.{version % 1000 // 10}: {len(every)} functions, {len(versions)} versions"


def hip(folder, table_, patterns, absent):
    version, functions = hip_headers(folder)
    said = no_rows(functions, table_, absent, "hipStream_t") + prototypes(functions, table_, "hipStream_t")
    said += no_reasons(functions, table_, patterns, "hipStream_t")
    return said, f"HIP {version}: {len(functions)} functions"


def main(folders):
    if not folders or folders[0].startswith("-"):
        print(__doc__)
        return 0 if folders and folders[0] in ("-h", "--help") else 2
    known = {platform: (table(platform), *reasons(os.path.join(TOP, path))) for platform, path in NEEDS_NOTHING.items()}
    status = 0
    for folder in folders:
        try:
            if os.path.exists(os.path.join(folder, "cuda.h")):
                said, compared = cuda(folder, *known["cuda"])
            elif any(os.path.exists(os.path.join(folder, *p)) for p in (["hip", "hip_runtime_api.h"], ["hip_runtime_api.h"])):
                said, compared = hip(folder, *known["hip"])
            else:
                raise NoHeaders(f"{folder}: neither cuda.h nor hip/hip_runtime_api.h is there")
        except (NoHeaders, OSError) as e:
            print(f"surface.py: {e}", file=sys.stderr)
            status = 2
            continue
        print("".join(f"{line}\n" for line in said) + f"{compared}, {len(said)} missing")
        status = max(status, 1 if said else 0)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
