"""Who sits in a committee: one's own members, and the default ones for rows of any width."""

import re
import resource
from dataclasses import replace

import numpy as np
import pytest

from elman import EKF, RLS, SRNN, WOGD, Committee, Gradient, Linear, Member
from elman.configuration.members import DEFAULT_MEMBERS, LARGEST_FILTER, default_members
from small_committees import LINEAR, WINDOW, sized, small, stream


def test_custom_members_are_used_in_their_order_and_by_their_names():
    members = [replace(WINDOW, name="one"), replace(WINDOW, name="two"), LINEAR]
    model = small(members)
    model.run(*stream(100))

    assert model.members == tuple(members)
    assert set(model.weights) == {"one", "two", "linear"}
    assert model.weights["one"] != model.weights["two"]  # they start from different weights


def test_a_committee_of_one_trusts_it():
    model = small([LINEAR])
    model.run(*stream(100))

    assert model.weights == {"linear": 1.0}


def test_weights_add_up_to_one_and_the_largest_comes_first():
    X, y = stream(200)
    model = small()
    for t in range(200):
        model.learn_one(X[t], y[t])
        weights = list(model.weights.values())
        assert sum(weights) == pytest.approx(1, abs=1e-12)
        assert weights == sorted(weights, reverse=True)
        assert min(weights) >= 0


@pytest.mark.parametrize("n_inputs", [0, 1, 10, 30, 100, 500, 2000])
def test_no_default_member_has_too_large_a_filter(n_inputs):
    members = default_members(n_inputs, 6)

    assert members
    assert len({member.name for member in members}) == len(members)
    for member in members:
        columns = n_inputs + 6 * member.lagged
        model = sized(Committee([member], dtype="float64"), n_inputs)
        state = model._learner.state()
        for name in ("member0.covariance", "member0.least_squares"):
            if name in state:
                n = LARGEST_FILTER
                assert state[name].size <= n * (n + 1) // 2
        assert state["member0.input_moments"].shape == (columns, 3)
    if n_inputs <= 10:
        assert len(members) == len(DEFAULT_MEMBERS)


def test_wide_rows_stay_finite_and_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1200))
    y = X[:, 0] + X[:, 1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = Committee()

    predictions = model.run(X, y)

    assert np.all(np.isfinite(predictions))
    assert np.all(np.isfinite(np.array(model.interval_one(X[0]))))
    assert len(model.to_bytes()) < 20_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Member(1, SRNN(), WOGD(), Gradient()), TypeError, "name must be str, got 1 of type int"),
        (lambda: Member("a", "SRNN", WOGD(), Gradient()), TypeError, "NARX, got 'SRNN' of type str"),
        (lambda: Member("a", SRNN(), RLS(), Gradient()), TypeError, "Adam or EKF, got RLS("),
        (lambda: Member("a", SRNN(), WOGD(), EKF()), TypeError, "readout must be Gradient or RLS, got EKF("),
        (lambda: Member("a", SRNN(), WOGD(), Gradient(), 1), TypeError, "lagged must be bool, got 1"),
        (
            lambda: Member("a", Linear(), WOGD(), Gradient()),
            ValueError,
            "a Linear() cell needs a readout with skip=True, got Gradient(skip=False)",
        ),
    ],
)
def test_a_wrong_member_says_what_is_wrong(make, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        make()
