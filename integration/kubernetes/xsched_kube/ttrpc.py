# SPDX-License-Identifier: Apache-2.0
"""ttrpc over the connection that NRI shares between both directions.

A frame of the connection: its number (1: the runtime calls the plugin, 2: the plugin calls the runtime), its length, both
32 bits, the larger byte first. Frames of one number, put together, are ttrpc messages: length, stream, type (1 request,
2 response), flags, then a message of request.proto. A message may be split over frames."""
from __future__ import annotations

import socket
import struct
from typing import Any, Dict, NamedTuple

from .messages import TTRPC, Messages

PLUGIN, RUNTIME = 1, 2
REQUEST, RESPONSE = 1, 2
_FRAME = struct.Struct(">II")
_HEADER = struct.Struct(">IIBB")
_MOST = 16 << 20  # bytes of a message; ttrpc itself sends 4 MiB at most


class Message(NamedTuple):
    """One that came."""

    connection: int
    stream: int
    kind: int
    body: bytes


class Connection:
    """Messages in the order in which they come. One thread."""

    def __init__(self, path: str, timeout_s: float) -> None:
        self.types = Messages("ttrpc", TTRPC)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.parts: Dict[int, bytes] = {}
        try:
            self.socket.settimeout(timeout_s)
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise

    def close(self) -> None:
        """Ends the connection."""
        self.socket.close()

    def wait_for_ever(self) -> None:
        """A runtime without pods says nothing for days."""
        self.socket.settimeout(None)

    def _take(self, size: int) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            part = self.socket.recv(size - len(taken))
            if not part:
                raise EOFError("the runtime closed the connection")
            taken += part
        return bytes(taken)

    def receive(self) -> Message:
        """The next message. @raise EOFError, OSError"""
        while True:
            for number, held in self.parts.items():
                if len(held) < _HEADER.size:
                    continue
                length, stream, kind, _ = _HEADER.unpack_from(held)
                if length > _MOST:
                    raise EOFError(f"a message of {length} bytes")
                end = _HEADER.size + length
                if len(held) >= end:
                    self.parts[number] = held[end:]
                    return Message(number, stream, kind, held[_HEADER.size:end])
            number, length = _FRAME.unpack(self._take(_FRAME.size))
            if length > _MOST:
                raise EOFError(f"a frame of {length} bytes")
            self.parts[number] = self.parts.get(number, b"") + self._take(length)

    def _send(self, connection: int, stream: int, kind: int, message: Any) -> None:
        body = message.SerializeToString()
        whole = _HEADER.pack(len(body), stream, kind, 0) + body
        self.socket.sendall(_FRAME.pack(connection, len(whole)) + whole)

    def call(self, stream: int, service: str, method: str, message: Any) -> None:
        """Calls the runtime; its answer is a message that receive() gives."""
        self._send(RUNTIME, stream, REQUEST,
                   self.types.Request(service=service, method=method, payload=message.SerializeToString()))

    def answer(self, to: Message, message: Any) -> None:
        """Answers a call of the runtime's."""
        self._send(PLUGIN, to.stream, RESPONSE, self.types.Response(payload=message.SerializeToString()))
