"""What a feature's values are, and the numbers that stand for them: dates by seconds, texts by levels."""

from __future__ import annotations

import math
import numbers
from datetime import date, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from elman._core import core
from elman.codes import level, seconds

if TYPE_CHECKING:
    from elman.arrays import Float64

Kind: TypeAlias = Literal["number", "date", "datetime", "category"]
KINDS = ("number", "date", "datetime", "category")
_CALLED = {"number": "numbers", "date": "dates", "datetime": "dates", "category": "text"}
_EPOCH = np.datetime64(0, "us")


class Coded:
    """Rows whose dates and texts are numbers already, as `elman.codes` has them.

    Parameters
    ----------
    values
        Shape (n_inputs,) for a row, or (n, n_inputs), float64.
    kinds
        What each column holds.
    names
        What each column is called, for a model that knows its features by name.
    """

    def __init__(
        self, values: Float64, kinds: tuple[Kind, ...], names: tuple[str, ...] | None = None
    ) -> None:
        self.values, self.kinds, self.names = values, kinds, names

    def __len__(self) -> int:
        return len(self.values)


def kind_of(value: Any) -> Kind | None:  # noqa: PLR0911 - one a kind
    """Return what a value is; None if it does not show it, as a missing one.

    Examples
    --------
    >>> kind_of(1.5), kind_of("rain"), kind_of(date(2024, 1, 1)), kind_of(None)
    ('number', 'category', 'date', None)
    """
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, str):
        return "category"
    if isinstance(value, datetime):  # before `date`, which it is as well
        return "datetime"
    if isinstance(value, date):
        return "date"
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        return "date" if np.datetime_data(value.dtype)[0] in "YMWD" else "datetime"
    return "number"


def shows_nothing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT or NA."""
    return kind_of(value) is None or (isinstance(value, numbers.Real) and math.isnan(value))


def code(name: str, value: Any, kind: Kind) -> float:
    """Return the number that stands for a value that is no number, in a column of this kind."""
    if shows_nothing(value):
        return math.nan
    found = kind_of(value)
    if kind == "category" and found == "category":
        return level(value)
    if kind in ("date", "datetime") and found in ("date", "datetime"):
        return _seconds(value)
    raise TypeError(
        f"{name} has held {_CALLED[kind]} so far, got {_short(value)} of type {type(value).__name__}"
    )


def _seconds(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float((value.astype("datetime64[us]") - _EPOCH) / np.timedelta64(1, "s"))
    if isinstance(value, datetime):
        return seconds(value)
    return seconds(datetime(value.year, value.month, value.day))  # noqa: DTZ001 - the clock on the wall


def refuse_number_in_text(name: str, value: Any) -> None:
    """Raise TypeError for a text that is a number: a new column of such is more likely a slip than names."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return
        raise TypeError(f"{name} is the text {value!r}: pass a number, or name a category by words")


def column_codes(name: str, values: Any, kind: Kind | None = None) -> tuple[Kind, Float64] | None:
    """Return what a column of values holds and the numbers that stand for it; None if it holds numbers.

    Parameters
    ----------
    name
        What error messages call it.
    values
        An array, or a column of pandas, polars or pyarrow.
    kind
        What the column has held so far.
    """
    values = _on_the_wall(values)
    categories = getattr(getattr(values, "cat", None), "categories", None)
    if categories is not None and hasattr(values.cat, "codes"):  # of pandas
        levels = np.array([*(code(name, str(each), "category") for each in categories), math.nan])
        return checked_kind(name, "category", kind), levels[np.asarray(values.cat.codes)]
    array = np.asarray(values)
    if array.dtype.kind == "M":
        coarse = np.datetime_data(array.dtype)[0] in "YMWD"
        numbers_ = (array.astype("datetime64[us]") - _EPOCH) / np.timedelta64(1, "s")
        return checked_kind(name, "date" if coarse and kind != "datetime" else "datetime", kind), numbers_
    if array.dtype.kind not in "OUT" or array.ndim != 1:
        return None
    listed = array.tolist()
    first = next((each for each in listed if not shows_nothing(each)), None)
    found = kind_of(first)
    if found in (None, "number"):
        if kind in (None, "number"):
            return None
        found = None if found is None else found
    if found == "number":
        code(name, first, kind or "number")
    wanted = kind or found or "number"
    if kind is None:
        refuse_number_in_text(name, first)
    if wanted == "category":
        cells = [None if shows_nothing(each) else each for each in listed]
        odd = next((each for each in cells if each is not None and not isinstance(each, str)), None)
        if odd is not None:
            code(name, odd, "category")
        codes = np.empty(len(cells))
        core.fill_column(cells, codes)
        return wanted, codes
    return wanted, np.array([code(name, each, wanted) for each in listed], dtype=np.float64)


def checked_kind(name: str, found: Kind, kind: Kind | None) -> Kind:
    """Return what a column holds, where `found` is what its newest values are and `kind` what it held."""
    if kind is None or kind == found:
        return found
    if {kind, found} <= {"date", "datetime"}:
        return kind
    raise TypeError(f"{name} has held {_CALLED[kind]} so far, got {_CALLED[found]}")


def _on_the_wall(values: Any) -> Any:
    """Return a column of dates with a time zone as what the clock on the wall showed there."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "tz", None) is not None:  # of pandas
        return values.dt.tz_localize(None)
    if getattr(dtype, "time_zone", None) is not None:  # of polars
        return values.dt.replace_time_zone(None)
    if getattr(getattr(values, "type", None), "tz", None) is not None:  # of pyarrow
        compute = import_module("pyarrow.compute")  # whoever has such a column has it
        return compute.local_timestamp(values)
    return values


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
