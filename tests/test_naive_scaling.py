"""The scaling oracle: plain statistics where they apply, and each exception to them."""

import math

import numpy as np
import pytest

import naive

N_FEATURES = 2


def observed(values):
    scaler = naive.Scaler()
    for value in values:
        scaler.observe(value)
    return scaler


def scaled_learner(loss="squared", scale=True, n_outputs=1):
    rng = np.random.default_rng(0)
    shapes = {"W": (4, 4), "U": (4, N_FEATURES + 1), "C": (n_outputs, 4)}
    weights = {name: rng.normal(scale=0.5, size=shape) for name, shape in shapes.items()}
    learner = naive.Learner(naive.SRNN(4), naive.WOGD(5, 0.1), weights, n_outputs, loss)
    return naive.ScaledLearner(learner, N_FEATURES, scale)


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


def test_outlier_is_observed_at_ten_standard_deviations():
    first = [1.0, 3.0]
    assert vars(observed([*first, 1e9])) == vars(observed([*first, 2.0 + 10.0]))
    assert vars(observed([*first, -math.inf])) == vars(observed([*first, 2.0 - 10.0]))


def test_first_values_are_observed_within_1e100():
    assert observed([math.inf]).mean == 1e100
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
    model, (X, Y) = scaled_learner(), stream(3)
    for x, y in zip(X, Y, strict=True):
        model.learn(x, y)
    expected = [observed(X[:, j]).standardise(X[2, j]) for j in range(N_FEATURES)]
    np.testing.assert_array_equal(model.learner.X[-1], [*expected, 1.0])
    np.testing.assert_array_equal(model.learner.Y[-1], [observed(Y).standardise(Y[2])])


def test_prediction_before_any_target_is_0_and_after_one_is_that_target():
    model, (X, Y) = scaled_learner(), stream(2)
    assert model.predict(X[0]) == 0
    model.learn(X[0], Y[0])
    assert model.predict(X[1]) == Y[0]


def test_prediction_uses_the_features_statistics_after_the_row_and_changes_nothing():
    model, (X, Y) = scaled_learner(), stream()
    model.run(X[:-1], Y[:-1])
    before = [dict(vars(scaler)) for scaler in model.features]
    prediction = model.predict(X[-1])
    assert before == [vars(scaler) for scaler in model.features]
    row = [observed(X[:, j]).standardise(X[-1, j]) for j in range(N_FEATURES)]
    z = model.learner.predict(row)[0]
    assert prediction[0] == pytest.approx(np.mean(Y[:-1]) + np.std(Y[:-1]) * z, rel=1e-12)


def test_units_of_the_data_do_not_matter():
    X, Y = stream()
    expected = 100 + 5 * scaled_learner().run(X, Y)[1:]
    actual = scaled_learner().run(7 * X - 3, 100 + 5 * Y)[1:]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_without_scaling_numbers_are_bounded_and_missing_features_are_the_mean():
    model = scaled_learner(scale=False)
    rows = [[math.nan, 1.0], [2.0, math.inf], [4.0, 1.0], [math.nan, -1e9]]
    for x, y in zip(rows, [1.0, 1e9, -math.inf, math.nan], strict=True):
        model.learn(x, y)
    X, Y = np.array(model.learner.X)[:, :-1], np.array(model.learner.Y)[:, 0]
    np.testing.assert_array_equal(X, [[0.0, 1.0], [2.0, 1e6], [4.0, 1.0], [3.0, -1e6]])
    np.testing.assert_array_equal(Y, [1.0, 1e6, -1e6, math.nan])


def test_without_scaling_predictions_are_those_of_the_learner():
    model, (X, Y) = scaled_learner(scale=False), stream()
    plain = scaled_learner(scale=False).learner
    np.testing.assert_array_equal(model.run(X, Y), plain.run(X, Y))


def test_unknown_target_stays_unknown_and_is_not_observed():
    model, (X, _) = scaled_learner(n_outputs=2), stream()
    for x, y in zip(X, [[1.0, 2.0], [3.0, math.nan], None], strict=False):
        model.learn(x, y)
    assert [scaler.n for scaler in model.targets] == [2, 1]
    np.testing.assert_array_equal(np.isnan(model.learner.Y), [[False, False], [False, True], [True, True]])
    assert model.learner.t == 2


@pytest.mark.parametrize("scale", [True, False])
def test_logistic_targets_are_never_scaled(scale):
    model, (X, Y) = scaled_learner("logistic", scale), stream(5)
    predictions = model.run(X, Y > 0)
    np.testing.assert_array_equal(np.array(model.learner.Y)[:, 0], Y > 0)
    assert ((predictions > 0) & (predictions < 1)).all()


def test_logistic_target_outside_0_to_1_is_refused_before_anything_changes():
    model = scaled_learner("logistic")
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        model.learn([1.0, 2.0], 1.5)
    assert (model.features[0].n, len(model.learner.X)) == (0, 0)
