"""Every training on every network follows its oracle, survives saving, and grows without losing anything."""

import numpy as np
import pytest
from elman.models._growth import is_weight

import combos
from combos import every_cell, every_loss, every_network, every_training
from elman import EKF, RLS, SGD, Gradient, Linear, OnlineRNN


@every_loss
@every_training
@every_cell
def test_follows_the_oracle_in_float64(cell, training, loss):
    model = combos.new_model(cell, training, loss)
    oracle = combos.naive_counterpart(model)
    X, Y = combos.stream(loss)
    np.testing.assert_allclose(model.run(X, Y), oracle.run(X, Y), rtol=1e-9, atol=1e-9)
    for name, weights in combos.naive_weights(cell, model.weights).items():
        np.testing.assert_allclose(weights, oracle.weights[name], rtol=1e-9, atol=1e-9)


@every_training
@every_cell
def test_follows_the_oracle_with_one_output(cell, training):
    model = combos.new_model(cell, training, n_outputs=1)
    oracle = combos.naive_counterpart(model, n_outputs=1)
    X, Y = combos.stream(length=60, n_outputs=1)
    np.testing.assert_allclose(model.run(X, Y), oracle.run(X, Y), rtol=1e-9, atol=1e-9)


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
    before = model._learner.state()

    def loss_with(name, array):
        model._learner.restore(before | {name: array})
        p, y = model.predict_one(X[4]), Y[4]
        losses = 0.5 * (p - y) ** 2 if loss == "squared" else -y * np.log(p) - (1 - y) * np.log(1 - p)
        return np.nansum(losses)

    slopes = {
        name: np.array(
            [
                (loss_with(name, array + unit) - loss_with(name, array - unit)) / 2e-5
                for unit in 1e-5 * np.eye(array.size).reshape(-1, *array.shape)
            ]
        ).reshape(array.shape)
        for name, array in before.items()
        if is_weight(name)
    }
    model._learner.restore(before)
    model.learn_one(X[4], Y[4])
    after = model._learner.state()
    for name, slope in slopes.items():
        exists = np.array(before[name]) != 0
        np.testing.assert_allclose(
            ((before[name] - after[name]) / rate)[exists], slope[exists], rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@every_training
@every_network
def test_saving_changes_nothing_and_loading_continues_bit_for_bit(cell, readout, training, dtype):
    X, Y = combos.stream(length=60)
    unsaved, saved = (combos.new_model(cell, training, dtype=dtype, readout=readout) for _ in range(2))
    expected = unsaved.run(X, Y)[30:]
    saved.run(X[:30], Y[:30])
    loaded = OnlineRNN.from_bytes(saved.to_bytes())
    np.testing.assert_array_equal(loaded.run(X[30:], Y[30:]), expected)
    np.testing.assert_array_equal(saved.run(X[30:], Y[30:]), expected)
    assert loaded.to_bytes() == saved.to_bytes() == unsaved.to_bytes()


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


@combos.every_gentle_training
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


def without_input(name, array, i):
    """A weight matrix, or moments of one, without what belongs to input i."""
    return np.delete(array, i, axis=0) if name[0] == "U" else np.delete(array, i, axis=1)


@every_training
@every_network
def test_growth_keeps_the_state_and_starts_new_weights_from_nothing(cell, readout, training):
    X, Y = combos.stream(length=30)
    model = OnlineRNN(cell, training, readout, scale=False, dtype="float64", seed=1)
    model.run(named_rows(X[:, :2]), Y)
    before, n_old = model._learner.state(), combos.n_weights(model)
    old_covariance = combos.covariance(model) if isinstance(training, EKF) else None
    model.run(named_rows(X[:1]), None)
    after = model._learner.state()
    assert before.keys() == after.keys()
    for name, array in before.items():
        weight = name.split(".", 1)[1] if name.startswith("moment") else name
        if weight[0] in "UD":
            np.testing.assert_array_equal(without_input(weight, after[name], 2), array)
            new = after[name][2] if weight[0] == "U" else after[name][:, 2]
            assert name == "U" or name.startswith("U.") or not new.any()
        elif weight[0] in "WC":
            np.testing.assert_array_equal(after[name], array)
    if old_covariance is not None:
        is_new = combos.belongs_to_input(model, 2)
        assert combos.n_weights(model) - n_old == is_new.sum()
        covariance = combos.covariance(model)
        np.testing.assert_array_equal(covariance[np.ix_(~is_new, ~is_new)], old_covariance)
        np.testing.assert_array_equal(
            covariance[is_new], training.initial_variance * np.eye(len(is_new))[is_new]
        )


@every_training
@pytest.mark.parametrize("cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"])
def test_a_step_that_is_not_finite_is_not_taken(cell, training):
    """Of the trainings: the step of RLS is a projection, and finite however wrong the weights."""
    readout = Gradient(skip=isinstance(cell, Linear))
    model = combos.new_model(cell, training, dtype="float32", readout=readout)
    X, Y = combos.stream(length=20)
    model.run(X, Y)
    state = model._learner.state()
    state["D" if readout.skip else "C"][:] = 3e38
    model._learner.restore(state)
    expected = model._learner.state()
    model.learn_one(X[0], Y[0])
    after = model._learner.state()
    for name, array in expected.items():
        if is_weight(name) or name.startswith("moment") or name == "covariance":
            np.testing.assert_array_equal(after[name], array)
