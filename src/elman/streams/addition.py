"""The paper's second experiment: adding binary numbers, one bit of each at a time, for ever."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from elman.streams._generated import BLOCK_ROWS, Block, Generated, generators

if TYPE_CHECKING:
    from collections.abc import Iterator


def binary_addition(n: int, seed: int = 0) -> Generated:
    """Make a stream of n random binary numbers and their sum, least significant bit first.

    The sum's bit at a step is a function of the n bits there and of the carry, which no input shows: a
    model has to remember it. More numbers carry further.

    Parameters
    ----------
    n
        How many numbers to add, 2 or more. Their bits are the inputs, 0 coded as -1 and 1 as 1.
    seed
        An integer from 0; the same seed gives the same rows.

    Returns
    -------
    Stream whose target is the sum's bit, 0.0 or 1.0.

    Examples
    --------
    >>> X, y = binary_addition(2).take(5)
    >>> X.shape, sorted(set(y.tolist()))
    ((5, 2), [0.0, 1.0])
    """
    if index(n) < 2:
        raise ValueError(f"n is how many numbers to add, at least 2, got {n}")
    names = [f"bit{number}" for number in range(1, n + 1)]
    return Generated(f"addition{n}", names, target="sum", blocks=partial(_blocks, n), seed=seed)


def _blocks(n: int, seed: int) -> Iterator[Block]:
    carry = 0
    for rng in generators(seed):
        bits = rng.integers(0, 2, (BLOCK_ROWS, n))
        y = np.empty(BLOCK_ROWS)
        for row, ones in enumerate(bits.sum(axis=1).tolist()):
            carry, y[row] = divmod(ones + carry, 2)
        yield np.where(bits, 1.0, -1.0), y
