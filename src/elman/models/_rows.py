"""What users pass as rows and targets, checked and turned into the float64 arrays that the core takes.

`Columns` and `Outputs` are immutable records of what a model has seen so far. Taking in a row or a target
gives back the record that fits it, the same object or a grown one, so that a model changes only after
everything was found to be right.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.arrays import Float64
from elman.models import _frames

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEATURE_RULE = "a feature must be a finite number, or NaN if it is missing"
_TARGET_RULE = "a target must be a finite number, or None or NaN if it is not known"


@dataclass(frozen=True)
class Columns:
    """The features of a model's rows: how many (None before the first), and their names if rows are dicts."""

    count: int | None = None
    names: tuple[str, ...] | None = None

    def take(self, x: Any) -> tuple[Columns, Float64]:
        """Return the columns that `x` fits, and `x` as an array of shape (count,), NaN where missing."""
        if isinstance(x, Mapping):
            return self._take_named(x)
        row = _floats("x", x)
        if row.ndim != 1:
            raise ValueError(f"x must be one row of features (1-D), got an array of shape {row.shape}")
        _refuse_infinite("x", row, _FEATURE_RULE)
        return self._widened(len(row), "x has"), row

    def take_all(self, X: Any) -> Iterator[tuple[Columns, Float64]]:
        """Yield groups of consecutive rows of `X` with the columns that each fits; an array is one group."""
        if isinstance(X, Sequence) and not isinstance(X, str) and len(X) > 0 and isinstance(X[0], Mapping):
            yield from self._take_all_named(X)
            return
        names = _frames.column_names(X)
        if names is not None and _frames.are_features(names):
            yield self._take_table(X, names)
            return
        rows = _floats("X", _frames.plain(X))
        if rows.ndim != 2:
            raise ValueError(f"X must have shape (n, n_inputs), got shape {rows.shape}")
        _refuse_infinite("X", rows, _FEATURE_RULE)
        yield self._widened(rows.shape[1], "the rows of X have"), rows

    def _widened(self, count: int, subject: str) -> Columns:
        if self.names is not None:
            raise ValueError(
                f"this model knows its features by name ({_some(self.names)}): "
                "pass a dict or a table with names, not an array"
            )
        if self.count is None:
            return Columns(count)
        if count != self.count:
            raise ValueError(f"{subject} {count} features, this model has learned rows of {self.count}")
        return self

    def _take_named(self, x: Mapping[str, Any]) -> tuple[Columns, Float64]:
        columns = self._knowing(x)
        names = columns.names or ()
        row = np.array([_float(f"x[{name!r}]", x.get(name, math.nan)) for name in names], dtype=np.float64)
        return columns, row

    def _take_table(self, X: Any, names: list[str]) -> tuple[Columns, Float64]:
        columns = self._knowing(dict.fromkeys(names))
        rows = np.full((len(X), columns.count or 0), math.nan)
        for i, name in enumerate(columns.names or ()):
            if name in names:
                column = _floats(f"X[{name!r}]", _frames.plain(X[name]))
                _refuse_infinite(f"X[{name!r}]", column, _FEATURE_RULE)
                rows[:, i] = column
        return columns, rows

    def _take_all_named(self, X: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Columns, Float64]]:
        columns, group = self, list[Float64]()
        groups = list[tuple[Columns, list[Float64]]]()
        for i, x in enumerate(X):
            if not isinstance(x, Mapping):
                raise TypeError(f"X[{i}] must be a dict like X[0], got {type(x).__name__}")
            grown, row = columns._take_named(x)
            if not groups or grown is not columns:
                columns, group = grown, []
                groups.append((columns, group))
            group.append(row)
        for columns, group in groups:
            rows = np.array(group).reshape(len(group), columns.count or 0)
            _refuse_infinite("X", rows, _FEATURE_RULE)
            yield columns, rows

    def _knowing(self, x: Mapping[str, Any]) -> Columns:
        if self.names is None and self.count is not None:
            raise ValueError(
                f"this model has learned rows of {self.count} unnamed features: "
                "pass an array, not a dict or a table with names"
            )
        known = self.names or ()
        if len(x) <= len(known) and x.keys() <= set(known):
            return self if self.names is not None else Columns(0, ())
        for name in x:
            if not isinstance(name, str):
                raise TypeError(f"a feature's name must be a str, got {name!r} of type {type(name).__name__}")
        # Sorted, so that the order of a dict's keys never matters.
        names = known + tuple(sorted(x.keys() - set(known)))
        return Columns(len(names), names)


@dataclass(frozen=True)
class Outputs:
    """The targets of a model: how many (None before the first), and whether they come as plain numbers."""

    count: int | None = None
    scalar: bool = True
    probability: bool = False

    def take(self, y: Any) -> tuple[Outputs, Float64]:
        """Return the outputs that `y` fits, and `y` as an array of shape (count,), NaN where not known."""
        if y is None:
            return self, np.full(self.count or 1, math.nan)
        target = _floats("y", y)
        if target.ndim > 1:
            raise ValueError(
                f"y must be a number or a 1-D array with a value for each output, got shape {target.shape}"
            )
        outputs = self._fitting(target.shape, "y is")
        self._check(target)
        return outputs, target.reshape(-1)

    def take_all(self, y: Any, n: int) -> tuple[Outputs, Float64]:
        """Return the outputs that the targets of `n` rows fit, and the targets, shape (n,) or (n, count)."""
        if y is None:
            return self, np.full((n,) if self.scalar else (n, self.count or 1), math.nan)
        targets = _floats("y", _frames.plain(y))
        if targets.ndim not in (1, 2) or len(targets) != n:
            raise ValueError(
                f"y must have shape ({n},) or ({n}, n_outputs), as X has {n} rows; got shape {targets.shape}"
            )
        outputs = self._fitting(targets.shape[1:], "a row of y is")
        self._check(targets)
        return outputs, targets

    def _fitting(self, shape: tuple[int, ...], subject: str) -> Outputs:
        if shape == (0,):
            raise ValueError(f"{subject} empty: pass None where no target is known")
        if self.count is None:
            return Outputs(*((1, True) if shape == () else (shape[0], False)), self.probability)
        expected = () if self.scalar else (self.count,)
        if shape != expected:
            came = "a number" if shape == () else f"an array of {shape[0]} values"
            learned = "numbers" if self.scalar else f"arrays of {self.count} values"
            raise ValueError(f"{subject} {came}, this model has learned targets that are {learned}")
        return self

    def _check(self, y: Float64) -> None:
        _refuse_infinite("y", y, _TARGET_RULE)
        if self.probability:
            _refuse("y", y, (y < 0) | (y > 1), "with loss='logistic' a target must be between 0 and 1")


def _floats(name: str, value: Any) -> Float64:
    value = _without_mask(name, value)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        _refuse_other_kinds(name, value, array)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def _without_mask(name: str, value: Any) -> Any:
    """Return a masked array with NaN where it is masked; what holds no masks as it came."""
    if _is_masked(value):
        if value.dtype.kind not in "fiubO":
            _refuse_other_kinds(name, value, np.asarray(value))
        return np.where(np.ma.getmaskarray(value), math.nan, value.data)
    if isinstance(value, (list, tuple)) and any(map(_may_be_masked, value)):
        return [_without_mask(name, each) for each in value]
    return value


def _may_be_masked(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or _is_masked(value)


def _is_masked(value: Any) -> bool:
    # Where nobody has imported it there are no masks; importing it here would take time for nothing.
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray)


def _refuse_other_kinds(name: str, value: Any, array: NDArray[Any]) -> None:
    """Raise for what is not real numbers; objects that are (Decimal, None for missing) are let through."""
    if array.dtype.kind == "O":
        try:
            np.asarray(value, dtype=np.float64)
        except OverflowError:
            raise ValueError(
                f"{name} holds an integer that is too large for a floating-point number"
            ) from None
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers only: {error}") from None
        return
    kind = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "time spans"}.get(
        array.dtype.kind, str(array.dtype)
    )
    raise TypeError(f"{name} must hold numbers, got {kind}: {_short(value)}")


def _float(name: str, value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        if value is None:
            return math.nan
        raise TypeError(f"{name} must be a number, got {_short(value)} of type {type(value).__name__}")
    if _is_masked(value) and value.mask.all():
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large for a floating-point number: {_FEATURE_RULE}") from None
    if math.isinf(number):
        raise ValueError(f"{name} is {number}: {_FEATURE_RULE}")
    return number


def _refuse_infinite(name: str, array: Float64, rule: str) -> None:
    _refuse(name, array, np.isinf(array), rule)


def _refuse(name: str, array: Float64, bad: NDArray[np.bool_], rule: str) -> None:
    """Raise if any element is bad, naming the first one."""
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"{name}{list(at)}" if at else name
        raise ValueError(f"{place} is {float(array[at])!r}: {rule}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
