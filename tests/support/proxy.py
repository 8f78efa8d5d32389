"""A proxy in front of an S3 server that misbehaves on request, as networks and hidden retries do.

A fault is a function over one exchange: it may forward the request never, once or twice, and answer truly, falsely, partly or
not at all. The Host header passes unchanged, because S3 signatures cover it.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOP_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_TIMEOUT_S = 30


@dataclass(frozen=True)
class Reply:
    """An answer to one request."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Exchange:
    """One request on its way, and what a fault can do with it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes, upstream: str) -> None:
        self.method = handler.command
        self.target = handler.path
        self.headers = list(handler.headers.items())
        self._handler = handler
        self._body = body
        self._upstream = upstream

    def forward(self) -> Reply:
        """Send the request to the server, which thereby acts on it, and return its answer."""
        connection = http.client.HTTPConnection(self._upstream, timeout=_TIMEOUT_S)
        try:
            connection.putrequest(self.method, self.target, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers:
                if name.lower() not in _HOP_HEADERS:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(self._body)))
            connection.endheaders(self._body)
            response = connection.getresponse()
            return Reply(response.status, tuple(response.getheaders()), response.read())
        finally:
            connection.close()

    def answer(self, reply: Reply, *, keep: int | None = None) -> None:
        """Send an answer to the client; with `keep`, break off after that many bytes of its body."""
        handler = self._handler
        handler.send_response(reply.status)
        length = str(len(reply.body))
        for name, value in reply.headers:
            if name.lower() == "content-length" and self.method == "HEAD":
                length = value
            elif name.lower() not in _HOP_HEADERS:
                handler.send_header(name, value)
        handler.send_header("Content-Length", length)
        handler.end_headers()
        if self.method != "HEAD":
            handler.wfile.write(reply.body[:keep])
        if keep is not None:
            self.hang_up()

    def hang_up(self) -> None:
        """Close the connection to the client."""
        handler = self._handler
        handler.close_connection = True
        with suppress(OSError):
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)


Fault: TypeAlias = "Callable[[Exchange], None]"


def lose_answer(exchange: Exchange) -> None:
    """The server acts, and nobody hears of it."""
    exchange.forward()
    exchange.hang_up()


def lose_request(exchange: Exchange) -> None:
    """The request never arrives."""
    exchange.hang_up()


def send_twice(exchange: Exchange) -> None:
    """Something on the way repeats the request, and passes on the second answer."""
    exchange.forward()
    exchange.answer(exchange.forward())


def cut_body(exchange: Exchange) -> None:
    """The connection breaks in the middle of the answer's body."""
    reply = exchange.forward()
    exchange.answer(reply, keep=len(reply.body) // 2)


def refuse(status: int, *, code: str = "", headers: tuple[tuple[str, str], ...] = ()) -> Fault:
    """Answer with a status and S3's error document, without asking the server."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>made up</Message></Error>".encode()
    return lambda exchange: exchange.answer(Reply(status, headers, body if code else b""))


def echo(status: int) -> Fault:
    """Answer with a status, and repeat the whole request in the error document, as some servers do to be helpful."""

    def fault(exchange: Exchange) -> None:
        seen = f"{exchange.method} {exchange.target} {exchange.headers}"
        text = f"<Error><Code>Echo</Code><Message>{seen}</Message><CanonicalRequest>{seen}</CanonicalRequest></Error>"
        exchange.answer(Reply(status, (), text.encode()))

    return fault


def delay_until(released: threading.Event) -> Fault:
    """The request arrives only when the test says so, long after the client stopped waiting."""

    def fault(exchange: Exchange) -> None:
        released.wait(timeout=_TIMEOUT_S)
        reply = exchange.forward()
        with suppress(OSError):  # the client is gone
            exchange.answer(reply)

    return fault


class FaultProxy:
    """Passes requests on; each injected fault befalls the next request that it is meant for."""

    def __init__(self, upstream: str) -> None:
        self._upstream = urlsplit(upstream).netloc
        self._faults: deque[tuple[str | None, Fault]] = deque()
        self._lock = threading.Condition()
        self._busy = 0
        self._seen: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler_class())
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def inject(self, *faults: Fault, method: str | None = None) -> None:
        """Queue faults, one a request, for requests with that method."""
        with self._lock:
            self._faults.extend((method, fault) for fault in faults)

    def take_seen(self) -> list[str]:
        """Return the methods of the requests since the last time, in order."""
        with self._lock:
            seen, self._seen = self._seen, []
            return seen

    def pending(self) -> int:
        """Return how many injected faults have met no request yet."""
        with self._lock:
            return len(self._faults)

    def settle(self) -> None:
        """Wait until no request is on its way any more."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._busy == 0, timeout=_TIMEOUT_S):
                raise TimeoutError("A request is still on its way")

    def handle(self, exchange: Exchange) -> None:
        """Treat one request."""
        with self._lock:
            self._seen.append(exchange.method)
            self._busy += 1
            chosen = next((entry for entry in self._faults if entry[0] in {None, exchange.method}), None)
            if chosen:
                self._faults.remove(chosen)
        try:
            if chosen:
                chosen[1](exchange)
            else:
                exchange.answer(exchange.forward())
        finally:
            with self._lock:
                self._busy -= 1
                self._lock.notify_all()

    def run(self) -> None:
        """Serve until `close`."""
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _handler_class(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.handle(Exchange(self, body, proxy._upstream))

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 - the names that http.server asks for

            def log_message(self, *_: object) -> None:
                """Stay silent: the test's own output is what counts."""

        return Handler


@contextmanager
def fault_proxy(upstream: str) -> Iterator[FaultProxy]:
    """Run a proxy in front of `upstream`."""
    proxy = FaultProxy(upstream)
    thread = threading.Thread(target=proxy.run, name="fault-proxy", daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(timeout=_TIMEOUT_S)
