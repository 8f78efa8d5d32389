"""A proxy in front of a NameNode that loses or delays one message, chosen by the name of the remote procedure in it."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAIT_SECONDS = 30.0


class Fault(Enum):
    """What befalls the next call of a procedure."""

    LOSE_REQUEST = auto()
    """The connection breaks before the NameNode hears of it."""
    LOSE_ANSWER = auto()
    """The NameNode acts, and the connection breaks."""
    SILENCE_ANSWER = auto()
    """The NameNode acts, and its answer never arrives, though the connection stands."""
    DELAY_REQUEST = auto()
    """The request stays on its way until `release`."""


class NameNodeProxy:
    """Passes bytes on, except where a fault is set."""

    def __init__(self, upstream: str) -> None:
        address = urlsplit(upstream)
        self._upstream = (address.hostname or "", address.port or 0)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._procedure = b""
        self._fault: Fault | None = None
        self._released = threading.Event()
        self._late_answer = threading.Event()
        self._open: list[tuple[threading.Thread, socket.socket, socket.socket]] = []

    def set_fault(self, procedure: str, fault: Fault) -> None:
        """Let a fault befall the next call of a procedure, for example `rename2`."""
        self._procedure, self._fault = procedure.encode(), fault

    def release(self) -> None:
        """Let a delayed request arrive, and wait until the NameNode has answered it."""
        self._released.set()
        if not self._late_answer.wait(_WAIT_SECONDS):
            raise TimeoutError("The NameNode did not answer the delayed request")

    def run(self) -> None:
        """Accept connections until `close`."""
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            server = socket.create_connection(self._upstream)
            thread = threading.Thread(target=self._serve, args=(client, server), daemon=True)
            self._open.append((thread, client, server))
            thread.start()

    def close(self) -> None:
        """Accept no more connections, and end those that there are."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._released.set()
        self._late_answer.set()
        for thread, *connections in self._open:
            _hang_up(*connections)
            thread.join(_WAIT_SECONDS)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        met: list[Fault] = []
        back = threading.Thread(target=self._pass_back, args=(client, server, met), daemon=True)
        back.start()
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self._fault and self._procedure in data:
                    met.append(self._fault)
                    self._fault = None
                    if met[0] is Fault.LOSE_REQUEST:
                        break
                    if met[0] is Fault.DELAY_REQUEST:
                        self._released.wait(_WAIT_SECONDS)
                server.sendall(data)
        if Fault.DELAY_REQUEST in met:
            self._late_answer.wait(_WAIT_SECONDS)  # the client is gone already
        _hang_up(client, server)
        back.join()
        client.close()
        server.close()

    def _pass_back(self, client: socket.socket, server: socket.socket, met: list[Fault]) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if Fault.LOSE_ANSWER in met:
                    break
                if Fault.DELAY_REQUEST in met:
                    self._late_answer.set()
                if not met:
                    client.sendall(data)
        _hang_up(client, server)


def _hang_up(*connections: socket.socket) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def namenode_proxy(upstream: str) -> Iterator[NameNodeProxy]:
    """Run a proxy in front of the NameNode at `upstream`."""
    proxy = NameNodeProxy(upstream)
    thread = threading.Thread(target=proxy.run, name="namenode-proxy", daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(timeout=_WAIT_SECONDS)
