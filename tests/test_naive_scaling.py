"""The scaling oracle: plain statistics where they apply, and each exception to them."""

import math
import pickle

import numpy as np
import pytest

import naive

N_FEATURES = 2


def observed(values):
    scaler = naive.Scaler()
    for value in values:
        scaler.observe(value)
    return scaler


def model_of(loss="squared", *, scale=True, n_outputs=1, lags=0):
    rng = np.random.default_rng(0)
    shapes = {"W": (4, 4), "U": (4, n_outputs * lags + N_FEATURES + 1), "C": (n_outputs, 4)}
    weights = {name: rng.normal(scale=0.5, size=shape) for name, shape in shapes.items()}
    learner = naive.Learner(naive.SRNN(4), naive.WOGD(5, 0.1), weights, n_outputs, loss)
    return naive.OnlineRNN(learner, N_FEATURES, lags=lags, scale=scale)


def stream(length=20, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(length, N_FEATURES)), rng.normal(size=length)


def test_statistics_are_mean_and_population_variance():
    values = np.random.default_rng(2).normal(3, 2, size=500)
    scaler = observed(values)
    assert scaler.n == 500
    assert scaler.mean == pytest.approx(values.mean(), rel=1e-12)
    assert scaler.var == pytest.approx(values.var(), rel=1e-12)


def test_statistics_forget_after_ten_thousand_values():
    scaler = observed(np.tile([-1.0, 1.0], 5000))
    assert (scaler.n, scaler.var) == (10_000, pytest.approx(1.0))
    mean = scaler.mean
    scaler.observe(5.0)
    assert scaler.mean == pytest.approx(mean + (5 - mean) / 10_000, rel=1e-12)
    assert scaler.n == 10_001


def test_nan_is_not_observed():
    assert vars(observed([1.0, math.nan, 2.0])) == vars(observed([1.0, 2.0]))


def test_outlier_is_observed_at_twenty_standard_deviations_and_a_fault_at_ten():
    first = [1.0, 3.0]
    assert vars(observed([*first, 1e2])) == vars(observed([*first, 2.0 + 20.0]))
    assert vars(observed([*first, 1e9])) == vars(observed([*first, 2.0 + 10.0]))
    assert vars(observed([*first, -math.inf])) == vars(observed([*first, 2.0 - 10.0]))


def test_first_values_are_observed_within_1e125():
    assert observed([math.inf]).mean == 1e125
    assert math.isfinite(observed([math.inf, -math.inf, math.inf]).var)


@pytest.mark.parametrize(
    ("values", "value", "expected"),
    [
        ([], 3.0, 0.0),
        ([1.0], 3.0, 0.0),
        ([1.0, 3.0], 4.0, 2.0),
        ([1.0, 3.0], math.nan, 0.0),
        ([1.0, 3.0], 1e300, 10.0),
        ([1.0, 3.0], -math.inf, -10.0),
        ([5.0, 5.0, 5.0], 7.0, 0.0),
        ([0.0, 0.0], 1.0, 0.0),
    ],
)
def test_standardise(values, value, expected):
    assert observed(values).standardise(value) == pytest.approx(expected)


def test_learner_sees_features_and_targets_standardised_with_themselves():
    model, (X, Y) = model_of(), stream(3)
    model.run(X, Y)
    expected = [observed(X[:, j]).standardise(X[2, j]) for j in range(N_FEATURES)]
    np.testing.assert_array_equal(model.learner.X[-1], [*expected, 1.0])
    np.testing.assert_array_equal(model.learner.Y[-1], [observed(Y).standardise(Y[2])])


def test_prediction_before_any_target_is_0_and_after_one_is_that_target():
    X, Y = stream(2)
    assert model_of().run(X, Y)[0].tolist() == [[0], [Y[0]]]


def test_an_answer_changes_nothing_and_is_what_learning_then_gives():
    model, (X, Y) = model_of(lags=2), stream()
    model.run(X[:-1], Y[:-1])
    before = pickle.dumps(model)
    answer = model.answer(X[-1])
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(model.learn(X[-1], Y[-1]), answer)


def test_prediction_uses_the_features_statistics_after_the_row():
    model, (X, Y) = model_of(), stream()
    model.run(X[:-1], Y[:-1])
    row = [observed(X[:, j]).standardise(X[-1, j]) for j in range(N_FEATURES)]
    z = model.learner.predict(row)[0]
    expected = np.mean(Y[:-1]) + np.std(Y[:-1]) * z
    assert model.answer(X[-1])[0] == pytest.approx(expected, rel=1e-12)


def test_units_of_the_data_do_not_matter():
    X, Y = stream()
    expected = 100 + 5 * model_of(lags=1).run(X, Y)[0, 1:]
    actual = model_of(lags=1).run(7 * X - 3, 100 + 5 * Y)[0, 1:]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_without_scaling_numbers_are_bounded_and_missing_features_are_the_mean():
    model = model_of(scale=False)
    rows = [[math.nan, 1.0], [2.0, math.inf], [4.0, 1.0], [math.nan, -1e9]]
    model.run(rows, [1.0, 1e9, -math.inf, math.nan])
    X, Y = np.array(model.learner.X)[:, :-1], np.array(model.learner.Y)[:, 0]
    np.testing.assert_array_equal(X, [[0.0, 1.0], [2.0, 1e6], [4.0, 1.0], [3.0, -1e6]])
    np.testing.assert_array_equal(Y, [1.0, 1e6, -1e6, math.nan])


def test_without_scaling_predictions_are_those_of_the_learner():
    X, Y = stream()
    np.testing.assert_array_equal(model_of(scale=False).run(X, Y)[0], model_of().learner.run(X, Y))


def test_unknown_target_stays_unknown_and_is_not_observed():
    model, (X, _) = model_of(n_outputs=2), stream(3)
    model.run(X, [[1.0, 2.0], [3.0, math.nan], None])
    assert [target.n for target in model.preparation.targets] == [2, 1]
    np.testing.assert_array_equal(np.isnan(model.learner.Y), [[False, False], [False, True], [True, True]])
    assert model.learner.t == 2


def test_past_targets_come_first_output_by_output_and_the_last_known_one_stands_for_an_unknown_one():
    model, (X, _) = model_of(n_outputs=2, lags=2, scale=False), stream(5)
    model.run(X, [[math.nan, 5.0], [1.0, 6.0], [math.nan, 7.0], [2.0, math.nan], [9.0, 9.0]])
    unknown = 0.0  # its running mean
    past = [
        [unknown, unknown, unknown, unknown],
        [unknown, unknown, 5.0, 5.0],
        [1.0, unknown, 6.0, 5.0],
        [1.0, 1.0, 7.0, 6.0],
        [2.0, 1.0, 7.0, 7.0],
    ]
    rows = np.array(model.learner.X)
    np.testing.assert_array_equal(np.delete(rows[:, :4], (1, 3), axis=1), np.delete(past, (1, 3), axis=1))
    np.testing.assert_array_equal(rows[3:, :4], past[3:])
    np.testing.assert_array_equal(rows[:, 4:-1], X)


@pytest.mark.parametrize("scale", [True, False])
def test_logistic_targets_are_never_scaled_and_their_intervals_stay_probabilities(scale):
    model, (X, Y) = model_of("logistic", scale=scale), stream()
    Y[:2] = 1, -1
    answers = model.run(X, Y > 0)
    np.testing.assert_array_equal(np.array(model.learner.Y)[:, 0], Y[-5:] > 0)
    assert ((answers[0] > 0) & (answers[0] < 1)).all()
    assert ((answers[1:, 2:] >= 0) & (answers[1:, 2:] <= 1)).all()


@pytest.mark.parametrize("scale", [True, False])
def test_errors_are_in_the_units_of_the_target(scale):
    X, Y = stream(100)
    model, scaler, squares = model_of(scale=scale), naive.Scaler(), []
    for y, answer in zip(Y, model.run(X, Y)[0, :, 0], strict=True):
        if scaler.varies:
            squares.append((answer - y) ** 2)
        scaler.observe(y)
    np.testing.assert_allclose(model.mean_errors, np.mean(squares), rtol=1e-12)
