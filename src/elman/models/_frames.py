"""Tables of pandas, polars, pyarrow and their like, turned into names and one float64 matrix.

Only what these libraries have in common is used (names, ``table[name]``, the array protocol of a column), so
none of them is imported.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def column_names(table: Any) -> list[Any] | None:
    """Return the names of a table's columns, or None if `table` is not one."""
    if not (hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__")):
        return None
    # Arrow first: its `columns` are the data. A single column (Series, ChunkedArray) has neither.
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    return None if names is None else list(names)


def are_features(names: list[Any]) -> bool:
    """Whether columns are known by name. They are not if no name is text, as in a DataFrame of an array."""
    n_text = sum(isinstance(name, str) for name in names)
    if 0 < n_text < len(names):
        odd = next(name for name in names if not isinstance(name, str))
        raise TypeError(f"a feature's name must be a str, got {odd!r} of type {type(odd).__name__}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the columns of X must have different names, got {twice!r} twice")
    return n_text > 0


def plain(values: Any) -> Any:
    """Return a column or a table as an array, nulls as NaN where they are among numbers; others as they came.

    Examples
    --------
    >>> plain([1, 2])
    [1, 2]
    """
    names = column_names(values)
    if names is not None:
        columns = [plain(values[name]) for name in names]
        return np.stack(columns, axis=1) if columns else np.empty((len(values), 0))
    if not hasattr(values, "to_numpy"):  # the mark of a column in all of them
        return values
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    # pandas marks what is missing by an NA that is no number; polars and Arrow by None.
    values = [math.nan if type(value).__name__ == "NAType" else value for value in array.flat]
    return np.array(values, dtype=object).reshape(array.shape)
