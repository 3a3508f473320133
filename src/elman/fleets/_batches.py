"""What users pass as rows of many keys, sorted by key; every key in the order in which it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elman import limits
from elman.models import tables
from elman.models.coded import Coded
from elman.models.together import Batch, Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64
    from elman.models.coded import Kind

MOST_KEY = 2**63
_KEY_RULE = "a key must be a str, or an int of 64 bits"
_TEXT_RULE = f"a key must be text of at most {limits.KEY_CHARACTERS:,} characters"


@dataclass(frozen=True)
class Keys:
    """The keys of rows: those that there are, in the order of their first rows, and where their rows are."""

    unique: list[Any]
    order: NDArray[np.int64]
    """Rows sorted by key: those of key i are ``order[starts[i]:starts[i + 1]]``."""
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, listed: list[Any]) -> Keys:
        """Return the keys of rows; no Python is run for each of them."""
        unique = list(dict.fromkeys(listed))
        places = {key: i for i, key in enumerate(unique)}
        codes = np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))
        starts = np.zeros(len(unique) + 1, np.int64)
        np.cumsum(np.bincount(codes, minlength=len(unique)), out=starts[1:])
        return cls(unique, np.argsort(codes, kind="stable"), starts)

    def rows(self, i: int) -> NDArray[np.int64]:
        """Return the numbers of the rows of key i."""
        return self.order[self.starts[i] : self.starts[i + 1]]


def check_key(key: Any) -> Any:
    """Return a key as it is kept; an error for what cannot be one."""
    key = plain_key(key)
    reason = wrong_key(key)
    if reason is not None:
        raise TypeError(reason)
    return key


def plain_key(key: Any) -> Any:
    """Return a key of NumPy as Python's."""
    return key.item() if isinstance(key, np.generic) else key


def wrong_key(key: Any) -> str | None:
    """Say what is wrong with a key, if anything is."""
    if type(key) is int and -MOST_KEY <= key < MOST_KEY:
        return None
    if type(key) is str:
        return (
            None if len(key) <= limits.KEY_CHARACTERS and is_text(key) else f"{_TEXT_RULE}, got {key[:50]!r}"
        )
    return f"{_KEY_RULE}, got {key!r} of type {type(key).__name__}"


def is_text(key: str) -> bool:
    """Whether a str is text that can be written; one with half of a surrogate pair is not."""
    return key.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in key)


def listed_keys(keys: Any) -> list[Any]:
    """Return the keys of rows as a list of Python objects."""
    if isinstance(keys, (list, tuple)):
        listed = list(keys)
    else:
        array = np.asarray(keys)
        if array.ndim != 1 or array.dtype.kind in "mMV":
            raise TypeError(
                f"keys must be a sequence of str or int, got {type(keys).__name__} of {array.dtype}"
            )
        listed = array.tolist()
    if any(issubclass(kind, np.generic) for kind in set(map(type, listed))):
        listed = [plain_key(key) for key in listed]
    return listed


def split(keys: Any, X: Any, y: Any) -> tuple[list[Any], Any, Any]:
    """Return keys, rows and targets; a key or a target that is the name of a column is taken out of X."""
    if not isinstance(keys, str) and not isinstance(y, str):
        return listed_keys(keys), X, y
    names = tables.column_names(X)
    if names is None:
        raise TypeError(
            "a column of keys or targets can be named only if X is a table of pandas, polars or Arrow"
        )
    for name in (keys, y):
        if isinstance(name, str) and name not in names:
            raise ValueError(f"X has no column {name!r}; it has {', '.join(map(str, names[:10]))}")
    rest = tables.without(X, [name for name in (keys, y) if isinstance(name, str)])
    if isinstance(keys, str):
        keys = X[keys]
    return listed_keys(keys), rest, X[y] if isinstance(y, str) else y


class Numbers(NamedTuple):
    """Rows that are numbers: the names of the columns, the rows, and what columns without names hold."""

    names: tuple[str, ...] | None
    X: Float64
    kinds: tuple[Kind, ...] = ()


def numbers(X: Any) -> Numbers | None:  # noqa: PLR0911 - one a kind of rows
    """Return rows that are plain numbers, or have been coded as such; None for anything else."""
    if isinstance(X, Coded):
        return Numbers(None, X.values, X.kinds)
    if isinstance(X, (list, tuple)) and not any(issubclass(kind, Mapping) for kind in set(map(type, X))):
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths
            return None
    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "fiub" or X.ndim != 2:
            return None
        return Numbers(None, X.astype(np.float64, copy=False))
    names = tables.column_names(X)
    if names is None:
        return None
    columns = [np.asarray(tables.plain(X[name])) for name in names]
    if any(column.dtype.kind not in "fiub" for column in columns):
        return None
    named = tables.are_features(names)
    # Sorted, as a model sorts the names that it meets for the first time.
    order = sorted(range(len(names)), key=names.__getitem__) if named else range(len(names))
    rows = np.empty((len(X), len(names)))
    for place, i in enumerate(order):
        rows[:, place] = columns[i]
    return Numbers(tuple(names[i] for i in order) if named else None, rows)


def target_numbers(y: Any, n: int) -> Float64 | None:
    """Return targets as numbers, infinite ones too, shape (n,) or (n, n_outputs)."""
    if y is None:
        return None
    array = np.asarray(tables.plain(y))
    if array.dtype.kind not in "fiubO":
        raise TypeError(f"y must hold numbers, got {array.dtype}")
    try:
        targets = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"y must hold numbers only: {error}") from None
    if targets.ndim not in (1, 2) or len(targets) != n:
        raise ValueError(
            f"y must have shape ({n},) or ({n}, n_outputs), as there are {n} keys; got {targets.shape}"
        )
    return targets


def sorted_batch(keys: Keys, rows: Numbers, y: Float64 | None) -> Batch:
    """Return the rows sorted by key."""
    return Batch(rows.names, rows.X[keys.order], None if y is None else y[keys.order], rows.kinds)


def some_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return these rows of what a model's `run` takes."""
    if tables.column_names(X) is not None:
        return tables.some_rows(X, rows)
    if isinstance(X, np.ndarray):
        return X[rows]
    return [X[i] for i in rows.tolist()]


def count_rows(X: Any) -> int:
    """Return how many rows there are."""
    if not hasattr(X, "__len__") or (isinstance(X, (Mapping, str)) and not hasattr(X, "columns")):
        raise TypeError(f"X must be rows: an array, a table or a sequence of dicts; got {type(X).__name__}")
    return len(X)


def first_wrong_row(pattern: Model, X: Any, y: Any, rows: NDArray[np.int64]) -> tuple[int, str] | None:
    """Return the first of these rows that a model of the pattern refuses on its own, and why."""
    for row in rows.tolist():
        target = None if y is None else y[row]
        try:
            if tables.column_names(X) is None:
                pattern.twin().learn_one(X[row], target)
            else:
                one = None if target is None else target[np.newaxis]
                pattern.twin().run(tables.some_rows(X, np.array([row])), one)
        except (TypeError, ValueError) as error:
            return row, str(error)
    return None
