#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Priority by request for a server that knows nothing of it: an HTTP proxy that starts the server under `xsched run` and
keeps its priority at the highest of the requests that it is working on.

    xsched_proxy.py --listen 8080 --to 127.0.0.1:8081 -- llama-server --port 8081 -m model.gguf

A request says how urgent it is in the header X-Priority (-255 to 255; larger is more urgent). When none is in flight the
priority is that of --idle. All processes that the server starts get the same priority. Answers are streamed through as
they come; each connection carries one request.
"""
import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys

try:
    import xsched
except ImportError:  # in the source tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "python"))
    import xsched
from xsched.__main__ import tool
from xsched._server import _outside, ask, hint_started_by

HEAD_MAX = 65536
HEAD_S, CONNECT_S, WRITE_S = 10, 10, 60


class Priority:
    """The highest of what is in flight, told to xserver when it changes."""

    def __init__(self, pid, idle, quiet):
        self.pid, self.idle, self.quiet = pid, idle, quiet
        self.inflight, self.told, self.changed = [], None, asyncio.Event()
        self.looked = quiet

    def wanted(self):
        return max(self.inflight, default=self.idle)

    def enter(self, value):
        self.inflight.append(value)
        self.changed.set()

    def leave(self, value):
        self.inflight.remove(value)
        self.changed.set()

    async def run(self):
        loop = asyncio.get_running_loop()
        while True:
            try:  # from time to time also without a change: the server may have started another process
                await asyncio.wait_for(self.changed.wait(), 1)
            except asyncio.TimeoutError:
                self.told = None
            self.changed.clear()
            value = self.wanted()
            if value != self.told:
                try:
                    if await loop.run_in_executor(None, self.tell, value):
                        self.told = value
                except xsched.XSchedError as error:
                    if not self.quiet:
                        print(f"xsched_proxy: {error}", file=sys.stderr, flush=True)

    def tell(self, value):
        told = bool(hint_started_by(self.pid, 1, priority=value))
        if not told and not self.looked:
            self.looked = True
            if _outside(ask("GET", "/status")[0]):
                print("xsched_proxy: xserver is outside of this container and knows its processes by other numbers: their "
                      "priority stays as it is; run the container in the host's PID namespace", file=sys.stderr, flush=True)
        return told


def parse(head):
    """The priority that the request asks for, the head as it is passed on, and the length of its body; -1: chunked."""
    lines = head.split(b"\r\n")
    value, out, lengths, chunked = None, [lines[0]], [], False
    for line in lines[1:]:
        name, _, rest = line.partition(b":")
        key = name.strip().lower()
        if key == b"x-priority":
            try:
                value = max(xsched.PRIORITY_MIN, min(xsched.PRIORITY_MAX, int(rest)))
            except ValueError:
                raise ValueError("X-Priority is no integer") from None
        elif key not in (b"connection", b"keep-alive"):
            out.append(line)
        if key == b"content-length":
            lengths.append(rest.strip())
        chunked |= key == b"transfer-encoding"
    if len(lengths) > 1 or (lengths and (chunked or not re.fullmatch(rb"[0-9]{1,18}", lengths[0]))):
        raise ValueError("a body is either chunked or has one Content-Length")
    end = out.index(b"")
    return value, b"\r\n".join(out[:end] + [b"Connection: close"] + out[end:]), -1 if chunked else int(lengths[0]) if lengths else 0


async def write(writer, data):
    """A peer that does not read for so long is given up."""
    writer.write(data)
    await asyncio.wait_for(writer.drain(), WRITE_S)


def end(writer):
    try:
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        pass


async def send_body(reader, writer, length):
    """Returns when the whole body is passed on. The last chunk is looked for at the end of what came: where it is seen too
    early, the deadline of the body alone ends early."""
    tail = b""
    while length:
        data = await reader.read(65536 if length < 0 else min(65536, length))
        if not data:
            raise ConnectionError("the client left in the middle of its request")
        await write(writer, data)
        tail = (tail + data)[-5:]
        length = 0 if length < 0 and tail == b"0\r\n\r\n" else length - len(data) if length > 0 else length


async def pass_end(reader, writer):
    """Tells the server when the client is done, or gone, so that it can stop working for it."""
    while await reader.read(65536):
        pass
    end(writer)


async def pass_answer(reader, writer, answer_s, began):
    while True:
        data = await asyncio.wait_for(reader.read(65536), answer_s)
        if not data:
            break
        began.set()
        await write(writer, data)
    end(writer)


async def refuse(writer, status, text):
    body = (text + "\n").encode()
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    try:
        await asyncio.wait_for(writer.drain(), WRITE_S)
    except (OSError, asyncio.TimeoutError):
        pass
    writer.close()


async def exchange(options, reader, writer, back, length):
    """One request and its answer. The request's priority lasts as long as this."""
    back_reader, back_writer = back
    began = asyncio.Event()
    body = asyncio.ensure_future(send_body(reader, back_writer, length))
    answer = asyncio.ensure_future(pass_answer(back_reader, writer, options.answer_timeout, began))
    after = None
    try:
        await asyncio.wait({body, answer}, timeout=options.body_timeout, return_when=asyncio.FIRST_COMPLETED)
        if body.done() and not answer.done():
            body.result()
            after = asyncio.ensure_future(pass_end(reader, back_writer))
        elif not answer.done() and not began.is_set():
            return await refuse(writer, "408 Request Timeout", f"the body did not come within {options.body_timeout:g} s")
        await answer
    except asyncio.TimeoutError:
        if not began.is_set():
            await refuse(writer, "504 Gateway Timeout", "the server does not answer")
    except OSError:
        pass
    finally:
        for task in (body, answer, after):
            if task:
                task.cancel()
        await asyncio.gather(*(t for t in (body, answer, after) if t), return_exceptions=True)


async def serve(options, priority, reader, writer):
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_S)
        value, head, length = parse(head)
    except ValueError as error:
        return await refuse(writer, "400 Bad Request", str(error))
    except asyncio.TimeoutError:
        return await refuse(writer, "408 Request Timeout", f"the header did not come within {HEAD_S} s")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        return writer.close()
    value = options.default if value is None else value
    priority.enter(value)
    try:
        try:
            back = await asyncio.wait_for(asyncio.open_connection(*options.to), CONNECT_S)
        except (OSError, asyncio.TimeoutError) as error:
            return await refuse(writer, "502 Bad Gateway", f"the server does not answer: {error}")
        try:
            back[1].write(head)
            await exchange(options, reader, writer, back, length)
        finally:
            back[1].close()
    finally:
        priority.leave(value)
        writer.close()


async def main_loop(options, process):
    priority = Priority(process.pid, options.idle, options.quiet)
    teller = asyncio.ensure_future(priority.run())
    server = await asyncio.start_server(lambda r, w: serve(options, priority, r, w), options.address, options.listen,
                                        limit=HEAD_MAX)
    print(f"xsched_proxy: {options.address}:{server.sockets[0].getsockname()[1]} -> {':'.join(map(str, options.to))}", flush=True)
    stop = asyncio.Event()
    for signo in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signo, stop.set)
    waiter = asyncio.ensure_future(stop.wait())
    while process.poll() is None and not stop.is_set():
        await asyncio.wait([waiter], timeout=0.2)
    teller.cancel()
    server.close()


def number(low, high):
    def read(text):
        if not re.fullmatch(r"[+-]?\d+", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low} to {high}")
        return int(text)
    return read


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def place(text):
    """HOST:PORT, and [HOST]:PORT for an address with colons in it."""
    parts = re.fullmatch(r"(?:\[([^][]+)\]|([^][:]+)):(\d+)", text)
    if not parts or not 1 <= int(parts[3]) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return parts[1] or parts[2], int(parts[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=number(0, 65535), required=True, help="port; 0 takes a free one and says which")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--to", type=place, required=True, help="HOST:PORT of the server")
    priority = number(xsched.PRIORITY_MIN, xsched.PRIORITY_MAX)
    parser.add_argument("--default", type=priority, default=0, help="priority of requests that do not say (default 0)")
    parser.add_argument("--idle", type=priority, default=0, help="priority while no request is in flight (default 0)")
    parser.add_argument("--body-timeout", type=seconds, default=60,
                        help="seconds in which the body of a request must come; then its priority ends (default 60)")
    parser.add_argument("--answer-timeout", type=seconds, default=600,
                        help="seconds without a byte of the answer, after which it is given up (default 600)")
    parser.add_argument("--quiet", action="store_true", help="say nothing about xserver")
    parser.add_argument("command", nargs="+", help="the server")
    options = parser.parse_args()
    command = [tool(), "run", "--priority", str(options.idle), "--"] + options.command
    process = subprocess.Popen(command)
    try:
        asyncio.run(main_loop(options, process))
    finally:
        if process.poll() is None:
            process.terminate()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
