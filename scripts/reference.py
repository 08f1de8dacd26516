#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/reference/ from what the code itself has: the headers, the Python package, the tables of environment variables
and of policies; and python/xsched/_policies.py, the policies as the Python package has them.

reference.py [--check]     --check only says whether the files are up to date
"""
import ast
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python/xsched"))
from _hint_table import ALL as HINTS  # noqa: E402
from _platforms import ALL, PLATFORMS  # noqa: E402

NOTE = "<!-- made by scripts/reference.py from {}; change that -->\n"
HEADERS = ("types", "xqueue", "hint", "policy")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def prose(comment):
    """A C comment as Markdown."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment.strip("/* \n").split("\n")]
    text = " ".join(line.strip() for line in lines).strip()
    text = re.sub(r"\s*@param\s+(\w+)\s+", r"\n* `\1`: ", text)
    text = re.sub(r"\s*@return\s+", "\n* returns ", text)
    return re.sub(r"[ \t]+", " ", text)


def head(text):
    """What the header says about itself: its comments before the first code."""
    found = re.match(r"(?:/\*.*?\*/\s*)+", text, re.S).group(0)
    parts = [prose(c) for c in re.findall(r"/\*.*?\*/", found, re.S)]
    return "\n\n".join(p for p in parts if not p.startswith("SPDX"))


def called(code):
    return re.search(r"(\w+)\(", code).group(1)


def functions(text):
    """[(comment, declaration)] of the functions."""
    out = []
    for comment, code in re.findall(r"(/\*\*(?:(?!\*/).)*\*/)\s*\n((?:XResult|extern)[^;{]*;)", text, re.S):
        out.append((prose(comment), re.sub(r"\s+", " ", code)))
    return out


def enumerations(text):
    out = []
    for body, name in re.findall(r"typedef enum \{(.*?)\} (\w+);", text, re.S):
        rows, value = [], -1
        for item, given, comment in re.findall(r"\b(k\w+)\s*(?:=\s*(-?\w+))?\s*,?\s*(?:/\*\*<\s*(.*?)\s*\*/)?", body):
            value = int(given, 0) if given else value + 1
            rows.append((item, value, comment))
        out.append((name, rows))
    return out


BEFORE = r"(?:^(/\*\*(?!<)(?:(?!\*/).)*\*/)\s*\n)?"    # a comment right before what follows


def constants(text):
    """[(name, value, comment)] of the macros; the comment stands before one, behind it, or both."""
    out = []
    for before, name, value, behind in re.findall(
            BEFORE + r"^#define (\w+)[ \t]+((?:[^\n/\\]|\\\n)+?)[ \t]*(?:/\*(?:\*<)?[ \t]*([^\n]*?)[ \t]*\*/)?$", text, re.S | re.M):
        value = re.sub(r"\s*\\\n\s*", " ", value).strip()
        value = value[1:-1] if re.fullmatch(r"\([^()]*\)", value) else value
        comment = ": ".join(filter(None, (prose(before).rstrip("."), behind))) if before and behind else prose(before) or behind
        out.append((name, value.replace("|", "\\|"), comment))
    return out


def lacks(source, names, page):
    """A name of the interface that this script does not find is a fault of the script."""
    missing = sorted(n for n in names if not re.search(rf"^(## .*|\| ){n}\b", page, re.M))
    if missing:
        sys.exit(f"reference.py: the page of {source} lacks {', '.join(missing)}")


def header_page(name, text):
    out = [f"# xsched/{name}.h\n", NOTE.format(f"include/xsched/{name}.h"), head(text), ""]
    for comment, code in functions(text):
        out += [f"## {called(code)}\n", f"```c\n{code}\n```\n", comment, ""]
    for enum, rows in enumerations(text):
        out += [f"## {enum}\n", "| name | value | |", "|---|---|---|"]
        out += [f"| {i} | {v} | {c} |" for i, v, c in rows] + [""]
    found = constants(text)
    if found:
        out += ["## Constants\n", "| name | value | |", "|---|---|---|"]
        out += [f"| {n} | {v} | {c} |" for n, v, c in found] + [""]
    types = re.findall(r"^typedef (\w+) (\w+);(?:\s*/\*\*<\s*(.*?)\s*\*/)?", text, re.M)
    if types:
        out += ["## Types\n", "| name | is | |", "|---|---|---|"] + [f"| {n} | {t} | {c} |" for t, n, c in types] + [""]
    for comment, code in re.findall(BEFORE + r"^((?:struct \w+ \{.*?\n\}|enum \w+ \{[^}]*\});|typedef [^;{]*\)\([^;]*\);)", text, re.S | re.M):
        name = re.search(r"\(\*(\w+)\)", code)[1] if code.startswith("typedef") else code.split(" {")[0]
        out += [f"## {name}\n", prose(comment), "", f"```c\n{code}\n```", ""]
    page = "\n".join(out)
    here = set(re.findall(r"^(?:struct|enum|#define) (\w+)(?: \{|[ \t]+\S)|^\} (\w+);|^(?:XResult|extern \w+) (\w+)\(", text, re.M))
    lacks(f"include/xsched/{name}.h", {n for names in here for n in names if n}, page)
    return page


def hal_page():
    out = ["# xsched/PLATFORM/hal.h\n", NOTE.format("include/xsched/*/hal.h")]
    base = os.path.join(ROOT, "include/xsched")
    for platform in sorted(p for p in os.listdir(base) if os.path.exists(os.path.join(base, p, "hal.h"))):
        text = read(f"include/xsched/{platform}/hal.h")
        out += [f"## xsched/{platform}/hal.h\n", head(text), ""]
        for comment, code in functions(text):
            out += [f"### {called(code)}\n", f"```c\n{code}\n```\n", comment, ""]
    return "\n".join(out)


def signature(node):
    return f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def doc(node):
    return ast.get_docstring(node) or ""


def python_page():
    names = set()
    init = ast.parse(read("python/xsched/__init__.py"))
    for node in init.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = {e.value for e in node.value.elts}
    out = ["# Python package xsched\n", NOTE.format("python/xsched"), doc(init), ""]
    hals = [stem for stem in sorted(PLATFORMS) if os.path.exists(os.path.join(ROOT, f"python/xsched/{stem}.py"))]
    modules = [*hals, "ray"]  # what has names of its own
    files = ["_scope", "_hints", "_queue", "_programs", "_server", "_launcher", "_errors", "_calls", *modules]
    for file in files:
        for node in ast.parse(read(f"python/xsched/{file}.py")).body:
            public = hasattr(node, "name") and (file in modules and not node.name.startswith("_") or file not in modules and node.name in names)
            if isinstance(node, ast.FunctionDef) and public:
                module = f"xsched.{file}." if file in modules else ""
                out += [f"## {module}{node.name}\n", f"```python\n{module}{signature(node)}\n```\n", doc(node), ""]
            elif isinstance(node, ast.ClassDef) and public:
                bases = ", ".join(ast.unparse(b) for b in node.bases)
                module = f"xsched.{file}." if file in modules else ""
                out += [f"## class {module}{node.name}{f'({bases})' if bases else ''}\n", doc(node), ""]
                for item in node.body:
                    if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__init__"):
                        if doc(item) or item.name == "__init__":
                            out.append(f"* `{signature(item)}`" + (f": {' '.join(doc(item).split())}" if doc(item) else ""))
                    elif isinstance(item, ast.AnnAssign):
                        out.append(f"* `{ast.unparse(item.target)}: {ast.unparse(item.annotation)}`")
                out.append("")
    page = "\n".join(out)
    calls = {node.name for f in glob.glob(os.path.join(ROOT, "python/xsched/_*.py")) if not f.endswith(("_types.py", "_policies.py"))
             for node in ast.parse(read(f)).body if hasattr(node, "name")}
    lacks("python/xsched", calls & names, page)
    return page


def policies():
    """[(name, enumerator)] of the built-in policies."""
    return [(symbol.upper(), row) for row, symbol in re.findall(r"^XS_POLICY\((\w+), (\w+)\)", read("src/policy/policies.def"),
                                                                 re.M)]


def policies_module():
    rows = dict(enumerations(read("include/xsched/types.h")))["XPolicyType"]
    return "\n".join([
        "# SPDX-License-Identifier: Apache-2.0",
        '"""The policies. Made by scripts/reference.py from include/xsched/types.h and src/policy/policies.def; change those."""',
        "from __future__ import annotations\n", "from enum import IntEnum\n\n", "class XPolicyType(IntEnum):",
        *[f"    {name} = {value}" for name, value, _ in rows], "\n", "POLICIES = {",
        *[f'    "{name}": XPolicyType.{row},' for name, row in policies()], "}"]) + "\n"


def shown(column):
    """A column of a type as src/base/settings/value.c shows it to users."""
    kind, *rest = [cell.strip('"') for cell in column.split(", ")]
    if kind in ("TEXT", "CHOICE"):
        return column.split(", ", 1)[1].strip('"')
    if kind in ("FLAG", "SIZE"):
        return {"FLAG": "ON|OFF", "SIZE": "8G|50%"}[kind]
    unit, (least, most), more = rest[0] if kind != "NUMBER" else "", rest[-2:], kind.partition("_OR_")[2]
    known = {"UINT32_MAX": str(2**32 - 1)}
    return (f"{least}..{known.get(most, most)}{unit}" if most != "INT64_MAX" else unit or "count") + (f"|{more}" if more else "")


def environment_page():
    kinds = {"policy": ", ".join(name for name, _ in policies())}
    rows = []
    for line in read("src/base/env.def").split("\n"):
        rows += [(n, shown(t), d, h) for n, t, d, h in re.findall(r'^X\((\w+), \(([^)]*)\), "([^"]*)", "([^"]*)"\)', line)]
        if line == '#include "base/settings/hints.def"':
            rows += [(f"XSCHED_AUTO_XQUEUE_{h.symbol}", shown(h.type), h.usual, h.help) for h in HINTS]
        if line == '#include "base/platforms.def"':
            rows += [(f"XSCHED_{p.prefix}_LIB", "path", "", f"the real {p.library}") for p in ALL]
    out = ["# Environment variables\n", NOTE.format("src/base/env.def, src/base/settings/hints.def and src/base/platforms.def"),
           "A set-user-id program ignores them all. `xsched run --help-env` prints them.\n",
           "| name | values | default | meaning |", "|---|---|---|---|"]
    return "\n".join(out + [
                            f"| {n} | {kinds.get(v, v).replace('|', ', ')} | {d} | {h} |" for n, v, d, h in rows]) + "\n"


def manual_pages():
    """NAME(SECTION) of each: programs and files first, then the calls."""
    pages = [os.path.basename(f).rsplit(".", 1) for folder in ("docs/man", "src/hal/*")
             for f in glob.glob(os.path.join(ROOT, folder, "*.[1-8]"))]
    pages += [("xsched-environment", "7")]
    return [f"{name}({section})" for name, section in sorted(pages, key=lambda p: (p[1] == "3", p[1], p[0]))]


def pages():
    made = {f"{name}.md": header_page(name, read(f"include/xsched/{name}.h")) for name in HEADERS}
    made["hal.md"] = hal_page()
    made["python.md"] = python_page()
    made["environment.md"] = environment_page()
    made["README.md"] = "\n".join(
        ["# Reference\n", NOTE.format("the headers, the package and the tables"),
         f"Manual pages: {', '.join(manual_pages())}.\n"] +
        [f"* [{n[:-3]}]({n})" for n in sorted(made)]) + "\n"
    made = {f"docs/reference/{n}": re.sub(r"\n{3,}", "\n\n", t).rstrip() + "\n" for n, t in made.items()}
    return {**made, "python/xsched/_policies.py": policies_module()}


def main():
    folder = os.path.join(ROOT, "docs/reference")
    made = pages()
    there = {f"docs/reference/{n}" for n in os.listdir(folder)} if os.path.isdir(folder) else set()
    there |= {n for n in made if os.path.exists(os.path.join(ROOT, n))}
    if sys.argv[1:] == ["--check"]:
        bad = sorted((there ^ set(made)) | {n for n in there & set(made) if read(n) != made[n]})
        for n in bad:
            print(f"{n} is not what the code says: run scripts/reference.py")
        return 1 if bad else 0
    os.makedirs(folder, exist_ok=True)
    for n in there - set(made):
        os.unlink(os.path.join(ROOT, n))
    for n, text in made.items():
        with open(os.path.join(ROOT, n), "w", encoding="utf-8") as f:
            f.write(text)
    print(f"{len(made)} files made")
    return 0


sys.exit(main())
