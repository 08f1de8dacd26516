#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's hooks of dlsym, dlopen and ioctl before, behind and on both sides of the shims, and in the program itself:
hooks.py BUILD FOLDER_OF_THE_CUDA_FAKE FOLDER_OF_THE_HIP_FAKE

The program works as it does natively, and is scheduled."""
import os
import sys

from outside import HERE, WAYS, Outside

SCHEDULED = "scheduled 6\n"


def main(build, cuda, hip):
    o = Outside(build, [cuda, hip])
    source = {name: os.path.join(HERE, name + ".c") for name in ("hook_lookup", "hook_driver")}
    ours = ":".join(o.shim(platform) for platform in ("cuda", "hip", "opencl"))
    programs = {}
    for platform, flags, library, names in (("cuda", [], os.path.join(cuda, "fakecuda.so"), ("libcuda.so.1", "libcuda.so")),
                                            ("hip", ["-DHIP"], os.path.join(hip, "libamdhip64.so.6"), ("libamdhip64.so.6",))):
        linked = o.compile(platform + "_linked", "gcc", *flags, os.path.join(WAYS, "linked.c"), library)
        opens = o.compile(platform + "_opens", "gcc", *flags, os.path.join(WAYS, "program.c"))
        programs[platform] = [[linked]] + [[opens, "open", name] for name in names]
        static = o.compile(platform + "_static", "gcc", *flags, "-DHOOK_ALL", "-rdynamic", os.path.join(WAYS, "program.c"),
                           source["hook_lookup"])
        programs[platform] += [[static, way, names[0]] for way in ("open", "global", "default")]
    hooks = [o.compile(f"hook{i}.so", "gcc", "-shared", "-fPIC", *flags, source["hook_lookup"])
             for i, flags in enumerate(([], ["-DHOOK_ALL"], ["-DHOOK_ALL", "-Wl,-z,now"], ["-DHOOK_ALL", "-Wl,-Bsymbolic"]))]
    second = o.compile("second.so", "gcc", "-shared", "-fPIC", "-DHOOK_ALL", source["hook_lookup"])
    policy = {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}
    for platform, runs in programs.items():
        for hook in hooks:
            for args in runs:
                name = f"{platform} {' '.join(args[1:]) or 'linked'}, {os.path.basename(hook)}"
                native = o.run(args, 20, LD_PRELOAD=hook)
                if native[0]:                   # the two do not go together without us either
                    continue
                places = {"before": f"{hook}:{ours}", "behind": f"{ours}:{hook}", "both": f"{hook}:{ours}:{second}",
                          "between": f"{o.shim('hip')}:{hook}:{o.shim('cuda')}"}
                for place, preload in places.items():
                    o.same(f"{name} {place}", native, o.run(args, 20, LD_PRELOAD=preload, **policy), SCHEDULED)
                o.same(f"{name}, switched off", native, o.run(args, 20, LD_PRELOAD=places["before"], XSCHED_DISABLE="1"),
                       "scheduled 0\n")
        o.same(f"{platform}, xsched run", o.run(runs[0]), o.launched(runs[0], LD_PRELOAD=hooks[1]), SCHEDULED)
    # another shim of the driver: before ours it sees what the program launches, and calls us; no circle in any order
    driver = o.compile("driver.so", "gcc", "-shared", "-fPIC", source["hook_driver"])
    for args in programs["cuda"][:2]:
        name = f"shim of the driver, {' '.join(args[1:]) or 'linked'}"
        native = o.run(args, 20, LD_PRELOAD=driver)
        seen = native[1].replace("no XSched\n", "")
        o.same(f"{name} before", native, o.run(args, 20, LD_PRELOAD=f"{driver}:{ours}", **policy), seen + SCHEDULED)
        behind = o.run(args, 20, LD_PRELOAD=f"{ours}:{driver}", **policy)
        o.same(f"{name} behind", native, behind, behind[1] if behind[1].endswith(SCHEDULED) else SCHEDULED)
    return o.end(100)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
