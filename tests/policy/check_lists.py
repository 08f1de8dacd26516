#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever lists the policies lists the rows of policies.def: check_lists.py ROOT BUILD

Programs are asked, pages and completions are read as the build made them, and no other file has a list of its own.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PAGES = ("xcli.1", "xsched.1", "xsched-replay.1", "xsched-sim.1", "xserver.8", "xsched-environment.7")
LIST = 6                # so many policies in two lines are a list
OWNERS = ("src/policy/policies.def", "python/xsched/_policies.py")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def words(text):
    """Without the marks of troff."""
    return re.findall(r"\w+", text.replace("\\-", "-"))


def table(root):
    """[(name, number)] of the rows."""
    enum = re.search(r"typedef enum \{([^}]*)\} XPolicyType;", read(root, "include/xsched/types.h")).group(1)
    numbers = dict(re.findall(r"(kPolicy\w+)\s*=\s*(\d+)", enum))
    rows = re.findall(r"^XS_POLICY\((\w+), (\w+)\)", read(root, "src/policy/policies.def"), re.M)
    return [(symbol.upper(), int(numbers[row])) for row, symbol in rows]


def has_all(names, text):
    """Whether all names stand in the text, in this order and without another one between them."""
    found = [w for w in words(text) if w in names]
    return any(found[i:i + len(names)] == names for i in range(len(found)))


def programs(root, build, names):
    """[(what, text)] that must list the policies."""
    tool = os.path.join(build, "bin", "")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_"))}
    env.update(COLUMNS="200", PYTHONPATH=os.path.join(root, "python"), PYTHONDONTWRITEBYTECODE="1")

    def said(*command):
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)
        return " ".join(command), done.stdout + done.stderr

    yield said(tool + "xserver", "--help")
    yield said(tool + "xserver", "nonsense")
    yield said(tool + "xcli", "policy", "-s", "-n", "nonsense")
    yield said(tool + "xsched-sim", "--help")
    yield said(tool + "xsched-replay", "--help")
    yield said(tool + "xsched", "run", "--help-env")
    yield said(tool + "xsched", "run", "--local-policy", "nonsense", "--", "true")
    what, text = said(tool + "xsched", "doctor", "--json")
    yield what, " ".join(json.loads(text[text.index("{"):])["xsched"]["policies"])
    yield said("bash", "-c", f"source {build}/completions/xsched.bash; echo $_xsched_policies")
    yield said(sys.executable, "-c", "import xsched\ntry: xsched.set_scheduler('local', 'nonsense')\nexcept ValueError as e: print(e)")
    what, text = said(tool + "xsched-sim", "-t", "0.01", "-p", names[-1].lower(), "-q", "a")
    yield what, " ".join(names[:-1]) + " " + text.split(",")[0]
    folder = tempfile.mkdtemp()
    place = os.path.join(folder, "s.sock")
    server = subprocess.Popen([tool + "xserver", names[-1], "--socket", place, "--port", "0"], env=env, stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            what, text = said(tool + "xcli", "--socket", place, "policy")
            if "Available" in text:
                break
            time.sleep(0.05)
        now, there = text.split("Available")
        yield what + ": now", " ".join(names[:-1]) + " " + now
        yield what, there
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


def python(root, rows):
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(root, "python"))
    import xsched  # pylint: disable=import-outside-toplevel
    from xsched._policies import POLICIES  # pylint: disable=import-outside-toplevel
    return [] if list(POLICIES.items()) == rows and xsched.XPolicyType.kPolicyMax == len(rows) + 1 else \
        ["python/xsched/_policies.py is not what the table says: run scripts/reference.py"]


def lists_of_their_own(root, names):
    for top in ("src", "python", "completions", "scripts", "docs/man", "cmake", "integration", "debian", "packaging"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), root)
                if path in OWNERS or name.endswith((".pyc", ".png")):
                    continue
                lines = read(root, path).split("\n")
                for i in range(len(lines)):
                    if len(set(words(" ".join(lines[i:i + 2]))) & set(names)) >= LIST:
                        yield f"{path}:{i + 1}: a list of policies that does not come from policies.def"
                        break


def self_test():
    names = ["HPF", "UP", "PUP"]
    good = ["HPF, UP or PUP", "HPF|UP|PUP", "UP and PUP: one of HPF UP PUP; UP"]
    bad = ["", "HPF, PUP, UP", "HPF UP", "HPFUPPUP"]
    return [f"self-test: {t!r}" for t in good if not has_all(names, t)] + \
        [f"self-test: {t!r}" for t in bad if has_all(names, t)]


def main(root, build):
    rows = table(root)
    names = [name for name, _ in rows]
    bad = self_test() + python(root, rows) + list(lists_of_their_own(root, names))
    if [number for _, number in rows] != list(range(1, len(rows) + 1)):
        bad.append("policies.def: row n has number n")
    texts = list(programs(root, build, names))
    texts += [(page, read(build, "docs/man", page)) for page in PAGES]
    texts.append(("docs/reference/environment.md", read(root, "docs/reference/environment.md")))
    bad += [f"{what} does not list {' '.join(names)}:\n{text[:400]}" for what, text in texts if not has_all(names, text)]
    print("\n".join(bad))
    print(f"{len(texts)} lists of {len(names)} policies")
    return 1 if bad or len(names) < 11 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
