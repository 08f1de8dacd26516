#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which copy of the vendor's library each caller gets: layouts.py PLATFORM SHIM COMPILER [FOLDER]

Each layout runs natively and under the shim, and must print the same. The libraries are stubs: a copy prints its number.
FOLDER keeps what is built, for a look."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# stem of the file; names by which programs know it; functions: the one that gives the number, one that a copy may lack, one
# that our table lacks
FACTS = {
    "hip": ("libamdhip64", (".so.6", ".so.7", ".so"), "hipRuntimeGetVersion", "hipGetStreamDeviceId",
            "hipNewerThanAll", "hip_4.2 { global: hip*; };"),
    "cuda": ("libcuda", (".so.1", ".so.1", ".so"), "cuDriverGetVersion", "cuKernelGetName", "cuNewerThanAll", None),
    "opencl": ("libOpenCL", (".so.1", ".so.1", ".so"), "clGetPlatformIDs",
               "clUnloadCompiler", "clNewerThanAll", "OPENCL_1.0 { global: cl*; };"),
}

FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
           "/usr/local/lib", "/opt/rocm/lib")


class Layouts:
    def __init__(self, platform, shim, compiler, folder):
        self.platform, self.shim, self.compiler, self.folder = platform, shim, compiler, folder
        self.stem, self.names, self.function, self.lacked, self.newer, self.versions = FACTS[platform]
        self.bad, self.ran, self.hide = [], 0, []
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_", "LD_"))}
        os.makedirs(folder, exist_ok=True)
        if self.versions:
            with open(self.at("versions"), "w", encoding="ascii") as f:
                f.write(self.versions)

    def at(self, *path):
        return os.path.join(self.folder, *path)

    def build(self, source, out, *options):
        os.makedirs(os.path.dirname(self.at(out)), exist_ok=True)
        shared = [] if source == "program.c" else ["-shared", "-fPIC"]
        subprocess.run([self.compiler, "-w", "-D_GNU_SOURCE", "-D" + self.platform.upper(), *shared, "-o", self.at(out),
                        os.path.join(HERE, source), *options, "-ldl", "-lpthread"], check=True)
        return self.at(out)

    def copy(self, out, number, soname=None, lacks=False):
        """A copy of the vendor's library."""
        script = ["-Wl,--version-script=" + self.at("versions")] if self.versions else []
        soname = os.path.basename(out) if soname is None else soname
        return self.build("library.c", out, f"-DID={number}", *script, *([f"-Wl,-soname,{soname}"] if soname else []),
                          *(["-DLACKS"] if lacks else []))

    def linked(self, *needs, rpath=None, runpath=None):
        options = ["-Wl,--no-as-needed,--unresolved-symbols=ignore-all", *needs]
        for value, tags in ((rpath, "disable"), (runpath, "enable")):
            if value is not None:
                options.append(f"-Wl,--{tags}-new-dtags,-rpath,{value}")
        return options

    def caller(self, out, *needs, go="go", opens=False, **paths):
        """A library that calls the vendor's."""
        return self.build("caller.c", out, f"-DGO={go}", *(["-DOPENS"] if opens else []),
                          "-Wl,-soname," + os.path.basename(out), *self.linked(*needs, **paths))

    def between(self, out, *needs, **paths):
        """A library that does not call it, but needs others."""
        return self.build("between.c", out, "-Wl,-soname," + os.path.basename(out), *self.linked(*needs, **paths))

    def program(self, out, *needs, weak=None, **paths):
        return self.build("program.c", out, *(["-DLINKED"] if needs else []), *([f"-DWEAK={weak}"] if weak else []),
                          *self.linked(*needs, **paths))

    def run(self, command, preload, cwd, extra):
        env = dict(self.env, **extra)
        if preload:
            env["LD_PRELOAD"] = " ".join(filter(None, (env.get("LD_PRELOAD"), self.shim, env.get("PRELOAD_BEHIND"))))
        if self.hide: # the variables must not reach that
            command = [*self.hide, "/usr/bin/env", *[f"{k}={v}" for k, v in env.items()], *command]
            env = {"PATH": env.get("PATH", "")}
        r = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False, cwd=cwd)
        return r.returncode, r.stdout.split(), r.stderr.strip()

    def same(self, title, program, *arguments, want=None, ours=None, said=None, cwd=None, **extra):
        """want: what it must print natively, so that the layout is what its title says; ours: where we cannot do the same;
        said: a part of the one line of the log"""
        self.ran += 1
        command = [program, *arguments]
        native, shim = self.run(command, False, cwd, extra), self.run(command, True, cwd, extra)
        if want is not None and native[1] != want.split():
            self.bad.append(f"{title}: natively {native}, not {want}")
        if ours is None and (shim[0], shim[1]) != (native[0], native[1]):
            self.bad.append(f"{title}: natively {native[:2]}, with the shim {shim}")
        if ours is not None and shim[1] != ours.split():
            self.bad.append(f"{title}: with the shim {shim}, not {ours}")
        if native[0] == shim[0] == 0 and (said is None and shim[2] or said is not None and
                                          (said not in shim[2] or len(shim[2].splitlines()) != 1)):
            self.bad.append(f"{title}: the shim says {shim[2]!r}, not {said!r}")

    # ---- one copy for each caller ----

    def one_copy(self):
        """Where the caller's copy is."""
        name, t = self.stem + self.names[0], self.at("one")
        a, b = self.copy("one/a/" + name, 2), self.copy("one/b/" + name, 3)
        plain = self.program("one/program")
        at_a = {"LD_LIBRARY_PATH": os.path.dirname(a)}

        def check(title, *steps, program=plain, **more):
            self.same(title, program, *steps, **more)

        def go(library):
            return ("load", library, "n", "go", "0", "go")

        check("the caller's RUNPATH", *go(self.caller("one/runpath.so", b, runpath=t + "/b")), want="loaded 3")
        check("the caller's RPATH", *go(self.caller("one/rpath.so", b, rpath=t + "/b")), want="loaded 3", **at_a)
        check("LD_LIBRARY_PATH before RUNPATH", *go(t + "/runpath.so"), want="loaded 2", **at_a)
        check("$ORIGIN", *go(self.caller("one/origin.so", b, runpath="$ORIGIN/b")), want="loaded 3")
        check("$ORIGIN is the link's folder", *go(self.link("one/links/origin.so", t + "/origin.so")), want="loaded 2", **at_a)
        check("relative path", "load", "./origin.so", "n", "go", "0", "go", want="loaded 3", cwd=t)
        # what bitsandbytes and JAX's plugins do
        deep = self.between("one/deep/libdeep.so", b, runpath=t + "/b")
        check("a dependency's dependency", *go(self.caller("one/chain.so", deep, runpath=t + "/deep")), want="loaded 3")
        middle = self.between("one/middle/libmiddle.so", deep, runpath=t + "/deep")
        check("three steps", *go(self.caller("one/chain3.so", middle, runpath=t + "/middle")), want="loaded 3")
        # RPATH counts for what the object brought, RUNPATH for itself alone, and puts RPATH out of force
        bare = self.between("one/bare/libbare.so", b)
        check("an inherited RPATH", *go(self.caller("one/inherits.so", bare, rpath=t + "/bare:" + t + "/b")), want="loaded 3", **at_a)
        check("RUNPATH is not inherited", *go(self.caller("one/inherits_not.so", bare, runpath=t + "/bare:" + t + "/b")),
              want="loaded 2", **at_a)
        own = self.between("one/own/libown.so", b, runpath="/nowhere")
        check("a RUNPATH ends what is inherited", *go(self.caller("one/mixed.so", own, rpath=t + "/own:" + t + "/b")),
              want="loaded 2", **at_a)
        check("the program's RPATH", *go(self.caller("one/nothing.so", b)), want="loaded 3",
              program=self.program("one/with_rpath", rpath=t + "/b"), **at_a)
        check("the program's RUNPATH", *go(t + "/nothing.so"), want="loaded 2",
              program=self.program("one/with_runpath", runpath=t + "/b"), **at_a)
        # the program itself
        check("linked", "main", program=self.program("one/linked", b, runpath=t + "/b"), want="3")
        check("a library of the program's", *go(t + "/nothing.so"), program=t + "/linked", want="loaded 3")
        check("the path changes later", "path", t + "/b", *go(t + "/nothing.so"), want="loaded 2", **at_a)
        check("a program that takes its path away", "path", "/nowhere", *go(t + "/nothing.so"), want="loaded 2", **at_a)
        # in a scope with others: the caller itself needs no library
        lone = self.caller("one/lone/liblone.so", go="lone")
        both = self.between("one/both.so", lone, b, runpath=t + "/lone:" + t + "/b")
        check("a sibling's copy", "load", both, "n", "go", "0", "lone", want="loaded 3")
        check("a sibling that comes later", "load", lone, "l", "load", both, "n", "go", "0", "lone", want="loaded loaded 3")
        # opened by a library, which is how most find it
        check("a library opens a name", "load", self.caller("one/opener.so", opens=True, runpath=t + "/b"), "l", "opens", "0", name,
              want="loaded 3")
        check("a library opens a path", "load", t + "/opener.so", "l", "opens", "0", b, want="loaded 3")
        check("the program opens a name", "load", name, "n", "call", "0", want="loaded 2", **at_a)
        check("the program opens a path", "load", b, "n", "call", "0", want="loaded 3", **at_a)
        check("the program opens a name for all", "load", name, "ng", "call", "default", want="loaded 2", **at_a)
        check("compiled code", "load", name, "n", "jit", "0", want="loaded 2", **at_a)
        check("only if it is there", "load", name, "nh", "load", name, "n", "load", name, "nh", "call", "2",
              want="absent loaded loaded 2", **at_a)
        check("preloaded by the user", "load", plain, "n", want="absent", LD_PRELOAD=t + "/runpath.so")
        check("preloaded by the user, and a caller", *go(t + "/nothing.so"), want="loaded 2", LD_PRELOAD=t + "/runpath.so", **at_a)

    def link(self, out, to):
        os.makedirs(os.path.dirname(self.at(out)), exist_ok=True)
        os.symlink(to, self.at(out))
        return self.at(out)

    def absent(self):
        """A name that leads nowhere. HIP's shim takes no name, so such an object does not load. CUDA's and OpenCL's have
        their name: it loads, and its calls fail; another copy never takes the place."""
        name, t = self.stem + self.names[1], self.at("absent")
        there = sorted({os.path.realpath(f"{d}/{name}") for d in FOLDERS if os.path.exists(f"{d}/{name}")})
        if there:   # /dev/null over each, in a mount namespace of our own
            self.hide = ["unshare", "-rm", "sh", "-c", "".join(f"mount --bind /dev/null {p} && " for p in there) + 'exec "$@"', "sh"]
            if subprocess.run([*self.hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
                print("no mount namespace here: the layouts without a library were left out")
                self.ran, self.hide = self.ran + 5, []
                return
        real, other = self.copy("absent/b/" + name, 3), self.copy("absent/a/" + self.hashed(), 2)
        plain = self.program("absent/program")
        lost = self.caller("absent/lost.so", real, runpath="/nowhere")
        good = self.caller("absent/good.so", other, runpath=t + "/a", go="good")
        deep = self.between("absent/deep/libdeep.so", real, runpath="/nowhere")
        chain = self.caller("absent/chain.so", deep, runpath=t + "/deep")
        fails = {"cuda": "-3", "opencl": "1001"}.get(self.platform)
        for title, library in (("absent", lost), ("absent behind a dependency", chain)):
            self.same(title, plain, "load", library, "n", "go", "0", "go", want="absent -7777",
                      ours=fails and "loaded " + fails, said=fails and "is not to be found")
            if self.platform != "cuda":   # which keeps one driver for a process
                self.same(title + ", beside another copy", plain, "load", good, "n", "go", "0", "good", "load", library, "n", "go",
                          "1", "go", "go", "0", "good", want="loaded 2 absent -7777 2", ours=fails and f"loaded 2 loaded {fails} 2",
                          said=fails and "is not to be found")
        self.same("absent, opened by a name", plain, "load", name, "n", want="absent")
        self.hide = []

    def hashed(self):
        """As wheels rename what they carry."""
        return f"{self.stem}-1a2b3c4d{self.names[0]}"

    # ---- functions that a copy lacks, and those that only it has ----

    def functions(self):
        name, t = self.stem + self.names[0], self.at("functions")
        self.copy("functions/old/" + name, 2, lacks=True)
        full = self.copy("functions/full/" + name, 3)
        plain, none = self.program("functions/program"), self.lacked + "NoSuch"
        old, at_full = {"LD_LIBRARY_PATH": t + "/old"}, {"LD_LIBRARY_PATH": t + "/full"}
        caller = self.caller("functions/caller.so", full)

        def check(title, *steps, program=plain, want=None, ours=None, **env):
            self.same(title, program, *steps, want=want, ours=ours, **(env or old))

        for opened, what in ((name, "a name"), (t + "/old/" + name, "a path")):
            check(f"what it lacks, by {what}", "load", opened, "n", "has", "0", self.lacked, "says", "0", self.lacked,
                  want="loaded no undefined")
            check(f"what it has, by {what}", "load", opened, "n", "has", "0", self.function, "says", "0", self.function,
                  want="loaded yes nothing")
            check(f"what only it has, by {what}", "load", opened, "n", "has", "0", self.newer, "go", "0", self.newer,
                  want="loaded yes 2")
            check(f"what nobody has, by {what}", "load", opened, "n", "has", "0", none, "says", "0", none, want="loaded no undefined")
            check(f"after a call, by {what}", "load", opened, "n", "call", "0", "has", "0", self.lacked, "has", "0", self.newer,
                  want="loaded 2 no yes")
        check("another copy has it", "load", name, "n", "has", "0", self.lacked, want="loaded yes", **at_full)
        check("visible to all", "load", name, "ng", "has", "default", self.lacked, "has", "program", self.lacked, "has", "default",
              self.newer, want="loaded no no yes")
        check("visible to all, after a call", "load", name, "ng", "call", "0", "has", "default", self.lacked, "says", "default",
              self.lacked, "has", "next", self.lacked, "has", "default", self.function, want="loaded 2 no undefined no yes")
        check("visible to all, and there", "load", name, "ng", "call", "0", "has", "default", self.lacked, "has", "next", self.lacked,
              want="loaded 3 yes yes", **at_full)
        linked = self.program("functions/linked", full)
        check("linked", "main", "has", "default", self.lacked, "has", "next", self.lacked, "has", "program", self.lacked,
              program=linked, want="2 no no no")
        check("linked, before a call", "has", "default", self.lacked, "has", "next", self.lacked, "has", "program", self.lacked,
              "main", program=linked, want="no no no 2")
        check("linked, and there", "has", "default", self.lacked, "main", "has", "default", self.lacked, "has", "default", self.function,
              program=linked, want="yes 3 yes yes", **at_full)
        check("by a library that needs it", "load", caller, "n", "go", "0", "go", "has", "0", self.lacked, "says", "0", self.lacked,
              "has", "0", self.function, want="loaded 2 no undefined yes")
        check("by a library that needs it, before a call", "load", caller, "n", "has", "0", self.lacked, "has", "0", self.newer,
              "go", "0", "go", want="loaded no yes 2")
        check("its own functions", "load", caller, "n", "has", "0", "go", "has", "0", "between", want="loaded yes no")
        # dlsym and GetProcAddress agree. A weak reference is bound before any code of ours runs, to the first definition in
        # the process, and that is the preloaded object's: the program finds a function that answers with an error
        weak = self.program("functions/weak", full, weak=self.lacked)
        check("a weak reference", "weak", "has", "default", self.lacked, program=weak, want="no no", ours="yes no", **old)
        check("a weak reference, and there", "weak", program=weak, want="yes", **at_full)
        if self.platform == "cuda":
            return
        hashed = self.hashed()
        self.copy("functions/wheel/" + hashed, 4)
        wheel = self.caller("functions/wheel.so", t + "/wheel/" + hashed, runpath=t + "/wheel", go="wheel")
        check("one of two copies lacks it", "load", name, "n", "call", "0", "load", wheel, "n", "go", "1", "wheel", "has", "1",
              self.lacked, "has", "1", self.newer, want="loaded 2 loaded 4 yes yes")

    # ---- several copies in one process ----

    def two_copies(self):
        name, t = self.stem + self.names[0], self.at("two")
        a, b, h = (self.copy(f"two/{x}/{n}", v) for x, n, v in (("a", name, 2), ("b", name, 3), ("h", self.hashed(), 4)))
        plain, at_a = self.program("two/program"), {"LD_LIBRARY_PATH": t + "/a"}
        by_a = self.caller("two/by_a.so", a, runpath=t + "/a", go="by_a")
        by_b = self.caller("two/by_b.so", b, runpath=t + "/b", go="by_b")
        by_h = self.caller("two/by_h.so", h, runpath=t + "/h", go="by_h")
        deep = self.between("two/deep/libdeep.so", h, runpath=t + "/h")
        chain = self.caller("two/chain.so", deep, runpath=t + "/deep", go="chain")

        def check(title, *steps, program=plain, **more):
            self.same(title, program, *steps, **more)

        two = ("load", by_a, "n", "load", by_h, "n", "go", "0", "by_a", "go", "1", "by_h", "go", "0", "by_a")
        check("each its own", *two, want="loaded loaded 2 4 2")
        check("after the first was used", "load", by_a, "n", "go", "0", "by_a", "load", by_h, "n", "go", "1", "by_h", "go", "0", "by_a",
              want="loaded 2 loaded 4 2")
        check("behind a dependency, after another", "load", by_a, "n", "go", "0", "by_a", "load", chain, "n", "go", "1", "chain",
              "go", "0", "by_a", want="loaded 2 loaded 4 2")
        check("two of one SONAME: the first that is there", "load", by_a, "n", "load", by_b, "n", "go", "1", "by_b", "go", "0", "by_a",
              want="loaded loaded 2 2")
        check("the other order", "load", by_b, "n", "load", by_a, "n", "go", "1", "by_a", want="loaded loaded 3")
        check("two of one SONAME, called the other way round", "load", by_a, "n", "load", by_b, "n", "go", "1", "by_b",
              want="loaded loaded 2")
        check("breadth first", "load", self.caller("two/broad.so", deep, a, runpath=f"{t}/deep:{t}/a"), "n", "go", "0", "go",
              want="loaded 2")
        check("in the order of the names", "load", self.caller("two/order.so", h, a, runpath=f"{t}/h:{t}/a"), "n", "go", "0", "go",
              want="loaded 4")
        linked = self.program("two/linked", a, runpath=t + "/a")
        check("the program's own before a library's", "main", "load", by_h, "n", "go", "0", "by_h", program=linked, want="2 loaded 2")
        check("RTLD_DEEPBIND: a library's own first", "main", "load", by_h, "nd", "go", "0", "by_h", program=linked, want="2 loaded 4")
        check("one that is visible to all", "load", a, "ng", "load", by_h, "n", "go", "1", "by_h", want="loaded loaded 2")
        check("one that becomes visible later", "load", by_h, "n", "load", a, "ng", "go", "0", "by_h", want="loaded loaded 4")
        check("a library that brings one for all", "load", by_a, "ng", "load", by_h, "n", "go", "1", "by_h", want="loaded loaded 2")
        check("a closed library, another in its place", "load", by_a, "n", "go", "0", "by_a", "close", "0", "load", by_h, "n", "go", "1",
              "by_h", want="loaded 2 loaded 4")
        check("opened by path, one after the other", "load", a, "n", "call", "0", "load", b, "n", "call", "1", want="loaded 2 loaded 3")
        check("a library opens the other one", "load", by_a, "n", "go", "0", "by_a", "load",
              self.caller("two/opener.so", opens=True), "l", "opens", "1", h, "go", "0", "by_a", want="loaded 2 loaded 4 2")
        check("a namespace of its own", "load", by_a, "n", "go", "0", "by_a", "space", by_h, "by_h", "go", "0", "by_a",
              want="loaded 2 4 2")
        check("a name after a library's own copy", "load", by_h, "n", "go", "0", "by_h", "load", name, "n", "call", "1", "go", "0",
              "by_h", want="loaded 4 loaded 2 4", **at_a)
        check("a name before a library's own copy", "load", name, "n", "call", "0", "load", by_h, "n", "go", "1", "by_h", "call", "0",
              want="loaded 2 loaded 4 2", **at_a)

    # ---- stranger ones ----

    def strange(self):
        name, t = self.stem + self.names[0], self.at("strange")
        a, b = self.copy("strange/a/" + name, 2), self.copy("strange/b/" + name, 3)
        plain, at_a = self.program("strange/program"), {"LD_LIBRARY_PATH": t + "/a"}

        def check(title, *steps, program=plain, **more):
            self.same(title, program, *steps, **more)

        def go(library, word="go"):
            return ("load", library, "n", "go", "0", word)

        bare = self.copy("strange/nameless/" + name, 5, soname="")
        check("a needed path", *go(self.caller("strange/path.so", bare)), want="loaded 5")
        check("a needed path, beside the name", *go(self.caller("strange/by_a.so", a, runpath=t + "/a")), "load", t + "/path.so", "n",
              "go", "1", "go", want="loaded 2 loaded 5" if self.platform != "cuda" else None,
              ours="loaded 2 loaded 2" if self.platform == "cuda" else None)
        check("$LIB and $PLATFORM", *go(self.caller("strange/tokens.so", b, runpath=t + "/no/$LIB:" + t + "/no/${PLATFORM}:" + t + "/b")),
              want="loaded 3")
        check("an empty entry", *go(self.caller("strange/empty.so", b, runpath="/nowhere::" + t + "/b")), want="loaded 2", cwd=t + "/a")
        check("a relative entry", *go(self.caller("strange/relative.so", b, runpath="b")), want="loaded 3", cwd=t)
        check("entries of LD_LIBRARY_PATH with ;", *go(self.caller("strange/nothing.so", b)), want="loaded 2",
              LD_LIBRARY_PATH=f"/nowhere;{t}/a;{t}/b")
        with open(self.link("strange/text/x", "/dev/null") and self.at("strange/text/" + name), "w", encoding="ascii") as f:
            f.write("INPUT(nothing)\n")
        check("through a link to the folder", *go(self.link("strange/linked", t + "/b") and t + "/nothing.so"), want="loaded 3",
              LD_LIBRARY_PATH=t + "/linked")
        check("through a link to the caller", *go(self.link("strange/other_name.so", t + "/by_a.so")), want="loaded 2")
        check("twice, by two names", *go(t + "/by_a.so"), "load", t + "/other_name.so", "n", "go", "1", "go", want="loaded 2 loaded 2")
        check("again after it was closed", *go(t + "/by_a.so"), "close", "0", "load", t + "/by_a.so", "n", "go", "1", "go",
              want="loaded 2 loaded 2")
        check("lazily", "load", t + "/by_a.so", "l", "go", "0", "go", want="loaded 2")
        check("the program's handle", "main", "call", "program", "has", "program", self.function,
              program=self.program("strange/linked_to_b", b, runpath=t + "/b"), want="3 3 yes")
        check("one thread opens, another calls", "load", name, "n", "thread", "0", want="loaded 2", **at_a)
        check("a forked child", "load", t + "/by_a.so", "n", "fork", "go", "0", "go", want="loaded 2")
        check("a forked child after a call", *go(t + "/by_a.so"), "fork", "go", "0", "go", want="loaded 2 2")
        check("a constructor calls", "load", self.caller("strange/early.so", b, runpath=t + "/b", go="early"), "n", "go", "0", "early",
              want="loaded 3")
        loop_a = self.between("strange/loop/libloop_a.so", b, runpath=t + "/loop:" + t + "/b")
        loop_b = self.between("strange/loop/libloop_b.so", loop_a, runpath=t + "/loop")
        loop_a = self.between("strange/loop/libloop_a.so", loop_b, b, runpath=t + "/loop:" + t + "/b")
        check("a circle of needs", *go(self.caller("strange/circle.so", loop_b, runpath=t + "/loop")), want="loaded 3")
        if self.platform == "hip":   # where we have the name, the folder is looked for at the first call
            check("relative, and the program goes elsewhere", "load", t + "/relative.so", "n", "cd", "/", "go", "0", "go",
                  want="loaded 3", cwd=t)
        check("a relative library, and the program goes elsewhere", "load", "./by_a.so", "n", "cd", "/", "go", "0", "go",
              want="loaded 2", cwd=t)
        loader = "/lib64/ld-linux-x86-64.so.2"
        if os.path.exists(loader):
            self.same("started by the dynamic linker", loader, "--library-path", t + "/b", plain, *go(t + "/nothing.so"),
                      want="loaded 3")
        for order in ("before", "behind"):   # the user preloads a copy as well: all calls go there
            env = {"LD_PRELOAD": b} if order == "before" else {"PRELOAD_BEHIND": b}
            check(f"a copy preloaded {order} us", *go(t + "/by_a.so"), want="loaded 3" if order == "before" else None,
                  ours=None if order == "before" else "loaded 3", **env)
        check("a preloaded library opens one", "call", "program", want=None, LD_PRELOAD=self.caller("strange/pre.so", b, runpath=t + "/b"))
        if self.platform == "cuda":
            return
        h = self.copy("strange/h/" + self.hashed(), 4)
        by_h = self.caller("strange/by_h.so", h, runpath=t + "/h", go="by_h")
        check("two threads of two libraries", "load", t + "/by_a.so", "n", "load", by_h, "n", "race", "0", "go", "1", "by_h",
              want="loaded loaded 2 4")
        check("two threads, the second library comes later", *go(t + "/by_a.so"), "load", by_h, "n", "race", "0", "go", "1", "by_h",
              want="loaded 2 loaded 2 4")
        check("one library through another's pointer", "load", by_h, "n", "go", "0", "by_h", "load", t + "/by_a.so", "n", "go", "1",
              "go", "opens", "1", "x", want="loaded 4 loaded 2 -7777")
        # handles of two copies in one hand
        check("two handles, then calls", "load", a, "n", "load", b, "n", "call", "0", "call", "1", "call", "0",
              want="loaded loaded 2 3 2")
        check("two handles, compiled code", "load", a, "n", "load", b, "n", "jit", "0", "jit", "1", "jit", "0",
              want="loaded loaded 2 3 2")
        check("a handle beside a library", *go(t + "/by_a.so"), "load", b, "n", "call", "1", "go", "0", "go", "call", "1", "jit", "1",
              want="loaded 2 loaded 3 2 3 3")
        check("a handle, then a library", "load", b, "n", "call", "0", "load", t + "/by_a.so", "n", "go", "1", "go", "call", "0", "jit",
              "0", want="loaded 3 loaded 3 3 3")


def main(platform, shim, compiler, folder=None):
    with tempfile.TemporaryDirectory() as own:
        x = Layouts(platform, os.path.abspath(shim), compiler, os.path.abspath(folder or own))
        x.one_copy()
        x.absent()
        x.functions()
        x.strange()
        if platform != "cuda":   # a process has one driver
            x.two_copies()
    print("\n".join(x.bad))
    print(f"{x.ran} layouts")
    return 1 if x.bad or x.ran < (70 if platform == "cuda" else 95) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
