"""Readouts with a skip, and those that learn by recursive least squares, follow their oracles."""

import numpy as np
import pytest

import combos
import naive
from combos import every_gentle_training, every_new_network
from elman import EKF, RLS, SGD, SRNN, WOGD, Gradient, Linear
from naive.window import read_out


def assert_follows(cell, training, readout, loss="squared", length=200):
    models = combos.of_every_build(
        lambda dtype: combos.new_model(cell, training, loss, dtype, readout=readout)
    )
    combos.assert_follows(models, combos.naive_counterpart(models[0]), *combos.stream(loss, length))


@every_gentle_training
@every_new_network
def test_every_network_follows_its_oracle(cell, readout, training):
    assert_follows(cell, training, readout)


@every_gentle_training
@pytest.mark.parametrize("cell", [SRNN(5), Linear()], ids=["SRNN", "Linear"])
def test_a_skip_follows_the_oracle_with_the_logistic_loss(cell, training):
    assert_follows(cell, training, Gradient(skip=True), "logistic", length=80)


@every_gentle_training
def test_least_squares_over_the_hidden_units_alone_follows_the_oracle(training):
    assert_follows(SRNN(5), training, RLS(skip=False, forgetting=0.98), length=80)


def test_wogd_clips_the_rows_of_both_readout_matrices_together():
    training = WOGD(window=7, rate=combos.GENTLE_RATE, readout_rate=1.0, readout_limit=0.4)
    assert_follows(SRNN(5), training, Gradient(skip=True), length=80)
    model = combos.new_model(SRNN(5), training, readout=Gradient(skip=True))
    norms = []
    for x, y in zip(*combos.stream(length=80), strict=True):
        model.learn_one(x, y)
        norms.append(np.linalg.norm(np.hstack([model.weights["C"], model.weights["D"]]), axis=1))
    assert np.max(norms) < 0.4 + 1e-12
    assert np.mean(np.isclose(norms, 0.4, rtol=1e-12)) > 0.5


def test_several_penalties_are_renewed_at_a_sample_where_one_would_come_too_late():
    """With 0.7 and nine weights it is three."""
    assert naive.RLS(0.7, 10).renewals(9) == 3
    assert_follows(SRNN(5), SGD(combos.GENTLE_RATE, lookback=5), RLS(forgetting=0.7), length=80)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"])
def test_gradients_with_a_skip_agree_with_finite_differences(cell, loss):
    X, Y = combos.stream(loss, length=12)
    model = combos.new_model(cell, WOGD(window=7, rate=0.1), loss, readout=Gradient(skip=True))
    combos.assert_gradients_are_exact([model], combos.naive_counterpart(model), X, Y)


def test_the_filter_learns_a_linear_model_as_least_squares_do():
    """Two ways to the same numbers: an EKF without process noise, and RLS that forgets nothing."""
    X, Y = combos.stream(length=100, n_outputs=1)
    by_filter = combos.new_model(
        Linear(),
        EKF(initial_variance=0.5, process_noise=0, measurement_noise=0.25),
        readout=Gradient(skip=True),
        n_outputs=1,
    )
    by_least_squares = combos.new_model(
        Linear(), SGD(), readout=RLS(forgetting=1, initial_variance=2), n_outputs=1
    )
    np.testing.assert_allclose(by_filter.run(X, Y), by_least_squares.run(X, Y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.6])
def test_least_squares_are_the_ridge_regression_that_they_stand_for(forgetting):
    """Exactly, with the renewed penalties written as the samples that they are.

    The regression is solved anew from all samples, without any recursion.
    """
    X, Y = combos.stream(length=150)
    Y = np.nan_to_num(Y)
    readout = RLS(forgetting=forgetting, initial_variance=3)
    model = combos.new_model(Linear(), SGD(), readout=readout)
    start, n = model.weights["D"], X.shape[1] + 1
    model.run(X, Y)

    rule, ages = naive.RLS(forgetting, 3), len(X) - 1 - np.arange(len(X))
    phi = np.column_stack([X, np.ones(len(X))])
    matrix = (phi * forgetting ** ages[:, None]).T @ phi + forgetting ** len(X) * np.eye(n) / 3
    vector = (phi * forgetting ** ages[:, None]).T @ Y + forgetting ** len(X) * start.T / 3
    for t in range(1, len(X) + 1):
        for i in rule.renewed(n, t):
            matrix[i, i] += forgetting ** (len(X) - t) / rule.penalty_variance(n)
    np.testing.assert_allclose(model.weights["D"].T, np.linalg.solve(matrix, vector), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        combos.covariance(model, "least_squares"), np.linalg.inv(matrix), rtol=1e-8, atol=1e-12
    )


def test_the_penalties_in_turn_are_nearly_a_constant_ridge_penalty():
    X, Y = combos.stream(length=2000)
    Y = np.nan_to_num(Y)
    forgetting, variance, n = 0.98, 0.05, X.shape[1] + 1
    model = combos.new_model(Linear(), SGD(), readout=RLS(forgetting=forgetting, initial_variance=variance))
    model.run(X, Y)
    weight = forgetting ** (len(X) - 1 - np.arange(len(X)))[:, None]
    phi = np.column_stack([X, np.ones(len(X))])
    ridge, without = (
        np.linalg.solve((weight * phi).T @ phi + penalty * np.eye(n), (weight * phi).T @ Y).T
        for penalty in (1 / variance, 0)
    )
    distance = np.linalg.norm(model.weights["D"] - ridge)
    assert distance < 0.05 * np.linalg.norm(without - ridge)


@pytest.mark.parametrize("renewed", [0.99, 0.6])
def test_the_oracle_of_least_squares_is_the_same_ridge_regression(renewed):
    rng = np.random.default_rng(0)
    phi, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    rule, w = naive.RLS(renewed, 2.0), np.zeros((1, 5))
    matrix, vector = np.eye(5) / 2, np.zeros(5)
    for t in range(1, 61):
        w = rule.update(w, phi[t - 1], y[t - 1 : t], t)
        matrix = renewed * matrix + np.outer(phi[t - 1], phi[t - 1])
        vector = renewed * vector + phi[t - 1] * y[t - 1]
        for i in rule.renewed(5, t):
            matrix[i, i] += 1 / rule.penalty_variance(5)
    np.testing.assert_allclose(w[0], np.linalg.solve(matrix, vector), rtol=1e-10)


def test_the_smoothness_with_a_readout_by_least_squares_follows_the_oracle():
    X, Y = combos.stream(length=40)
    model = combos.new_model(SRNN(5), combos.GENTLE_TRAININGS["WOGD"], readout=RLS(forgetting=0.98))
    oracle, expected = combos.naive_counterpart(model), []
    for x, y in zip(X, Y, strict=True):
        oracle.learn(x, y)
        expected.append(np.nan if np.isnan(y).all() else oracle.learner.training.smoothness())
    np.testing.assert_allclose(model.run_measured(X, Y), expected, rtol=1e-6)


def test_the_oracle_reads_the_inputs_out():
    weights = {"C": np.array([[1.0, 2.0]]), "D": np.array([[3.0, 4.0]])}
    assert read_out(weights, np.array([1.0, 1.0]), np.array([10.0, 1.0])) == [1 + 2 + 30 + 4]
