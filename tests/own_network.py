# SPDX-License-Identifier: Apache-2.0
"""A network namespace of a test's own. The kernel lists the listening sockets of one; so doctor sees the test's servers there, and
not those of tests beside it, whose programs are on the same fake devices."""
import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def unshare(flags):
    return ctypes.CDLL(None, use_errno=True).unshare(ctypes.c_int(flags)) == 0


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(s, SIOCGIFFLAGS, request)
        flags, = struct.unpack_from("h", request, 16)
        struct.pack_into("h", request, 16, flags | IFF_UP)
        fcntl.ioctl(s, SIOCSIFFLAGS, request)


def enter():
    """Before any thread. @return whether it could; a user without the right keeps the network that it has"""
    uid, gid = os.getuid(), os.getgid()
    try:
        if not unshare(CLONE_NEWNET):
            if not unshare(CLONE_NEWUSER | CLONE_NEWNET):
                return False
            write("/proc/self/setgroups", "deny")
            write("/proc/self/uid_map", f"{uid} {uid} 1")
            write("/proc/self/gid_map", f"{gid} {gid} 1")
        loopback_up()
    except OSError:
        return False
    return True
