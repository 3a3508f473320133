"""Prequential evaluation: the error of predictions that were made before their targets were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64

FORECASTS = ("model", "last value", "mean so far")
"""What the last axis of `Prequential.update` and `LearningCurve.means` are the errors of."""

_MOST_BINS = 256


class Prequential:
    """Running errors of predictions, beside those of the two forecasts that need no model.

    Those are the last target seen and the mean of all targets seen, 0 before there is one. A target that is
    not known (NaN) does not count. Every property is a number where there is one output, and an array of
    shape (outputs,) where there are several.

    Parameters
    ----------
    totals
        The `totals` of another score, to go on from there.
    outputs
        How many targets a row has, where there are no `totals`.

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

    def __init__(self, totals: Any = None, *, outputs: int = 1) -> None:
        self._totals = np.zeros((outputs, 9)) if totals is None else np.array(totals, dtype=np.float64)
        if self._totals.ndim != 2 or self._totals.shape[1] != 9:
            raise ValueError(f"totals must have shape (outputs, 9), got {self._totals.shape}")

    @property
    def totals(self) -> Float64:
        """All that has been summed up, an array of shape (outputs, 9)."""
        return self._totals.copy()

    def update(self, targets: Any, predictions: Any) -> Float64:
        """Take in the targets and predictions of the next rows, both of shape (n, outputs), or (n,) for one.

        Returns
        -------
        array of the targets' shape with an axis more, for `FORECASTS`
            Target minus forecast, NaN where the target is not known.
        """
        y, y_hat = np.asarray(targets, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
        shape, outputs = y.shape, len(self._totals)
        if shape != y_hat.shape or (shape[1:] or (1,)) != (outputs,):
            wanted = "(n,)" if outputs == 1 else f"(n, {outputs})"
            raise ValueError(
                f"targets and predictions must have the same shape {wanted}, got {shape} and {y_hat.shape}"
            )
        y, y_hat = y.reshape(-1, outputs), y_hat.reshape(-1, outputs)
        errors = np.full((*y.shape, len(FORECASTS)), np.nan)
        for i, known in enumerate(~np.isnan(y.T)):
            if known.any():
                errors[known, i] = _added(self._totals[i], y[known, i], y_hat[known, i])
        return errors.reshape(*shape, len(FORECASTS))

    @property
    def rows(self) -> Any:
        """How many rows had a target."""
        counts = self._totals[:, 0].astype(int)
        return counts if len(counts) > 1 else int(counts[0])

    @property
    def mse(self) -> Any:
        """Mean squared error of the predictions; NaN before the first row, as are all the others."""
        return self._mean(3)

    @property
    def mse_of_last(self) -> Any:
        """Mean squared error of predicting the target seen last."""
        return self._mean(4)

    @property
    def mse_of_mean(self) -> Any:
        """Mean squared error of predicting the mean of all targets seen before."""
        return self._mean(5)

    @property
    def mae(self) -> Any:
        """Mean absolute error of the predictions."""
        return self._mean(6)

    @property
    def mae_of_last(self) -> Any:
        """Mean absolute error of predicting the target seen last."""
        return self._mean(7)

    @property
    def mae_of_mean(self) -> Any:
        """Mean absolute error of predicting the mean of all targets seen before."""
        return self._mean(8)

    @property
    def r2(self) -> Any:
        """The part of the squared error of the mean so far that the predictions take away."""
        return _plain(1 - _ratio(self._totals[:, 3], self._totals[:, 5]))

    def _mean(self, column: int) -> Any:
        return _plain(_ratio(self._totals[:, column], self._totals[:, 0]))


class Coverage:
    """How often truths were within their intervals.

    Parameters
    ----------
    totals
        Those of another one, to go on from there: shape (outputs, 2).
    outputs
        How many targets a row has, where there are no `totals`.

    Examples
    --------
    >>> coverage = Coverage()
    >>> coverage.update(np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([1.5, 1.5]))
    >>> coverage.share
    0.5
    """

    def __init__(self, totals: Any = None, *, outputs: int = 1) -> None:
        self.totals: Float64 = np.zeros((outputs, 2)) if totals is None else np.array(totals, np.float64)
        if self.totals.ndim != 2 or self.totals.shape[1] != 2:
            raise ValueError(f"totals must have shape (outputs, 2), got {self.totals.shape}")

    def update(self, targets: Any, low: Any, high: Any) -> None:
        """Take in the targets and the intervals of the next rows; infinite intervals do not count."""
        y, low, high = (np.reshape(each, (-1, len(self.totals))) for each in (targets, low, high))
        counted = ~np.isnan(y) & np.isfinite(low) & np.isfinite(high)
        self.totals[:, 0] += counted.sum(axis=0)
        self.totals[:, 1] += (counted & (low <= y) & (y <= high)).sum(axis=0)

    @property
    def share(self) -> Any:
        """The part of the truths that were within, NaN before there is one."""
        return _plain(_ratio(self.totals[:, 1], self.totals[:, 0]))


def surprise(truth: Any, prediction: Any, low: Any, high: Any, coverage: float = 0.9) -> Float64:
    """Return how surprising truths were, in bits: -log2 of the probability of one at least as far away.

    An interval from `low` to `high` that holds a truth with probability `coverage` says how far away a truth
    usually is, above and below. A coin that falls on the expected side is 1 bit, a one in a thousand 10.

    Examples
    --------
    >>> surprise([0.0, 1.645, 5.0], 0.0, -1.645, 1.645).round(1)
    array([ 0. ,  3.3, 20.7])
    """
    from math import erfc, sqrt  # noqa: PLC0415 - beside its use

    truth, prediction, low, high = (np.asarray(each, np.float64) for each in (truth, prediction, low, high))
    error = truth - prediction
    reach = np.where(error < 0, prediction - low, high - prediction)
    reach = np.where(np.isinf(reach), np.nan, reach)  # nothing is known yet
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(error == 0, 0.0, np.abs(error) / reach) * _normal_quantile((1 + coverage) / 2)
    tails = np.array([erfc(min(each, _FARTHEST) / sqrt(2)) for each in distance.ravel()])
    bits: Float64 = -np.log2(np.where(np.isnan(distance.ravel()), np.nan, tails)).reshape(distance.shape)
    return np.abs(bits)


_FARTHEST = 37.0  # deviations: beyond that the probability is no number any more


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - slow to import

    return NormalDist().inv_cdf(p)


class LearningCurve:
    """Mean squared errors along a stream of any length, in bounded memory.

    Rows are averaged in bins of equal size. When there are 256 bins, each two become one.

    Parameters
    ----------
    rows, sums
        Those of another curve, to go on from there.
    outputs
        How many targets a row has, where there are no `sums`.

    Attributes
    ----------
    rows : int
        How many rows have passed.
    sums : array of shape (bins, outputs, 4)
        Of each bin, the last of which may not be full yet, how many targets were known, and the sums of the
        squared errors of `FORECASTS`.

    Examples
    --------
    >>> curve = LearningCurve()
    >>> curve.update(np.ones((1000, 3)))
    >>> curve.size, curve.means.shape, curve.ends[-1]
    (4, (250, 3), np.int64(1000))
    """

    def __init__(self, rows: int = 0, sums: Any = None, *, outputs: int = 1) -> None:
        self.rows = int(rows)
        width = 1 + len(FORECASTS)
        self.sums: Float64 = np.zeros((0, outputs, width)) if sums is None else np.array(sums, np.float64)
        bins = -(-self.rows // self.size)
        if self.rows < 0 or self.sums.ndim != 3 or self.sums.shape[::2] != (bins, width):
            raise ValueError("rows and sums are not those of a learning curve")

    @property
    def size(self) -> int:
        """How many rows a bin holds."""
        return 1 << max(0, self.rows.bit_length() - _MOST_BINS.bit_length() + 1)

    def update(self, errors: Any) -> None:
        """Take in the errors of the next rows, shape (n, outputs, 3), or (n, 3) for one output."""
        squares = np.reshape(errors, (len(errors), *self.sums.shape[1:2], len(FORECASTS))) ** 2
        known = ~np.isnan(squares[..., :1])
        added = np.concatenate([known, np.where(known, squares, 0)], axis=-1)
        first, former_size = self.rows, self.size
        self.rows += len(added)
        bins = -(-self.rows // self.size)
        factor = self.size // former_size
        sums = np.zeros((bins * factor, *self.sums.shape[1:]))
        sums[: len(self.sums)] = self.sums
        self.sums = sums.reshape(bins, factor, *sums.shape[1:]).sum(axis=1)
        np.add.at(self.sums, np.arange(first, self.rows) // self.size, added)

    @property
    def ends(self) -> NDArray[np.int64]:
        """How many rows had passed at the end of each full bin, shape (bins,)."""
        return self.size * np.arange(1, self.rows // self.size + 1)

    @property
    def means(self) -> Float64:
        """The mean squared errors of the full bins, shape (bins, outputs, 3), or (bins, 3) for one output."""
        return self._means(self.sums[: len(self.ends)])

    @property
    def running(self) -> Float64:
        """The mean squared errors from the beginning to the end of each full bin, in the shape of `means`."""
        return self._means(np.cumsum(self.sums[: len(self.ends)], axis=0))

    def _means(self, sums: Float64) -> Float64:
        means = _ratio(sums[..., 1:], sums[..., :1])
        return means[:, 0] if means.shape[1] == 1 else means


def _added(totals: Float64, y: Float64, y_hat: Float64) -> Float64:
    """Add known targets to the totals of one output, and return the errors of `FORECASTS`, shape (n, 3)."""
    count, total, last = totals[:3]
    means = (total + np.cumsum(y) - y) / np.maximum(count + np.arange(len(y)), 1)
    lasts = np.concatenate([[last], y[:-1]])
    errors: Float64 = y[:, np.newaxis] - np.stack([y_hat, lasts, means], axis=1)
    totals[0] += len(y)
    totals[1] += np.sum(y)
    totals[2] = y[-1]
    totals[3:6] += np.sum(errors**2, axis=0)
    totals[6:9] += np.sum(np.abs(errors), axis=0)
    return errors


def _ratio(part: Float64, whole: Float64) -> Float64:
    """Return part / whole, NaN where the whole is 0."""
    ratio: Float64 = np.full(part.shape, np.nan)
    return np.divide(part, whole, out=ratio, where=whole != 0)


def _plain(values: Float64) -> Any:
    """Return the value of one output as a float, and those of several as they are."""
    return float(values[0]) if len(values) == 1 else values
