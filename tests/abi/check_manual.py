#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages name no option that is gone, and mandoc has nothing to warn of: check_manual.py ROOT BUILD PAGE...

An option that a page describes (a paragraph's tag, or the synopsis) is one of the page's own program; one that it only mentions is
one of some program of ours. Options are what `--help` lists, rows of the source that it hides, and keys of xserver.conf.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
HIDDEN = re.compile(r'\{"([a-z0-9-]+)", [^}]*OPTION_HIDDEN')
KEY = re.compile(r'^OPTION\((?:SHOWN|KEY), "\w+", \w+, "([a-z0-9-]+)"', re.M)
# of programs that are not ours
OTHERS = {"--libs": "pkg-config", "--cflags": "pkg-config", "--unix-socket": "curl",
          "--epochs": "a training script in an example", "--ipc": "podman", "--userns": "podman"}


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False)
    return done.stdout if done.returncode == 0 else ""


def listed(*command):
    return set(OPTION.findall(run(*command, "--help")))


def hidden(path):
    with open(path, encoding="utf-8") as f:
        return {"--" + name for name in HIDDEN.findall(f.read())}


def agent_options(root):
    """Those that the agent's source makes: its libraries need not be here."""
    with open(os.path.join(root, "integration/kubernetes/xsched_kube/__main__.py"), encoding="utf-8") as f:
        return set(re.findall(r'add_argument\("(--[a-z-]+)"', f.read()))


def options(root, build):
    """page -> the options of its program"""
    tools = os.path.join(build, "bin")
    of = {}
    for name in ("xcli", "xserver", "xsched-sim", "xsched-replay", "xsched-window"):
        path = os.path.join(tools, name)
        if os.path.exists(path):
            of[name] = listed(path)
    commands = re.findall(r"^  ([a-z]+) +\S", run(os.path.join(tools, "xcli"), "--help"), re.M)
    assert {"list", "logs"} < set(commands), commands
    for command in commands:
        of["xcli"] |= listed(os.path.join(tools, "xcli"), command.strip())
    xsched = os.path.join(tools, "xsched")
    of["xsched"] = set().union(*(listed(xsched, c) for c in ("run", "trace", "record", "doctor", "cdi")))
    with open(os.path.join(root, "src/config/options.def"), encoding="utf-8") as f:
        of["xserver"] |= {"--" + name for name in KEY.findall(f.read())} | hidden(os.path.join(root, "src/xserver/main.c"))
    if "xsched-window" in of:
        of["xsched-window"] |= hidden(os.path.join(root, "src/window/main.c"))
    of["xsched-bench"] = listed(os.path.join(root, "bench/run"))
    of["xsched-kube"] = agent_options(root)
    of["xsched-verify-hip"] = listed(os.path.join(root, "tests/gpu/verify_hip"))
    of["xsched-python"] = of["xsched"]      # python3 -m xsched run hands its options on
    return of


def described(text):
    """[(line, whether it describes the options, the options)]"""
    section, tag = "", False
    for number, line in enumerate(text.replace("\\-", "-").split("\n"), 1):
        if line.startswith(".SH"):
            section = line[4:].strip('" ')
        yield number, tag or section == "SYNOPSIS", OPTION.findall(re.sub(r"\\f.|\"", "", line))
        tag = line.startswith((".TP", ".TQ"))


def check(name, text, of):
    every = set().union(*of.values()) | set(OTHERS)
    own = of.get(re.sub(r"\.[1-8]$", "", name))
    for number, is_own, found in described(text):
        for option in found:
            if option not in every:
                yield f"{name}:{number}: {option} is no option of any program"
            elif is_own and own is not None and option not in own | set(OTHERS):
                yield f"{name}:{number}: {option} is described, and its program does not have it"


def lint(path):
    if not shutil.which("mandoc"):
        return []
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.stdout.splitlines()


def self_test():
    of = {"xcli": {"--json"}, "xserver": {"--port", "--help"}}
    page = ('.TH XCLI 1 "" XSched\n.SH SYNOPSIS\n.RB [ \\-\\-json ]\n.SH OPTIONS\n.TP\n.BR \\-\\-gone =\\fIN\n.TP\n.B \\-\\-port\n'
            "as \\-\\-port of xserver, \\-\\-libs\n")
    wanted = ["xcli.1:6: --gone is no option of any program", "xcli.1:8: --port is described, and its program does not have it"]
    bad = [f"self-test: {x}" for x in set(wanted) ^ set(check("xcli.1", page, of))]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "xcli.1")
        with open(path, "w", encoding="utf-8") as f:
            f.write(page)
        if shutil.which("mandoc") and not any("missing date" in line for line in lint(path)):
            bad.append("self-test: a page without a date is overlooked")
    return bad


def main(root, build, *pages):
    of, bad = options(root, build), self_test()
    bad += [f"{name}: --help lists no option" for name, some in of.items() if len(some) < 3]
    for path in pages:
        with open(path, encoding="utf-8") as f:
            bad += check(os.path.basename(path), f.read(), of)
        bad += lint(path)
    print("\n".join(bad))
    print(f"{len(pages)} pages, {sum(map(len, of.values()))} options" + ("" if shutil.which("mandoc") else "; no mandoc, which would judge the pages"))
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
