"""What writes to the store: whatever waits becomes one transaction, then all are told.

So a hundred requests that come while the disk is busy cost one more turn of the disk, not a hundred. One
thread at a time writes, in the order in which writes came: usually the writer's own; where nobody else waits,
the thread that has something to write does it itself, and is spared two turns of the scheduler.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from elman.serve.store import Store

_log = logging.getLogger("elman.serve")
_MOST_BYTES = 16_000_000  # of one transaction


@dataclass
class Write:
    """Something to be written, and whom to tell when it is on the disk, or that it is not."""

    apply: Callable[[Store], Any]
    """Called within the transaction."""
    done: Callable[[Any, bool], None]
    """Called after it, with what `apply` returned and whether it was committed; from the writer's thread."""
    size: int = 0
    holder: Holder | None = None


@dataclass
class Holder:
    """Whoever must not be written for once a write of theirs was lost: what follows builds on it."""

    lost: bool = field(default=False)


class Writer:
    """Takes writes in order and commits them in groups."""

    def __init__(self, store: Store, after_group: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._after_group = after_group
        self._condition = threading.Condition()
        self._waiting: list[Write] = []
        self._busy = self._closed = False
        self._thread = threading.Thread(target=self._run, name="elman-writer")
        self._thread.start()

    def write(self, write: Write, *, here: bool = False) -> None:
        """Put a write behind those that wait; with `here` the caller writes them if nobody is writing."""
        with self._condition:
            assert not self._closed, "the writer is closed"
            self._waiting.append(write)
            if self._busy:
                return  # whoever writes now wakes the writer afterwards
            if not here:
                self._condition.notify()
                return
            group = self._taken()
        self._finish(group)

    def close(self) -> None:
        """Finish what waits, then end."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: not self._busy and (self._waiting or self._closed))
                if not self._waiting:
                    return
                group = self._taken()
            self._finish(group)

    def _taken(self) -> list[Write]:
        """Return what is written next; nobody else writes until it is finished."""
        self._busy = True
        count, size = 0, 0
        while count < len(self._waiting) and size < _MOST_BYTES:
            size += self._waiting[count].size
            count += 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

    def _finish(self, group: list[Write]) -> None:
        try:
            self._commit(group)
            self._after_group()
        except Exception:  # noqa: BLE001 - whatever it is, others want to write
            _log.exception("after a group of %d writes", len(group))
        finally:
            with self._condition:
                self._busy = False
                if self._waiting or self._closed:  # or it would be woken for nothing
                    self._condition.notify()

    def _commit(self, group: list[Write]) -> None:
        results: list[Any] = []
        written = [write for write in group if write.holder is None or not write.holder.lost]
        try:
            with self._store.transaction():
                results = [write.apply(self._store) for write in written]
        except Exception:  # noqa: BLE001 - a full disk, a damaged file: those who wait are told
            _log.exception("a group of %d writes was lost", len(group))
            for write in written:
                if write.holder is not None:
                    write.holder.lost = True
            written = []
        outcome = {id(write): result for write, result in zip(written, results, strict=False)}
        for write in group:
            write.done(outcome.get(id(write)), id(write) in outcome)
