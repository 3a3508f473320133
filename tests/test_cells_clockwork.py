"""What only the Clockwork cell promises."""

import numpy as np
import pytest

import naive
from combos import assert_follows, both, rough_stream
from elman import WOGD, Clockwork, OnlineRNN
from inside import arrays
from test_cells import CLOCKWORKS, POWERS


@pytest.mark.parametrize("cell", CLOCKWORKS, ids=repr)
def test_learners_follow_the_oracle_that_goes_module_by_module(cell):
    oracle = naive.ClockworkModules(cell.n_hidden, cell.periods)
    models, oracle = both(cell, (2, 12, 1), oracle=oracle, scale=False)
    assert_follows(models, oracle, *rough_stream(60, 2))


@pytest.mark.parametrize("cell", [Clockwork(10), Clockwork(64, POWERS), Clockwork(33, (2, 3))], ids=repr)
def test_weights_that_do_not_exist_stay_zero(cell):
    missing = naive.Clockwork(cell.n_hidden, cell.periods).mask("W", None) == 0
    model = OnlineRNN(cell, WOGD.algorithm1(window=10, spectral_limit=0.2), seed=1)
    model.run(*rough_stream(50, 3))
    assert missing.any()
    assert not model.weights["W"][missing].any()
    assert not model._native.gradient()["W"][missing].any()
    assert model.weights["W"][~missing].all()


def test_a_module_keeps_its_value_until_it_is_due_again_after_loading():
    X, y = rough_stream(24, 2, missing=0)
    model = OnlineRNN(Clockwork(10, (1, 8)), WOGD(window=1), seed=1)
    states = []
    for x, t in zip(X, y[:, 0], strict=True):
        model.learn_one(x, t)
        model = OnlineRNN.from_bytes(model.to_bytes())
        states.append(arrays(model)["state"][5:])
    changes = [i for i in range(1, 24) if not np.array_equal(states[i], states[i - 1])]
    assert changes == [1, 9, 17]  # the state before the window of one sample: one row after samples 0, 8, 16


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((10, ()), ValueError, "periods must not be empty"),
        ((10, (0, 1)), ValueError, r"periods\[0\] must be a whole number of at least 1, got 0"),
        ((10, (1, 2.5)), TypeError, r"periods\[1\] must be a whole number, got 2.5"),
        ((10, (1, True)), TypeError, r"periods\[1\] must be a whole number"),
        ((10, (2, 1)), ValueError, "periods must ascend, got 2 before 1"),
        ((10, 4), TypeError, "periods must be a tuple, got 4"),
        ((3,), ValueError, "5 periods need as many hidden units, got n_hidden=3"),
        ((0, (1,)), ValueError, "n_hidden must be a whole number of at least 1"),
    ],
)
def test_wrong_configuration_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Clockwork(*arguments)


def test_a_list_of_periods_is_taken_as_a_tuple():
    assert Clockwork(12, [1, 3]) == Clockwork(12, (1, 3))


def test_periods_beyond_any_stream_are_taken():
    X, y = rough_stream(30, 2)
    predictions = OnlineRNN(Clockwork(8, (1, 10**9, 2**53, 10**30)), WOGD(window=5), seed=1).run(X, y)
    assert np.isfinite(predictions).all()


def test_multiply_adds_are_those_of_the_oracle_averaged_over_a_cycle():
    cell = Clockwork(17, (1, 2, 6))
    oracle = naive.Clockwork(17, [1, 2, 6])
    reads = oracle.mask("W", None).sum(axis=1) + 3 + 1
    counted = np.mean([reads[step % oracle.unit_periods == 0].sum() for step in range(6)])
    assert cell.multiply_adds(3) == pytest.approx(counted)
