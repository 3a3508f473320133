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


def test_a_learning_curve_of_any_length_averages_equal_bins():
    errors = np.random.default_rng(0).normal(size=(5000, 3))
    curve = LearningCurve()
    for part in np.array_split(errors, 11):
        curve.update(part)
        curve = LearningCurve(curve.size, curve.means, curve.unfinished)

    assert curve.size == 32
    np.testing.assert_array_equal(curve.rows, np.arange(32, 4993, 32))
    expected = (errors[:4992] ** 2).reshape(156, 32, 3).mean(axis=1)
    np.testing.assert_allclose(curve.means, expected)


def test_what_no_curve_can_be_is_refused():
    with pytest.raises(ValueError, match="not those of a learning curve"):
        LearningCurve(size=0)
    with pytest.raises(ValueError, match=r"totals must have shape \(9,\), got \(3,\)"):
        Prequential([1, 2, 3])
