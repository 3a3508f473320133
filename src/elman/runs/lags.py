"""A model that is also shown the targets seen last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float64: TypeAlias = NDArray[np.float64]


class WithLags:
    """A model whose rows are followed by the last targets, latest first, NaN where one was not known.

    The same rows as `elman.streams.Lagged` makes of a stream, for rows whose target comes after the question.

    Parameters
    ----------
    model
        Any model of this library.
    past
        The targets before the first row, latest first; as many as are to be shown.

    Examples
    --------
    >>> from elman import OnlineRNN
    >>> model = WithLags(OnlineRNN(seed=1), [np.nan, np.nan])
    >>> model.run(np.zeros((3, 1)), np.array([5.0, 6.0, 7.0])).shape
    (3,)
    >>> model.past
    array([7., 6.])
    """

    def __init__(self, model: Any, past: Any) -> None:
        self.model = model
        self.past = np.array(past, dtype=np.float64)

    def predict_one(self, x: Float64) -> float:
        """Return the prediction for row `x`, shape (n,); nothing changes."""
        return float(self.model.predict_one(self._row(x)))

    def interval_one(self, x: Float64) -> tuple[float, float]:
        """Return where the target of `x` is expected; only where the model can tell."""
        low, high = self.model.interval_one(self._row(x))
        return float(low), float(high)

    def learn_one(self, x: Float64, y: float) -> None:
        """Learn row `x` with its target, NaN if it is not known."""
        self.model.learn_one(self._row(x), y)
        self._pass(np.array([y]))

    def run(self, X: Float64, y: Float64) -> Float64:
        """Predict every row of `X`, shape (rows, n), then learn from it."""
        predictions = np.asarray(self.model.run(self._rows(X, y), y))
        self._pass(y)
        return predictions

    def run_intervals(self, X: Float64, y: Float64) -> tuple[Float64, Float64, Float64]:
        """As `run`, with where each target was expected: predictions, lows, highs."""
        predictions, lows, highs = self.model.run_intervals(self._rows(X, y), y)
        self._pass(y)
        return np.asarray(predictions), np.asarray(lows), np.asarray(highs)

    def _row(self, x: Float64) -> Float64:
        return np.concatenate([x, self.past])

    def _rows(self, X: Float64, y: Float64) -> Float64:
        lags = len(self.past)
        targets = np.concatenate([self.past[::-1], y])
        columns = [targets[lags - lag : len(targets) - lag] for lag in range(1, lags + 1)]
        return np.column_stack([X, *columns])

    def _pass(self, y: Float64) -> None:
        self.past = np.concatenate([y[::-1], self.past])[: len(self.past)]
