# SPDX-License-Identifier: Apache-2.0
"""Keep the device code for one compute capability in a shared object, so that the object packs small.

nvcc puts device code into the section .nv_fatbin: a row of containers, one for each source file, each with images (machine
code for one device, or PTX). Host code refers to a container by its address. So every container stays where it is, its header
says its new size, and zeros take the place of the images that go."""
import struct
from collections import namedtuple

CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all images
MAGIC = 0xBA55ED50
IMAGE = struct.Struct("<HHIQ12xI")  # kind, version, bytes of this header, bytes of the code; at 28: compute capability * 10
MACHINE_CODE = 2
# A container without the wanted code and smaller than this stays whole: it may have PTX, which runs on any newer device.
SMALL = 100000

Image = namedtuple("Image", "machine_code arch raw")
Kept = namedtuple("Kept", "before after")  # bytes of device code


class Malformed(Exception):
    pass


def section(data, wanted):
    """(offset, bytes) of a section of a 64-bit little-endian ELF file, None if it has none of that name."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Malformed("no 64-bit ELF file")
    try:
        table, = struct.unpack_from("<Q", data, 0x28)
        entry_bytes, count, names = struct.unpack_from("<HHH", data, 0x3A)
        entries = [struct.unpack_from("<I20xQQ", data, table + i * entry_bytes) for i in range(count)]
        for name, offset, size in entries:
            at = entries[names][1] + name
            if bytes(data[at:at + len(wanted) + 1]) == wanted + b"\0":
                return offset, size
    except (struct.error, IndexError) as e:
        raise Malformed(f"a broken table of sections: {e}") from None
    return None


def containers(data, at, end):
    """(offset of the header, offset of the images, end of the images) of each container from at to end."""
    while at + CONTAINER.size <= end:
        magic, _, header, size = CONTAINER.unpack_from(data, at)
        if magic == 0 and at % 8 == 0:  # containers start at multiples of 8
            at += 8
            continue
        if magic != MAGIC or header < CONTAINER.size or at + header + size > end:
            raise Malformed(f"no container of device code at {at:#x}")
        yield at, at + header, at + header + size
        at += header + size
        at += -at % 8


def images(data, at, end):
    while at < end:
        if at + IMAGE.size > end:
            raise Malformed(f"no image of device code at {at:#x}")
        kind, _, header, size, arch = IMAGE.unpack_from(data, at)
        if header < IMAGE.size or at + header + size > end:
            raise Malformed(f"no image of device code at {at:#x}")
        yield Image(kind == MACHINE_CODE, arch, bytes(data[at:at + header + size]))
        at += header + size


def smaller(inside, whole, arch, other):
    """The images that stay of a container: whole is all of it, other an image for another device or None."""
    wanted = b"".join(i.raw for i in inside if i.machine_code and i.arch == arch)
    if wanted:
        return wanted
    return whole if other is None or len(whole) < max(SMALL, len(other)) else other


def keep(data, arch):
    """Changes data, the bytearray of a shared object: of its machine code, what is for arch (90: compute capability 9.0) stays.

    A container without any, if it is not SMALL, gets the smallest image for another device. The runtime then says that it has
    no kernel image for this device, as it did before for one with neither."""
    found = section(data, b".nv_fatbin")
    if not found:
        raise Malformed("no section .nv_fatbin")
    start, size = found
    every = [(at, first, end, list(images(data, first, end))) for at, first, end in containers(data, start, start + size)]
    code = [i for *_, inside in every for i in inside if i.machine_code]
    if not any(i.arch == arch for i in code):
        raise Malformed(f"no device code for compute capability {arch / 10}")
    other = min((i.raw for i in code if i.arch != arch), key=len, default=None)
    before = after = 0
    for at, first, end, inside in every:
        body = smaller(inside, bytes(data[first:end]), arch, other)
        CONTAINER.pack_into(data, at, *CONTAINER.unpack_from(data, at)[:3], len(body))
        data[first:end] = body.ljust(end - first, b"\0")
        before, after = before + end - first, after + len(body)
    return Kept(before, after)
