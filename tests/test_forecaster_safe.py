"""What somebody who means harm, or is careless, may do to a forecaster."""

import numpy as np
import pytest

from elman import Forecaster, limits

N = 200
Y = np.sin(np.arange(N) / 5) + 0.1 * np.random.default_rng(0).normal(size=N)


def is_sound(model):
    ahead = model.forecast()
    assert np.isfinite(ahead.mean).all()
    assert (ahead.low <= ahead.high).all()
    assert Forecaster.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    return True


@pytest.mark.parametrize("size", [1e300, 1e120, 1e-170, 5e-324])
@pytest.mark.parametrize("where", ["everywhere", "in a stretch", "in a covariate"])
def test_absurd_values_leave_forecasts_finite(size, where):
    factor = np.where((np.arange(N) < 100) | (where != "in a stretch"), size, 1.0)
    model = Forecaster(4, size="small")
    if where == "in a covariate":
        backtest = model.run(Y, (Y * factor)[:, np.newaxis])
    else:
        backtest = model.run(Y * factor)

    assert np.isfinite(backtest.mean).all()
    assert is_sound(model)


@pytest.mark.parametrize("step", [1, 86400, 2_629_746, 1e9, -3600, 1e-300])
@pytest.mark.parametrize("first", [0.0, -1e11, 1e11])
def test_stamps_of_any_year_are_taken(first, step):
    model = Forecaster(3, size="small")
    model.run(Y[:60], times=first + step * np.arange(60))

    assert is_sound(model)


@pytest.mark.parametrize(
    "times",
    [
        np.concatenate([np.arange(100), np.arange(100)]) * 3600.0,
        np.random.default_rng(0).permutation(N) * 3600.0,
        np.zeros(N),
        np.where(np.arange(N) == 100, 9e11, np.arange(N) * 3600.0),
        np.where(np.arange(N) % 3 == 0, np.nan, np.arange(N) * 3600.0),
    ],
    ids=["again", "shuffled", "standing still", "one far ahead", "some missing"],
)
def test_stamps_that_jump_are_taken(times):
    model = Forecaster(3, size="small")
    model.run(Y, times=times)

    assert is_sound(model)


@pytest.mark.parametrize("step", [60.0, 3600.0, 86400.0])
def test_rows_without_stamps_may_come_before_rows_with_stamps(step):
    """Their slots in the day were read from beside the memory of the season."""
    model = Forecaster(3, size="small")
    model.run(Y[:50])
    model.run(Y[50:], times=step * np.arange(N - 50))

    assert is_sound(model)


def test_a_season_of_the_calendar_may_end():
    """It may be longer than those that are looked for."""
    model = Forecaster(3, size="small")
    model.run(Y, times=60.0 * np.arange(N))
    model.run(Y, times=60.0 * N + np.arange(N))

    assert is_sound(model)


@pytest.mark.parametrize(
    "time", [np.nextafter(1e12, 2e12), -2e12, 1.7e18, np.inf, np.datetime64("40000-01-01")]
)
def test_a_stamp_that_no_date_has_is_refused(time):
    model = Forecaster(3, size="small")
    before = model.to_bytes()

    with pytest.raises(ValueError, match="a time must be at most 1,000,000,000,000 seconds from 1970"):
        model.learn_one(1.0, time=time)
    with pytest.raises(ValueError, match="a time must be at most"):
        model.run([1.0], times=np.array([time]))
    assert model.to_bytes() == before
    model.learn_one(1.0, time=float(limits.STAMP_SECONDS))


def test_more_covariates_than_a_state_can_hold_are_refused():
    with pytest.raises(ValueError, match="a Forecaster of 20,000 covariates and horizon 24 would have more"):
        Forecaster(24).learn_one(1.0, np.zeros(20_000))
