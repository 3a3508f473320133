"""What every stream is: samples `(x, y)` in an order, from the beginning each time it is iterated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from itertools import islice
from operator import index
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from elman.arrays import Float64

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Sample: TypeAlias = tuple[Float64, float]
Source: TypeAlias = Literal["real", "simulated"]


class Stream(ABC):
    """An ordered sequence of samples `(x, y)`.

    Iterating gives one sample at a time, always from the beginning: `x` of shape `(n_inputs,)`, float64,
    and `y`, a float. Nothing is kept of the rows that have passed.

    Parameters
    ----------
    name
        What the stream is called in tables and plots.
    names
        Names of the inputs, in the order of `x`.
    target
        Name of `y`.
    source
        `"real"` for measured or downloaded rows, `"simulated"` for generated ones.
    endless
        Whether the stream goes on for ever.
    """

    def __init__(
        self, name: str, names: Sequence[str], *, target: str, source: Source, endless: bool = False
    ) -> None:
        repeated = sorted(each for each, count in Counter(names).items() if count > 1)
        if repeated:
            raise ValueError(
                f"{name}: every input needs its own name, but {', '.join(repeated)} came more than once"
            )
        self.name = name
        self.names = tuple(names)
        self.target = target
        self.source: Source = source
        self.endless = endless

    @abstractmethod
    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""

    @property
    def n_inputs(self) -> int:
        """The length of `x`."""
        return len(self.names)

    def take(self, n: int | None = None) -> tuple[Float64, Float64]:
        """Return the first rows as arrays.

        Parameters
        ----------
        n
            How many rows, counted from the beginning of the stream. A stream that ends earlier gives what
            it has; `None` asks for all of it.

        Returns
        -------
        X : array of shape (n, n_inputs)
        y : array of shape (n,)

        Raises
        ------
        ValueError
            If `n` is negative, or is `None` on a stream without an end.
        """
        return self._take(self._checked_count(n))

    def _take(self, n: int | None) -> tuple[Float64, Float64]:
        X: list[Float64] = []
        y: list[float] = []
        for inputs, target in islice(self, n):
            X.append(inputs)
            y.append(target)
        return np.array(X, dtype=np.float64).reshape(len(X), self.n_inputs), np.array(y, dtype=np.float64)

    def _checked_count(self, n: int | None) -> int | None:
        if n is None:
            if self.endless:
                raise ValueError(f"{self.name} has no end: say how many rows to take")
            return None
        if index(n) < 0:
            raise ValueError(f"n must be 0 or more, got {n}")
        return index(n)

    def __repr__(self) -> str:
        return f"<stream {self.name}: {', '.join(self._facts())}>"

    def _facts(self) -> list[str]:
        """Say what `repr` tells after the name."""
        inputs = "1 input" if self.n_inputs == 1 else f"{self.n_inputs} inputs"
        return [f"{inputs} -> {self.target}", self.source, *(["endless"] if self.endless else [])]
