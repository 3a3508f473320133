"""The rows of a request: a table of numbers where they are nothing else, and what the log keeps of one."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import orjson

if TYPE_CHECKING:
    from elman.arrays import Float64

PACKED = "packed"
"""How the log says that a body is that of `Rows.packed`."""
_MOST_FILLED = 10_000_000  # numbers
_SIZES = struct.Struct("<qqq")  # rows, inputs, outputs: 0 if targets are not in a list, -1 if none is known


@dataclass(frozen=True)
class Rows:
    """The rows of a request: inputs, targets and ids, if any.

    Attributes
    ----------
    x
        Shape (n, inputs) if all of them are numbers; else lists or dicts as they came.
    y
        Shape (n,) or (n, outputs), NaN where not known, if all that are known are numbers; None if none is
        known; else as they came, for the model to say what is wrong with them.
    ids
        That the client gave them.
    many
        Whether they came as a list, and so are answered by one.
    """

    x: list[Any] | Float64
    y: list[Any] | Float64 | None
    ids: list[str] | None = None
    many: bool = True

    @classmethod
    def of(cls, x: list[Any], y: list[Any], ids: list[str] | None = None, *, many: bool = True) -> Self:
        """Return the rows with these inputs and targets, None where a target is not known.

        Examples
        --------
        >>> Rows.of([[1, 2], [3, 4]], [None, 5]).y
        array([nan,  5.])
        >>> Rows.of([["a", 2]], [None]).x
        [['a', 2]]
        """
        table = _table(x)
        return cls(x if table is None else table, _targets(y), ids, many)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def width(self) -> int:
        """How many inputs the first row has."""
        return len(self.x[0])

    @property
    def outputs(self) -> int:
        """How many targets a row has."""
        if isinstance(self.y, list):
            return max((len(y) for y in self.y if isinstance(y, list)), default=1)
        return 1 if self.y is None or self.y.ndim == 1 else self.y.shape[1]

    def target(self, place: int) -> Any:
        """Return what is to be learned of a row, None if nothing of it is known."""
        y = None if self.y is None else self.y[place]
        if not isinstance(y, np.generic | np.ndarray):
            return y
        return None if np.isnan(y).all() else y.tolist()

    def some(self, places: list[int]) -> Rows:
        """Return the rows at these places."""
        x = self.x[places] if isinstance(self.x, np.ndarray) else [self.x[i] for i in places]
        if self.y is None or isinstance(self.y, np.ndarray):
            return Rows(x, None if self.y is None else self.y[places])
        return Rows(x, [self.y[i] for i in places])

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Return the rows of several requests behind each other."""
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(part.x, np.ndarray) for part in parts):
            widths = {part.x.shape[1:] for part in parts}  # type: ignore[union-attr] # all are arrays
            outputs = {None if part.y is None else np.shape(part.y)[1:] for part in parts}
            if len(widths) == len(outputs) == 1:
                known = None if None in outputs else np.concatenate([part.y for part in parts])
                return cls(np.concatenate([part.x for part in parts]), known)
        xs = [x for part in parts for x in _listed(part.x)]
        ys = [y for part in parts for y in (_listed(part.y) if part.y is not None else [None] * len(part))]
        return cls.of(xs, ys)

    # The log

    def packed(self) -> bytes | None:
        """Return inputs and targets as bytes, less than half of what JSON takes; None unless all are numbers.

        Examples
        --------
        >>> rows = Rows.of([[1, 2], [3, 4]], [None, 5])
        >>> again = Rows.unpacked(rows.packed())
        >>> again.x.tolist(), again.y.tolist()
        ([[1.0, 2.0], [3.0, 4.0]], [nan, 5.0])
        """
        if not isinstance(self.x, np.ndarray) or isinstance(self.y, list):
            return None
        outputs = -1 if self.y is None else 0 if self.y.ndim == 1 else self.y.shape[1]
        targets = b"" if self.y is None else self.y.astype("<f8", copy=False).tobytes()
        return _SIZES.pack(*self.x.shape, outputs) + self.x.astype("<f8", copy=False).tobytes() + targets

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return the rows that `packed` gave."""
        count, width, outputs = _SIZES.unpack_from(packed)
        numbers = np.frombuffer(packed, "<f8", offset=_SIZES.size).astype(np.float64, copy=False)
        x, y = numbers[: count * width].reshape(count, width), numbers[count * width :]
        if outputs < 0:
            return cls(x, None)
        return cls(x, y.reshape(count, outputs) if outputs else y)

    def to_json(self) -> bytes:
        """Return the inputs and targets as a body from which they are read again."""
        y = None if self.y is None else _listed(self.y)
        body: bytes = orjson.dumps({"X": _listed(self.x), "y": y})
        return body


def _listed(values: list[Any] | Float64) -> list[Any]:
    return values if isinstance(values, list) else values.tolist()


def _table(rows: list[Any]) -> Float64 | None:
    """Return lists of numbers, all of one length, as an array; None if they are not.

    NumPy would turn text into numbers, or all numbers into text as long as the longest.
    """
    if {*map(type, rows)} != {list} or len({*map(len, rows)}) != 1:
        return None
    numbers = _numbers(list(chain.from_iterable(rows)))
    return None if numbers is None else numbers.reshape(len(rows), len(rows[0]))


def _numbers(values: list[Any]) -> Float64 | None:
    try:  # the quickest way that takes numbers and nothing else
        return np.frombuffer(struct.pack(f"{len(values)}d", *values), np.float64)
    except struct.error:
        return None


def _targets(values: list[Any]) -> list[Any] | Float64 | None:
    """Return targets with NaN where they are not known, of the others' shape."""
    if all(value is None for value in values):
        return None
    if None in values:
        width = next((len(value) for value in values if isinstance(value, list)), None)
        if len(values) * (width or 1) > _MOST_FILLED:
            return values  # much more than was sent
        unknown = math.nan if width is None else [math.nan] * width
        values = [unknown if value is None else value for value in values]
    found = _table(values) if isinstance(values[0], list) else _numbers(values)
    return values if found is None else found
