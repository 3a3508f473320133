"""Rows out of samples: truths that come on a line of their own, and samples learned before a restart.

A target may be known only after its row has been answered. The row then comes without its target, and the
target follows as a sample of its own in which every input is missing.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from elman.arrays import Float64

    Sample: TypeAlias = tuple[Float64, float | Float64]

_CHUNK = 1000


@dataclass
class Position:
    """How far a source of samples has been read: how many samples, and a checksum over them."""

    samples: int = 0
    checksum: int = 0

    def pass_over(self, X: Float64, y: Float64) -> None:
        """Move on by the samples of `as_arrays`."""
        after = self.after(X, y)
        self.samples, self.checksum = after.samples, after.checksum

    def after(self, X: Float64, y: Float64) -> Position:
        """Return the position after the samples of `as_arrays`, which come next."""
        return Position(self.samples + len(X), zlib.crc32(np.column_stack([X, y]).tobytes(), self.checksum))


def as_arrays(samples: Sequence[Sample]) -> tuple[Float64, Float64]:
    """Return the inputs of samples, shape (n, inputs), and their targets, shape (n, outputs)."""
    X, y = (np.array(part, dtype=np.float64) for part in zip(*samples, strict=True))
    return X, y.reshape(len(y), -1)


def is_truth(X: Float64, y: Float64) -> Any:
    """Tell of samples whether they are nothing but targets of rows before them, shape (n,).

    Examples
    --------
    >>> is_truth(np.array([[np.nan, np.nan], [0.0, np.nan]]), np.array([[3.0], [3.0]]))
    array([ True, False])
    """
    return (X.shape[1] > 0) & np.isnan(X).all(axis=1) & ~np.isnan(y).all(axis=1)


def joined(X: Float64, y: Float64) -> tuple[Float64, Float64]:
    """Return the rows of samples, each with its targets wherever those came.

    Examples
    --------
    >>> X, y = joined(np.array([[1.0], [np.nan], [2.0]]), np.array([[np.nan], [5.0], [6.0]]))
    >>> X.ravel(), y.ravel()
    (array([1., 2.]), array([5., 6.]))
    """
    late = is_truth(X, y)
    late[0] = False
    late[1:] &= np.isnan(y[:-1]).all(axis=1)
    (places,) = np.nonzero(late)
    y = y.copy()
    y[places - 1] = y[places]
    return X[~late], y[~late]


def skip(samples: Iterator[Sample], until: Position) -> None:
    """Read on to a position that was reached before.

    Raises
    ------
    ValueError
        If the samples are not the ones that were read then.
    """
    position = Position()
    while chunk := list(islice(samples, min(_CHUNK, until.samples - position.samples))):
        position.pass_over(*as_arrays(chunk))
    if position.samples < until.samples:
        raise ValueError(
            f"the state has learned {until.samples:,} samples of this stream, but it has only "
            f"{position.samples:,} now"
        )
    if position != until:
        raise ValueError(
            f"the first {until.samples:,} samples are not those that the state has learned: this is another "
            "stream, or it does not begin where it began then"
        )
