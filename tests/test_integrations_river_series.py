"""The Forecaster as River's: its own checks, and its evaluation."""

import numpy as np
import pytest

river = pytest.importorskip("river")
from river import checks, datasets, metrics, time_series  # noqa: E402

from elman.integrations.river_series import SeriesForecaster  # noqa: E402


def test_it_passes_rivers_checks():
    checks.check_estimator(SeriesForecaster(horizon=12))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_rivers_evaluation_finds_it_better_than_the_last_value():
    def errors(model):
        found = time_series.evaluate(datasets.AirlinePassengers(), model, metrics.MAE(), horizon=12)
        return np.array([metric.get() for metric in found.metrics])

    class LastValue(time_series.base.Forecaster):
        def learn_one(self, y, x=None):  # noqa: ARG002 - as River calls it
            self.y = y

        def forecast(self, horizon, xs=None):  # noqa: ARG002 - as River calls it
            return [self.y] * horizon

    assert errors(SeriesForecaster(horizon=12)).mean() < 0.7 * errors(LastValue()).mean()


def test_a_horizon_beyond_its_own_is_refused():
    with pytest.raises(ValueError, match="made for 3 steps"):
        SeriesForecaster(horizon=3).forecast(4)
