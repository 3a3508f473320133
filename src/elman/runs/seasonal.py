"""The forecast that everything is as it was at the same time of the day or of the week before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64

PERIODS = {"a day ago": 86_400.0, "a week ago": 604_800.0}
_MOST_ROWS = 20_160  # two weeks of minutes


class SeasonalNaive:
    """Errors of forecasting by the target that was known a day and a week before.

    Where there was none at that moment the last one before it counts, and the last target of all until a
    whole period has passed.

    Parameters
    ----------
    outputs
        How many targets a row has.
    past
        Of another one, to go on from there: shape (rows, 1 + outputs), times and targets.
    totals
        Likewise, shape (periods, outputs, 3): how many, the sums of squared and of absolute errors.

    Examples
    --------
    >>> naive = SeasonalNaive()
    >>> hours = 3600.0 * np.arange(72)
    >>> naive.update(hours, np.sin(hours / 86400 * 2 * np.pi)[:, np.newaxis])
    >>> name, mse, _ = naive.best()
    >>> name, bool(mse[0] < 0.05)
    ('a day ago', True)
    """

    def __init__(self, outputs: int = 1, past: Any = None, totals: Any = None) -> None:
        self.past: Float64 = np.empty((0, 1 + outputs)) if past is None else np.array(past, np.float64)
        shape = (len(PERIODS), outputs, 3)
        self.totals: Float64 = np.zeros(shape) if totals is None else np.array(totals, np.float64)
        if self.totals.shape != shape or self.past.ndim != 2 or self.past.shape[1] != 1 + outputs:
            raise ValueError("past and totals are not those of a seasonal forecast")

    def update(self, time: Float64, y: Float64) -> None:
        """Take in the next rows: their times, shape (n,), NaN where not known, and targets (n, outputs)."""
        forward = np.fmax.accumulate(np.concatenate([self.past[-1:, 0], time]))[-len(time) :]
        known = ~np.isnan(y).any(axis=1) & (time >= forward)
        new = np.column_stack([time, y])[known]
        if not len(new):
            return
        first, n = len(self.past), len(new)
        rows = np.concatenate([self.past, new])
        for i, period in enumerate(PERIODS.values()):
            # The last row at or before one period earlier; a moment is met a little early or late too.
            at = np.searchsorted(rows[:, 0], new[:, 0] - period + 1e-3, side="right") - 1
            at = np.where(at < 0, first + np.arange(n) - 1, np.minimum(at, first + np.arange(n) - 1))
            errors = (new[:, 1:] - rows[at, 1:])[at >= 0]
            self.totals[i, :, 0] += len(errors)
            self.totals[i, :, 1] += np.sum(errors**2, axis=0)
            self.totals[i, :, 2] += np.sum(np.abs(errors), axis=0)
        oldest = rows[-1, 0] - 1.5 * max(PERIODS.values())
        self.past = rows[rows[:, 0] >= oldest][-_MOST_ROWS:]

    def best(self) -> tuple[str, Float64, Float64] | None:
        """Return the name of the best period and its mean squared and absolute errors; or None."""
        counts = self.totals[:, 0, 0]
        if not counts.any():
            return None
        best = int(np.argmin(self.totals[:, :, 1].sum(axis=1)))
        _, squares, sizes = self.totals[best].T
        return list(PERIODS)[best], squares / counts[best], sizes / counts[best]
