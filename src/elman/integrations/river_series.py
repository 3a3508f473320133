"""elman's `Forecaster` as one of River's, for `river.time_series.evaluate` and its like."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from river import time_series

from elman.models.forecaster import Forecaster

__all__ = ["SeriesForecaster"]


class SeriesForecaster(time_series.base.Forecaster):
    """A River forecaster that is an elman `Forecaster` of that horizon, season, size and seed.

    A date among the features is the stamp of the row; the other features that are numbers are covariates.

    Examples
    --------
    >>> from river import datasets
    >>> model = SeriesForecaster(horizon=12, season=12)
    >>> for x, y in datasets.AirlinePassengers():
    ...     model.learn_one(y, x)
    >>> len(model.forecast(12))
    12
    """

    def __init__(
        self, horizon: int = 24, season: Any = None, size: str = "large", seed: int | None = 0
    ) -> None:
        self.horizon = horizon
        self.season = season
        self.size = size
        self.seed = seed
        self.model = Forecaster(horizon, season=season, size=size, seed=seed)

    def learn_one(self, y: float, x: dict[str, Any] | None = None) -> None:
        """Learn the next value, with its features."""
        covariates, time = _split(x)
        self.model.learn_one(y, covariates or None, time)

    def forecast(self, horizon: int, xs: list[dict[str, Any]] | None = None) -> list[float]:
        """Return the next `horizon` values, at most as many as the forecaster was made for."""
        if horizon > self.horizon:
            raise ValueError(f"this forecaster was made for {self.horizon} steps, got horizon={horizon}")
        ahead = [_split(x) for x in xs or []]
        known = [covariates for covariates, _ in ahead]
        times = [time for _, time in ahead]
        stamped = bool(times) and all(time is not None for time in times)
        answer = self.model.forecast(known if any(known) else None, times if stamped else None)
        return [float(value) for value in answer.mean[:horizon]]


def _split(x: dict[str, Any] | None) -> tuple[dict[str, float], Any]:
    """Return the features that are numbers, and the date among them."""
    covariates, time = dict[str, float](), None
    for name, value in (x or {}).items():
        if isinstance(value, datetime):
            time = value
        elif isinstance(value, date):
            time = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - of the wall clock
        elif isinstance(value, (int, float)):
            covariates[name] = float(value)
    return covariates, time
