"""Prequential evaluation against its definition, row by row."""

import math

import numpy as np
import pytest

from elman.evaluate import Prequential


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
