"""The server: uvicorn, with what it lacks against clients that dawdle, and an end that finishes its work."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from elman.serve.app import application

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from elman.serve.app import Settings

_GRACE_SECONDS = 30
_KEEP_ALIVE_SECONDS = 75
_MOST_HEAD_BYTES = 65_536
_MOST_BYTES_AT_ONCE = 262_144  # that the event loop reads, in which a body may end and a head begin
_MOST_PIPELINED = 100
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that tells its streams of events when it is about to end."""

    def __init__(self, settings: Settings) -> None:
        app, self.running = application(settings)
        self.signal: int | None = None
        config = uvicorn.Config(
            app,
            http=type("Limited", (Impatient,), {"header_seconds": settings.limits.header_seconds}),
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=settings.limits.connections,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the server; whoever runs it says afterwards what they were."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - as signals call it
        """Note the signal, and end; another one changes nothing, as what was accepted is being finished."""
        self.signal = sig
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would go on for ever, then finish the rest."""
        if self.running.service is not None:
            self.running.service.stopping.set()
        await super().shutdown(sockets)


class Joined:
    """A transport that sends what is written in one turn of the event loop together.

    The head of an answer and its body are written one after the other: sent so, each would cost a call of the
    system, and wake the client.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()


class Impatient(HttpToolsProtocol):
    """Closes a connection whose client does not finish the head of a request in time, or within reason.

    A connection whose client sends one request after the other without waiting for answers is closed as well:
    all that were read are held.
    """

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _bytes_without_head = 0

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it is a head without end."""
        super().data_received(data)
        self._bytes_without_head += len(data)
        if self._timer is None:
            self._bytes_without_head = 0
        elif self._bytes_without_head > _MOST_HEAD_BYTES + _MOST_BYTES_AT_ONCE:
            self._give_up()

    def connection_made(self, transport: Any) -> None:
        """Wait for the first lines from the beginning."""
        super().connection_made(transport)
        self.transport = Joined(transport, self.loop)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the rest of the first lines."""
        if len(self.pipeline) > _MOST_PIPELINED:
            raise ValueError("too many requests at once")  # which the parser answers with 400
        self._start_timer()
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header, unless there are too many or they are too long."""
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > _MOST_HEAD_BYTES:
            raise ValueError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Leave the rest to whoever reads the body."""
        self._stop_timer()
        super().on_headers_complete()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: an answer's body does not wait until its head is acknowledged.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind((host, port))
        listening.listen(2048)  # whoever comes before the streams are there waits
    except OSError:
        listening.close()
        raise
    return listening
