#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/base/platforms.def is the only list of platforms: its rows are sound, the folders are those of its rows, and whoever
needs the list has this one.

  check_platforms.py ROOT STEMS          the tree; STEMS is the list that CMake made of the rows, with commas
  check_platforms.py ROOT STEMS BUILD    what was built: tools, libraries, packages, pages, completions
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "python"))
from xsched import _library, _types  # noqa: E402
from xsched._platforms import ALL, PLATFORMS  # noqa: E402

# What holds lists of platforms if anything does. A list is three of them within so many lines.
SEARCHED = ("src", "python/xsched", "completions", "cmake", "packaging", "integration", "debian")
LINES = 6
ALLOWED = ("python/xsched/_streams.py",)   # what streams of frameworks look like
TEXT = re.compile(r"\.(c|h|def|py|bash|cmake|in|install|txt)$")


def enumerators(text):
    return {n for n in re.findall(r"\b(kPlatform\w+)\s*=", text) if n != "kPlatformUnknown"}


def numbers(rows_text):
    """(number, name) of every row, of both kinds."""
    return re.findall(r'^XS_PLATFORM(?:_NAME)?\((\w+), "(\w+)"', rows_text, re.M)


def check_rows(rows, rows_text, header):
    bad = []
    for column in ("number", "name", "stem", "prefix", "vendor"):
        cells = [getattr(r, column) for r in rows]
        bad += [f"two rows have the {column} {c}" for c in sorted(set(cells)) if cells.count(c) > 1]
    for r in rows:
        if r.prefix != r.stem.upper():
            bad.append(f"{r.stem}: the prefix {r.prefix} is not the stem in capitals")
        bad += [f"{r.stem}: {s} is no name of {r.vendor}.so" for s in r.sonames.split(" ") if not s.startswith(f"{r.vendor}.so")]
        if r.probe not in ("NONE", "UUID", "PCI") or (r.probe == "NONE") != (r.devices == "") or (r.module == "") != (r.devices == ""):
            bad.append(f"{r.stem}: {r.probe}, {r.module!r} and {r.devices!r} do not go together")
    public = enumerators(header)
    for number, name in numbers(rows_text):
        if number.isdigit() and not 64 <= int(number) <= 255:
            bad.append(f"{name}: {number} is neither an enumerator of XPlatform nor from 64 to 255")
        elif not number.isdigit() and number != f"kPlatform{name}":
            bad.append(f"{name}: the enumerator is {number}")
    missing = public ^ {n for n, _ in numbers(rows_text) if not n.isdigit()}
    return bad + [f"{n} is only in one of types.h and platforms.def" for n in sorted(missing)]


def lists(name, text):
    """Lines at which three platforms stand close together."""
    if name.endswith((".c", ".h", ".def", ".in")):
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    else:
        text = re.sub(r"(^|\s)#.*", "", text, flags=re.M)
    stems = {word.lower(): r.stem for r in ALL for word in (r.stem, r.name, r.vendor, f"lib{r.stem}")}
    word = re.compile(rf"(?<![a-z])(?:libhal|libshim|hal|shim|probe-)?({'|'.join(stems)})(?![a-z])", re.I)
    found = [{stems[w.lower()] for w in word.findall(line)} for line in text.split("\n")]
    for i in range(len(found)):
        if found[i] and len(set().union(*found[i:i + LINES])) >= 3:
            return i + 1
    return 0


def files():
    for top in SEARCHED:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for n in sorted(names):
                path = os.path.join(folder, n)
                if (TEXT.search(n) or n == "CMakeLists.txt") and n != "platforms.def" and "__pycache__" not in path:
                    yield path


def check_tree(stems):
    bad = []
    there = lambda *path: os.path.exists(os.path.join(ROOT, *path))
    if sorted(stems) != sorted(PLATFORMS):
        bad.append(f"CMake has {stems}, the rows are {sorted(PLATFORMS)}")
    for p in PLATFORMS.values():
        for path in (f"src/hal/{p.stem}", f"src/shim/{p.stem}", f"include/xsched/{p.stem}/hal.h", f"tests/{p.stem}",
                     f"tests/{p.stem}/hal_exports.txt"):
            if not there(path):
                bad.append(f"{path} is not there")
        exports = os.path.join(ROOT, "tests", p.stem, "hal_exports.txt")
        if os.path.exists(exports):
            with open(exports, encoding="ascii") as f:
                calls = f.read().split()
            bad += [f"{exports} lacks {p.maker}"] if p.maker not in calls else []
            # a second name for the same is as the vendor's own calls begin (the original's ZeQueueCreate)
            begins = (p.api, p.calls.capitalize())
            bad += [f"{p.stem}: {c} begins with none of {begins}" for c in calls if not c.startswith(begins)]
        if [_library._HOMES.get(c) for c in (p.maker, p.getter)] != [p.hal] * 2:
            bad.append(f"Python does not look for {p.maker} in lib{p.hal}")
    for room in ("src/hal", "src/shim", "include/xsched"):
        for folder in sorted(os.listdir(os.path.join(ROOT, room))):
            if os.path.isdir(os.path.join(ROOT, room, folder)) and folder not in PLATFORMS and folder not in ("common", "stream"):
                bad.append(f"{room}/{folder} has no row that says there is code for it")
    with open(os.path.join(ROOT, "src/base/env.def"), encoding="utf-8") as f:
        env = f.read()
    bad += [f"env.def has no XSCHED_{p.prefix}_LEVEL, which `xsched run` sets" for p in ALL
            if p.probe != "NONE" and f"X(XSCHED_{p.prefix}_LEVEL," not in env]
    with open(os.path.join(ROOT, "include/xsched/types.h"), encoding="utf-8") as f:
        header = f.read()
    with open(os.path.join(ROOT, "src/base/platforms.def"), encoding="utf-8") as f:
        bad += check_rows(ALL, f.read(), header)
    python = {n.name for n in _types.XPlatform} - {"kPlatformUnknown"}
    if python != enumerators(header):
        bad.append(f"XPlatform of Python differs from types.h: {sorted(python ^ enumerators(header))}")
    for path in files():
        with open(path, encoding="utf-8") as f:
            line = lists(os.path.basename(path), f.read())
        if line and os.path.relpath(path, ROOT) not in ALLOWED:
            bad.append(f"{os.path.relpath(path, ROOT)}:{line}: a list of platforms besides platforms.def")
    return bad


def check_built(build):
    bad = []
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_")) and k != "LD_PRELOAD"}

    def tool(*command, **more):
        return subprocess.run(command, env={**env, **more}, capture_output=True, text=True, timeout=120, check=False).stdout

    def same(what, got, want):
        if got != want:
            bad.append(f"{what}: {got}, the rows say {want}")

    def path(*parts):
        return os.path.join(build, *parts)

    def content(name):
        with open(name, encoding="utf-8") as f:
            return f.read()

    stems = sorted(PLATFORMS)
    has_hal = sorted(s for s in stems if os.path.exists(path(f"lib/libhal{s}.so.1")))
    has_shim = sorted(s for s in stems if os.path.exists(path(f"lib/xsched/libshim{s}.so")))
    for s in has_shim:
        with open(path(f"lib/xsched/libshim{s}.so"), "rb") as f:
            if b".note.xsched" not in f.read():
                bad.append(f"libshim{s}.so has no XS_SHIM_NOTE: it would take itself for the vendor's library")
    run = [path("bin/xsched"), "run", "--no-server", "-q"]
    same("xsched run --help-env", re.findall(r"^XSCHED_(\w+)_LIB=", tool(*run, "--help-env"), re.M), [p.prefix for p in ALL])
    page = content(path("docs/man/xsched-environment.7"))
    same("xsched-environment(7)", re.findall(r"^\.BR XSCHED_(\w+)_LIB ", page, re.M), [p.prefix for p in ALL])
    usable = {f"XSCHED_{p.prefix}_LIB": "x" for p in ALL}    # of every platform, whatever this machine has
    same("LD_PRELOAD", sorted(re.findall(r"libshim(\w+)\.so", tool(*run, "--", "/bin/sh", "-c", "echo $LD_PRELOAD", **usable))),
         [s for s in has_shim if PLATFORMS[s].preloaded])
    for s in has_shim:
        shim = os.path.realpath(path(f"lib/xsched/libshim{s}.so"))
        for variable, value, joint in PLATFORMS[s].layer_variables:
            told = tool(*run, "--", "/bin/sh", "-c", f"echo ${variable}").strip()
            value = value.replace("{shim}", shim).replace("{folder}", os.path.dirname(shim))
            # what depends on a library (?NAME) is there where that library is, and what stands for the user's (!) is not
            same(variable, told, joint.join(e.partition("?")[0] for e in value.split(joint) if e[0] != "!"
                                            and ("?" not in e or e.partition("?")[0] in told.split(joint))))
    found = json.loads(tool(path("bin/xsched"), "doctor", "--json"))
    same("xsched doctor, vendor libraries", [v["platform"] for v in found["vendor libraries"]], [p.name for p in ALL])
    names = [os.path.basename(l["path"]) for l in found["libraries"]]
    for kind, want in (("hal", has_hal), ("shim", has_shim)):
        same(f"xsched doctor, lib{kind}", sorted(m.group(1) for m in [re.match(rf"lib{kind}(\w+)\.so", n) for n in names] if m), want)
    same("pkg-config", sorted(re.findall(r"xsched-hal(\w+)\.pc", " ".join(os.listdir(path("packaging"))))), has_hal)
    for p in PLATFORMS.values():
        if p.stem in has_hal and f"of {p.name}\n" not in content(path(f"packaging/xsched-hal{p.stem}.pc")):
            bad.append(f"xsched-hal{p.stem}.pc does not name {p.name}")
    same("completions", re.findall(r'^_xsched_platforms="(.*)"$', content(path("completions/xsched.bash")), re.M), [" ".join(stems)])
    same("bench/run --platforms", re.findall(r"only these of ([\w, ]+?), fake", " ".join(tool(
        sys.executable, os.path.join(ROOT, "bench/run"), "--help").split())), [", ".join(stems)])
    where = tool(sys.executable, "-m", "xsched", "where", PYTHONPATH=os.path.join(ROOT, "python"), LD_LIBRARY_PATH=path("lib"))
    same("python -m xsched where", sorted(re.findall(r"^hal(\w+) ", where, re.M)), stems)
    unknown = tool(sys.executable, "-c", "import xsched\ntry: xsched.Queue(1, platform='no')\n"
                   "except xsched.StreamTypeError as e: print(e.remedy)", PYTHONPATH=os.path.join(ROOT, "python"))
    same("xsched.Queue(platform=)", unknown.strip(), f"it is one of {', '.join(stems)}")
    with tempfile.TemporaryDirectory() as cache:
        env["XDG_CACHE_HOME"] = os.path.join(cache, "xsched-cache")
        os.makedirs(os.path.join(env["XDG_CACHE_HOME"], "xsched"))
        for p in ALL:
            if p.probe == "NONE":
                continue
            try:
                module = content(f"/sys/module/{p.module}/version").strip()
            except OSError:
                module = os.uname().release if os.path.isdir(f"/sys/module/{p.module}") else "-"
            if os.path.isdir(p.devices) and os.listdir(p.devices):
                continue   # the answer would be about other devices than these
            with open(os.path.join(env["XDG_CACHE_HOME"], "xsched", f"{p.stem}-levels"), "w", encoding="ascii") as f:
                f.write(f"{module} 0000:00:00.0 {os.getuid()} 2 {2 if p.stem == 'cuda' else 1}\n")
            same(f"XSCHED_{p.prefix}_LEVEL", tool(*run, "--", "/bin/sh", "-c", f"echo $XSCHED_{p.prefix}_LEVEL").strip(), "2")
    return bad


def self_test():
    """Each of these must be found."""
    header = "kPlatformUnknown = 0, kPlatformOne = 1, kPlatformTwo = 2"
    text = 'XS_PLATFORM(kPlatformOne, "One"\nXS_PLATFORM_NAME(kPlatformTwo, "Two")\n'
    one = copy.copy(ALL[0])
    one.number, one.name, one.stem, one.prefix, one.vendor, one.sonames = "kPlatformOne", "One", "one", "ONE", "libone", "libone.so.1"
    one.probe = one.module = one.devices = ""
    one.probe = "NONE"
    wrong = []
    for column, value in (("prefix", "TWO"), ("sonames", "libone.so.1 libtwo.so"), ("probe", "UUID"), ("module", "one")):
        other = copy.copy(one)
        setattr(other, column, value)
        wrong.append(([other], text, header))
    wrong += [([one, one], text, header), ([one], text, header + ", kPlatformThree = 3"), ([one], text.replace('"One"', '"None"'), header),
              ([one], text + 'XS_PLATFORM_NAME(7, "Seven")\n', header)]
    bad = [f"self-test: {check_rows([one], text, header)}"] if check_rows([one], text, header) else []
    bad += [f"self-test: wrong rows {i} pass" for i, w in enumerate(wrong) if not check_rows(*w)]
    some = [r.stem for r in ALL][:3]
    for name, text, want in (("a.c", '"lib%s",\n"shim%s",\n"libhal%s.so"' % tuple(some), 1), ("b.c", "/* %s %s %s */" % tuple(some), 0),
                             ("c.txt", "# %s %s %s" % tuple(some), 0), ("d.install", "hal%s hal%s hal%s" % tuple(some), 1)):
        if lists(name, text) != want:
            bad.append(f"self-test: {name} is misjudged")
    return bad


if __name__ == "__main__":
    given = sys.argv[2].split(",")
    problems = check_built(sys.argv[3]) if len(sys.argv) > 3 else self_test() + check_tree(given)
    print("\n".join(problems))
    print(f"{len(ALL)} rows, {len(PLATFORMS)} with code")
    sys.exit(1 if problems else 0)
