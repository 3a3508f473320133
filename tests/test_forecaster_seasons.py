"""The forecaster and time: seasons that are found, given or of the calendar, stamps of all kinds, gaps."""

import math
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from elman import Forecaster
from test_forecaster import bits, series

H = 6
HOUR = 3600.0


# Seasons


@pytest.mark.parametrize("period", [2, 3, 7, 24, 100])
@pytest.mark.parametrize("kind", ["random", "sine"])
def test_a_pure_season_is_found_within_ten_periods(period, kind):
    shape = np.random.default_rng(period).normal(size=period)
    if kind == "sine":
        shape = np.sin(np.arange(period) / period * 2 * np.pi + 0.3)
    y = np.resize(shape, 10 * period + 60)
    model = Forecaster(24)
    backtest = model.run(y)
    origins = slice(10 * period, len(y) - 24)

    error = np.mean((backtest.mean[origins] - backtest.truths(y)[origins]) ** 2) / y.var()

    assert model.seasons == (period,)
    assert error < 0.05


def test_noise_has_no_season():
    rng = np.random.default_rng(3)
    for y in (rng.normal(size=1500), np.cumsum(rng.normal(size=1500))):
        model = Forecaster(2)
        model.run(y)
        assert model.seasons == ()


@pytest.mark.parametrize(
    ("step", "seasons"),
    [
        (300, (288, 2016)),
        (1800, (48, 336)),
        (3600, (24, 168)),
        (86400, (7, 365)),
        (7 * 86400, (52,)),
        (1, ()),
    ],
)
def test_stamps_say_the_seasons(step, seasons):
    model = Forecaster(2)
    model.run(np.zeros(5), times=step * np.arange(5.0))
    assert model.seasons == seasons


def test_months_are_slots_of_the_year():
    times = np.arange("2000-01", "2012-01", dtype="datetime64[M]")
    y = np.resize(np.random.default_rng(0).normal(size=12), len(times))
    model = Forecaster(12)
    backtest = model.run(y, times=times)

    assert model.seasons == (12,)
    assert np.mean((backtest.mean[100] - y[101:113]) ** 2) < 0.05 * y.var()
    ahead = model.forecast()
    assert ahead.times[0] == np.datetime64("2012-01-01")
    assert ahead.times[11] == np.datetime64("2012-12-01")


def test_a_season_that_is_given_is_kept():
    model = Forecaster(H, season=(12, 5))
    model.run(series()[0], times=series()[2])
    assert model.seasons == (5, 12)
    assert Forecaster(H, season=()).run(np.resize([1.0, 2.0], 60)) is not None


# Stamps


def test_a_gap_is_rows_that_are_not_known():
    y, _, times = series()
    with_gap, with_none = Forecaster(H), Forecaster(H)
    keep = np.r_[0:200, 210:400]
    with_gap.run(y[keep], times=times[keep])
    unknown = y.copy()
    unknown[200:210] = math.nan
    with_none.run(unknown, times=times)

    assert bits(with_gap.forecast().mean) == bits(with_none.forecast().mean)
    assert with_gap.n_samples == 390


def test_a_long_gap_costs_nothing_and_forecasts_go_on():
    y, _, times = series()
    model = Forecaster(H)
    model.run(y, times=np.where(np.arange(400) < 200, times, times + 1e9))
    assert np.isfinite(model.forecast().mean).all()


def test_clocks_set_back_and_forward_keep_the_day_in_step():
    hours = np.r_[0:1000, 999:2000, 2001:3000].astype(float)  # one hour twice, one never
    y = np.sin(hours / 24 * 2 * np.pi)
    model = Forecaster(24)
    backtest = model.run(y, times=hours * HOUR)
    late = slice(2500, len(y) - 24)
    assert np.mean((backtest.mean[late] - backtest.truths(y)[late]) ** 2) < 0.01 * y.var()


def test_a_late_value_takes_its_place():
    y, _, times = series(100)
    late, in_time = Forecaster(H), Forecaster(H)
    for i in range(100):
        late.learn_one(None if i == 97 else y[i], time=times[i])
        in_time.learn_one(y[i], time=times[i])
    before = late.forecast().mean
    late.learn_one(y[97], time=times[97])

    assert late.n_samples == 100
    assert not np.array_equal(before, late.forecast().mean)
    assert np.abs(late.forecast().mean - in_time.forecast().mean).max() < 0.5


def test_stamps_of_all_kinds_are_the_same():
    y, _, _ = series(60)
    start = datetime(2024, 5, 1)  # noqa: DTZ001
    naive = [start + timedelta(hours=i) for i in range(60)]
    zone = timezone(timedelta(hours=2))
    kinds = [
        naive,
        [each.replace(tzinfo=zone) for each in naive],
        [each.isoformat() for each in naive],
        np.array(naive, dtype="datetime64[ns]"),
        pd.Series(pd.DatetimeIndex(naive)),
        pd.DatetimeIndex(naive).tz_localize("Europe/Berlin"),
    ]
    ahead = []
    for times in kinds:
        model = Forecaster(H)
        model.run(y, times=times)
        ahead.append(model.forecast())
    assert len({bits(each.mean) for each in ahead}) == 1
    assert all((each.times == ahead[0].times).all() for each in ahead)
    assert ahead[0].times[0] == np.datetime64(start + timedelta(hours=60))
