"""The regret bound of docs/committee.md, for the oracle of the mixture and for the compiled committee."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import inside
import naive
from naive.mixture import QUICK, SLOW_DISCOUNT
from small_committees import FILTER, LINEAR, SIMPLE, WINDOW, alone, small, stream

ROUNDING = 1e-9  # of the squares of forecasts and targets, which the differences of losses are made of


class Bound:
    """Both sides of the bound, from nothing but forecasts, answers and targets; everything discounted."""

    def __init__(self, n_members, discount=naive.DISCOUNT):
        self.discount = discount
        self.excess = np.zeros(n_members)  # of the losses of the answers over those of each member
        self.variation = np.zeros(n_members)  # V
        self.potential = 0.0  # Phi
        self.cut = np.zeros(n_members)  # sum of |r| - |rt|
        self.range = 0.0  # B
        self.recent_range = 0.0  # C
        self.ranges = []
        self.losses = np.zeros(n_members)  # of each member
        self.size = 0.0

    def take(self, forecasts, answer, target):
        g = self.discount
        gains = naive.gains(forecasts, answer, target)
        within = naive.brought_back(gains, self.recent_range)
        ratios = within**2 / (self.range + self.variation) if self.range > 0 else np.zeros_like(gains)
        self.potential = g * self.potential + ratios.sum() / g
        self.excess = g * self.excess + (answer - target) ** 2 - (forecasts - target) ** 2
        self.losses = g * self.losses + (forecasts - target) ** 2
        self.variation = g * self.variation + within**2
        self.cut = g * self.cut + np.abs(gains) - np.abs(within)
        self.range = max(g * self.range, np.max(gains**2))
        self.recent_range = max(QUICK * self.recent_range, np.max(gains**2))
        self.size = g * self.size + (np.max(np.abs(forecasts)) + abs(target)) ** 2
        if self.range > 0:
            self.ranges.append(self.range)

    @property
    def right(self):
        return np.sqrt((self.range + self.variation) * self.potential) + self.cut

    @property
    def largest_potential(self):
        """What the corollary says of Phi."""
        if not self.ranges:
            return 0.0
        g = self.discount
        spread = (1 + 1 / (1 - g)) * max(self.ranges) / min(self.ranges)
        faded = math.log(1 / g) / (1 - g)
        return len(self.excess) / (g * math.log(2)) * (math.log(spread) + faded)

    def check(self):
        assert np.all(self.excess <= self.right + ROUNDING * self.size)
        assert self.potential <= self.largest_potential * (1 + ROUNDING)


class Bounds:
    """The bounds of the two mixtures, and that of the answer: of the third plus that of the fast one."""

    def __init__(self, n_members):
        self.fast, self.slow = Bound(n_members), Bound(n_members, SLOW_DISCOUNT)
        self.above = Bound(2)
        self.excess = np.zeros(n_members)  # of the losses of the answer over those of each member

    def take(self, forecasts, layers, answer, target):
        self.above.take(layers, answer, target)
        self.fast.take(forecasts, layers[0], target)
        self.slow.take(forecasts, layers[1], target)
        self.excess = naive.DISCOUNT * self.excess + (answer - target) ** 2 - (forecasts - target) ** 2

    @property
    def right(self):
        return self.above.right[0] + self.fast.right

    def check(self):
        for bound in (self.fast, self.slow, self.above):
            bound.check()
        assert np.all(self.excess <= self.right + ROUNDING * self.fast.size)


def bounds_of(forecasts, targets):
    """The mixtures run over the forecasts (n, n_members) and the bounds are checked after every row."""
    trust, bounds = naive.Trust(forecasts.shape[1]), Bounds(forecasts.shape[1])
    for row, target in zip(forecasts, targets, strict=True):
        bounds.take(row, trust.layers(row), trust.combine(row), target)
        bounds.check()
        trust.learn(row, target)
    return bounds


def streams(size):
    number = st.floats(-size, size, width=32).map(lambda value: value if abs(value) > 1e-6 else 0.0)
    shape = st.tuples(st.integers(1, 60), st.integers(2, 6))
    return shape.flatmap(lambda shape: arrays.arrays(float, shape, elements=number))


@pytest.mark.parametrize("size", [1, 10, 1e6], ids=["mild", "clipped", "wild"])
def test_the_bound_holds_for_the_oracle_on_any_stream(size):
    @settings(max_examples=40, deadline=None)
    @given(streams(size))
    def search(table):
        bounds_of(table[:, 1:], table[:, 0])

    search()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([1, 37, 500]), st.floats(0.5, 3))
def test_the_bound_holds_for_the_oracle_on_long_streams_whose_best_member_changes(seed, n, period, tail):
    rng = np.random.default_rng(seed)
    targets = rng.standard_t(tail, 1200).clip(-1e6, 1e6)
    noise = 10.0 ** rng.integers(-3, 3, (1 + 1200 // period, n)).repeat(period, axis=0)[:1200]

    bounds_of(targets[:, None] + noise * rng.normal(size=(1200, n)), targets)


def test_the_bound_says_something():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=2500)
    forecasts = targets[:, None] + rng.normal(size=(2500, 4)) * [0.3, 0.4, 1.0, 3.0]

    bound = bounds_of(forecasts, targets)

    assert np.all(bound.right < bound.fast.losses / 3)


def test_equal_weights_break_the_bound():
    rng = np.random.default_rng(0)
    bound = Bound(3)
    for target in rng.normal(size=2000):
        forecasts = np.array([target, target + 3, target + 2])
        bound.take(forecasts, forecasts.mean(), target)

    assert bound.excess[0] > bound.right[0]


# Compiled: what the members forecast is known from committees of one


def varied_before(y):
    """Whether the targets had varied before each row."""
    scaler, rows = naive.Scaler(), []
    for value in y:
        rows.append(scaler.varies)
        scaler.observe(value)
    return np.array(rows)


def compiled_bound(members, X, y):
    model = inside.sized(small(members), X.shape[1])
    singles = [alone(model, i) for i in range(len(members))]
    answers = model.run(X, y)
    forecasts = np.stack([single.run(X, y) for single in singles], axis=1)
    expected = naive.Trust(len(members))
    bounds = Bounds(len(members))
    for t in np.flatnonzero(varied_before(y) & ~np.isnan(y)):
        bounds.take(forecasts[t], expected.layers(forecasts[t]), answers[t], y[t])
        bounds.check()
        expected.learn(forecasts[t], y[t])
    return bounds, model


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_bound_holds_for_the_compiled_committee(missing):
    X, y = stream(2500, missing=missing)
    y[1200:] *= -1

    bounds, model = compiled_bound([LINEAR, FILTER, WINDOW, *SIMPLE], X, y)

    arrays = inside.arrays(model)
    variation = arrays["output0.unit_of_regret"] ** 4 * arrays["output0.variation"]
    assert bounds.excess.shape == (6,)
    assert np.allclose(bounds.fast.variation, variation, rtol=1e-6, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    arrays.arrays(float, st.integers(3, 80), elements=st.floats(-1e6, 1e6, width=32)),
    st.integers(0, 5),
    st.integers(0, 2**32 - 1),
)
def test_the_bound_holds_for_the_compiled_committee_on_wild_targets(y, exponent, seed):
    X = np.random.default_rng(seed).standard_cauchy((len(y), 2)).clip(-(10**exponent), 10**exponent)

    compiled_bound([LINEAR, FILTER], X, y)
