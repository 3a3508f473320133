"""Prequential evaluation: the error of predictions that were made before their targets were seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Prequential:
    """Running mean squared error of predictions, beside that of always predicting the mean so far.

    Rows whose target is not known (NaN) do not count.

    Examples
    --------
    >>> score = Prequential()
    >>> score.update([1.0, 3.0], [1.0, 2.0])
    >>> score.mse
    0.5
    >>> score.mse_of_mean  # 0 is predicted before anything is known, then 1
    2.5
    """

    def __init__(self) -> None:
        self.rows = 0
        self._squares = 0.0
        self._squares_of_mean = 0.0
        self._sum = 0.0

    def update(self, targets: Any, predictions: Any) -> None:
        """Take in the targets and predictions of the next rows, both of shape (n,)."""
        y, y_hat = _known(targets, predictions)
        counts = self.rows + np.arange(len(y))
        means = (self._sum + np.cumsum(y) - y) / np.maximum(counts, 1)
        self._squares += float(np.sum((y - y_hat) ** 2))
        self._squares_of_mean += float(np.sum((y - means) ** 2))
        self._sum += float(np.sum(y))
        self.rows += len(y)

    @property
    def mse(self) -> float:
        """Mean squared error of the predictions; NaN before the first row."""
        return self._squares / self.rows if self.rows else math.nan

    @property
    def mse_of_mean(self) -> float:
        """Mean squared error of predicting the mean of all targets seen before; NaN before the first row."""
        return self._squares_of_mean / self.rows if self.rows else math.nan


def _known(targets: Any, predictions: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    y, y_hat = np.asarray(targets, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if y.ndim != 1 or y.shape != y_hat.shape:
        raise ValueError(
            f"targets and predictions must have the same shape (n,), got {y.shape} and {y_hat.shape}"
        )
    known = ~np.isnan(y)
    return y[known], y_hat[known]
