"""What reading a table yields: blocks of numbers, and what is said of lines that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64


@dataclass(frozen=True)
class Block:
    """Rows that follow each other.

    Parameters
    ----------
    X
        Shape (n, inputs): numbers, dates as seconds since 1970, texts as codes; NaN where missing.
    y
        Shape (n, outputs), NaN where not known.
    time
        Shape (n,): when each row was by the clock on the wall, in seconds since 1970; None without a time.
    offset
        Shape (n,): what that clock is ahead of UTC, in seconds; None where the table does not say.
    key
        Whom each row belongs to, empty where that is missing; None unless the table is `keyed_by` a column.
    ids
        What the sender calls each row; None if it gives them no ids.
    """

    X: Float64
    y: Float64
    time: Float64 | None = None
    offset: Float64 | None = None
    key: list[str] | None = None
    ids: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def when(self) -> Float64:
        """The times and the offsets side by side, shape (n, 2), NaN where not known."""
        parts = (np.full(len(self), np.nan) if part is None else part for part in (self.time, self.offset))
        return np.stack([*parts], axis=1)

    def __getitem__(self, rows: slice) -> Block:
        time = None if self.time is None else self.time[rows]
        offset = None if self.offset is None else self.offset[rows]
        key = None if self.key is None else self.key[rows]
        ids = None if self.ids is None else self.ids[rows]
        return Block(self.X[rows], self.y[rows], time, offset, key, ids)


@dataclass(frozen=True)
class Bad:
    """A line that cannot be read: which it is (None if that is not known), why, and what was in it."""

    line: int | None
    reason: str
    text: str

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}, {self.reason}"


Report: TypeAlias = Callable[[Bad], None]
"""Told of every line that is passed over; it may raise to end the reading there."""


class UnreadableError(ValueError):
    """A line cannot be read, and lines are not to be passed over."""
