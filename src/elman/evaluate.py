"""Prequential evaluation: the error of predictions that were made before their targets were seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64

FORECASTS = ("model", "last value", "mean so far")
"""What the columns of `Prequential.update` and `LearningCurve.means` are the errors of."""

_MOST_BINS = 256


class Prequential:
    """Running errors of predictions, beside those of the two forecasts that need no model.

    Those are the last target seen and the mean of all targets seen, 0 before there is one. Rows whose target
    is not known (NaN) do not count.

    Parameters
    ----------
    totals
        The `totals` of another score, to go on from there.

    Examples
    --------
    >>> score = Prequential()
    >>> errors = score.update([1.0, 3.0], [1.0, 2.0])
    >>> score.mse, score.mae
    (0.5, 0.5)
    >>> score.mse_of_mean  # 0 is predicted before anything is known, then 1
    2.5
    >>> score.r2
    0.8
    """

    def __init__(self, totals: Any = None) -> None:
        initial = np.zeros(9) if totals is None else np.array(totals, dtype=np.float64)
        if initial.shape != (9,):
            raise ValueError(f"totals must have shape (9,), got {initial.shape}")
        self.rows = int(initial[0])
        self._sum, self._last = float(initial[1]), float(initial[2])
        self._squares, self._absolutes = initial[3:6], initial[6:9]

    @property
    def totals(self) -> Float64:
        """All that has been summed up, an array of shape (9,)."""
        return np.concatenate([[self.rows, self._sum, self._last], self._squares, self._absolutes])

    def update(self, targets: Any, predictions: Any) -> Float64:
        """Take in the targets and predictions of the next rows, both of shape (n,).

        Returns
        -------
        array of shape (rows that count, 3)
            Target minus forecast, a column for each of `FORECASTS`.
        """
        y, y_hat = _known(targets, predictions)
        if len(y) == 0:
            return np.empty((0, len(FORECASTS)))
        counts = self.rows + np.arange(len(y))
        means = (self._sum + np.cumsum(y) - y) / np.maximum(counts, 1)
        lasts = np.concatenate([[self._last], y[:-1]])
        errors: Float64 = y[:, np.newaxis] - np.stack([y_hat, lasts, means], axis=1)
        self._squares += np.sum(errors**2, axis=0)
        self._absolutes += np.sum(np.abs(errors), axis=0)
        self._sum += float(np.sum(y))
        self._last = float(y[-1])
        self.rows += len(y)
        return errors

    @property
    def mse(self) -> float:
        """Mean squared error of the predictions; NaN before the first row, as are all the others."""
        return self._mean(self._squares[0])

    @property
    def mae(self) -> float:
        """Mean absolute error of the predictions."""
        return self._mean(self._absolutes[0])

    @property
    def r2(self) -> float:
        """The part of the squared error of the mean so far that the predictions take away."""
        return 1 - self.mse / self.mse_of_mean if self._squares[2] else math.nan

    @property
    def mse_of_last(self) -> float:
        """Mean squared error of predicting the target seen last."""
        return self._mean(self._squares[1])

    @property
    def mae_of_last(self) -> float:
        """Mean absolute error of predicting the target seen last."""
        return self._mean(self._absolutes[1])

    @property
    def mse_of_mean(self) -> float:
        """Mean squared error of predicting the mean of all targets seen before."""
        return self._mean(self._squares[2])

    @property
    def mae_of_mean(self) -> float:
        """Mean absolute error of predicting the mean of all targets seen before."""
        return self._mean(self._absolutes[2])

    def _mean(self, total: float) -> float:
        return float(total) / self.rows if self.rows else math.nan


class LearningCurve:
    """Mean squared errors along a stream of any length, in bounded memory.

    Rows are averaged in bins of equal size. When there are 256 bins, each two become one.

    Parameters
    ----------
    size, bins, unfinished
        Those of another curve, to go on from there: rows in a bin, the full bins, and the count and sums of
        the bin that is being filled.

    Examples
    --------
    >>> curve = LearningCurve()
    >>> curve.update(np.ones((1000, 3)))
    >>> curve.size, curve.means.shape, curve.rows[-1]
    (4, (250, 3), np.int64(1000))
    """

    def __init__(self, size: int = 1, bins: Any = None, unfinished: Any = None) -> None:
        width = len(FORECASTS)
        self.size = int(size)
        self._bins: list[Float64] = list(np.reshape([] if bins is None else bins, (-1, width)))
        self._unfinished = np.zeros(1 + width) if unfinished is None else np.array(unfinished, np.float64)
        if self.size < 1 or len(self._bins) >= _MOST_BINS or self._unfinished.shape != (1 + width,):
            raise ValueError("size, bins and unfinished are not those of a learning curve")

    def update(self, errors: Float64) -> None:
        """Take in the errors of the next rows, shape (n, 3)."""
        squares, at = np.asarray(errors) ** 2, 0
        while at < len(squares):
            part = squares[at : at + self.size - int(self._unfinished[0])]
            self._unfinished[0] += len(part)
            self._unfinished[1:] += part.sum(axis=0)
            at += len(part)
            if self._unfinished[0] == self.size:
                self._close()

    def _close(self) -> None:
        self._bins.append(self._unfinished[1:] / self.size)
        self._unfinished[:] = 0
        if len(self._bins) == _MOST_BINS:
            self._bins = list(np.reshape(self._bins, (_MOST_BINS // 2, 2, -1)).mean(axis=1))
            self.size *= 2

    @property
    def means(self) -> Float64:
        """The mean squared errors of the full bins, shape (bins, 3), a column for each of `FORECASTS`."""
        return np.reshape(self._bins, (-1, len(FORECASTS)))

    @property
    def rows(self) -> NDArray[np.int64]:
        """How many rows had passed at the end of each bin, shape (bins,)."""
        return self.size * np.arange(1, len(self._bins) + 1)

    @property
    def unfinished(self) -> Float64:
        """The count and the sums of the bin that is being filled, shape (4,)."""
        return self._unfinished.copy()


def _known(targets: Any, predictions: Any) -> tuple[Float64, Float64]:
    y, y_hat = np.asarray(targets, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if y.ndim != 1 or y.shape != y_hat.shape:
        raise ValueError(
            f"targets and predictions must have the same shape (n,), got {y.shape} and {y_hat.shape}"
        )
    known = ~np.isnan(y)
    return y[known], y_hat[known]
