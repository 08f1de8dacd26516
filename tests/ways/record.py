#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How GPU packages of others come to NVIDIA's driver, and whether all of it goes through the shim:
record.py [--into=TABLE] BUILD FOLDER [NAME...]
record.py --page

Installs each package of packages.txt (or those with these NAMEs) into a virtual environment under FOLDER and has it come to the
driver twice, on the fake driver of BUILD: by itself and under `xsched run`. TABLE (packages.tsv beside this file) gets a row for each
package; the rows of others stay as they were. Needs a network, and up to 15 GB in FOLDER. KEEP=1 leaves the environments. --page writes the rows into
docs/explanation/ways.md.

The fake computes nothing, so that most programs end early. What they ask for before that counts. A way past the shim: an object
other than ours got functions of the driver's own library, by dlsym, by cuGetProcAddress or since it is linked with them.
Exit status: 0, 1 where a package has such a way or ends otherwise than by itself, 77 where nothing could be installed."""
import collections
import csv
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "packages.tsv")
PAGE = os.path.join(HERE, "..", "..", "docs", "explanation", "ways.md")
FIELDS = ["package", "version", "date", "opens", "functions", "asks", "runtime", "processes", "shim"]
FLAGS = ((1, "LAZY"), (2, "NOW"), (4, "NOLOAD"), (8, "DEEPBIND"), (0x100, "GLOBAL"), (0x1000, "NODELETE"))
OURS = re.compile(r"/lib(shim|hal|preempt)[^/]*$")
LIMIT_S = 300
BIG_NAME = 60  # characters of a row's cell for an object's name


class NotRun(Exception):
    """A package that could not be tried, and why."""


def packages(file):
    with open(file, encoding="utf-8") as f:
        lines = [line for line in f if line.strip() and not line.startswith("#")]
    for line in lines:
        name, specs, program = (part.strip() for part in line.split("|", 2))
        name, _, folder = name.partition("@")
        yield name.strip(), folder or name.strip(), specs.split(), program


def install(folder, specs):
    if not os.path.exists(os.path.join(folder, "bin", "python")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    r = subprocess.run([os.path.join(folder, "bin", "pip"), "-q", "install", "--prefer-binary", *specs],
                       capture_output=True, text=True, check=False)
    if r.returncode:
        raise NotRun("pip: " + (r.stderr.strip().splitlines() or ["no reason"])[-1][:200])


def version(folder, *specs):
    """Of the first of SPECS that is installed."""
    for spec in specs:
        name = re.split(r"[\[=<>]", spec)[0]
        r = subprocess.run([os.path.join(folder, "bin", "python"), "-c",
                            f"import importlib.metadata as m; print(m.version({name!r}))"], capture_output=True, text=True, check=False)
        if r.returncode == 0:
            return r.stdout.strip()
    return "?"


class Records:
    """What one run left: lines of the auditing object, and of the fake driver."""

    def __init__(self, build, audit, folder, program, under_us):
        with tempfile.TemporaryDirectory(prefix="xsched-ways-") as tmp:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "LD_", "PYTHON"))}
            env.update(LD_AUDIT=audit, LD_LIBRARY_PATH=":".join(os.path.join(build, "tests", d) for d in ("fakes/cuda/driver", "xserver/nvml")),
                       WAYS_RECORD=os.path.join(tmp, "audit"), FAKE_CUDA_RECORD=os.path.join(tmp, "fake"), XDG_RUNTIME_DIR=tmp,
                       HOME=tmp, PATH=os.path.join(folder, "bin") + ":" + env["PATH"])
            command = ["sh", "-c", program[1:].strip()] if program.startswith("$") else ["python", "-c", program]
            if under_us:
                command = [os.path.join(build, "bin", "xsched"), "run", "-q", "--priority", "1", "--", *command]
            try:
                r = subprocess.run(command, env=env, cwd=tmp, capture_output=True, text=True, timeout=LIMIT_S, errors="replace",
                                   stdin=subprocess.DEVNULL, check=False)
                self.status = r.returncode
                self.said = (r.stderr.strip() or r.stdout.strip()).splitlines()[-1:]
            except subprocess.TimeoutExpired:
                self.status, self.said = "time-out", ["timed out"]
            self.audit = self.lines(os.path.join(tmp, "audit"), 5)
            self.fake = self.lines(os.path.join(tmp, "fake"), 6)

    @staticmethod
    def lines(file, fields):
        if not os.path.exists(file):
            return []
        with open(file, encoding="utf-8", errors="replace") as f:
            return [parts for parts in (line.rstrip("\n").split("\t") for line in f) if len(parts) == fields]

    def opens(self):
        """Each name of the driver that was asked for, with the flags and by whom."""
        found = collections.OrderedDict()
        for _, what, name, flags, by in self.audit:
            if what == "dlopen" and "nvidia-ml" not in name and not OURS.search(by):
                found[f"{os.path.basename(name)} ({words(int(flags))}) by {short(by)}"] = 1
        opened = " ".join(found)
        for _, what, name, _, by in self.audit:
            if what == "search" and "nvidia-ml" not in name and not OURS.search(by) and short(by) not in opened and \
                    not re.search(r"_ctypes\.|libc\.so", by) and os.path.basename(name) not in opened:
                found[f"{os.path.basename(name)} (linked) by {short(by)}"] = 1
        return "; ".join(found)

    def functions(self):
        """By which look-up the functions come, and how many; the newest version that was asked for."""
        by_name, linked = ({name for _, what, name, _, by in self.audit if what == way and name.startswith("cu") and not OURS.search(by)}
                           for way in ("dlsym", "bound"))
        asked = collections.OrderedDict()
        for _, function, name, wanted, _, _ in self.fake:
            if function.startswith("cuGetProcAddress"):
                asked.setdefault(function, []).append((name, int(wanted)))
        found = [f"{function}: {len({n for n, _ in names})} names, versions {min(v for _, v in names)} to {max(v for _, v in names)}"
                 for function, names in asked.items()]
        rest = by_name - set(asked)
        if rest:
            found.append(f"dlsym: {len(rest)} names")
        if linked:
            found.append(f"linked: {len(linked)} names")
        return "; ".join(found)

    def asks(self):
        """How far it comes: the furthest of these."""
        called = {function for _, function, *_ in self.fake}
        if any(f.startswith("cuLaunch") for f in called):
            return "launches"
        if "cuInit" in called:
            return "cuInit"
        if self.processes():
            return "looks up"
        if any(what in ("search", "dlopen") and "libcuda" in name for _, what, name, *_ in self.audit):
            return "maps"
        return "nothing of CUDA"

    def runtime(self):
        shared = sorted({os.path.basename(name) for _, what, name, *_ in self.audit if what == "mapped" and "cudart" in name})
        return ", ".join(shared)

    def processes(self):
        return len({pid for pid, *_ in self.fake} | {pid for pid, what, name, *_ in self.audit
                                                     if what in ("dlsym", "bound") and name.startswith("cu")})

    def past(self):
        """The objects that got the driver's own functions although the shim was there."""
        by = {short(caller) for _, function, _, _, _, caller in self.fake
              if function.startswith(("cuGetProcAddress", "cuLaunch")) and not OURS.search(caller)}
        return by | {short(source) for _, what, name, other, source in self.audit
                     if what in ("dlsym", "bound") and name.startswith("cu") and other == "0" and not OURS.search(source)}


def words(flags):
    return "|".join(word for bit, word in FLAGS if flags & bit)


def short(path):
    return re.sub(r"\.cpython-\d+-x86_64-linux-gnu|\.abi3", "", os.path.basename(path))[:BIG_NAME]


def try_package(build, audit, folder, specs, program):
    install(folder, specs)
    alone = Records(build, audit, folder, program, False)
    with_us = Records(build, audit, folder, program, True)
    past = with_us.past()
    view = "past it: " + ", ".join(sorted(past)) if past else "all" if alone.processes() else "nothing to see"
    if not past and with_us.processes() != alone.processes():
        view += f" ({with_us.processes()} processes)"
    if with_us.status != alone.status:
        view += f" (it ends with {with_us.status}, by itself with {alone.status})"
    print(f"    {alone.said} / {with_us.said}", flush=True)
    return {"opens": alone.opens(), "functions": alone.functions(), "asks": alone.asks(), "runtime": alone.runtime(),
            "processes": alone.processes(), "shim": view}, past or with_us.status != alone.status


def read_table(file):
    if not os.path.exists(file):
        return {}
    with open(file, encoding="utf-8", newline="") as f:
        return {row["package"]: row for row in csv.DictReader(f, delimiter="\t")}


def write_table(file, rows, order):
    with open(file, "w", encoding="utf-8", newline="") as f:
        w = csv.DictWriter(f, FIELDS, delimiter="\t", lineterminator="\n")
        w.writeheader()
        w.writerows(rows[name] for name in order if name in rows)


def with_table(text, rows):
    """The page's TEXT with a table of ROWS between its two marks."""
    lines = ["| package | opens | looks up | runtime | what XSched sees |", "|---|---|---|---|---|"]
    for row in rows.values():
        if row["shim"].startswith("not run"):
            lines.append(f"| {row['package']} | | | | {row['shim']} |")
            continue
        what = row["functions"] or row["asks"]
        opens = row["opens"].replace("|", ", ") or "-"
        lines.append(f"| {row['package']} {row['version']} | {opens} | {what} | {row['runtime'] or '-'} | {row['shim']} |")
    begin, end = "<!-- packages -->\n", "<!-- end of packages -->"
    return text[:text.index(begin) + len(begin)] + "\n".join(lines) + "\n" + text[text.index(end):]


def write_page():
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(with_table(text, read_table(TABLE)))


def main():
    if sys.argv[1:] == ["--page"]:
        write_page()
        return
    table = sys.argv.pop(1)[len("--into="):] if sys.argv[1:] and sys.argv[1].startswith("--into=") else TABLE
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, root = (os.path.abspath(a) for a in sys.argv[1:3])
    wanted = sys.argv[3:]
    listed = list(packages(os.path.join(HERE, "packages.txt")))
    unknown = set(wanted) - {name for name, *_ in listed}
    if unknown:
        sys.exit("packages.txt does not have " + ", ".join(sorted(unknown)))
    audit = os.path.join(build, "tests", "ways", "libways_audit.so")
    rows, bad, ran = read_table(table), [], 0
    folders = [folder for name, folder, *_ in listed if not wanted or name in wanted]
    for i, (name, at, specs, program) in enumerate([p for p in listed if not wanted or p[0] in wanted]):
        folder = os.path.join(root, at)
        print(name, flush=True)
        row = {"package": name, "version": "", "date": datetime.date.today().isoformat()}
        try:
            seen, past = try_package(build, audit, folder, specs, program)
            row.update(seen, version=version(folder, name, *specs))
            bad += [name] if past else []
            ran += 1
        except NotRun as e:
            row.update({field: "" for field in FIELDS[3:]}, shim=f"not run: {e}")
        rows[name] = row
        write_table(table, rows, [n for n, *_ in listed])
        print("    " + "\t".join(str(row[field]) for field in FIELDS[1:]), flush=True)
        if not os.environ.get("KEEP") and at not in folders[i + 1:]:
            shutil.rmtree(folder, ignore_errors=True)
    if not ran:
        print("nothing could be installed: is there a network?")
        sys.exit(77)
    if bad:
        sys.exit("past the shim, or otherwise with it: " + ", ".join(bad))


if __name__ == "__main__":
    main()
