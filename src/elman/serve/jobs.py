"""What is asked of a stream, on its way from the event loop to the stream's thread, the store and back."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field
from time import perf_counter
from time import time as now
from typing import TYPE_CHECKING, Any

from elman.serve.bodies import How
from elman.serve.rows import PACKED, Rows
from elman.serve.store import Logged

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from elman.serve.problems import Problem
    from elman.serve.pupil import Pupil


class Mailbox:
    """Brings results from other threads into the event loop: one call for all that are ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._results: list[tuple[asyncio.Future[Any], Any]] = []

    def post(self, future: asyncio.Future[Any], result: Any) -> None:
        """Let a future have its result, a `Problem` or a value, with the next `deliver`."""
        with self._lock:
            self._results.append((future, result))

    def deliver(self) -> None:
        """Hand over all that was posted."""
        with self._lock:
            results, self._results = self._results, []
        if results and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_set_all, results)


def _set_all(results: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in results:
        if future.done():  # its client has gone
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


@dataclass
class Job:
    """Something to be done by a stream's thread, and the future that waits for it."""

    future: asyncio.Future[Any]
    mailbox: Mailbox
    n_rows: int = 0
    n_bytes: int = 0
    time: float = field(default_factory=now)
    begun: float = field(default_factory=perf_counter)

    def settle(self, result: Any | Problem) -> None:
        """Post the result."""
        self.mailbox.post(self.future, result)


@dataclass
class Learn(Job):
    """Rows to be answered and learned."""

    rows: Rows | None = None
    how: How | None = None
    body: bytes = b""
    key: str | None = None
    """The request's `Idempotency-Key`."""
    kind: str = "rows"
    """Or ask: their targets come later; or forecast: they lie ahead."""

    @property
    def plain(self) -> bool:
        """Whether nothing of it needs to be remembered, so that it may be learned together with others."""
        return self.kind == "rows" and self.key is None and self.rows is not None and self.rows.ids is None

    def digest(self) -> bytes:
        """Return a digest of all that was asked."""
        return digest(self.kind.encode(), json.dumps(self.how).encode(), self.body)

    def logged(self, new: Rows | None = None) -> Logged:
        """Return the entry of the log: the body as it came, or shorter if it is nothing but numbers.

        `new` are those of its rows that are to be learned, if some were before.
        """
        rows = self.rows if new is None else new
        packed = None if rows is None else rows.packed()
        if packed is not None:
            return Logged(self.time, self.kind, PACKED, packed)
        if new is not None:
            return Logged(self.time, self.kind, json.dumps(How("json")), new.to_json())
        return Logged(self.time, self.kind, json.dumps(self.how), self.body)


@dataclass
class Tell(Job):
    """Targets of questions that were asked before, by the ids that were given or by those of the client."""

    told: list[tuple[int | str, Any]] = field(default_factory=list)
    key: str | None = None

    def digest(self) -> bytes:
        """Return a digest of all that was told."""
        return digest(b"tell", json.dumps(self.told).encode())


@dataclass
class Call(Job):
    """A question that changes nothing, asked of the model between two rows."""

    function: Callable[[Pupil], Any] | None = None


@dataclass
class Replace(Job):
    """A state to go on with."""

    state: bytes = b""


@dataclass
class Remove(Job):
    """The end of the stream."""


def digest(*parts: bytes) -> bytes:
    """Return a short digest of bytes."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
