#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What distributed packages have of HIP's runtime reaches the shim: packages.py FACTS.txt PAGE SHIM COMPILER PROGRAM OPENER RUNTIME...

FACTS: what scripts/hip_packages.py read in the package. RUNTIME: copies of the fake, libamdhip64.so.5 to .7. For each object
of the package a stub is built that needs the same libraries by the same run path, and calls the same functions under the
same versions. A program opens it as the package does, natively and with the shim preloaded. Natively each function is the
runtime's. With the shim each is the shim's, and each that launches gives the same result and is one command. An empty object in the shim's place must fail. PAGE has a row of the package and its
version."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "../../../src")
sys.path.insert(0, os.path.join(HERE, "../../../scripts"))
import hip_packages  # noqa: E402  pylint: disable=wrong-import-position

# package -> how it opens an object or the runtime, and whether its own run path leads to the runtime, as in wheels beside
# those of ROCm's (else the folders of the dynamic linker do)
WAYS = {
    "bitsandbytes": ("open", False),
    "cupy-rocm-7-0": ("open", False),
    "jax-rocm7-pjrt": ("open", True),
    "jax-rocm10-pjrt": ("open", True),
    "jax-rocm7-plugin": ("open", True),
    "libggml0-backend-hip": ("open", False),
    "libhipblaslt1": ("open", False),
    "libmiopen1": ("open", False),
    "librccl1": ("open", False),
    "onnxruntime-rocm": ("opens", False),
    "rocm-bindings-hip": ("asks", False),
    "triton": ("asks", False),
}
# objects that name no runtime get the one of a library that they need
BRINGS = {"libhipblas.so.2": "libamdhip64.so.6"}
NEWEST = "libamdhip64.so.7"


def parsed(text):
    """-> package, version, [object: what it has]"""
    text = re.sub(r"\n {4}", " ", text)
    head, objects = {}, []
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "#":
            continue
        if word == "object":
            objects.append({"name": rest[0], "needs": [], "path": None, "nodes": {}, "asks": {}})
        elif not objects:
            head[word] = rest[0]
        elif word == "needs":
            objects[-1]["needs"] = rest
        elif word in ("rpath", "runpath"):
            objects[-1]["path"] = objects[-2]["path"] if rest == ["as", "before"] else (word, rest)
        elif word == "asks":
            objects[-1]["asks"][rest[0]] = rest[1:]
        else:
            objects[-1]["nodes"][word] = rest
    return head.get("package"), head.get("version"), objects


class Package:
    def __init__(self, name, shim, compiler, program, opener, runtimes, top):
        self.shim, self.compiler, self.program, self.opener, self.top = shim, compiler, program, opener, top
        self.way, self.by_run_path = WAYS[name]
        self.runtimes = {os.path.basename(r): r for r in runtimes}
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        self.bad, self.functions, self.calls, self.checked = [], 0, 0, []
        # so deep that no run path of a package leads out of it
        self.site = os.path.join(top, *["python3"] * 8)
        self.nothing = os.path.join(top, "nothing.c")
        with open(self.nothing, "w", encoding="ascii") as f:
            f.write("")

    def build(self, out, source, *options):
        out = os.path.join(self.top, out)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        subprocess.run([self.compiler, "-w", "-D_GNU_SOURCE", "-shared", "-fPIC", "-I", SOURCES, "-I", HERE, "-I",
                        os.path.dirname(out), "-o", out, os.path.join(HERE, source), *options], check=True)
        return out

    def libraries(self, needs, runtime, folder):
        """Stubs of the libraries that an object needs; each brings the runtime two steps further, as hipBLAS and rocBLAS do.
        -> options that link with them"""
        os.makedirs(folder, exist_ok=True)
        real = os.path.join(folder, runtime)
        if not os.path.exists(real):
            os.symlink(self.runtimes[runtime], real)
        others = [n for n in needs if n != runtime and not os.path.exists(os.path.join(folder, n))]
        if others:   # without a SONAME, so that copies are needed under their own names
            end = [f"-L{folder}", "-Wl,--no-as-needed,--enable-new-dtags,-rpath,$ORIGIN"]
            between = self.build(os.path.join(folder, "libbetween.so"), self.nothing, *end, f"-l:{runtime}")
            stub = self.build(os.path.join(folder, "libstub.so"), self.nothing, *end, f"-l:{os.path.basename(between)}")
            for n in others:
                shutil.copy(stub, os.path.join(folder, n))
        return [f"-L{folder}", *(f"-l:{n}" for n in needs)]

    def stub(self, obj):
        """-> path of the object, name of its runtime, folder of its libraries"""
        out = os.path.join(self.site, obj["name"])
        needs = obj["needs"]
        runtime = next((n for n in needs if n.startswith("libamdhip64.so")), None)
        runtime = runtime or next((BRINGS[n] for n in needs if n in BRINGS), NEWEST)
        folder = os.path.join(self.top, "rocm", runtime)
        kind, folders = obj["path"] or ("runpath", [])
        own = [f for f in folders if f.startswith("$ORIGIN/..")]
        os.makedirs(os.path.dirname(out), exist_ok=True)
        if self.by_run_path:
            folder = os.path.normpath(own[-1].replace("$ORIGIN", os.path.dirname(out)))
            assert folder.startswith(self.top + os.sep), folder
        linked = self.libraries(needs, runtime, folder)
        names = [n for of_node in obj["nodes"].values() for n in of_node]
        with open(os.path.join(os.path.dirname(out), "references.h"), "w", encoding="ascii") as f:
            f.write("".join(f"X({n})\n" for n in names))
        tags = ("enable" if kind == "runpath" else "disable") + "-new-dtags"
        paths = ":".join("" if f == "(empty)" else f for f in folders)
        self.build(out, "module.c", "-Wl,--no-as-needed,--unresolved-symbols=ignore-all", *linked,
                   *([f"-Wl,--{tags},-rpath,{paths}"] if folders else []))
        return out, runtime, folder

    def run(self, args, names, folder, shim):
        env = dict(self.env, **({"LD_LIBRARY_PATH": folder} if folder else {}))
        if shim:
            env.update(LD_PRELOAD=shim, XSCHED_AUTO_XQUEUE="ON", XSCHED_POLICY="HPF")
        r = subprocess.run([self.program, *args], input="\n".join(names), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=60, check=False, cwd=self.top)
        lines = [line.split() for line in r.stdout.splitlines()]
        return (r.stderr or " ".join(w for x in lines if x[0] == "FAILED:" for w in x) or r.returncode, {x[1]: x[2] for x in lines if x[0] == "bound"},
                {x[1]: x[2:] for x in lines if x[0] == "call"})

    def check(self, title, args, names, folder, runtime):
        self.checked.append((title, args, names, folder, runtime))
        failed, bound, calls = self.run(args, names, folder, None)
        if failed or set(bound.values()) != {runtime} or len(bound) != len(names):
            self.bad.append(f"{title}: natively {failed} {set(bound.values())} {calls}")
        failed, ours, counted = self.run(args, names, folder, self.shim)
        if failed:
            self.bad.append(f"{title}: with the shim {failed}")
        past = sorted(n for n in bound if ours.get(n) != os.path.basename(self.shim))
        if past:
            self.bad.append(f"{title}: these pass by the shim: {' '.join(past)}")
        for name, result in calls.items():
            if counted.get(name) != [*result, "1"]:
                self.bad.append(f"{title}: {name} gives result and commands {counted.get(name)}, not {[*result, '1']}")
        self.functions += len(bound)
        self.calls += sum(r == ["0"] for r in calls.values())

    def object(self, obj):
        for how, names in obj["asks"].items():
            folder = os.path.join(self.site, "_rocm_sdk_core", "lib")
            self.libraries([], NEWEST, folder)
            path = os.path.join(folder, "libamdhip64.so")
            if not os.path.exists(path):
                os.symlink(NEWEST, path)
            self.check(f"{obj['name']}, {how}", ["", {"dlsym": "dlsym", "hipGetProcAddress": "given"}[how], path], names, None,
                       os.path.basename(path))
        if obj["nodes"]:
            out, runtime, folder = self.stub(obj)
            names = [n for of_node in obj["nodes"].values() for n in of_node]
            args = [runtime, "open", out]
            if self.way == "opens":
                opener = shutil.copy(self.opener, os.path.dirname(out))
                args = [runtime, "opens", opener, os.path.basename(out)]
            self.check(obj["name"], args, names, None if self.by_run_path else folder, runtime)


    def same(self, name, objects):
        """Whether the stubs have what the objects have, to scripts/hip_packages.py."""
        stubs = parsed("\n".join(hip_packages.objects(self.site, name)))[2]
        by_name = {o["name"]: o for o in stubs}
        self.bad += [f"{o['name']}: its stub is another: {by_name.get(o['name'])}" for o in objects
                     if o["nodes"] and by_name.get(o["name"]) != o]

    def finds(self):
        """Whether it is seen that functions pass by: with an empty object in the shim's place."""
        before, self.shim = len(self.bad), self.build("empty.so", self.nothing)
        self.check(*self.checked[0])
        found, self.bad = self.bad[before:], self.bad[:before]
        if not any("pass by the shim" in b for b in found):
            self.bad.append(f"the test does not see that functions pass by: {found}")


def main(path, page, shim, compiler, program, opener, *runtimes):
    with open(path, encoding="ascii") as f:
        name, version, objects = parsed(f.read())
    with tempfile.TemporaryDirectory() as top:
        p = Package(name, shim, compiler, program, opener, runtimes, top)
        for obj in objects:
            p.object(obj)
        p.same(name, objects)
        functions, calls = p.functions, p.calls
        p.finds()
    with open(page, encoding="utf-8") as f:
        if f"| {name} {version} |" not in f.read():
            p.bad.append(f"{page} has no row of {name} {version}")
    print("\n".join(p.bad))
    print(f"{name} {version}: {len(objects)} objects, {functions} functions, {calls} calls that launch")
    return 1 if p.bad or not calls else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
