"""Prequential evaluation against its definition, row by row."""

import math

import numpy as np
import pytest

from elman.evaluate import LearningCurve, Prequential


def test_errors_in_chunks_equal_the_definition():
    rng = np.random.default_rng(0)
    y, y_hat = rng.normal(5, 2, 100), rng.normal(5, 2, 100)
    score = Prequential()
    for chunk in np.array_split(np.arange(100), 7):
        score.update(y[chunk], y_hat[chunk])

    means = [y[:i].mean() if i else 0.0 for i in range(100)]

    assert score.rows == 100
    assert math.isclose(score.mse, np.mean((y - y_hat) ** 2))
    assert math.isclose(score.mse_of_mean, np.mean((y - means) ** 2))


def test_unknown_targets_do_not_count():
    score = Prequential()
    score.update([1.0, math.nan, 3.0], [1.0, 100.0, 3.0])

    assert (score.rows, score.mse) == (2, 0.0)


def test_before_the_first_row_the_error_is_not_a_number():
    assert math.isnan(Prequential().mse)
    assert math.isnan(Prequential().mse_of_mean)


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"must have the same shape \(n,\), got \(2,\) and \(3,\)"):
        Prequential().update([1, 2], [1, 2, 3])


def test_the_last_value_and_absolute_errors_equal_the_definition():
    y, y_hat = np.array([1.0, 4.0, math.nan, 2.0]), np.array([1.5, 4.0, 9.0, 0.0])
    score = Prequential()
    first = score.update(y[:1], y_hat[:1])
    score.update(y[1:], y_hat[1:])

    np.testing.assert_allclose(first, [[-0.5, 1.0, 1.0]])
    assert math.isclose(score.mae, 2.5 / 3)
    assert math.isclose(score.mse_of_last, (1 + 9 + 4) / 3)
    assert math.isclose(score.mae_of_last, (1 + 3 + 2) / 3)
    assert math.isclose(score.mae_of_mean, (1 + 3 + 0.5) / 3)
    assert math.isclose(score.r2, 1 - 4.25 / (1 + 9 + 0.25))


def test_totals_go_on_where_they_were():
    rng = np.random.default_rng(0)
    y, y_hat = rng.normal(size=(2, 50))
    whole, first = Prequential(), Prequential()
    whole.update(y, y_hat)
    first.update(y[:20], y_hat[:20])
    again = Prequential(first.totals)
    again.update(y[20:], y_hat[20:])

    np.testing.assert_allclose(again.totals, whole.totals)


def test_each_output_has_the_errors_of_a_score_of_its_own():
    rng = np.random.default_rng(0)
    y, y_hat = rng.normal(size=(2, 60, 3))
    y[rng.random(y.shape) < 0.2] = math.nan
    together, alone = Prequential(outputs=3), [Prequential() for _ in range(3)]
    errors = together.update(y, y_hat)
    own = [score.update(y[:, i], y_hat[:, i]) for i, score in enumerate(alone)]

    np.testing.assert_array_equal(errors, np.stack(own, axis=1))
    for name in ("rows", "mse", "mae", "r2", "mse_of_last", "mae_of_last", "mse_of_mean", "mae_of_mean"):
        np.testing.assert_array_equal(getattr(together, name), [getattr(score, name) for score in alone])


def test_an_output_without_targets_has_no_error_and_the_others_have():
    score = Prequential(outputs=2)
    score.update([[1.0, math.nan]], [[3.0, 3.0]])

    np.testing.assert_array_equal(score.mse, [4.0, math.nan])


def test_a_learning_curve_of_any_length_averages_equal_bins():
    errors = np.random.default_rng(0).normal(size=(5000, 3))
    curve = LearningCurve()
    for part in np.array_split(errors, 11):
        curve.update(part)
        curve = LearningCurve(curve.rows, curve.sums)

    assert curve.size == 32
    np.testing.assert_array_equal(curve.ends, np.arange(32, 4993, 32))
    expected = (errors[:4992] ** 2).reshape(156, 32, 3).mean(axis=1)
    np.testing.assert_allclose(curve.means, expected)
    np.testing.assert_allclose(curve.running[-1], expected.mean(axis=0))


@pytest.mark.parametrize("cuts", [1, 7, 700])
def test_a_learning_curve_averages_the_targets_that_are_known_of_each_output(cuts):
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(700, 2, 3))
    errors[1::4][rng.random((175, 2)) < 0.5] = math.nan
    curve = LearningCurve(outputs=2)
    for part in np.array_split(errors, cuts):
        curve.update(part)

    expected = np.nanmean((errors**2).reshape(175, 4, 2, 3), axis=1)
    np.testing.assert_allclose(curve.means, expected)


def test_what_no_curve_can_be_is_refused():
    with pytest.raises(ValueError, match="not those of a learning curve"):
        LearningCurve(rows=300, sums=np.zeros((300, 1, 4)))
    with pytest.raises(ValueError, match=r"totals must have shape \(outputs, 9\), got \(3,\)"):
        Prequential([1, 2, 3])
