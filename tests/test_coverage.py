"""However the targets come, intervals hold the share that they promise."""

import numpy as np
import pytest

from elman import Committee, Linear, Member, OnlineRNN
from elman.configuration.readouts import RLS
from elman.configuration.training import WOGD

ROWS = 20_000
SMALL = [
    Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.999), lagged=True),
    Member("mean", Linear(), WOGD(window=1), RLS(initial_variance=1e-9), features=False),
]
MODELS = {
    "OnlineRNN": lambda: OnlineRNN(Linear(), lags=3, seed=0),
    "Committee": lambda: Committee(SMALL),
}


def noise(seed=0):
    return np.random.default_rng(seed).normal(size=ROWS)


def autoregressive(seed=0):
    y = noise(seed)
    for t in range(1, ROWS):
        y[t] += 0.9 * y[t - 1]
    return y


SERIES = {
    "far from zero": lambda: 1e13 + noise(),
    "times in nanoseconds": lambda: 1.7e18 + 1e9 * np.cumsum(np.abs(noise()) + 1),
    "levels that switch": lambda: 100.0 * (-1) ** (np.arange(ROWS) // 50) + noise(),
    "plus or minus one": lambda: np.sign(noise()),
    "autoregressive": autoregressive,
    "a few giants": lambda: noise() * np.where(np.random.default_rng(1).random(ROWS) < 0.001, 1e6, 1),
    "bursts": lambda: noise() * np.where(np.arange(ROWS) // 200 % 5 == 0, 50.0, 1.0),
    "gigantic": lambda: 1e120 * noise(),
    "tiny": lambda: 1e-170 * noise(),
    "first the smallest number that there is": lambda: np.concatenate([[5e-324], noise()[1:]]),
    "growing": lambda: noise() * np.exp(np.arange(ROWS) / 2000),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_ninety_percent_are_held(series, make):
    y = series()

    predictions, low, high = make().run_intervals(np.empty((ROWS, 0)), y)

    assert np.all(np.isfinite(predictions))
    assert 0.885 <= np.mean((low <= y) & (y <= high)) <= 0.915


def outside(low, high):
    """A target that the interval does not hold, as long as there is one within [-1, 1]."""
    if high < 1:
        return 1.0
    return -1.0 if low > -1 else 0.0


def barely_outside(low, high):
    if high < 1:
        return min(1.0, high + 1e-6)
    return max(-1.0, low - 1e-6) if low > -1 else 0.0


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("choose", [outside, barely_outside])
def test_an_adversary_that_sees_the_interval_misses_as_often_as_anybody(make, choose):
    model, held = make(), 0
    generator = np.random.default_rng(0)
    for t in range(ROWS):
        low, high = model.interval_one([])
        y = generator.uniform(-0.1, 0.1) if t < 100 else choose(low, high)
        held += low <= y <= high
        model.learn_one([], y)

    assert 0.885 <= held / ROWS <= 0.915
