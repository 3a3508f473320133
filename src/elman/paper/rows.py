"""The rows that the experiments learn from, scaled as each experiment wants them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from elman import streams
from elman.paper.systems import FILE_ORDER, REAL, SETS, SHUFFLED

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.streams import Stream
    from elman.streams.stream import Source


@dataclass(frozen=True, eq=False)
class Rows:
    """The first rows of a stream: inputs of shape (n, n_inputs), targets of shape (n,), and their source."""

    X: Float64
    y: Float64
    source: Source

    @cached_property
    def fingerprint(self) -> int:
        """A number that other rows would not have."""
        return zlib.crc32(self.y.tobytes(), zlib.crc32(self.X.tobytes()))


def stream_of(dataset: str) -> Stream:
    """Return a set of the paper: the real one, or the simulated one if the real file is not here.

    Raises
    ------
    FileNotFoundError
        If the real file is not here and nothing simulates it.
    """
    name = {FILE_ORDER: "elevators", REAL: "puma32fm_1024"}.get(dataset, dataset)
    try:
        return streams.load(name)
    except FileNotFoundError:
        if dataset == "puma8nh":
            return streams.puma8()
        if dataset == "kinematics":
            return streams.kinematics()
        raise


def available_sets() -> tuple[list[str], list[str]]:
    """Return the names of the paper's sets that can be had, and for each other one why it cannot."""
    names, reasons = [], []
    for name in SETS:
        try:
            stream_of(name)
        except FileNotFoundError as error:
            reasons.append(str(error))
        else:
            names.append(name)
    return names, reasons


@lru_cache(maxsize=32)
def raw(dataset: str, n: int) -> Rows:
    """Return the first `n` rows of a set as they are; of a shuffled one after the whole set was shuffled."""
    stream = stream_of(dataset)
    if dataset not in SHUFFLED:
        return Rows(*stream.take(n), stream.source)
    X, y = stream.take()
    order = np.random.default_rng(SHUFFLED[dataset]).permutation(len(y))[:n]
    return Rows(X[order], y[order], stream.source)


@lru_cache(maxsize=32)
def standardised(dataset: str, n: int) -> Rows:
    """Return the first `n` rows with inputs and target of mean 0 and variance 1 over those rows.

    The paper does not say how it scales; this gives its errors. An input that never changes becomes 0.
    """
    rows = raw(dataset, n)
    deviations = rows.X.std(axis=0)
    X = (rows.X - rows.X.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    return Rows(X, (rows.y - rows.y.mean()) / rows.y.std(), rows.source)


@lru_cache(maxsize=32)
def bounded(dataset: str, n: int, n_hidden: int) -> Rows:
    """Return the first `n` rows as large as the theorems allow.

    Inputs reach from -1 to 1 and targets from -sqrt(n_hidden) to sqrt(n_hidden) on one side at least.
    """
    rows = standardised(dataset, n)
    largest = np.abs(rows.X).max(axis=0)
    X = rows.X / np.where(largest > 0, largest, 1)
    return Rows(X, rows.y / np.abs(rows.y).max() * np.sqrt(n_hidden), rows.source)


@lru_cache(maxsize=32)
def addition(addends: int, n: int, seed: int) -> tuple[Float64, Float64]:
    """Return the first `n` rows of a binary addition: bits as -1 and 1, the sum's bit as 0.0 and 1.0."""
    return streams.binary_addition(addends, seed=seed).take(n)
