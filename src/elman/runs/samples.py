"""Rows out of samples: truths that come on a line of their own, and samples learned before a restart.

A target may be known only after its row has been answered. The row then comes without its target, and the
target follows as a sample of its own in which every input is missing.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from elman.runs.run import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.arrays import Float64

    Sample: TypeAlias = tuple[Float64, float]


class Row(NamedTuple):
    """A row with its target, and the samples that it was put together from."""

    x: Float64
    y: float
    samples: tuple[Sample, ...]
    settled: bool = True
    """False for the last row of all if its target may still come."""


def is_truth(x: Float64, y: float) -> bool:
    """Tell whether a sample is nothing but the target of the row before it.

    Examples
    --------
    >>> is_truth(np.array([np.nan, np.nan]), 3.0), is_truth(np.array([0.0, np.nan]), 3.0)
    (True, False)
    """
    return len(x) > 0 and not math.isnan(y) and bool(np.isnan(x).all())


def rows(samples: Iterator[Sample]) -> Iterator[Row]:
    """Give the rows of the samples, each with its target wherever that came.

    Examples
    --------
    >>> question, truth = (np.array([1.0]), np.nan), (np.array([np.nan]), 5.0)
    >>> [row.y for row in rows(iter([question, truth, question]))]
    [5.0, nan]
    """
    held: Sample | None = None
    for sample in samples:
        x, y = sample
        if held is not None:
            question, held = held, None
            if is_truth(x, y):
                yield Row(question[0], y, (question, sample))
                continue
            yield Row(*question, (question,))
        if math.isnan(y):
            held = sample
        else:
            yield Row(x, y, (sample,))
    if held is not None:
        yield Row(*held, (held,), settled=False)


def skip(samples: Iterator[Sample], until: Position) -> None:
    """Read on to a position that was reached before.

    Raises
    ------
    ValueError
        If the samples are not the ones that were read then.
    """
    position = Position()
    for x, y in islice(samples, until.samples):
        position.pass_over(x, y)
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
