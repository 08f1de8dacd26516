#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each way in which a program may get at the HIP runtime is scheduled, or is named in the log and in the trace, and gives the
copy that the program meant: ways.py FOLDER_OF_THE_PROGRAMS SHIM FOLDER_OF_THE_FAKE FOLDER_OF_A_WHEEL'S_COPY"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cuda/ways"))
from ways import Ways  # noqa: E402  pylint: disable=wrong-import-position


def main(programs, shim, fake, wheel):
    w = Ways(programs, shim, fake)
    # as in a program that has opened something with RTLD_DEEPBIND
    names = " ".join([os.path.join(os.path.dirname(shim), "names", f"libxsched-amdhip64.so{n}") for n in ("", ".5", ".6", ".7")] + [shim])
    real, theirs = os.path.join(fake, "libamdhip64.so.6"), os.path.join(wheel, "libamdhip64.so")
    plugin, opener = (os.path.join(programs, f"libways_{n}.so") for n in ("plugin", "opener"))
    for title, ours in (("", shim), (", all names", names)):
        pre = {"LD_PRELOAD": ours}
        for way in ("open", "global", "deep", "default"):
            w.check(way + title, ["ways_program", way, "libamdhip64.so.6"], **pre)
            w.check(way + " path" + title, ["ways_program", way, real], **pre)
            w.check(way + " a wheel's path" + title, ["ways_program", way, theirs], **pre)
        w.check("loaded" + title, ["ways_program", "loaded", real], **pre)
        w.check("relative" + title, ["ways_program", "open", "./libamdhip64.so.6"], cwd=fake, **pre)
        w.check("plugin" + title, ["ways_program", "plugin", plugin], **pre)
        w.check("plugin, deep" + title, ["ways_program", "plugin_deep", plugin], **pre)
        w.check("deep plugin opens" + title, ["ways_program", "opens_deep", opener, "libamdhip64.so.6"], **pre)
        w.check("plugin opens path" + title, ["ways_program", "opens", opener, real], **pre)
        w.check("plugin opens name" + title, ["ways_program", "opens", opener, "libamdhip64.so.6"], **pre)
        w.check("linked" + title, ["ways_linked"], **pre)
        # Triton: by the path that is mapped, which something else brought
        w.check("mapped" + title, ["ways_program", "mapped", real], **pre)
        w.check("given" + title, ["ways_program", "given", real], **pre)
        w.check("given, of a wheel" + title, ["ways_program", "given", theirs], **pre)
        # what the table does not know is found in the runtime
        w.check("newer" + title, ["ways_program", "newer", real, "hipNewerThanUs"], **pre)
        w.check("newer, by name" + title, ["ways_program", "newer", "libamdhip64.so.6", "hipNewerThanUs"], **pre)
    gone = w.run(["ways_program", "open", "/nonexistent/libamdhip64.so.6"])
    if gone != w.run(["ways_program", "open", "/nonexistent/libamdhip64.so.6"], LD_PRELOAD=shim) or gone[0] == 0:
        w.bad.append(f"a file that is not there: {gone}")
    # the user names another copy than the one that the program loads
    w.check("another copy is named", ["ways_program", "open", theirs], said="has no effect", traced=f"calls go to {theirs}",
            native=False, XSCHED_HIP_LIB=real)
    w.check("the copy is named", ["ways_program", "open", theirs], native=False, XSCHED_HIP_LIB=theirs)
    w.check("namespace", ["ways_program", "namespace", real], want=["scheduled 0"], said="dlmopen")
    w.check("switched off", ["ways_program", "open", real], want=["scheduled 0"], XSCHED_DISABLE="1")
    with tempfile.TemporaryDirectory() as own:   # what others mean by a name depends on who asks, with us too
        os.mkdir(os.path.join(own, "near"))
        shutil.copy(os.path.join(programs, "ways_program"), own)
        shutil.copy(opener, os.path.join(own, "near", "libways_near.so"))
        for name in ("libways_near.so", "$ORIGIN/near/libways_near.so", "libways_nowhere.so"):
            w.check(name, [os.path.join(own, "ways_program"), "other", name],
                    want=["not found" if "nowhere" in name else "found"])
        # the copy that only the caller's own path leads to
        shutil.copy(theirs, os.path.join(own, "near", "libamdhip64.so.6"))
        near = os.path.join(own, "near", "libamdhip64.so.6")
        w.check("by the caller's path", [os.path.join(own, "ways_program"), "open", "libamdhip64.so.6"],
                traced=f"calls go to {near}", LD_LIBRARY_PATH="/nonexistent:" + os.path.dirname(os.path.dirname(shim)))
    print("\n".join(w.bad))
    print(f"{w.ran} ways")
    return 1 if w.bad or w.ran < 45 else 0


sys.exit(main(*sys.argv[1:]))
