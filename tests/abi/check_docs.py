#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a reader meets in the documents: check_docs.py ROOT     prints what is wrong.

README.md is short, has its two commands and a row for each platform. Links lead from README.md to every document, picture of
docs/ and manual page. A measured figure stands beside a link to its raw data, or to the source that it was taken from. Where a
workload of the benchmarks is called by its letter, its name stands beside it (bench/suite/workloads.py) or in the heading. Files of the
tree that a document names are there.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from check_style import tracked  # noqa: E402

README_LINES = 130
NEWS_WIDTH = 160
COMMANDS = re.compile(r"^```\nmake demo +#.*\nmake test +#.*\n```$", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MANUAL = re.compile(r"\b([A-Za-z][\w.-]*)\(([1-8])\)")
ROW = re.compile(r'^XS_PLATFORM\(\w+, "(\w+)", "\w+", \w+, "(\w*)"', re.M)
# Their text is made or judged elsewhere, or is read by those who know the letters.
NO_FIGURES = ("docs/results/", "docs/decisions/", "docs/reference/", "docs/path-cost.md", "HACKING.md", "tests/")
NO_LETTERS = ("docs/results/", "docs/reference/")
MEASURED = re.compile(r"\b(H[12]00|A100|lavapipe|PoCL|chipStar|EPYC)\b|\bP(50|9\d)\b|\bmedian\b|\bmeasured\b")
AMOUNT = re.compile(r"(?<![\w.-])\d[\d.,]*\s?(ms|us|ns|s|%|x|times|percent|KiB|of native|(tokens|images|iterations) a second)"
                    r"(?![\w/])")
DATA = re.compile(r"\]\([^)]*(results/|benchmarks\.md|decisions/\d)[^)]*\)|\(decision \d{4}|https?://")
LETTER = re.compile(r"[Ww]orkloads? ([A-P])(?![\w'-])|\*\*([A-P])\*\*|^\| ([A-P]) \||\(([A-P])\)"
                    r"|(?<=[a-z] )([ABD-P])(?= (?:and|to|or) [A-P](?![\w'-]))|(?<=[a-z] )([ABD-HJ-P])(?=[ ,.;:)]|$)"
                    r"|(?<![\w'-])([A-P])(?=, [A-P](?![\w'-]))|(?<=, )([A-P])(?= (?:and|or) [A-P](?![\w'-]))"
                    r"|(?<=[A-P] and )([A-P])(?![\w'-])|(?<=[A-P] to )([A-P])(?![\w'-])|(?<=[A-P], )([A-P])(?![\w'-])", re.M)


PATH = re.compile(r"(?<![\w/.~-])(?:src|tests|scripts|bench|docs|include|integration|cmake|python|examples|demo|packaging)/[\w./-]*\w")
MADE = re.compile(r"[A-Z]{3,}|/build/|NAME|node_modules")      # placeholders


def check_paths(name, text, files, folders):
    """Files of the tree that a text names are there."""
    for number, line in enumerate(text.split("\n"), 1):
        for path in PATH.findall(re.sub(r"\]\([^)]*\)|https?://\S+", "", line)):
            if path not in files and path not in folders and not MADE.search(path):
                yield f"{name}:{number}: {path} is not there"


def names_of(root):
    sys.path.insert(0, os.path.join(root, "bench"))
    from suite import workloads
    return {letter: w.name for letter, w in workloads.BY_LETTER.items()}


def blocks(text):
    """[(line, heading, block, made)]: paragraphs, list items and rows of tables, outside of code; made by a script or not."""
    heading, made, code, start, lines = "", False, False, 0, []

    def flush():
        nonlocal lines
        if lines:
            yield start, heading, "\n".join(lines), made
        lines = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.startswith("```"):
            code = not code
            line = ""
        if not line.strip() or code or re.match(r"(#|<!--|\s*(\*|-|\d+\.) |\|)", line):
            yield from flush()
        if line.startswith("<!-- figures"):
            made = "begin" in line
        elif line.startswith("#"):
            heading = line
        elif line.strip() and not code:
            start = start if lines else number
            lines.append(line)
    yield from flush()


def section_links(text):
    """heading -> whether a link to data stands under it"""
    return {h: any(DATA.search(b) for _, h2, b, _ in blocks(text) if h2 == h) for _, h, _, _ in blocks(text)}


def check_figures(name, text):
    under = section_links(text)
    for line, heading, block, made in blocks(text):
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", block)
        if not made and MEASURED.search(plain) and AMOUNT.search(plain) and not under[heading]:
            yield f"{name}:{line}: a figure and no link to its raw data in this section: {AMOUNT.search(plain).group(0)}"


def check_letters(name, text, names):
    for line, heading, block, _ in blocks(text):
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", block)
        beside = " ".join((heading + " " + block).lower().split())
        for m in LETTER.finditer(plain):
            letter = next(g for g in m.groups() if g)
            if names[letter].lower() not in beside:
                yield f"{name}:{line}: workload {letter} and not its name, {names[letter]}"


def reach(texts, files):
    """What links lead to from README.md, folders and manual pages (as NAME.SECTION) included."""
    seen, todo = set(), ["README.md"]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name + "/README.md" in texts:
            todo.append(name + "/README.md")
        for link in LINK.findall(texts.get(name, "")):
            if "://" not in link and not link.startswith("#"):
                todo.append(os.path.normpath(os.path.join(os.path.dirname(name), link.split("#")[0])))
        seen.update(f"{page}.{section}" for page, section in MANUAL.findall(texts.get(name, "")))
    return seen


def check_reach(texts, files):
    seen = reach(texts, files)
    for name in sorted(files):
        base = os.path.basename(name)
        picture = name.endswith((".svg", ".png")) and name.startswith("docs/") and not name.startswith("docs/results/")
        if name.endswith(".md") or picture:
            if name not in seen:
                yield f"{name}: no page that README.md leads to has a link to it"
        elif re.search(r"^(docs/man|src/hal/\w+)/[\w.-]+\.[1-8]$", name) and base not in seen:
            yield f"{name}: no page names it"


def check_readme(text, platforms):
    lines = text.count("\n")
    if lines > README_LINES:
        yield f"README.md: {lines} lines, at most {README_LINES}"
    if not COMMANDS.search(text):
        yield "README.md: its two commands are gone"
    rows = re.findall(r"^\| ([\w ]+) \|", text.split("| platform |")[-1].split("\n\n")[0], re.M)
    have = {row.replace(" ", "") for row in rows}
    if have != platforms:
        yield f"README.md: the platforms are {sorted(platforms)}, its table has {sorted(have)}"


def check_news(text):
    """Versions; in each the kinds of change, in this order; of each kind lines that stand for themselves."""
    kinds, last = ("### Added", "### Changed", "### Fixed"), -1
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            last = -1
        elif line.startswith("#") and number > 1:
            at = kinds.index(line) if line in kinds else -1
            if at <= last:
                yield f"NEWS.md:{number}: after a version come {', '.join(kinds)}, each once: {line}"
            last = at
        elif last >= 0 and line and not line.startswith("* "):
            yield f"NEWS.md:{number}: no line of its own that begins with a star"
        elif len(re.sub(r"\]\([^)]*\)", "", line)) > NEWS_WIDTH:
            yield f"NEWS.md:{number}: {len(line)} columns; a page has room for more"


def check(root, files, names):
    texts = {}
    for name in files:
        if name.endswith(".md") and os.path.isfile(os.path.join(root, name)):
            with open(os.path.join(root, name), encoding="utf-8") as f:
                texts[name] = f.read()
    with open(os.path.join(root, "src/base/platforms.def"), encoding="utf-8") as f:
        platforms = {name for name, api in ROW.findall(f.read()) if api}
    bad = [*check_readme(texts.get("README.md", ""), platforms), *check_reach(texts, files), *check_news(texts.get("NEWS.md", ""))]
    folders = {"/".join(n.split("/")[:i]) for n in files for i in range(1, n.count("/") + 1)}
    for name, text in sorted(texts.items()):
        bad += [] if name.startswith("docs/results/") else check_paths(name, text, set(files), folders)
        bad += [] if name.startswith(NO_FIGURES) else check_figures(name, text)
        bad += [] if name.startswith(NO_LETTERS) else check_letters(name, text, names)
    return bad


def self_test(names):
    """What is wrong here is found, and nothing else."""
    ok = "```\nmake demo      # x\nmake test      # y\n```\n\n| platform | 1 |\n|---|---|\n| CUDA | y |\n\n"
    tree = {
        "README.md": ok + "[a](docs/a.md) [b](docs/b.md#x) [c](docs/c) ![p](docs/p.svg) xcli(1)\n" + "\n" * README_LINES,
        "docs/a.md": "# x\n\nOn an H100 it takes 5 ms.\n\n# y\n\nOn an H100 5 ms ([raw](results/r.md)).\n\n# z\n\n<!-- figures: begin -->\n"
                     "On an H200 5 ms.\n<!-- figures: end -->\nThe lease is 500 ms. `median 5 ms`\nsrc/base, src/base/platforms.def, `src/gone.c`, src/STEM/x.c\n",
        "docs/b.md": "In workload L it is slow.\n\nas in A and G (bert beside bert)\n\nA program in C. A row. `--only B`\n\n"
                     "workload L (llama.cpp beside training)\n\n## H: decoding beside training\n\n**H** here\n",
        "docs/c/README.md": "", "docs/lost.md": "[a](a.md)", "docs/p.svg": "", "docs/q.png": "", "docs/man/xcli.1": "", "docs/man/gone.8": "",
        "src/base/platforms.def": 'XS_PLATFORM(kPlatformCUDA, "CUDA", "cuda", CUDA, "Cuda", "cu")\nXS_PLATFORM(k, "HIP", "hip", HIP, "Hip", "h")\n'
                                  'XS_PLATFORM(k, "VPI", "vpi", VPI, "", "v")\n',
    }
    wanted = ["lines, at most", "['CUDA', 'HIP'], its table has ['CUDA']", "docs/a.md:3: a figure", "docs/b.md:1: workload L",
              "docs/b.md:3: workload A", "docs/lost.md: no page", "docs/q.png: no page", "gone.8: no page"]
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root, sorted(tree), names)
        found += check_news("# News\n\nText.\n\n## 1\n\n### Changed\n\n* a\n### Added\n* b\nmore\n* " + "c" * NEWS_WIDTH + "\n")
        found += check_readme(ok.replace("make test", "make"), {"CUDA"})
    wanted += ["two commands are gone", "src/gone.c is not there", "each once: ### Added", "NEWS.md:12: no line of its own", "NEWS.md:13: "]
    return [f"self-test: \"{w}\" is overlooked" for w in wanted if sum(w in line for line in found) != 1] + (
        [f"self-test: {line}" for line in found] if len(found) != len(wanted) else [])


if __name__ == "__main__":
    all_names = names_of(sys.argv[1])
    problems = self_test(all_names) + check(sys.argv[1], tracked(sys.argv[1]), all_names)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
