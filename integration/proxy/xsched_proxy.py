#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Priority by request for a server that knows nothing of it: an HTTP proxy that starts the server under `xsched run` and
keeps its priority at the highest of the requests that it is working on.

    xsched_proxy.py --listen 8080 --to 127.0.0.1:8081 -- llama-server --port 8081 -m model.gguf

A request says how urgent it is in the header X-Priority (-255 to 255; larger is more urgent). When none is in flight the
priority is that of --idle. All processes that the server starts get the same priority. Answers are streamed through as
they come; connections are kept for further requests on both sides.
"""
from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import warnings
from typing import Any, AsyncIterator, Callable, List, Optional, Set, Tuple

try:
    from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web
    from multidict import CIMultiDict
    from yarl import URL
except ImportError:
    sys.exit("xsched_proxy: aiohttp is missing: `pip install aiohttp`, or the package python3-aiohttp")

try:
    import xsched
except ImportError:  # in the source tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "python"))
    import xsched

CONNECT_S, HEAD_S, IDLE_S, WRITE_S = 10, 10, 30, 60
BACK_IDLE_S = 2   # shorter than servers keep their end, so that a request seldom meets its closing
LOOK_S = 0.25
# of a connection, and of no request
HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
       "transfer-encoding", "upgrade"}


class Priority:
    """The highest of what is in flight, told to xserver when it changes."""

    def __init__(self, pid: int, idle: int) -> None:
        self.pid, self.idle = pid, idle
        self.inflight: List[int] = []
        self.told: Optional[int] = None
        self.changed = asyncio.Event()

    def wanted(self) -> int:
        return max(self.inflight, default=self.idle)

    def enter(self, value: int) -> None:
        self.inflight.append(value)
        self.changed.set()

    def leave(self, value: int) -> None:
        self.inflight.remove(value)
        self.changed.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:  # from time to time also without a change: the server may have started another process
                await asyncio.wait_for(self.changed.wait(), 1)
            except asyncio.TimeoutError:
                self.told = None
            self.changed.clear()
            value = self.wanted()
            if value != self.told and await loop.run_in_executor(None, self.tell, value):
                self.told = value

    def tell(self, value: int) -> bool:
        return bool(xsched.hint(self.pid, priority=value, children=True, strict=False))


class Refused(Exception):
    """A request that is answered here: status and text."""


def text_of(status: int, text: str) -> web.Response:
    response = web.Response(status=status, text=text + "\n")
    response.force_close()  # what is left of the request is not read
    return response


def asked_priority(request: web.BaseRequest, default: int) -> int:
    text = request.headers.get("X-Priority")
    if text is None:
        return default
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", text):
        raise Refused(400, "X-Priority is no integer")
    return max(xsched.PRIORITY_MIN, min(xsched.PRIORITY_MAX, int(text)))


def passed(headers: Any) -> CIMultiDict[str]:
    """The headers without those of the connection, and without ours."""
    out: CIMultiDict[str] = CIMultiDict(headers)
    named = {n.strip().lower() for value in headers.getall("Connection", []) for n in value.split(",")}
    for name in HOP | named | {"x-priority"}:
        out.popall(name, None)
    return out


async def left(request: web.BaseRequest) -> None:
    """Returns when the client is gone, so that the server can stop working for it."""
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(LOOK_S)


class Proxy:
    def __init__(self, options: argparse.Namespace, priority: Priority, session: ClientSession) -> None:
        self.options, self.priority, self.session = options, priority, session
        self.new: Set[Any] = set()  # connections that had no request yet

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.new.discard(request.protocol)
        try:
            value = asked_priority(request, self.options.default)
            self.priority.enter(value)
            try:
                return await self.exchange(request)
            finally:
                self.priority.leave(value)
        except Refused as refused:
            return text_of(*refused.args)

    async def exchange(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request and its answer. The request's priority lasts as long as this."""
        sent, gone = asyncio.Event(), asyncio.ensure_future(left(request))
        try:
            back = await self.answer(request, sent, gone)
            try:
                return await self.pass_answer(request, back, gone)
            finally:
                back.close() if not back.content.at_eof() else back.release()
        finally:
            gone.cancel()

    async def body(self, request: web.BaseRequest, sent: asyncio.Event) -> AsyncIterator[bytes]:
        async for data in request.content.iter_any():
            yield data
        sent.set()

    async def answer(self, request: web.BaseRequest, sent: asyncio.Event, gone: asyncio.Future[None]) -> ClientResponse:
        """The head of the server's answer, once more where a kept connection was just being closed."""
        if not request.body_exists:
            sent.set()
        for again in (not request.body_exists, False):
            try:
                return await self.ask(request, sent, gone)
            except (ClientError, OSError) as error:
                if not again:
                    raise Refused(502, f"the server does not answer: {error}") from None
        raise AssertionError

    async def ask(self, request: web.BaseRequest, sent: asyncio.Event, gone: asyncio.Future[None]) -> ClientResponse:
        host, port = self.options.to
        url = URL(f"http://{f'[{host}]' if ':' in host else host}:{port}{request.raw_path}", encoded=True)
        asking = asyncio.ensure_future(self.session.request(
            request.method, url, headers=passed(request.headers), allow_redirects=False,
            data=self.body(request, sent) if request.body_exists else None))
        came = asyncio.ensure_future(sent.wait())
        try:
            waits: List[asyncio.Future[Any]] = [asking, came, gone]
            await asyncio.wait(waits, timeout=self.options.body_timeout, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done() and not gone.done() and not came.done():
                raise Refused(408, f"the body did not come within {self.options.body_timeout:g} s")
            await asyncio.wait(waits[::2], timeout=self.options.answer_timeout, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise Refused(*((499, "the client left") if gone.done() else (504, "the server does not answer")))
        finally:
            came.cancel()
            asking.cancel()

    async def pass_answer(self, request: web.BaseRequest, back: ClientResponse, gone: asyncio.Future[None]) -> web.StreamResponse:
        response = web.StreamResponse(status=back.status, reason=back.reason, headers=passed(back.headers))
        try:
            await response.prepare(request)
            while not gone.done():
                data = await asyncio.wait_for(back.content.readany(), self.options.answer_timeout)
                if not data:
                    return response
                await asyncio.wait_for(response.write(data), WRITE_S)
        except (ClientError, OSError, asyncio.TimeoutError):
            pass
        if request.transport is not None:
            request.transport.abort()  # the client must see that the answer is not whole
        return response


class Listener(web.Server):
    """Ends connections on which no request comes."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(proxy.serve, keepalive_timeout=IDLE_S, access_log=None)
        self.proxy = proxy

    def __call__(self) -> Any:
        protocol = super().__call__()
        self.proxy.new.add(protocol)
        asyncio.get_running_loop().call_later(HEAD_S, self.end, protocol)
        return protocol

    def end(self, protocol: Any) -> None:
        if protocol not in self.proxy.new:
            return
        self.proxy.new.discard(protocol)
        if protocol.transport is not None:
            protocol.transport.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            protocol.transport.close()


async def main_loop(options: argparse.Namespace, process: subprocess.Popen[bytes]) -> None:
    priority = Priority(process.pid, options.idle)
    teller = asyncio.ensure_future(priority.run())
    connector = TCPConnector(limit=0, keepalive_timeout=BACK_IDLE_S)
    async with ClientSession(connector=connector, auto_decompress=False, cookie_jar=DummyCookieJar(),
                             timeout=ClientTimeout(total=None, sock_connect=CONNECT_S),
                             skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type")) as session:
        runner = web.ServerRunner(Listener(Proxy(options, priority, session)))
        await runner.setup()
        await web.TCPSite(runner, options.address, options.listen, shutdown_timeout=1).start()
        print(f"xsched_proxy: {options.address}:{runner.addresses[0][1]} -> {':'.join(map(str, options.to))}", flush=True)
        stop = asyncio.Event()
        for signo in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signo, stop.set)
        waiter = asyncio.ensure_future(stop.wait())
        while process.poll() is None and not stop.is_set():
            await asyncio.wait([waiter], timeout=0.2)
        teller.cancel()
        await runner.cleanup()


def number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d+", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low} to {high}")
        return int(text)
    return read


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def place(text: str) -> Tuple[str, int]:
    """HOST:PORT, and [HOST]:PORT for an address with colons in it."""
    parts = re.fullmatch(r"(?:\[([^][]+)\]|([^][:]+)):(\d+)", text)
    if not parts or not 1 <= int(parts[3]) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return parts[1] or parts[2], int(parts[3])


def main() -> int:
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
    warnings.simplefilter("ignore" if options.quiet else "default", xsched.XSchedWarning)
    command = [xsched.launcher(), "run", "--priority", str(options.idle), "--"] + options.command
    process = subprocess.Popen(command)
    try:
        asyncio.run(main_loop(options, process))
    finally:
        if process.poll() is None:
            process.terminate()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
