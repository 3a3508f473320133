"""WOGD with momentum, with adaptive rates and with no rate at all: what it promises besides the contract."""

import numpy as np
import pytest

import combos
import naive
from elman import EKF, SRNN, WOGD, Committee, Gradient, Linear, Member, OnlineRNN, streams, theory
from elman.configuration.training import AUTO_RATES
from inside import arrays, sized, write
from small_committees import stream
from test_committee_oracle import assert_equal
from waits import answered_late, told, waits

PACES = {
    "heavy ball": {"momentum": 0.9},
    "Nesterov": {"momentum": 0.9, "nesterov": True},
    "AdaGrad": {"adaptive": "adagrad"},
    "Adam": {"momentum": 0.9, "adaptive": "adam"},
}
every_pace = pytest.mark.parametrize("pace", PACES.values(), ids=PACES)


def bounded_stream(n):
    X, y = streams.kinematics(seed=0).take(n)
    return X / np.max(np.abs(X)), (y - y.mean()) / np.max(np.abs(y - y.mean()))


@every_pace
def test_every_step_is_projected(pace):
    X, y = bounded_stream(300)
    training = WOGD(window=20, rate=0.3, projection_threshold=0, **pace)
    model = OnlineRNN(SRNN(6), training, scale=False, dtype="float64", seed=0)
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
        assert all(np.linalg.norm(model.weights[name], 2) <= 0.95 + 1e-12 for name in "WU")


@every_pace
def test_the_first_regret_is_that_of_the_plain_step(pace):
    """Both are at the same weights then; later they are elsewhere."""
    X, y = bounded_stream(10)
    plain, paced = (
        OnlineRNN(SRNN(6), WOGD(window=20, rate=0.3, **options), scale=False, dtype="float64", seed=0)
        for options in ({}, pace)
    )
    for model in (plain, paced):
        model.learn_one(X[0], y[0])

    assert 0 < theory.local_regret(plain) == theory.local_regret(paced)


@every_pace
def test_the_normalised_regret_falls_on_a_stationary_stream(pace):
    X, y = bounded_stream(3000)
    model = OnlineRNN(SRNN(8), WOGD(window=100, rate=0.003, **pace), seed=0)
    model.run(X[:500], y[:500])
    early = theory.normalised_local_regret(model)

    model.run(X[500:], y[500:])

    assert 0 < theory.normalised_local_regret(model) < early


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_automatic_rate_is_a_committee_of_its_rates(dtype):
    """So it keeps the bound of the mixture, and each of its networks keeps that of Theorem 2."""
    X, y = streams.kinematics(seed=1).take(400)
    training = WOGD(window=20, rate="auto")
    members = [Member(str(rate), SRNN(6), WOGD(window=20, rate=rate), Gradient()) for rate in AUTO_RATES]

    auto = OnlineRNN(SRNN(6), training, dtype=dtype, seed=3)
    committee = Committee(members, lags=0, dtype=dtype, seed=3)

    assert np.array_equal(auto.run(X, y), committee.run(X, y))
    assert {str(rate): share for rate, share in auto.rates.items()} == committee.weights


every_cell = pytest.mark.parametrize(
    "cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"]
)


def automatic_and_oracle(cell):
    """A model of this cell without a rate and, from its weights, oracles all the way down.

    Its readout is slow, or else the network with the largest rate would amplify the last bit.
    """
    options = {"readout": Gradient(skip=isinstance(cell, Linear)), "dtype": "float64", "seed": 3}
    auto = sized(OnlineRNN(cell, WOGD(window=6, rate="auto", readout_rate=0.5), **options), 3)
    members = []
    for i, training in enumerate(auto.training.at_each_rate):
        network = sized(OnlineRNN(cell, training, scale=False, **options), 3, 1)
        write(network, arrays(auto, f"output0.member{i}."))
        members.append(naive.Member(combos.naive_counterpart(network).learner, [0], lagged=False))
    return auto, naive.Committee(members, 3)


@every_cell
def test_the_automatic_rate_follows_the_oracle(cell):
    auto, oracle = automatic_and_oracle(cell)
    X, y = stream(200, 3, missing=0.05)

    expected = oracle.run(X, y)

    assert_equal(np.reshape(auto.run_intervals(X, y), expected.shape), expected)
    np.testing.assert_allclose(list(auto.rates.values()), np.ravel(oracle.weights), rtol=0, atol=1e-8)


@every_cell
def test_the_automatic_rate_follows_the_oracle_where_targets_come_late(cell):
    auto, oracle = automatic_and_oracle(cell)
    X, y = stream(200, 3, missing=0.05)
    late = waits("shuffled", 6, len(X), lost=0.1)

    actual, expected = answered_late(auto, X, y, late), told(oracle.ask, oracle.tell, X, y, late)

    assert_equal(np.reshape(actual, expected.shape), expected)


def test_the_weights_and_the_regret_are_those_of_the_rate_that_is_trusted_most():
    X, y = streams.kinematics(seed=1).take(400)
    auto = OnlineRNN(SRNN(6), WOGD(window=20, rate="auto"), seed=3)
    auto.run(X, y)
    trusted = max(auto.rates, key=auto.rates.get)
    named = arrays(auto, prefix=f"output0.member{AUTO_RATES.index(trusted)}.")

    assert np.array_equal(auto.weights["W"].T, named["W"])
    assert auto.local_regret == named["local_regret"].item()


def test_the_automatic_rate_is_near_the_best_of_a_grid():
    X, y = streams.kinematics(seed=2).take(4000)

    def error(rate):
        answers = OnlineRNN(SRNN(8), WOGD(window=50, rate=rate), seed=1).run(X, y)
        return np.mean((answers - y)[100:] ** 2)

    assert error("auto") <= 1.05 * min(error(rate) for rate in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0))


def test_the_shares_of_the_rates():
    model = OnlineRNN(SRNN(4), WOGD(window=5, rate="auto"), seed=1)
    assert model.rates == {}

    model.learn_one([1.0], 2.0)

    assert tuple(model.rates) == AUTO_RATES
    assert sum(model.rates.values()) == pytest.approx(1)
    fixed = OnlineRNN(SRNN(4), WOGD(rate=0.05), seed=1)
    fixed.learn_one([1.0], 2.0)
    assert fixed.rates == {0.05: 1.0}


def test_other_trainings_have_no_rates():
    with pytest.raises(AttributeError, match="only WOGD can have several rates"):
        _ = OnlineRNN(SRNN(4), EKF()).rates


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rate": "fast"}, ValueError, "rate must be a number or 'auto', got 'fast'"),
        ({"momentum": 1}, ValueError, "momentum must be a finite number of at least 0 and below 1, got 1"),
        ({"momentum": "much"}, TypeError, "momentum must be a number, got 'much'"),
        ({"adaptive": "sgd"}, ValueError, "adaptive must be 'adagrad' or 'adam', got 'sgd'"),
        ({"nesterov": 1, "momentum": 0.5}, TypeError, "nesterov must be bool, got 1"),
        ({"nesterov": True}, ValueError, "nesterov=True needs a momentum above 0"),
    ],
)
def test_a_wrong_option_is_refused(options, error, message):
    with pytest.raises(error) as raised:
        WOGD(**options)
    assert message in str(raised.value)


def test_a_member_of_a_committee_needs_a_rate():
    with pytest.raises(ValueError, match="a member needs a rate"):
        Member("auto", SRNN(4), WOGD(rate="auto"), Gradient())
