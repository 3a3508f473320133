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

from elman.arguments import number
from elman.arrays import Float64
from elman.models import _frames
from elman.models._values import (
    Coded,
    Kind,
    checked_kind,
    code,
    column_codes,
    kind_of,
    refuse_number_in_text,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEATURE_RULE = "a feature must be a finite number, or NaN if it is missing"
_TARGET_RULE = "a target must be a finite number, or None or NaN if it is not known"


@dataclass(frozen=True)
class Columns:
    """The features of a model's rows: how many (None before the first), and their names if rows are dicts.

    `kinds` says what each holds, and is empty if all hold numbers.
    """

    count: int | None = None
    names: tuple[str, ...] | None = None
    kinds: tuple[Kind, ...] = ()

    def kind(self, place: int) -> Kind:
        """Return what a feature holds."""
        return self.kinds[place] if self.kinds else "number"

    @property
    def all_kinds(self) -> list[Kind]:
        """What every feature holds."""
        return [self.kind(place) for place in range(self.count or 0)]

    def n_coded(self, n_outputs: int) -> int:
        """Return how many numbers the features are to networks."""
        return sum({"date": 4, "datetime": 6, "category": n_outputs}.get(kind, 1) for kind in self.all_kinds)

    def code_names(self, n_outputs: int, names: Sequence[str] | None = None) -> list[tuple[str, int]]:
        """Return of each number that networks see the name of its feature and its place in it."""
        names = names or self.names or [f"x{place}" for place in range(self.count or 0)]
        widths = {"date": 4, "datetime": 6, "category": n_outputs}
        return [
            (name, part)
            for name, kind in zip(names, self.all_kinds, strict=True)
            for part in range(widths.get(kind, 1))
        ]

    def take(self, x: Any) -> tuple[Columns, Float64]:
        """Return the columns that `x` fits, and `x` as an array of shape (count,), NaN where missing."""
        if isinstance(x, Mapping):
            return self._take_named(x)
        if isinstance(x, Coded):
            columns, rows = self._take_coded(x, x.values[np.newaxis], "x has")
            return columns, rows[0]
        if self._may_be_mixed(x):
            mixed = _elements(x)
            if self.kinds or any(kind_of(each) not in (None, "number") for each in mixed):
                return self._take_mixed(mixed)
        row = _floats("x", x)
        if row.ndim != 1:
            raise ValueError(f"x must be one row of features (1-D), got an array of shape {row.shape}")
        _refuse_infinite("x", row, _FEATURE_RULE)
        return self._widened(len(row), "x has"), row

    def _may_be_mixed(self, rows: Any) -> bool:
        """Whether features without names may be other than numbers: they were, or it is the first row."""
        return bool(self.kinds) or (self.count is None and not _is_numeric(rows))

    def _take_mixed(self, x: list[Any]) -> tuple[Columns, Float64]:
        """Take a row without names of which some features are no numbers."""
        kinds = tuple(self._kind_at(place, f"x[{place}]", each) for place, each in enumerate(x))
        columns = self._widened(len(x), "x has", kinds)
        row = [_coded(f"x[{place}]", each, columns.kind(place)) for place, each in enumerate(x)]
        return columns, np.array(row, dtype=np.float64)

    def _kind_at(self, place: int, name: str, value: Any) -> Kind:
        """Return what a feature by its place holds: what it has held, or what its first value is."""
        if self.count is not None:
            return self.kind(place) if place < self.count else "number"
        refuse_number_in_text(name, value)
        return kind_of(value) or "number"

    def take_all(self, X: Any) -> Iterator[tuple[Columns, Float64]]:
        """Yield groups of consecutive rows of `X` with the columns that each fits; an array is one group."""
        if isinstance(X, Sequence) and not isinstance(X, str) and len(X) > 0 and isinstance(X[0], Mapping):
            yield from self._take_all_named(X)
            return
        if isinstance(X, Coded):
            yield self._take_coded(X, X.values, "the rows of X have")
            return
        names = _frames.column_names(X)
        if names is not None and _frames.are_features(names):
            yield self._take_table(X, names)
            return
        if names is None and self._may_be_mixed(X):
            table = np.array(X, dtype=object)
            if table.ndim == 2 and not _holds_numbers(table):
                yield self._take_all_mixed(table)
                return
        rows = _floats("X", _frames.plain(X))
        if rows.ndim != 2:
            raise ValueError(f"X must have shape (n, n_inputs), got shape {rows.shape}")
        _refuse_infinite("X", rows, _FEATURE_RULE)
        yield self._widened(rows.shape[1], "the rows of X have"), rows

    def _take_coded(self, coded: Coded, rows: Float64, subject: str) -> tuple[Columns, Float64]:
        """Take rows whose values are numbers already."""
        if coded.names is None:
            return self._widened(rows.shape[1], subject, coded.kinds), rows
        kinds = dict(zip(coded.names, coded.kinds, strict=True))
        for name, held in zip(self.names or (), self.all_kinds, strict=True):
            if name not in kinds:
                continue
            try:
                checked_kind(f"column {name!r}", kinds[name], held)
            except TypeError as error:  # the fault is in a table, not in a program
                raise ValueError(str(error)) from error
        columns = self._named(kinds, kinds)
        return columns, columns.ordered(coded.names, rows)

    def _take_all_mixed(self, table: NDArray[Any]) -> tuple[Columns, Float64]:
        """Take rows without names of which some features are no numbers."""
        kinds, rows = list[Kind](), np.empty(table.shape)
        for place, values in enumerate(table.T):
            known = None if self.count is None or place >= self.count else self.kind(place)
            kind, rows[:, place] = _column(f"X[:, {place}]", values, known)
            kinds.append(kind)
        return self._widened(table.shape[1], "the rows of X have", tuple(kinds)), rows

    def knowing(self, names: tuple[str, ...] | None, count: int, kinds: tuple[Kind, ...] = ()) -> Columns:
        """Return the columns that rows of `count` features of these names fit, or of none if that is None.

        Without names they may be of other kinds than numbers.
        """
        if names is None:
            return self._widened(count, "the rows of X have", kinds)
        return self._named(dict.fromkeys(names), dict.fromkeys(names, "number"))

    def ordered(self, names: tuple[str, ...] | None, rows: Float64) -> Float64:
        """Return rows whose columns have these names in the order of these columns, NaN where missing."""
        if names == self.names:
            return rows
        whole = np.full((len(rows), self.count or 0), math.nan)
        places = {name: i for i, name in enumerate(self.names or ())}
        whole[:, [places[name] for name in names or ()]] = rows
        return whole

    def _widened(self, count: int, subject: str, kinds: tuple[Kind, ...] = ()) -> Columns:
        if self.names is not None:
            raise ValueError(
                f"this model knows its features by name ({_some(self.names)}): "
                "pass a dict or a table with names, not an array"
            )
        if self.count is None:
            return Columns(count, kinds=() if _all_numbers(kinds) else kinds)
        if count != self.count:
            raise ValueError(f"{subject} {count} features, this model has learned rows of {self.count}")
        if not _all_numbers(kinds or self.kinds) and kinds != self.kinds:
            raise TypeError(
                f"{subject} {kinds or 'numbers'}, this model has learned {self.kinds or 'numbers'}"
            )
        return self

    def _take_named(self, x: Mapping[str, Any]) -> tuple[Columns, Float64]:
        columns = self._knowing(x)
        names = columns.names or ()
        row = [
            _coded(f"x[{name!r}]", x.get(name, math.nan), columns.kind(place))
            for place, name in enumerate(names)
        ]
        return columns, np.array(row, dtype=np.float64)

    def _take_table(self, X: Any, names: list[str]) -> tuple[Columns, Float64]:
        places = {name: place for place, name in enumerate(self.names or ())}
        found = {
            name: _column(f"X[{name!r}]", X[name], self.kind(places[name]) if name in places else None)
            for name in names
        }
        columns = self._named(dict.fromkeys(names), {name: kind for name, (kind, _) in found.items()})
        rows = np.full((len(X), columns.count or 0), math.nan)
        for i, name in enumerate(columns.names or ()):
            if name in found:
                rows[:, i] = found[name][1]
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
        """Return the columns that have a feature for every key; what a new one holds its value shows."""
        if self.names is not None and len(x) <= len(self.names) and x.keys() <= set(self.names):
            return self
        known = set(self.names or ())
        kinds = {name: kind_of(value) or "number" for name, value in x.items() if name not in known}
        for name in kinds:
            refuse_number_in_text(f"x[{name!r}]", x[name])
        return self._named(x, kinds)

    def _named(self, x: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Columns:
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
        new = tuple(sorted(x.keys() - set(known)))
        held = (*self.all_kinds, *(kinds[name] for name in new))
        return Columns(len(held), known + new, () if _all_numbers(held) else held)


@dataclass(frozen=True)
class Bounds:
    """Between which values every target and every answer lies."""

    lowest: float = -math.inf
    highest: float = math.inf
    rule: str = "a target must be finite"

    @classmethod
    def checked(cls, lowest: float | None, highest: float | None) -> Bounds:
        """Return the bounds that a user asks for; None for none."""
        for name, value in (("lowest", lowest), ("highest", highest)):
            if value is not None:
                number(name, value)
        bounds = cls(
            -math.inf if lowest is None else float(lowest),
            math.inf if highest is None else float(highest),
            f"with lowest={lowest!r} and highest={highest!r} no target lies beyond",
        )
        if bounds.lowest >= bounds.highest:
            raise ValueError(f"lowest must be below highest, got {lowest!r} and {highest!r}")
        return bounds

    def beyond(self, y: Float64) -> NDArray[np.bool_]:
        """Tell of each target whether it lies beyond them."""
        return (y < self.lowest) | (y > self.highest)


UNBOUNDED = Bounds()
PROBABILITY = Bounds(0.0, 1.0, "with loss='logistic' a target must be between 0 and 1")


@dataclass(frozen=True)
class Outputs:
    """The targets of a model: how many (None before the first), and whether they come as plain numbers."""

    count: int | None = None
    scalar: bool = True
    bounds: Bounds = UNBOUNDED

    def take(self, y: Any) -> tuple[Outputs, Float64]:
        """Return the outputs that `y` fits, and `y` as an array of shape (count,), NaN where not known."""
        if y is None:
            return self, np.full(self.count or 1, math.nan)
        target = _floats("y", y)
        if target.ndim > 1:
            raise ValueError(
                f"y must be a number or a 1-D array with a value for each output, got shape {target.shape}"
            )
        outputs = self.fitting(target.shape, "y is")
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
        outputs = self.fitting(targets.shape[1:])
        self._check(targets)
        return outputs, targets

    def fitting(self, shape: tuple[int, ...], subject: str = "a row of y is") -> Outputs:
        """Return the outputs that targets of this shape fit."""
        if shape == (0,):
            raise ValueError(f"{subject} empty: pass None where no target is known")
        if self.count is None:
            return Outputs(*((1, True) if shape == () else (shape[0], False)), self.bounds)
        expected = () if self.scalar else (self.count,)
        if shape != expected:
            came = "a number" if shape == () else f"an array of {shape[0]} values"
            learned = "numbers" if self.scalar else f"arrays of {self.count} values"
            raise ValueError(f"{subject} {came}, this model has learned targets that are {learned}")
        return self

    def wrong(self, y: Float64) -> NDArray[np.bool_]:
        """Tell of each target whether it is refused whatever the model has learned; shape (n,)."""
        bad = np.isinf(y) | self.bounds.beyond(y)
        return np.asarray(bad.any(axis=tuple(range(1, y.ndim))))

    def _check(self, y: Float64) -> None:
        _refuse_infinite("y", y, _TARGET_RULE)
        _refuse("y", y, self.bounds.beyond(y), self.bounds.rule)


def _all_numbers(kinds: Sequence[Kind]) -> bool:
    return all(kind == "number" for kind in kinds)


def _is_numeric(value: Any) -> bool:
    """Whether an array, or what becomes one, holds nothing but numbers; objects may be anything."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        return all(type(each) in (float, int) for row in value for each in row)
    return isinstance(value, (list, tuple)) and all(type(each) in (float, int) for each in value)


def _elements(x: Any) -> list[Any]:
    """Return the elements of one row as they came; none if it is no row."""
    if isinstance(x, np.ndarray):
        return list(x) if x.ndim == 1 else []
    return list(x) if isinstance(x, (list, tuple)) else []


def _holds_numbers(table: NDArray[Any]) -> bool:
    return all(kind_of(each) in (None, "number") for each in table.flat)


def _coded(name: str, value: Any, kind: Kind) -> float:
    return _float(name, value) if kind == "number" else code(name, value, kind)


def _column(name: str, values: Any, known: Kind | None) -> tuple[Kind, Float64]:
    """Return what a column holds, which must be what it has held, and the numbers that stand for it."""
    if known != "number" and (coded := column_codes(name, values, known)) is not None:
        return coded
    values = _frames.plain(values)
    texts = values if getattr(getattr(values, "dtype", None), "kind", "") == "O" else ()
    text = next((each for each in texts if isinstance(each, str)), None)
    if text is not None:
        raise TypeError(f"{name} must hold numbers, got text: {_short(text)}")
    column = _floats(name, values)
    _refuse_infinite(name, column, _FEATURE_RULE)
    return "number", column


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
    # Another thread may be importing it at this moment: then there are none either.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(value, masked)


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
