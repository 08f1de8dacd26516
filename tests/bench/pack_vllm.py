#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/pack_vllm without network: pack_vllm.py ROOT

A pip of our own gives it small wheels with shared objects of made-up device code. The archive has the right files and the device
code for one compute capability. It unpacks to the same files. Each error says what is wrong, and leaves no half result."""
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = sys.argv[1]
PACK_VLLM = os.path.join(ROOT, "bench", "pack_vllm")
PARTS = os.path.join(ROOT, "bench", "vllm_pack")
sys.dont_write_bytecode = True
sys.path[:0] = [PARTS, os.path.join(PARTS, "site")]
import archive  # noqa: E402
import fatbin  # noqa: E402

# python -m pip: copies the wheels of WHEELS/packages for packages.txt, and so on; PIP_FAILS is its status
PIP = """import os, shutil, sys
args = sys.argv[1:]
for needed in ("--no-deps", "--only-binary=:all:", "--require-hashes"):
    if needed not in args:
        sys.exit(needed + " is missing")
if args[0] != "download" or args[args.index("--python-version") + 1] != "3.12":
    sys.exit("not for Python 3.12")
if os.environ.get("PIP_FAILS"):
    sys.exit(int(os.environ["PIP_FAILS"]))
which = os.path.splitext(os.path.basename(args[args.index("-r") + 1]))[0]
shutil.copytree(os.path.join(os.environ["WHEELS"], which), args[args.index("-d") + 1])
"""


def need(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def image(kind, arch, size):
    """Its code is its arch, again and again."""
    return struct.pack("<HHIQIIHHI", kind, 1, 64, size, 0, 0, 0, 0, arch).ljust(64, b"\1") + bytes([arch]) * size


def container(*images):
    body = b"".join(images)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def shared_object(*containers):
    """An ELF file with nothing but .nv_fatbin and the names of sections; zeros between containers, each at a multiple of 8."""
    code = b"".join(c + bytes(-len(c) % 8) + bytes(8) for c in containers)
    names = b"\0.nv_fatbin\0.names\0"
    table = 64 + len(code) + len(names)
    head = struct.pack("<4s12B", b"\x7fELF", 2, 1, *[0] * 10) + bytes(24) + struct.pack("<Q", table) + bytes(10) \
        + struct.pack("<HHH", 64, 3, 2)

    def section(name, offset, size):
        return struct.pack("<IIQQQQ", name, 1, 0, 0, offset, size).ljust(64, b"\0")
    return head + code + names + section(0, 0, 0) + section(1, 64, len(code)) + section(12, 64 + len(code), len(names))


PTX, CODE = 1, 2
HOPPER, SMALLEST = image(CODE, 90, 5000), image(CODE, 75, 40)
ODD = container(image(PTX, 80, 61))                                                # small and for no device of its own: stays
BOTH = container(image(CODE, 80, 300000), HOPPER, image(PTX, 90, 70), HOPPER)      # what is for 9.0 stays
OTHERS = container(image(CODE, 100, 200000), image(PTX, 120, 9))                   # large, for others: an image for others alone
OBJECT = shared_object(ODD, BOTH, container(), OTHERS, container(SMALLEST))
WANTED = [[ODD[16:]], [HOPPER, HOPPER], [], [SMALLEST], [SMALLEST]]


def bodies(data):
    """The images of each container of a shared object; what follows them, to the next container, must be zeros."""
    at, size = fatbin.section(data, b".nv_fatbin")
    found = list(fatbin.containers(data, at, at + size))
    for (_, _, end), (next_at, _, _) in zip(found, found[1:] + [(at + size, 0, 0)]):
        need(not any(data[end:next_at]), "freed bytes are zeros")
    return [[i.raw for i in fatbin.images(data, first, end)] for _, first, end in found]


def refused(call, *args):
    """What it says to the user."""
    try:
        call(*args)
    except (archive.Refused, fatbin.Malformed) as e:
        return str(e)
    sys.exit(f"failed: {call.__name__}{args!r:.200} was not refused")


def wheel(path, files):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w") as z:
        for name, data in files.items():
            z.writestr(name, data)


def device_code():
    data = bytearray(OBJECT)
    kept = fatbin.keep(data, 90)
    need(len(data) == len(OBJECT), "the size of the object stays")
    need(bodies(data) == WANTED, "which images stay")
    need(kept.after == sum(len(b) for c in WANTED for b in c) < kept.before, f"the sizes that are told: {kept}")
    before, after = bytearray(OBJECT), bytearray(data)
    fatbin.keep(after, 90)
    need(after == data, "a second time changes nothing")
    need("9.0" in refused(fatbin.keep, bytearray(shared_object(ODD, OTHERS)), 90), "no code for the device is an error")
    need(".nv_fatbin" in refused(fatbin.keep, bytearray(OBJECT.replace(b".nv_fatbin", b".nv_fatbon")), 90), "no device code")
    refused(fatbin.keep, bytearray(b"no ELF file" * 20), 90)
    start, size = fatbin.section(before, b".nv_fatbin")
    for at, wrong, text in ((start, "no container", "another magic"), (start + 8 + 2, "no container", "a container beyond its section"),
                            (start + 16 + 8 + 2, "no image", "an image beyond its container")):
        broken = bytearray(OBJECT)
        broken[at] ^= 0x40
        need(wrong in refused(fatbin.keep, broken, 90), text)
        need(len(broken) == len(OBJECT), text)


def wheels(folder):
    other = {"vllm/__init__.py": b"version = 'made up'\n", "vllm-0.20.2.dist-info/METADATA": b"Name: vllm\n",
             "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so": b"whole"}
    out = {"vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so": b"", "vllm/_flashmla_C.abi3.so": b"", "vllm/third_party/deep_gemm/a.py": b"",
           "vllm-0.20.2.dist-info/RECORD": b""}
    wheel(folder + "/packages/vllm-0.20.2-cp38-abi3-manylinux_2_35_x86_64.whl",
          {**other, **out, **{name: OBJECT for name in archive.PRUNED}})
    wheel(folder + "/fallback/einops-1-py3-none-any.whl", {"einops.py": b"own = True\n"})
    return {**other, "fallback/einops.py": b"own = True\n"}, out


def main():
    device_code()
    with tempfile.TemporaryDirectory() as work:
        given, out = wheels(work + "/wheels")
        os.makedirs(work + "/modules/pip")
        for name, text in (("__init__.py", ""), ("__main__.py", PIP)):
            with open(os.path.join(work, "modules", "pip", name), "w", encoding="utf-8") as f:
                f.write(text)
        os.mkdir(work + "/modules/torch-2.10.0.dist-info")
        with open(work + "/modules/torch-2.10.0.dist-info/METADATA", "w", encoding="utf-8") as f:
            f.write("Metadata-Version: 2.1\nName: torch\nVersion: 2.10.0\n")

        def pack_vllm(*args, **env):
            # should the real pip run, it fetches nothing
            env = {**os.environ, "PYTHONPATH": work + "/modules", "WHEELS": work + "/wheels", "PIP_NO_INDEX": "1",
                   "PIP_CONFIG_FILE": os.devnull, **env}
            return subprocess.run([sys.executable, "-B", PACK_VLLM, *args], env=env, stderr=subprocess.PIPE, text=True, timeout=60,
                                  check=False)
        to, site = work + "/to", work + "/deep/site"
        done = pack_vllm(to, PIP_FAILS="3")
        need(done.returncode == 1 and "packages.txt (status 3)" in done.stderr and not os.path.exists(to), f"pip fails: {done}")
        need(pack_vllm().returncode == 2 and "DIR TO" in pack_vllm("-h").stderr, "usage")
        need("pack_vllm" in refused(archive.unpack, to, site), "no archive yet")

        done = pack_vllm(to)
        need(done.returncode == 0, f"packs: {done}")
        need(sorted(os.listdir(to)) == ["SHA256SUMS", "vllm.tar.xz"], "what it makes")
        need(subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=to, check=False).returncode == 0, "the hash")
        archive.unpack(to, site)
        for name, data in given.items():
            with open(os.path.join(site, name), "rb") as f:
                need(f.read() == data, f"{name} as in its wheel")
        for name in out:
            need(not os.path.exists(os.path.join(site, name)), f"{name} stays out")
        for name in archive.PRUNED:
            with open(os.path.join(site, name), "rb") as f:
                need(bodies(f.read()) == WANTED, f"{name} with less device code")

        # the folder works: its stand-ins, and its fallback behind other modules
        there = subprocess.run([sys.executable, "-c", "import xgrammar, einops, vllm, sys\nclass A(xgrammar.Grammar): pass\n"
                                "class B(xgrammar.Grammar[int]): pass\nprint(einops.own, vllm.version, sys.path[-1])\nA()"],
                               env={**os.environ, "PYTHONPATH": site}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               timeout=60, check=False)
        need(there.stdout == f"True made up {site}/fallback\n" and "xgrammar.Grammar: this archive" in there.stderr,
             f"the folder: {there}")

        # again: nothing; of another archive: a new folder; other people's folder: untouched
        open(site + "/left", "w", encoding="ascii").close()
        archive.unpack(to, site)
        need(os.path.exists(site + "/left"), "the same archive is not unpacked again")
        wheel(work + "/wheels/packages/more-1-py3-none-any.whl", {"more.py": b""})
        need(pack_vllm(to).returncode == 0, "packs again")
        archive.unpack(to, site)
        need(os.path.exists(site + "/more.py") and not os.path.exists(site + "/left"), "another archive takes the folder's place")
        os.unlink(site + "/.unpacked")
        need("other files" in refused(archive.unpack, to, site) and os.path.exists(site + "/more.py"), "a folder with other files")
        need(os.listdir(os.path.dirname(site)) == ["site"], "no folder of its work is left")

        with open(to + "/vllm.tar.xz", "r+b") as f:
            f.seek(40)
            f.write(b"damage")
        need("damaged" in refused(archive.unpack, to, work + "/new") and not os.path.exists(work + "/new"), "a damaged archive")
        with open(to + "/SHA256SUMS", "w", encoding="ascii") as f:
            f.write("x\n")
        need("no hash" in refused(archive.unpack, to, work + "/new"), "sums without one")

        # another vLLM: nothing half made takes the place of what was there
        wheel(work + "/wheels/packages/vllm-0.20.2-cp38-abi3-manylinux_2_35_x86_64.whl", {archive.PRUNED[0]: OBJECT})
        done = pack_vllm(work + "/other")
        need(done.returncode == 1 and archive.PRUNED[1] in done.stderr and os.listdir(work + "/other") == [], f"lacks a file: {done}")

        done = pack_vllm(to, work + "/new")
        need(done.returncode == 1 and "the archive is for" in done.stderr, f"another Python or torch: {done}")
    source = {"__name__": "pack_vllm", "__file__": PACK_VLLM}
    with open(PACK_VLLM, encoding="utf-8") as f:
        exec(compile(f.read(), PACK_VLLM, "exec"), source)      # it has no .py to be imported by
    unfit = source["unfit"]
    need(unfit((3, 12, 3), "2.11.0+cu130") is None and unfit((3, 12, 0), "2.11.0") is None, "what fits")
    need("3.13" in unfit((3, 13, 0), "2.11.0") and "no torch" in unfit((3, 12, 3), None) and "2.11.1" in unfit((3, 12, 3), "2.11.1"),
         "what does not")
    for name in ("packages.txt", "fallback.txt"):
        with open(os.path.join(PARTS, name), encoding="utf-8") as f:
            lines = [line for line in f if not line.startswith("#")]
        need(lines and all(re.fullmatch(r"[\w.]+==[\w.]+ --hash=sha256:[0-9a-f]{64}\n", line) for line in lines),
             f"{name}: versions and hashes")
    print("bench/pack_vllm: device code, archive, folder, errors")


if __name__ == "__main__":
    main()
