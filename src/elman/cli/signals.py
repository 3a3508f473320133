"""Ctrl-C and `kill`, without being torn out of the middle of a row."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self, TypeVar

from elman.runs import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Within this context SIGINT and SIGTERM raise `Stopped`, but only while the next item is waited for."""

    def __init__(self) -> None:
        self._waiting = False
        self._received: int | None = None

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self._received = number
        self._raise_if_waiting()

    def _raise_if_waiting(self) -> None:
        if self._waiting and self._received is not None:
            raise Stopped(self._received)

    def interruptible(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items; a signal that comes while one is used stops before the next."""
        while True:
            try:
                # In this order: a signal between the two lines is seen by the second, and later ones raise.
                self._waiting = True
                self._raise_if_waiting()
                item = next(items)
            except StopIteration:
                return
            finally:
                self._waiting = False
            yield item
