"""The streams of a service, by name, over one store."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

from elman.serve.jobs import Call, Learn, Mailbox, Remove, Replace, Tell
from elman.serve.live import Live
from elman.serve.problems import Problem, not_found, not_stored, stopping
from elman.serve.store import Kept
from elman.serve.writer import Write, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from elman.serve.bodies import How
    from elman.serve.limits import Limits
    from elman.serve.pupil import Pupil
    from elman.serve.rows import Rows
    from elman.serve.setups import Setup
    from elman.serve.store import Store

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""What a stream may be called."""


class Service:
    """All streams. Made within the event loop that answers; its threads end with `close`."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.mailbox = Mailbox(asyncio.get_running_loop())
        self._writer = Writer(store, self.mailbox.deliver)
        self._streams = {kept.name: self._live(kept) for kept in store.streams()}
        self._coming: set[str] = set()
        self.stopping = asyncio.Event()
        self.watchers = 0
        self.started = time.time()

    def _live(self, kept: Kept) -> Live:
        return Live(kept, self.store, self._writer, self.limits)

    async def close(self) -> None:
        """Finish what was accepted, keep snapshots of all streams, end all threads, close the store."""
        self.stopping.set()
        streams = list(self._streams.values())
        for live in streams:
            live.close()
        for live in streams:
            await asyncio.to_thread(live.join)
        await asyncio.to_thread(self._writer.close)
        self.store.close()

    # Streams

    def __iter__(self) -> Any:
        return iter(sorted(self._streams.values(), key=lambda live: live.name))

    def __len__(self) -> int:
        return len(self._streams)

    def __getitem__(self, name: str) -> Live:
        if name not in self._streams:
            raise not_found(name)
        return self._streams[name]

    async def add(self, name: str, setup: Setup) -> bool:
        """Make a stream and return True, or False if there is one that was made in the same way."""
        self._check_running()
        check_name(name, self.limits)
        if name in self._streams or name in self._coming:
            if name in self._coming or self._streams[name].setup != setup:
                raise Problem(409, f"there is a stream {name!r} that was made from something else")
            return False
        if len(self._streams) + len(self._coming) >= self.limits.streams:
            raise Problem(429, f"there are {self.limits.streams:,} streams, the limit", Retry_After="60")
        setup.made(self.limits)
        self._coming.add(name)
        try:
            created = time.time()
            number = await self._written(lambda store: store.add_stream(name, setup.to_json(), created))
            self._streams[name] = self._live(Kept(number, name, setup.to_json(), created))
        finally:
            self._coming.discard(name)
        await self.call(name, lambda _: None)  # its thread is there
        return True

    async def remove(self, name: str) -> None:
        """Forget a stream, after all that was accepted for it."""
        live = self[name]
        future = self._future()
        live.submit(Remove(future, self.mailbox))
        await future
        live.close()
        del self._streams[name]

    # What is asked of a stream

    async def learn(
        self, name: str, rows: Rows, how: How, body: bytes, key: str | None = None, *, kind: str = "rows"
    ) -> bytes:
        """Answer rows and learn them; return the body of the answer, when they are on the disk.

        With `kind` ask their targets come later, by `tell`.
        """
        self._check_running()
        future = self._future()
        job = Learn(future, self.mailbox, len(rows), len(body))
        job.rows, job.how, job.body, job.key, job.kind = rows, how, body, key, kind
        self[name].submit(job)
        answer: bytes = await future
        return answer

    async def tell(self, name: str, told: list[tuple[int | str, Any]], key: str | None = None) -> bytes:
        """Learn the targets of questions; return the body of the answer, when that is on the disk."""
        self._check_running()
        future = self._future()
        self[name].submit(Tell(future, self.mailbox, len(told), told=told, key=key))
        answer: bytes = await future
        return answer

    async def call(self, name: str, function: Callable[[Pupil], Any]) -> Any:
        """Return what a function says of the stream's model, when all rows before it are on the disk."""
        future = self._future()
        self[name].submit(Call(future, self.mailbox, function=function))
        return await future

    async def replace(self, name: str, state: bytes) -> None:
        """Go on with an uploaded state."""
        self._check_running()
        future = self._future()
        self[name].submit(Replace(future, self.mailbox, n_bytes=len(state), state=state))
        await future

    def _future(self) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().create_future()

    def _check_running(self) -> None:
        if self.stopping.is_set():
            raise stopping()

    async def _written(self, apply: Callable[[Store], Any]) -> Any:
        future = self._future()

        def done(result: Any, committed: bool) -> None:
            self.mailbox.post(future, result if committed else not_stored())

        self._writer.write(Write(apply, done))
        return await future


def check_name(name: str, limits: Limits) -> None:
    """Raise a problem unless a stream can be called so."""
    if not re.fullmatch(NAME, name) or len(name) > limits.name_length:
        raise Problem(
            422,
            f"a stream's name has up to {limits.name_length} letters, digits, dots, underscores and hyphens, "
            "and begins with a letter or digit",
        )
