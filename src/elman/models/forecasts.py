"""What a `Forecaster` answers: the rows ahead with their intervals, and backtests of many such answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.arguments import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64

LEVELS = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995])
"""Levels of the quantiles that the core follows."""
SUM_COVERAGE = 0.9
"""Which interval of the sum over all steps is followed as such."""
_FEWEST_PATHS, _HALVINGS = 20, 12
_NORMAL = NormalDist()
_ABSCISSAE = np.array([_NORMAL.inv_cdf(level) for level in LEVELS])


@dataclass(frozen=True)
class Forecast:
    """The next rows: `mean`, and the interval from `low` to `high`, shape (horizon,) each."""

    mean: Float64
    low: Float64
    high: Float64
    coverage: float
    """With which probability each row lies from `low` to `high`."""
    times: NDArray[Any] | None
    """The stamps of the rows ahead; None if rows have none."""
    quantiles: Float64 = field(repr=False)
    """Shape (horizon, len(LEVELS))."""
    bounds: tuple[float, float] = field(default=(-np.inf, np.inf), repr=False)

    def quantile(self, level: float) -> Float64:
        """Return the values that the rows ahead stay below with probability `level`, shape (horizon,)."""
        number("level", level)
        if not 0 < level < 1:
            raise ValueError(f"level must be above 0 and below 1, got {level!r}")
        return self.at(np.full(len(self.mean), level))

    def at(self, levels: Float64) -> Float64:
        """Return a quantile of each row ahead at a level of its own; `levels` (..., horizon)."""
        abscissae = np.vectorize(_NORMAL.inv_cdf, otypes=[float])(np.clip(levels, 1e-9, 1 - 1e-9))
        right = np.clip(np.searchsorted(_ABSCISSAE, abscissae), 1, len(LEVELS) - 1)
        share = (abscissae - _ABSCISSAE[right - 1]) / (_ABSCISSAE[right] - _ABSCISSAE[right - 1])
        rows = np.arange(len(self.mean))
        below, above = self.quantiles[rows, right - 1], self.quantiles[rows, right]
        with np.errstate(invalid="ignore"):  # infinite ends while nothing is known
            found = below + share * (above - below)
        bounded: Float64 = np.clip(np.where(np.isnan(found), below, found), *self.bounds)
        return bounded

    def paths(self, n: int, past_errors: Float64, width_of_sum: float, seed: int | None) -> Float64:
        """Return `n` whole paths, shape (n, horizon), see `Forecaster.sample`.

        The interval that holds `SUM_COVERAGE` of their sums is to be so wide, if that is not NaN.
        """
        generator = np.random.default_rng(seed)
        horizon = len(self.mean)
        if len(past_errors) < 2:  # nothing is known of what goes together
            past_errors = generator.normal(size=(n, horizon))
        chosen = generator.choice(len(past_errors), n, replace=n > len(past_errors))
        ranks = _ranks(past_errors[chosen], generator.random((n, horizon)))
        levels = (np.arange(n)[:, None] + generator.random((n, horizon))) / n
        values = np.sort(self.at(levels), axis=0)
        return _as_wide(values, ranks, width_of_sum)


def _ranks(values: Float64, ties: Float64) -> NDArray[np.intp]:
    """Return the rank of each value in its column; `ties` decide between equal ones."""
    ranks = np.empty(values.shape, dtype=np.intp)
    for column in range(values.shape[1]):
        ranks[np.lexsort((ties[:, column], values[:, column])), column] = np.arange(len(values))
    return ranks


def _as_wide(values: Float64, ranks: NDArray[np.intp], width: float) -> Float64:
    """Return columns of sorted `values` put together so that their sums are spread over such a width.

    Ranks say how they go together at first. Then every path's steps are moved together, or apart, by what its
    sum says of it, as far as it takes.
    """
    columns = np.arange(values.shape[1])
    paths: Float64 = values[ranks, columns]
    if len(paths) < _FEWEST_PATHS or not np.isfinite(width):
        return paths
    scores = np.array([_NORMAL.inv_cdf((rank + 0.5) / len(paths)) for rank in range(len(paths))])
    common = scores[np.argsort(np.argsort(paths.sum(axis=1), kind="stable"), kind="stable")]

    def put_together(share: float) -> Float64:
        moved = scores[ranks] + share * common[:, None]
        again = np.argsort(np.argsort(moved, axis=0, kind="stable"), axis=0, kind="stable")
        return values[again, columns]

    apart, together = -1.0, 4.0
    for _ in range(_HALVINGS):
        share = (apart + together) / 2
        paths = put_together(share)
        low, high = np.quantile(paths.sum(axis=1), [(1 - SUM_COVERAGE) / 2, (1 + SUM_COVERAGE) / 2])
        apart, together = (share, together) if high - low < width else (apart, share)
    return paths


@dataclass(frozen=True)
class Backtest:
    """What was forecast after each row: `mean`, `low` and `high`, shape (n_forecasts, horizon) each."""

    mean: Float64
    low: Float64
    high: Float64
    coverage: float
    rows: NDArray[np.int64]
    """The row of the arrays that each forecast was made after, shape (n_forecasts,)."""

    def truths(self, y: Any) -> Float64:
        """Return what came, shape (n_forecasts, horizon), NaN beyond the end of `y`."""
        series = np.asarray(y, dtype=np.float64)
        places = self.rows[:, None] + 1 + np.arange(self.mean.shape[1])
        return np.where(places < len(series), series[np.minimum(places, len(series) - 1)], np.nan)
