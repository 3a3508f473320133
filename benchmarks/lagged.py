"""Past targets as columns, for models that have no lags of their own."""

from __future__ import annotations

import numpy as np


def lagged(X: np.ndarray, y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose features are followed by the last k targets, latest first, and the targets.

    The last known target stands in the place of an unknown one; before there is one: NaN.
    """
    newest = np.maximum.accumulate(np.where(np.isnan(y), -1, np.arange(len(y))))
    known = np.concatenate([np.full(k, np.nan), np.where(newest < 0, np.nan, y[newest])])
    columns = [known[k - lag : len(known) - lag] for lag in range(1, k + 1)]
    return np.column_stack([X, *columns]), y
