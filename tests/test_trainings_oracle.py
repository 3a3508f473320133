"""Every training on every network follows its oracle, and goes on when a feature or an output is new."""

from dataclasses import replace

import numpy as np
import pytest

import combos
from combos import (
    assert_follows,
    every_cell,
    every_gentle_training,
    every_loss,
    every_network,
    every_training,
)
from elman import EKF, RLS, SGD, SRNN, Gradient, HessianFree, Linear, OnlineRNN
from inside import arrays, write


@every_loss
@every_training
@every_cell
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_follows_the_oracle_in_float64(cell, training, loss, n_outputs):
    models = combos.of_every_build(
        lambda dtype: combos.new_model(cell, training, loss, dtype, n_outputs=n_outputs), ["float64"]
    )
    oracle = combos.naive_counterpart(models[0])
    assert_follows(models, oracle, *combos.stream(loss, length=200, n_outputs=n_outputs))


@every_loss
@every_training
@every_cell
def test_float32_stays_near_float64(cell, training, loss):
    X, Y = combos.stream(loss)
    single, double = (
        combos.new_model(cell, training, loss, dtype).run(X, Y) for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, rtol=1e-2, atol=1e-3)


@every_loss
@every_cell
def test_descent_follows_the_derivative_of_the_last_loss(cell, loss):
    """While the window fills, a prediction is a function of the weights that finite differences can see."""
    X, Y = combos.stream(loss, length=10)
    rate = 1e-3
    model = combos.new_model(cell, SGD(rate, lookback=5), loss)
    model.run(X[:4], np.full_like(Y[:4], np.nan))
    before = arrays(model)

    def loss_with(weights):
        write(model, weights)
        p, y = model.predict_one(X[4]), Y[4]
        losses = 0.5 * (p - y) ** 2 if loss == "squared" else -y * np.log(p) - (1 - y) * np.log(1 - p)
        return np.nansum(losses)

    slopes = {name: combos.slopes(loss_with, before, name) for name in model.weights}
    write(model, before)
    model.learn_one(X[4], Y[4])
    after = arrays(model)
    for name, slope in slopes.items():
        exists = before[name] != 0
        np.testing.assert_allclose(
            ((before[name] - after[name]) / rate)[exists], slope[exists], rtol=1e-6, atol=1e-8
        )


def named_rows(X):
    return [dict(zip("abc", x.tolist(), strict=False)) for x in X]


def new_model_without_process_noise(cell, readout, training):
    """The variance of a weight whose input is zero grows; that of a weight that is not there yet does not.

    So nothing makes it grow here: no process noise and no forgetting.
    """
    if isinstance(training, EKF):
        training = EKF(process_noise=0)
    if isinstance(readout, RLS):
        readout = RLS(forgetting=1)
    return OnlineRNN(cell, training, readout, scale=False, dtype="float64", seed=1)


@every_gentle_training
@every_network
def test_a_new_feature_is_learned_as_if_it_had_been_zero_before(cell, readout, training):
    X, Y = combos.stream(length=60)
    X[:40, 2] = 0
    from_start, later = (new_model_without_process_noise(cell, readout, training) for _ in range(2))
    from_start.run(named_rows(X[:40]), Y[:40])
    later.run(named_rows(X[:40, :2]), Y[:40])
    expected, actual = (model.run(named_rows(X[40:]), Y[40:]) for model in (from_start, later))
    assert later.feature_names == ["a", "b", "c"]
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@every_training
@every_network
def test_outputs_that_show_up_later_are_learned_as_if_they_had_been_unknown_before(cell, readout, training):
    X, Y = combos.stream(length=40)
    from_start, later = (new_model_without_process_noise(cell, readout, training) for _ in range(2))
    from_start.run(X[:10], np.full_like(Y[:10], np.nan))
    later.run(X[:10], None)
    expected, actual = (model.run(X[10:], Y[10:]) for model in (from_start, later))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("cell", [SRNN(4), *combos.CELLS.values(), Linear()], ids=repr)
def test_a_new_feature_starts_from_the_initial_variance_and_the_others_keep_theirs(cell):
    X, Y = combos.stream(length=30)
    training = EKF(initial_variance=0.7, process_noise=0)
    model = OnlineRNN(cell, training, Gradient(skip=True), scale=False, dtype="float64", seed=1)
    model.run(named_rows(X[:, :2]), Y)
    before = combos.covariance(model)
    model.run(named_rows(X[:1]), None)
    after = combos.covariance(model)
    is_new = np.all(after == 0.7 * np.eye(len(after)), axis=1)
    n_new = sum(matrix.shape[0] for name, matrix in model.weights.items() if name[0] in "UD")
    assert is_new.sum() == n_new
    np.testing.assert_array_equal(after[np.ix_(~is_new, ~is_new)], before)


@every_training
@pytest.mark.parametrize("cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"])
def test_a_step_beyond_all_bounds_is_not_taken(cell, training):
    """Of the trainings: the step of RLS is a projection, and finite however wrong the weights."""
    readout = Gradient(skip=isinstance(cell, Linear))
    giant = {name: 1e37 for name in ("rate", "readout_rate") if hasattr(training, name)}
    if isinstance(training, (EKF, SGD, HessianFree)):
        pytest.skip("its steps bring errors to 0 and go no further")
    model = combos.new_model(cell, replace(training, **giant), dtype="float32", readout=readout)
    X, Y = combos.stream(length=20)
    before = arrays(model)
    model.run(100 * X, 100 * Y)
    after = arrays(model)
    assert model.steps > 0
    for name in model.weights:
        np.testing.assert_array_equal(after[name], before[name])
