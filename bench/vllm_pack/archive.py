# SPDX-License-Identifier: Apache-2.0
"""The archive of bench/pack_vllm: from wheels to DIR/vllm.tar.xz, and from there to a folder for PYTHONPATH."""
import compileall
import glob
import hashlib
import io
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile

import fatbin

NAME, SUMS = "vllm.tar.xz", "SHA256SUMS"
UNPACKED = ".unpacked"  # in the folder: the hash of the archive that it came from
CAPABILITY = 90  # the wheel's FlashAttention 3 is for compute capability 9.0 alone (H100, H200)
PRUNED = ("vllm/_C.abi3.so", "vllm/_C_stable_libtorch.abi3.so", "vllm/_moe_C.abi3.so")
# What vLLM does without: attention kernels beside FlashAttention 3, and kernels that would be compiled on the GPU machine.
LEFT_OUT = ("vllm/vllm_flash_attn/_vllm_fa2_C.", "vllm/_flashmla_", "vllm/third_party/deep_gemm/")
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


class Refused(Exception):
    """An error whose text is for the user."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for piece in iter(lambda: f.read(1 << 20), b""):
            h.update(piece)
    return h.hexdigest()


def of_wheel(path):
    """(name, read) of each file of a wheel that goes into the archive; read() gives its bytes."""
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if not name.endswith(("/", ".dist-info/RECORD")) and not name.startswith(LEFT_OUT):
                yield name, lambda name=name: wheel.read(name)


def of_folder(path):
    for name in os.listdir(path):
        if name.endswith(".py"):
            with open(os.path.join(path, name), "rb") as f:
                text = f.read()
            yield name, lambda text=text: text


def pruned(name, data):
    data = bytearray(data)
    try:
        kept = fatbin.keep(data, CAPABILITY)
    except fatbin.Malformed as e:
        raise Refused(f"{name}: {e}") from None
    say(f"{name}: keeps {kept.after / 1e6:.1f} of {kept.before / 1e6:.1f} MB of device code")
    return bytes(data)


def make(packages, fallback, to):
    """Packs the wheels of the folder packages, those of fallback behind them, and SITE, into the folder to."""
    wheels = [(w, "") for w in sorted(glob.glob(packages + "/*.whl"))] + \
        [(w, "fallback/") for w in sorted(glob.glob(fallback + "/*.whl"))]
    os.makedirs(to, exist_ok=True)
    new = os.path.join(to, NAME + ".new")
    missing = set(PRUNED)
    try:
        # the filter for x86 code makes it 4 % smaller
        with lzma.open(new, "wb", filters=[{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9}]) as packed, \
                tarfile.open(fileobj=packed, mode="w") as tar:
            for number, (source, prefix) in enumerate([*wheels, (SITE, "")], 1):
                say(f"{number} of {len(wheels) + 1}: pack {os.path.basename(source)}")
                for name, read in of_folder(source) if source == SITE else of_wheel(source):
                    data = read()
                    if name in PRUNED:
                        data = pruned(name, data)
                        missing.discard(name)
                    entry = tarfile.TarInfo(prefix + name)
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
        if missing:
            raise Refused(f"the wheels lack {', '.join(sorted(missing))}: another version of vLLM?")
        os.replace(new, os.path.join(to, NAME))
    finally:
        if os.path.exists(new):
            os.unlink(new)
    with open(os.path.join(to, SUMS), "w", encoding="ascii") as f:
        f.write(f"{digest(os.path.join(to, NAME))}  {NAME}\n")
    say(f"{os.path.join(to, NAME)}: {os.path.getsize(os.path.join(to, NAME)) / 1e6:.1f} MB")


def checked(folder):
    """The hash of the folder's archive, which is the one in SHA256SUMS."""
    try:
        with open(os.path.join(folder, SUMS), encoding="ascii") as f:
            said = {name: value for value, name in (line.split() for line in f)}[NAME]
        found = digest(os.path.join(folder, NAME))
    except FileNotFoundError as e:
        raise Refused(f"{e.filename} is missing: pack_vllm {folder}, where pip can fetch packages, makes it") from None
    except (ValueError, KeyError):
        raise Refused(f"{os.path.join(folder, SUMS)} has no hash of {NAME}") from None
    if found != said:
        raise Refused(f"{os.path.join(folder, NAME)} is damaged: its hash is not the one in {SUMS}")
    return found


def unpack(folder, to):
    """Makes the folder to, for PYTHONPATH, from the archive in folder, unless it is there already."""
    hashed = checked(folder)
    mark = os.path.join(to, UNPACKED)
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as f:
            if f.read() == hashed:
                say(f"{to} is there already")
                return
    elif os.path.exists(to) and (not os.path.isdir(to) or os.listdir(to)):
        raise Refused(f"{to} has other files: name a new folder")
    above = os.path.dirname(os.path.abspath(to))
    os.makedirs(above, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above, prefix=".vllm.") as work:
        new = os.path.join(work, "new")
        say(f"unpack {os.path.join(folder, NAME)} to {to}")
        with tarfile.open(os.path.join(folder, NAME), "r:xz") as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12's Python has none yet
            tar.extractall(new)
        say("compile its Python files")
        compileall.compile_dir(new, quiet=2, workers=0)
        with open(os.path.join(new, UNPACKED), "w", encoding="ascii") as f:
            f.write(hashed)
        if os.path.exists(to):
            shutil.rmtree(to)
        os.rename(new, to)
