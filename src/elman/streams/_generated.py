"""Streams that are computed, block by block, and never end.

Rows are made in blocks of a fixed size, each from its own random generator. How a caller cuts the stream
therefore cannot change it: one row at a time, ten, or a million give the same bits.
"""

from __future__ import annotations

from itertools import count
from operator import index
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elman.arrays import Float64
from elman.streams.stream import Sample, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from elman.streams.drift import Drift

    Rows: TypeAlias = Callable[[np.random.Generator, Float64], "Block"]

BLOCK_ROWS = 1024
"""Rows in a block. A part of every generated stream's definition: changing it changes their rows."""

Block: TypeAlias = tuple[Float64, Float64]


def generators(seed: int) -> Iterator[np.random.Generator]:
    """Yield one random generator for each block, for ever.

    Parameters
    ----------
    seed
        An integer from 0; the same seed gives the same generators.
    """
    for block in count():
        yield np.random.default_rng((seed, block))


def drifting_blocks(rows: Rows, drift: Drift | None, seed: int) -> Iterator[Block]:
    """Yield the blocks of a stream whose rows do not depend on those before them, for ever.

    Parameters
    ----------
    rows
        Called with a random generator and the size of the drift at each row, of shape `(BLOCK_ROWS,)`;
        makes a block.
    drift
        The change of the law behind the rows, if any.
    seed
        An integer from 0.
    """
    for block, rng in enumerate(generators(seed)):
        start = block * BLOCK_ROWS
        yield rows(rng, drift.level(np.arange(start, start + BLOCK_ROWS)) if drift else np.zeros(BLOCK_ROWS))


class Generated(Stream):
    """An endless stream made by a function.

    Parameters
    ----------
    name, names, target
        As in `Stream`.
    blocks
        Called with the seed; gives for ever `(X, y)` of shapes `(BLOCK_ROWS, n_inputs)` and
        `(BLOCK_ROWS,)`. It keeps no state between two calls.
    seed
        An integer from 0.
    drift
        The change that `blocks` has in it, if any.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        *,
        target: str,
        blocks: Callable[[int], Iterator[Block]],
        seed: int,
        drift: Drift | None = None,
    ) -> None:
        super().__init__(name, names, target=target, source="simulated", endless=True)
        if index(seed) < 0:
            raise ValueError(f"seed must be an integer from 0, got {seed}")
        self.seed = index(seed)
        self.drift = drift
        self._blocks = blocks

    def __iter__(self) -> Iterator[Sample]:
        for X, y in self._blocks(self.seed):
            yield from zip(X, y.tolist(), strict=True)

    def _take(self, n: int | None) -> tuple[Float64, Float64]:
        assert n is not None, "an endless stream is never taken whole"
        X, y = np.empty((n, self.n_inputs)), np.empty(n)
        starts = range(0, n, BLOCK_ROWS)
        for start, (block_X, block_y) in zip(starts, self._blocks(self.seed), strict=False):
            rows = slice(start, start + BLOCK_ROWS)
            X[rows], y[rows] = block_X[: n - start], block_y[: n - start]
        return X, y

    def _facts(self) -> list[str]:
        return [*super()._facts(), f"seed {self.seed}", *([str(self.drift)] if self.drift else [])]
