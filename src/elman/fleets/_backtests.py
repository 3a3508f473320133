"""Series of many keys, each learned by the forecaster of its key."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.fleets import _batches
from elman.fleets.refused import RefusedRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.models.forecaster import Forecaster
    from elman.models.forecasts import Backtest


@dataclass
class Series:
    """The rows of a call: values, covariates and time stamps, and how forecasts of them are made."""

    y: Any
    X: Any
    times: Any
    options: dict[str, Any]

    @classmethod
    def of(cls, n: int, y: Any, X: Any, times: Any, options: dict[str, Any]) -> Series:
        """Return the rows of n keys; an error if there are not as many of them."""
        values = np.asarray(y if y is None or isinstance(y, np.ndarray) else list(y), dtype=object)
        stamps = None if times is None else list(times)
        counts = {"y": values.shape[0] if values.ndim else -1}
        counts |= {} if X is None else {"X": _batches.count_rows(X)}
        counts |= {} if stamps is None else {"times": len(stamps)}
        for name, count in counts.items():
            if count != n:
                raise ValueError(f"there must be a key for each row: got {n} keys and {count} rows of {name}")
        return cls(values, X, stamps, options)

    def run(self, model: Forecaster, rows: NDArray[np.int64]) -> Backtest:
        """Let a forecaster learn some rows."""
        covariates = None if self.X is None else _batches.some_rows(self.X, rows)
        stamps = None if self.times is None else [self.times[i] for i in rows]
        return model.run(self.y[rows].tolist(), covariates, stamps, **self.options)

    def run_all(
        self, models: list[Forecaster], rows: list[NDArray[np.int64]], threads: int
    ) -> list[Backtest | str]:
        """Let each forecaster learn its rows; return what was forecast, or why a forecaster did not learn."""

        def one(model: Forecaster, own: NDArray[np.int64]) -> Backtest | str:
            try:
                return self.run(model, own)
            except (TypeError, ValueError) as error:
                return str(error)

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, models, rows))

    def refused(self, key: Any, model: Forecaster, rows: NDArray[np.int64], reason: str) -> RefusedRow:
        """Return the first row that a forecaster does not take, which has learned none of them."""
        trial = copy.deepcopy(model)
        for i in range(len(rows)):
            try:
                self.run(trial, rows[i : i + 1])
            except (TypeError, ValueError) as error:
                return RefusedRow(key, int(rows[i]), str(error))
        return RefusedRow(key, int(rows[0]), reason)
