"""The Clockwork cell against two oracles, against an SRNN where it is one, and what it promises."""

import numpy as np
import pytest

import elman.models.learner
import naive
from cell_checks import (
    assert_follow,
    assert_gradients_are_exact,
    assert_same_bits_however_it_is_run,
    both,
    gradient,
    stream,
)
from elman import SRNN, WOGD, Clockwork, OnlineRNN, _core

POWERS = (1, 2, 4, 8, 16)

# n_hidden, periods: one group and several, modules that share a vector and modules wider than one, periods
# that divide each other and that do not, no module that is always due, periods beyond the window.
CELLS = [
    (1, (1,)),
    (1, (3,)),
    (2, (2, 3)),
    (5, POWERS),
    (5, (1, 40)),
    (10, POWERS),
    (10, (2, 4, 6)),
    (15, POWERS),
    (15, (1, 1025)),
    (16, (1, 2, 3, 5, 7, 11, 13)),
    (33, POWERS),
    (33, (2, 3)),
    (33, (4, 6, 9)),
    (64, POWERS),
    (64, (1,)),
    (64, (3, 4, 5, 7, 11)),
    (64, (1, 2, 6, 10, 30)),
    (90, (1, 2, 3, 4, 6)),
]
every_cell = pytest.mark.parametrize(("n_hidden", "periods"), CELLS)


@pytest.fixture(params=_core.supported())
def build(request, monkeypatch):
    monkeypatch.setattr(elman.models.learner, "core", _core.load(request.param))
    return request.param


def clockwork(n_hidden, periods, sizes, oracle=naive.Clockwork, training=None, **options):
    return both(Clockwork(n_hidden, periods), oracle(n_hidden, list(periods)), sizes, training, **options)


@every_cell
@pytest.mark.parametrize("window", [1, 7, 30])
def test_learners_follow_the_oracle(n_hidden, periods, window):
    models, oracle = clockwork(n_hidden, periods, (3, window, 1))
    assert_follow(models, oracle, *stream(200, 3, 1))


@every_cell
def test_learners_follow_the_oracle_that_goes_module_by_module(n_hidden, periods):
    models, oracle = clockwork(n_hidden, periods, (2, 12, 1), naive.ClockworkModules)
    assert_follow(models, oracle, *stream(60, 2, 1))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("cell", [(10, POWERS), (16, (2, 3)), (33, (1, 2, 3, 4, 6))])
def test_every_kind_of_target_follows_the_oracle(cell, n_outputs, scale, loss):
    models, oracle = clockwork(*cell, (20, 7, n_outputs), loss=loss, scale=scale)
    assert_follow(models, oracle, *stream(200, 20, n_outputs, loss=loss))


@pytest.mark.parametrize(("n_hidden", "periods"), [(10, POWERS), (33, (1, 2, 3)), (40, (2, 5))])
def test_projection_at_every_step_follows_the_oracle(n_hidden, periods):
    training = WOGD.algorithm1(window=8, rate=0.02, spectral_limit=0.3)
    models, oracle = clockwork(n_hidden, periods, (3, 8, 1), training=training)
    assert_follow(models, oracle, *stream(80, 3, 1))


@pytest.mark.parametrize(("n_hidden", "periods"), [(5, POWERS), (10, (2, 3)), (33, POWERS), (33, (2, 3, 4))])
@pytest.mark.parametrize("rows", [5, 37])
def test_gradients_are_exact(n_hidden, periods, rows):
    models, oracle = clockwork(n_hidden, periods, (2, 11, 2))
    assert_gradients_are_exact(models, oracle, *stream(rows, 2, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@every_cell
def test_same_bits_however_it_is_run(build, n_hidden, periods, dtype):  # noqa: ARG001
    def make_model():
        return OnlineRNN(Clockwork(n_hidden, periods), WOGD(window=25), dtype=dtype, seed=2)

    assert_same_bits_however_it_is_run(make_model, 3, 1)


@pytest.mark.parametrize("n_hidden", [1, 7, 16, 40])
def test_one_module_of_period_1_is_an_srnn(n_hidden):
    X, y = stream(200, 4, 1)
    training = WOGD(window=20, rate=0.01)
    expected, actual = (
        OnlineRNN(cell, training, dtype="float64", seed=3).run(X, y)
        for cell in (SRNN(n_hidden), Clockwork(n_hidden, (1,)))
    )
    assert np.max(np.abs(actual - expected)) < 1e-9


@pytest.mark.parametrize(("n_hidden", "periods"), [(10, POWERS), (64, POWERS), (33, (2, 3))])
def test_weights_that_do_not_exist_stay_zero(n_hidden, periods):
    missing = naive.Clockwork(n_hidden, list(periods)).mask("W", None) == 0
    model = OnlineRNN(Clockwork(n_hidden, periods), WOGD.algorithm1(window=10, spectral_limit=0.2), seed=1)
    model.run(*stream(50, 3, 1))
    assert missing.any()
    assert not model.weights["W"][missing].any()
    assert not gradient(model)["W"][missing].any()
    assert model.weights["W"][~missing].all()


def test_a_module_keeps_its_value_until_it_is_due_again_after_loading():
    def slow_state(model):
        return model._learner.state()["state"][0, 5:]

    X, y = stream(24, 2, 1)
    model = OnlineRNN(Clockwork(10, (1, 8)), WOGD(window=1), seed=1)
    states = []
    for x, t in zip(X, y, strict=True):
        model.learn_one(x, t)
        model = OnlineRNN.from_bytes(model.to_bytes())
        states.append(slow_state(model))
    changes = [i for i in range(1, 24) if not np.array_equal(states[i], states[i - 1])]
    assert changes == [1, 9, 17]  # the state before the window of one sample: one row after samples 0, 8, 16


def test_columns_and_outputs_that_come_later_leave_the_clock_alone():
    model = OnlineRNN(Clockwork(10), WOGD(window=5), seed=1)
    for i in range(30):
        row = {"a": float(i % 3), "b": 1.0} if i > 10 else {"a": float(i % 3)}
        model.learn_one(row, float(i % 2))
    assert model.n_samples == 30
    assert np.isfinite(model.predict_one({"a": 1.0, "b": 1.0}))


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


def test_configuration_is_comparable_and_saved():
    cell = Clockwork(12, [1, 3])
    assert cell == Clockwork(12, (1, 3))
    model = OnlineRNN(cell, seed=1)
    model.learn_one([1.0], 1.0)
    assert OnlineRNN.from_bytes(model.to_bytes()).cell == cell


def test_periods_beyond_any_stream_are_taken():
    X, y = stream(30, 2, 1)
    predictions = OnlineRNN(Clockwork(8, (1, 10**9, 2**53, 10**30)), WOGD(window=5), seed=1).run(X, y)
    assert np.isfinite(predictions).all()


def test_multiply_adds_are_those_of_the_oracle_averaged_over_a_cycle():
    cell = Clockwork(17, (1, 2, 6))
    oracle = naive.Clockwork(17, [1, 2, 6])
    reads = oracle.mask("W", None).sum(axis=1) + 3 + 1
    counted = np.mean([reads[step % oracle.unit_periods == 0].sum() for step in range(6)])
    assert cell.multiply_adds(3) == pytest.approx(counted)
