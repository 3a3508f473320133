"""Streams that burst: a committee is about as good as the best simple model, and its intervals cover."""

import numpy as np
import pytest

from elman import RLS, Committee, Linear, OnlineRNN
from elman.configuration.members import default_members
from lagged import lagged

SETTLED = 100  # rows before errors count


def noise_that_lasts(rng, n, share=0.9):
    y = rng.normal(size=n)
    for t in range(1, n):
        y[t] += share * y[t - 1]
    return y


def rare_tall_peaks(rng, n=6000):
    y = noise_that_lasts(rng, n)
    for start in rng.integers(200, n - 50, 20):
        length = rng.integers(10, 31)
        y[start : start + length] += rng.uniform(10, 30) * 2.3 * np.hanning(length + 2)[1:-1]
    return np.empty((n, 0)), y


def still_and_then_moving(rng, n=7000):
    size = np.where(np.arange(n) < 5000, 1, 12)
    y = np.zeros(n)
    for t, step in enumerate(size * rng.normal(size=n)):
        y[t] = 0.95 * y[t - 1] + step
    return np.empty((n, 0)), y


def isolated_giants(rng, n=5000):
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)
    y[rng.random(n) < 0.003] += 1000 * y.std()
    X[rng.random(X.shape) < 0.003] -= 1000
    return X, y


def count_that_is_nearly_always_0(rng, n=8000):
    return np.empty((n, 0)), np.where(rng.random(n) < 0.01, 1.0 + rng.poisson(5, n), 0.0)


def square_wave_that_grows(rng, n=6000):
    t = np.arange(n)
    wave = np.where(t % 50 < 25, 1.0, -1.0) * (1 + 0.02 * rng.normal(size=n))
    return np.empty((n, 0)), wave * 1000 ** (t / n)


KINDS = [
    rare_tall_peaks,
    still_and_then_moving,
    isolated_giants,
    count_that_is_nearly_always_0,
    square_wave_that_grows,
]


def squared_error(predictions, y):
    return np.mean((predictions - y)[SETTLED:] ** 2)


def simple_models(X, y):
    """The errors of the last value, of the mean so far, and of least squares on inputs and six lags."""
    yield squared_error(np.append(0, y[:-1]), y)
    yield squared_error(np.append(0, (np.cumsum(y) / np.arange(1, len(y) + 1))[:-1]), y)
    linear = OnlineRNN(Linear(), readout=RLS(forgetting=0.9995), seed=1)
    yield squared_error(linear.run(lagged(X, y, 6)[0], y), y)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_about_as_good_as_the_best_simple_model_and_covers(kind, seed):
    X, y = kind(np.random.default_rng(seed))
    predictions, low, high = Committee().run_intervals(X, y)

    assert squared_error(predictions, y) <= 1.1 * min(simple_models(X, y))
    assert 0.88 <= np.mean((low <= y) & (y <= high)) <= 0.92


@pytest.mark.parametrize("size", [60, 1e4])
def test_no_answer_jumps_away_when_a_new_level_is_adopted(size):
    """From the second row of a new level on, answers lie between the levels and near the newer one."""
    rng = np.random.default_rng(0)
    y = noise_that_lasts(rng, 1500, 0.5)
    y[1000:1020] += size * y.std()
    predictions = Committee().run(np.empty((1500, 0)), y)

    assert np.all(np.abs(predictions - y)[1001:1020] <= 1.05 * size * y[:1000].std())
    assert np.all(np.abs(predictions - y)[1010:1020] <= 10 * y[:1000].std())
    assert np.all(np.abs(predictions - y)[1030:] <= 10 * y[:1000].std())


def test_on_a_random_walk_it_is_the_last_value():
    walk = np.cumsum(np.random.default_rng(1).normal(size=20_000))
    predictions = Committee().run(np.empty((len(walk), 0)), walk)

    assert np.mean((predictions - walk)[1:] ** 2) <= 1.005 * np.mean(np.diff(walk) ** 2)


def test_walks_begin_near_the_last_value():
    shares = []
    for seed in range(12):
        walk = np.cumsum(np.random.default_rng(seed).normal(size=500))
        predictions = Committee().run(np.empty((500, 0)), walk)
        shares.append(np.mean((predictions - walk)[1:] ** 2) / np.mean(np.diff(walk) ** 2))

    assert np.mean(shares) <= 1.05


def test_a_season_is_found_and_its_member_trusted():
    rng = np.random.default_rng(0)
    day = rng.normal(size=48)
    y = np.tile(day, 25) + 0.05 * rng.normal(size=1200)
    model = Committee(default_members(0, 6)[-5:])
    predictions = model.run(np.empty((1200, 0)), y)

    assert squared_error(predictions[400:], y[400:]) < 0.01 * y.var()
    assert model.weights["one season ago"] > 0.1
