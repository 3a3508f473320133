"""Intervals in order and with their coverage, and the account that a committee gives of itself."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive
from elman import EKF, SRNN, Committee, OnlineRNN
from small_committees import LINEAR, MEMBERS, small, stream
from waits import answered_late


def test_intervals_are_infinite_before_the_target_has_varied():
    model = small()
    for target in (None, 3.0, 3.0, 3.0):
        assert model.interval_one([1.0]) == (-np.inf, np.inf)
        model.learn_one([1.0], target)

    assert np.isfinite(model.predict_one([1.0]))


def test_a_target_that_was_always_the_same_will_be_so_by_the_rule_of_succession():
    _, low, high = small().run_intervals(np.ones((30, 1)), np.ones(30), coverage=0.95)
    assert np.all(low[:19] == -np.inf)  # 18 times the same: the next one differs with probability 1/19 > 0.05
    assert np.all(high[:19] == np.inf)
    assert np.all(low[20:] == 1)
    assert np.all(high[20:] == 1)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), min_size=2, max_size=5),
    st.integers(0, 400),
    st.integers(0, 5),
)
@example([1e-9, 1e-8, 0.5, float(np.nextafter(1, 0))], 400, 0)  # beyond what the levels can be told apart by
def test_wider_coverage_gives_wider_intervals(coverages, n, seed):
    X, y = stream(400, seed=seed)
    model = small([LINEAR])
    model.run(X[:n], y[:n])

    intervals = [model.interval_one(X[0], coverage) for coverage in sorted(coverages)]

    lows, highs = np.array(intervals).T
    assert np.all(lows <= highs)
    assert np.all(lows[1:] <= lows[:-1])
    assert np.all(highs[1:] >= highs[:-1])


def test_half_is_inside_nine_tenths_is_inside_ninety_nine_percent():
    X, y = stream(500)
    narrow, usual, wide = (
        np.array(small().run_intervals(X, y, coverage=coverage)) for coverage in (0.5, 0.9, 0.99)
    )

    ends = np.array([wide[1], usual[1], narrow[1], narrow[2], usual[2], wide[2]])[:, 20:]
    assert np.all(np.isfinite(ends))
    assert np.all(np.diff(ends, axis=0) >= 0)
    assert np.all(np.mean(np.diff(ends, axis=0) > 0, axis=1) > 0.95)  # the same only where they would cross


@pytest.mark.parametrize(
    "make", [lambda: small([LINEAR]), lambda: OnlineRNN(SRNN(6), EKF(), lags=2, seed=1)], ids=["all", "one"]
)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_keep_their_coverage_when_the_stream_changes(make, coverage):
    X, y = stream(6000)
    y[3000:] = 20 - 4 * y[3000:]

    _, low, high = make().run_intervals(X, y, coverage)

    inside = (low <= y) & (y <= high)
    assert inside.mean() == pytest.approx(coverage, abs=0.02)
    assert inside[3000:4000].mean() == pytest.approx(coverage, abs=0.06)


def test_errors_that_come_late_together_do_not_throw_the_quantiles_far_beyond_them():
    """They were all judged by the same quantiles: moved by these, the outer ones end ten times as far."""
    quantiles = naive.Quantiles()
    for error in np.random.default_rng(0).normal(size=1500):
        quantiles.learn(error)
    given = quantiles.given()

    for _ in range(1000):
        quantiles.account(5.0, given)
        quantiles.learn(5.0, given)

    assert 5 < quantiles.widened(1.0)[8] < 15  # the level .95
    assert quantiles.paying()[8] >= quantiles.widened(1.0)[8]  # a thousand too few lay below it


def coverage_where_news_is_held_up(seed):
    """The targets wander; nobody overtakes: all wait behind the slowest, and now and then for long."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4000, 2)), np.zeros(4000)
    for t in range(1, len(y)):
        y[t] = 0.998 * y[t - 1] + rng.normal()
    arrivals = np.maximum.accumulate(np.arange(len(y)) + rng.geometric(1 / 300, len(y)))
    _, low, high = answered_late(small(), X, y, arrivals - np.arange(len(y))).T
    return np.mean((low <= y) & (y <= high))


def test_intervals_are_wide_where_targets_wander_and_news_is_held_up():
    assert np.mean([coverage_where_news_is_held_up(seed) for seed in range(4)]) > 0.8


def test_explain_before_and_after():
    X, y = stream(1200)
    model = small()
    assert model.explain() == "Committee after 0 samples, none with a target"
    model.learn_one(X[0], None)
    assert model.explain() == "Committee after 1 samples, none with a target"

    model.run(X[1:], y[1:])

    head, members, inputs = model.explain().split("\n\n")
    lines = [*head.splitlines(), "", *members.splitlines()]
    assert lines[0] == "Committee after 1,200 samples, 1,199 with a target"
    assert lines[1] == "changes of the stream: none noticed"
    assert lines[3].split() == ["weight", "error", "recent"]
    assert lines[4].split()[0] == "committee"
    table = {line.split()[0]: [float(cell) for cell in line.split()[1:]] for line in lines[5:]}
    assert list(table) == list(model.weights)
    for name, weight in model.weights.items():
        assert table[name][0] == pytest.approx(weight, abs=5e-4)
    assert float(lines[4].split()[1]) <= min(row[1] for row in table.values())
    assert inputs.split()[:2] == ["input", "importance"]


def test_explain_shows_several_outputs():
    X, y = stream(100, n_outputs=2)
    model = small()
    model.run(X, y)

    assert len(model.explain().splitlines()) == 5 + len(MEMBERS)


def test_a_new_committee_has_no_weights_yet():
    assert Committee().weights == {}
    assert Committee().members == ()
    assert Committee(MEMBERS).members == MEMBERS
    assert Committee().feature_names is None
