"""Parts of tables of pandas, polars and pyarrow, for who hands them to models; none of them is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elman.models._frames import are_features, column_names, plain

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["are_features", "column_names", "plain", "some_rows", "without"]


def without(table: Any, names: Collection[str]) -> Any:
    """Return a table without the columns of these names."""
    kept = [name for name in column_names(table) or () if name not in names]
    select = getattr(table, "select", None)  # of polars and pyarrow
    return table[kept] if select is None else select(kept)


def some_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return these rows of a table."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.take(rows) if hasattr(table, "take") else table[rows]
