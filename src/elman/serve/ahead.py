"""A `Forecaster` as a stream of the service: rows teach it, each answered by what was forecast before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elman.models.forecaster import Forecaster
from elman.serve.problems import Problem

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.models.forecasts import Forecast

_BYTES_OF_A_PAIR = 280  # measured from 24 to 1,000 steps and none to 100 covariates, the largest


class Ahead:
    """A forecaster that answers rows as other models do: by the first step of its forecast.

    Parameters
    ----------
    model
        The forecaster.
    time
        Which of the named inputs is the time stamp; None if none is.
    """

    lags = 0
    max_pending = 0
    changes: tuple[()] = ()
    kind = Forecaster.kind

    def __init__(self, model: Forecaster, time: str | None) -> None:
        self.model, self._time = model, time

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the covariates."""
        return self.model.feature_names

    @property
    def n_samples(self) -> int:
        """Rows seen."""
        return self.model.n_samples

    def run_intervals(self, X: Any, y: Any, coverage: float) -> tuple[Float64, Float64, Float64]:
        """Answer each row by what was forecast before it, then learn it."""
        answers = np.empty((3, len(X)))
        for i, row in enumerate(X):
            ahead = self.model.forecast(coverage=coverage)
            answers[:, i] = ahead.mean[0], ahead.low[0], ahead.high[0]
            x, time = self._parted(row)
            self.model.learn_one(None if y is None else y[i], x, time)
        return answers[0], answers[1], answers[2]

    def forecast(self, rows: Any, coverage: float) -> Forecast:
        """Return the rows ahead; what is known of them already may be given as rows."""
        if rows is None:
            return self.model.forecast(coverage=coverage)
        parted = [self._parted(row) for row in rows]
        times = [time for _, time in parted if time is not None]
        if times and len(times) < len(parted):
            raise Problem(422, "either all rows ahead have a time stamp, or none")
        covariates = [x for x, _ in parted]
        known = None if any(x is None for x in covariates) else covariates
        return self.model.forecast(known, times or None, coverage)

    def _parted(self, row: Any) -> tuple[Any, Any]:
        """Return a row's covariates, None if it has none, and its time stamp."""
        if not isinstance(row, dict):
            return (row if len(row) else None), None
        x = dict(row)
        time = None if self._time is None else x.pop(self._time, None)
        return (x or None), time

    def explain(self) -> str:
        """Return errors by step, and who is trusted."""
        return self.model.explain()

    def importance(self) -> dict[str, float]:
        """Raise the problem that it is not known."""
        raise Problem(422, "a Forecaster does not say which inputs matter")

    def ask(self, *_: Any) -> Any:
        """Raise the problem that questions are answered otherwise."""
        raise Problem(422, "a Forecaster is not asked row by row: GET …/forecast answers the rows ahead")

    def to_bytes(self) -> bytes:
        """Return the forecaster as bytes."""
        return self.model.to_bytes()


def memory(horizon: int, n_features: int) -> int:
    """Return about how many bytes a forecaster takes: regressions for each step, errors of pairs of steps."""
    return _BYTES_OF_A_PAIR * horizon * (horizon + (n_features + 20) ** 2)
