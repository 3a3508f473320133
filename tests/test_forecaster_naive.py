"""The forecaster is never much worse than naive forecasts, wherever a series goes, and never diverges."""

import math

import numpy as np
import pytest

from elman import Forecaster
from test_forecaster import series

H = 6
HOUR = 3600.0


def test_a_random_walk_is_forecast_by_its_last_value():
    y = np.cumsum(np.random.default_rng(1).normal(size=3000))
    backtest = Forecaster(12).run(y)
    truths = backtest.truths(y)[500:-12]
    errors = np.mean((backtest.mean[500:-12] - truths) ** 2, axis=0)
    assert (errors / np.mean((y[500:-12, None] - truths) ** 2, axis=0)).max() < 1.02


def test_white_noise_is_forecast_by_its_mean():
    y = np.random.default_rng(1).normal(5, 2, size=3000)
    backtest = Forecaster(12).run(y)
    truths = backtest.truths(y)[500:-12]
    errors = np.mean((backtest.mean[500:-12] - truths) ** 2, axis=0)
    assert (errors / np.mean((y.mean() - truths) ** 2, axis=0)).max() < 1.02


@pytest.mark.parametrize(
    "y",
    [
        np.zeros(200),
        np.r_[np.zeros(150), np.random.default_rng(0).normal(1e9, 1, 150)],
        np.where(np.arange(600) % 97 == 0, 1e15, 1.0),
        1e300 * np.sin(np.arange(300)),
        np.r_[np.arange(200.0), 1e-300 * np.arange(200)],
        np.full(100, math.nan),
    ],
)
def test_nothing_diverges(y):
    model = Forecaster(H)
    backtest = model.run(y)
    assert np.isfinite(backtest.mean).all()
    assert np.isfinite(model.sample(5, seed=0)).all() or not model.steps
    seen = y[~np.isnan(y)]
    if len(seen):
        reach = 2.01 * (seen.max() - seen.min()) + np.abs(seen).max() + 1
        assert np.abs(backtest.mean).max() <= reach
    assert Forecaster.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_the_state_is_small():
    y, _, times = series(600)
    for size, most in (("large", 4_000_000), ("small", 300_000)):
        model = Forecaster(24, size=size)
        model.run(y, None, times)
        assert len(model.to_bytes()) <= most


def jumps(seed, n=2400):
    """Noise around a level that jumps now and then to where it never was, and stays."""
    rng = np.random.default_rng(seed)
    levels = np.repeat([0.0, 40.0, -60.0, 25.0, 90.0], [1000, 400, 400, 300, 300])
    return levels[:n] + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_lasts_is_expected_to_last(seed):
    y, horizon = jumps(seed), 24
    model = Forecaster(horizon, season=())
    made = model.run(y)
    origins = np.arange(500, len(y) - horizon)
    truths = y[origins[:, None] + np.arange(1, horizon + 1)]
    own = np.mean((made.mean[origins] - truths) ** 2)
    assert own < 1.03 * np.mean((y[origins][:, None] - truths) ** 2)


def test_bursts_that_pass_are_not_expected_to_last():
    rng = np.random.default_rng(4)
    begins = rng.random(4000) < 0.005
    y = rng.normal(size=4000) + 30 * (np.convolve(begins, np.ones(4))[:4000] > 0)
    made, origins = Forecaster(24, season=()).run(y), np.arange(1000, 4000 - 24)
    truths = y[origins[:, None] + np.arange(1, 25)]
    so_far = (np.cumsum(y) / np.arange(1, 4001))[origins][:, None]
    assert np.mean((made.mean[origins] - truths) ** 2) < 1.03 * np.mean((so_far - truths) ** 2)


@pytest.mark.parametrize("factor", [1e9, -1e30, 1e300])
@pytest.mark.parametrize("size", ["large", "small"])
def test_a_stretch_beyond_all_reason_leaves_no_trace(factor, size):
    t = np.arange(2200)
    y = 20 + 5 * np.sin(t / 24 * 2 * np.pi) + np.random.default_rng(0).normal(size=len(t))
    spoiled = y.copy()
    spoiled[1000:1100] *= factor
    errors = []
    for values in (y, spoiled):
        made, origins = Forecaster(H, size=size).run(values), np.arange(1100, 2200 - H)
        errors.append(np.mean((made.mean[origins] - y[origins[:, None] + np.arange(1, H + 1)]) ** 2))
    assert errors[1] < 1.1 * errors[0]


def test_a_jump_beyond_all_reason_is_believed_in_the_end():
    rng = np.random.default_rng(0)
    y = np.r_[rng.normal(size=500), 1e9 + rng.normal(size=600)]
    model = Forecaster(H, season=())
    model.run(y)
    np.testing.assert_allclose(model.forecast().mean, 1e9, rtol=0.01)


def test_a_series_of_zeros_may_begin_with_giants():
    y = np.r_[np.zeros(300), 1e8 * (1 + 0.1 * np.random.default_rng(0).normal(size=100))]
    model = Forecaster(H, season=())
    model.run(y)
    np.testing.assert_allclose(model.forecast().mean, 1e8, rtol=0.5)
