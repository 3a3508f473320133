"""Rows out of blocks: truths that come on a line of their own, and rows learned before a restart.

A target may be known only after its row has been answered. The row then comes without its target, and the
target follows as a row of its own in which every input is missing.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elman.tables import Bad, Block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from elman.arrays import Float64

    Sample: TypeAlias = tuple[Float64, float | Float64]

_CHUNK = 1000


@dataclass
class Position:
    """How far a source has been read: how many samples, and a checksum over them."""

    samples: int = 0
    checksum: int = 0

    def after(self, block: Block) -> Position:
        """Return the position after a block, which comes next."""
        content = np.column_stack([block.X, block.y]).tobytes()
        return Position(self.samples + len(block), zlib.crc32(content, self.checksum))


def as_blocks(samples: Iterable[Sample], rows: int = _CHUNK) -> Iterator[Block]:
    """Yield samples in blocks of so many rows; before an error or a stop those that came before it.

    Examples
    --------
    >>> [block.y.ravel().tolist() for block in as_blocks([([1.0], 2.0), ([3.0], 4.0), ([5.0], 6.0)], 2)]
    [[2.0, 4.0], [6.0]]
    """
    waiting = iter(samples)
    while True:
        chunk, error = _read(waiting, rows)
        if chunk:
            X, y = (np.array(part, dtype=np.float64) for part in zip(*chunk, strict=True))
            yield Block(X, y.reshape(len(y), -1))
        if error is not None:
            raise error
        if len(chunk) < rows:
            return


def _read(samples: Iterator[Sample], most: int) -> tuple[list[Sample], BaseException | None]:
    """Return the next samples, and what went wrong after them, if anything did."""
    chunk: list[Sample] = []
    try:
        chunk.extend(islice(samples, most))
    except Exception as error:  # noqa: BLE001 - raised again when the samples before it have been learned
        return chunk, error
    return chunk, None


def pieces(blocks: Iterable[Block], rows: int = _CHUNK) -> Iterator[Block]:
    """Yield blocks cut into pieces of at most so many rows."""
    for block in blocks:
        for begin in range(0, len(block), rows):
            yield block[begin : begin + rows]


def is_truth(X: Float64, y: Float64) -> Any:
    """Tell of samples whether they are nothing but targets of rows before them, shape (n,).

    Examples
    --------
    >>> is_truth(np.array([[np.nan, np.nan], [0.0, np.nan]]), np.array([[3.0], [3.0]]))
    array([ True, False])
    """
    return (X.shape[1] > 0) & np.isnan(X).all(axis=1) & ~np.isnan(y).all(axis=1)


def joined(block: Block) -> Block:
    """Return the rows of a block, each with its targets wherever those came.

    Examples
    --------
    >>> rows = joined(Block(np.array([[1.0], [np.nan], [2.0]]), np.array([[np.nan], [5.0], [6.0]])))
    >>> rows.X.ravel(), rows.y.ravel()
    (array([1., 2.]), array([5., 6.]))
    """
    late = _is_late(block)
    (places,) = np.nonzero(late)
    if not len(places):
        return block
    y = block.y.copy()
    y[places - 1] = y[places]
    return _only(replace(block, y=y), ~late)


def without_strays(block: Block) -> tuple[Block, Float64]:
    """Return a block without truths of rows that nobody asked for, and these truths.

    Examples
    --------
    >>> X, y = np.array([[1.0], [np.nan], [np.nan]]), np.array([[np.nan], [5.0], [7.0]])
    >>> rows, strays = without_strays(Block(X, y))
    >>> rows.y.ravel(), strays.ravel()
    (array([nan,  5.]), array([7.]))
    """
    stray = is_truth(block.X, block.y)
    if not stray.any():
        return block, block.y[:0]
    stray &= ~_is_late(block)
    return _only(block, ~stray), block.y[stray]


def _is_late(block: Block) -> Any:
    """Tell of rows whether they are the truth of the row before, shape (n,)."""
    late = is_truth(block.X, block.y)
    late[0] = False
    late[1:] &= np.isnan(block.y[:-1]).all(axis=1)
    return late


def _only(block: Block, kept: Any) -> Block:
    time = None if block.time is None else block.time[kept]
    offset = None if block.offset is None else block.offset[kept]
    return Block(block.X[kept], block.y[kept], time, offset)


def skip(blocks: Iterator[Block], until: Position) -> Iterator[Block]:
    """Read on to a position that was reached before, and return what comes after it.

    Raises
    ------
    ValueError
        If the samples are not the ones that were read then.
    """
    position, rest = Position(), None
    while position.samples < until.samples and (block := next(blocks, None)) is not None:
        missing = until.samples - position.samples
        position, rest = position.after(block[:missing]), block[missing:]
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
    return _behind(rest, blocks)


def skip_lines(rows: Iterator[Block | Bad], until: Position) -> Iterator[Block | Bad]:
    """Do the same with rows that come one by one; what cannot be read does not count."""
    skip((row for row in rows if not isinstance(row, Bad)), until)
    return rows


def _behind(first: Block | None, blocks: Iterator[Block]) -> Iterator[Block]:
    if first is not None and len(first):
        yield first
    yield from blocks
