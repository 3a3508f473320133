"""Rows of many models, each of them its own, in one compiled call: what a fleet is made of.

The models are of one pattern and may know different features. Every model answers and learns as its own `run`
would, to the bit; they run in parallel.
"""

# ruff: noqa: SLF001 - these are models of this room, and their locks are held

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from elman._core import core
from elman.models._model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from elman._core import Model as CoreModel
    from elman.arrays import Float64
    from elman.models._rows import Columns, Outputs
    from elman.models._values import Kind

__all__ = ["Batch", "Model", "Share"]


class Share(NamedTuple):
    """The rows [begin, end) of a batch, which belong to a model."""

    model: Model
    begin: int
    end: int


@dataclass
class Batch:
    """Rows sorted by model, and their targets.

    Parameters
    ----------
    names
        Of the features, or None.
    X
        Shape (n, features), no number infinite.
    y
        Shape (n,) or (n, n_outputs), NaN where not known, or None for no targets at all.
    kinds
        What features without names hold, as for `Coded`; empty if all hold numbers.
    """

    names: tuple[str, ...] | None
    X: Float64
    y: Float64 | None
    kinds: tuple[Kind, ...] = ()
    _fits: dict[tuple[int, int], _Fit] = field(default_factory=dict)

    def begun(self, pattern: Model) -> Model:
        """Return a new model that has learned nothing and knows the features and outputs of these rows."""
        model = pattern.twin()
        fit = self._fit(model)
        model._keep(model._fitting(fit.columns, fit.outputs), fit.columns, fit.outputs)
        return model

    def check(self, model: Model) -> None:
        """Raise ValueError if the model has learned rows or targets of another kind."""
        self._fit(model)

    def _fit(self, model: Model) -> _Fit:
        # Most models of a fleet share the very same records.
        known = model._columns, model._outputs
        key = id(known[0]), id(known[1])
        fit = self._fits.get(key)
        if fit is None:
            columns = known[0].knowing(self.names, self.X.shape[1], self.kinds)
            outputs = known[1] if self.y is None else known[1].fitting(self.y.shape[1:])
            same = known[0] if columns == known[0] else columns, known[1] if outputs == known[1] else outputs
            fit = self._fits[key] = _Fit(*same, known)
        return fit

    def run(self, shares: Sequence[Share], n_answers: int, coverage: float, threads: int) -> Float64:
        """Answer and learn the rows of the shares.

        Returns an array of shape (n_answers, rows, ...): for the rows of all shares, one after the other, the
        predictions, and if `n_answers` is three the ends of their intervals.
        """
        starts = np.cumsum([0, *(each.end - each.begin for each in shares)])
        X, y = self._sorted(shares)
        answers = np.empty((n_answers, *y.shape))
        with _held([share.model for share in shares]):
            groups = self._by_columns(shares)
            for columns, own in groups.items():
                rows: slice | NDArray[np.int64] = slice(None)
                if len(groups) > 1:
                    rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in own])
                fits = [self._fit(shares[i].model) for i in own]
                natives = [_native(shares[i].model, fit) for i, fit in zip(own, fits, strict=True)]
                lengths = np.cumsum([0, *(shares[i].end - shares[i].begin for i in own)])
                targets = np.ascontiguousarray(y[rows].reshape(int(lengths[-1]), -1))
                out = np.empty((n_answers, targets.size))
                prepared = np.ascontiguousarray(columns.ordered(self.names, X[rows]))
                core.run_fleet(natives, lengths, prepared, targets, coverage, threads, out)
                for i, native, fit in zip(own, natives, fits, strict=True):
                    if native is not shares[i].model._native:
                        shares[i].model._keep(native, fit.columns, fit.outputs)
                answers[:, rows] = out.reshape(n_answers, *y[rows].shape)
        return answers

    def _sorted(self, shares: Sequence[Share]) -> tuple[Float64, Float64]:
        """Return the rows of the shares, one after the other, and their targets."""
        rows: slice | NDArray[np.int64] = slice(shares[0].begin, shares[-1].end)
        if any(before.end != after.begin for before, after in pairwise(shares)):
            rows = np.concatenate([np.arange(each.begin, each.end) for each in shares])
        X = self.X[rows]
        if self.y is not None:
            return X, self.y[rows]
        outputs = shares[0].model._outputs
        return X, np.full(len(X) if outputs.scalar else (len(X), outputs.count or 1), np.nan)

    def _by_columns(self, shares: Sequence[Share]) -> dict[Columns, list[int]]:
        """Return the places of shares whose models know the same features in the same order."""
        groups: dict[Columns, list[int]] = {}
        found: dict[int, list[int]] = {}  # by the identity of the columns, which is quicker
        for i, share in enumerate(shares):
            columns = self._fit(share.model).columns
            group = found.get(id(columns))
            if group is None:
                group = found[id(columns)] = groups.setdefault(columns, [])
            group.append(i)
        return groups


class _Fit(NamedTuple):
    """What a model knows after the rows of a batch."""

    columns: Columns
    outputs: Outputs
    before: tuple[Columns, Outputs]  # kept, as they are known by their identity


def _native(model: Model, fit: _Fit) -> CoreModel:
    """Return the compiled model that fits: mostly the present one, of the very same records."""
    if model._native is not None and fit.columns is model._columns and fit.outputs is model._outputs:
        return model._native
    return model._fitting(fit.columns, fit.outputs)


@contextmanager
def _held(models: Sequence[Model]) -> Iterator[None]:
    """Keep everybody else from the models."""
    held = []
    try:
        for model in models:
            lock = model._lock
            lock.acquire()
            held.append(lock)
        yield
    finally:
        for each in held:
            each.release()
