"""Past targets as inputs: what a bare series needs to be forecast."""

from __future__ import annotations

from collections import deque
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from elman.streams.stream import Sample, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lagged(Stream):
    r"""A stream with its last k targets added to the inputs.

    They come after the inputs of the stream, the latest first, as `y.lag1`, `y.lag2`, … under the target's
    name, and are NaN as long as there is no such past.

    Parameters
    ----------
    stream
        Any stream; it is read along, k targets are kept.
    k
        How many targets to add, 1 or more.

    Examples
    --------
    >>> from io import StringIO
    >>> from elman.streams import read_csv
    >>> series = Lagged(read_csv(StringIO("load\n10\n20\n30\n")), 2)
    >>> series.names
    ('load.lag1', 'load.lag2')
    >>> for x, y in series:
    ...     print(x, y)
    [nan nan] 10.0
    [10. nan] 20.0
    [20. 10.] 30.0
    """

    def __init__(self, stream: Stream, k: int) -> None:
        if index(k) < 1:
            raise ValueError(f"k must be 1 or more past targets, got {k}")
        lags = [f"{stream.target}.lag{lag}" for lag in range(1, k + 1)]
        super().__init__(
            stream.name,
            [*stream.names, *lags],
            target=stream.target,
            source=stream.source,
            endless=stream.endless,
        )
        self.k = index(k)
        self._stream = stream

    def __iter__(self) -> Iterator[Sample]:
        past = deque([np.nan] * self.k, maxlen=self.k)
        for x, y in self._stream:
            yield np.concatenate([x, past]), y
            past.appendleft(y)
