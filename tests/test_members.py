"""Who sits in a committee: one's own members, and the default ones for rows of any width."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elman import EKF, RLS, SRNN, WOGD, Committee, Gradient, Linear, Member
from elman.configuration.members import DEFAULT_MEMBERS, LARGEST_FILTER, default_members
from elman.configuration.readouts import Simple
from inside import arrays, sized
from small_committees import LINEAR, WINDOW, small, stream


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
        state = arrays(sized(Committee([member], dtype="float64"), n_inputs), "output0.member0.")
        if isinstance(member.readout, Simple):
            assert "window_inputs" not in state
            assert sum(array.size for array in state.values()) < 400
            continue
        assert state["window_inputs"].shape == (0, member.n_inputs(n_inputs, 6) + 1)
        for name in {"covariance", "least_squares"} & state.keys():
            assert state[name].size <= LARGEST_FILTER * (LARGEST_FILTER + 1) // 2
    if n_inputs <= 10:
        assert len(members) == len(DEFAULT_MEMBERS)


def test_the_limit_holds_when_features_appear_later():
    model = Committee()
    rng = np.random.default_rng(0)
    model.run([{"a": x} for x in rng.normal(size=50).tolist()], rng.normal(size=50))
    for width in (400, 2000):
        model.learn_one({f"f{i}": 1.0 for i in range(width)}, 0.0)

        sizes = [size for name, size in sizes_of_filters(model)]
        assert max(sizes) <= LARGEST_FILTER * (LARGEST_FILTER + 1) // 2
        assert len(model.to_bytes()) < 5_000_000
        assert sum(model.weights.values()) == pytest.approx(1)


def sizes_of_filters(model):
    for name, array in arrays(model).items():
        if name.endswith(("covariance", "least_squares")):
            yield name, array.size


def test_a_member_that_stays_keeps_what_it_has_learned_when_others_leave():
    model = Committee()
    series = np.sin(np.arange(400) / 9)
    model.run([{"a": 0.0}] * 400, series)
    before = arrays(model, "output0.member8.")["D"][0, :6]  # linear RLS, of the past targets
    model.learn_one({f"f{i}": 0.0 for i in range(1200)}, None)

    assert "linear Kalman filter" not in [member.name for member in model.members]
    assert np.array_equal(before, arrays(model, "output0.member8.")["D"][0, :6])


@pytest.mark.parametrize("width", [900, 1001, 1500])
def test_noise_in_many_columns_costs_little_against_the_mean(width):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(1200, width)), rng.normal(size=1200)

    predictions = Committee().run(X, y)

    assert np.mean((predictions - y)[100:] ** 2) < 1.08 * y.var()


def test_many_columns_leave_the_past_targets_in_sight():
    rng = np.random.default_rng(2)
    noise, y = rng.normal(size=1000), np.zeros(1000)
    for t in range(1, 1000):
        y[t] = 0.95 * y[t - 1] + noise[t]

    predictions = Committee().run(rng.normal(size=(1000, 1200)), y)

    assert np.mean((predictions - y)[300:] ** 2) < 1.2 * noise.var()


def test_wide_rows_stay_finite_and_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1200))
    model = Committee()

    predictions = model.run(X, X[:, 0] + X[:, 1])

    assert np.all(np.isfinite(predictions))
    assert np.all(np.isfinite(np.array(model.interval_one(X[0]))))
    assert len(model.to_bytes()) < 20_000_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the high-water mark is read from /proc")
def test_wide_rows_need_little_memory():
    """In a process of its own: a high-water mark after a large allocation shows no growth."""
    script = r"""if True:
        import re, elman, numpy as np
        def high(): return int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])
        model, X, before = elman.Committee(), np.ones((40, 1200)), high()
        model.run(X, X[:, 0])
        print(high() - before)
    """
    used = int(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)
    assert 1_000 < used < 200_000  # kB


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Member(1, SRNN(), WOGD(), Gradient()), TypeError, "name must be str, got 1 of type int"),
        (lambda: Member("a", "SRNN", WOGD(), Gradient()), TypeError, "NARX, got 'SRNN' of type str"),
        (lambda: Member("a", SRNN(), RLS(), Gradient()), TypeError, "HalfEKF or HessianFree, got RLS("),
        (lambda: Member("a", SRNN(), WOGD(), EKF()), TypeError, "Seasonal or Autoregression, got EKF("),
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
