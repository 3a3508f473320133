"""Wrong arguments: the message names argument, what came and what was expected; the model is untouched."""

import re
from decimal import Decimal

import numpy as np
import pytest

from elman import SRNN, WOGD, OnlineRNN

NAN, INF = float("nan"), float("inf")


def trained(**options):
    rng = np.random.default_rng(0)
    model = OnlineRNN(SRNN(3), WOGD(window=4), seed=1, **options)
    model.run(rng.normal(size=(10, 2)), rng.random(10))
    return model


def named():
    model = OnlineRNN(SRNN(3), WOGD(window=4), seed=1)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    return model


def pairs():
    model = OnlineRNN(SRNN(3), WOGD(window=4), seed=1)
    model.learn_one([1.0, 2.0], [1.0, 2.0])
    return model


CONFIGURATIONS = [
    (lambda: SRNN(0), ValueError, "n_hidden must be a whole number of at least 1, got 0"),
    (lambda: SRNN(2.5), TypeError, "n_hidden must be a whole number, got 2.5 of type float"),
    (lambda: SRNN(n_hidden=True), TypeError, "n_hidden must be a whole number, got True of type bool"),
    (lambda: WOGD(window=0), ValueError, "window must be a whole number of at least 1, got 0"),
    (lambda: WOGD(rate=0), ValueError, "rate must be a finite number above 0, got 0"),
    (lambda: WOGD(rate=NAN), ValueError, "rate must be a finite number above 0, got nan"),
    (lambda: WOGD(rate="fast"), TypeError, "rate must be a number, got 'fast' of type str"),
    (
        lambda: WOGD(spectral_limit=1.0),
        ValueError,
        "spectral_limit must be a finite number above 0 and below 1, got 1.0",
    ),
    (
        lambda: WOGD(projection_threshold=-1),
        ValueError,
        "projection_threshold must be a finite number of at least 0",
    ),
    (lambda: OnlineRNN("SRNN"), TypeError, "NARX, got 'SRNN' of type str"),
    (
        lambda: OnlineRNN(training=SRNN()),
        TypeError,
        "training must be WOGD, SGD, RMSprop, Adam or EKF, got SRNN(n_hidden=15) of type SRNN",
    ),
    (lambda: OnlineRNN(loss="hinge"), ValueError, "loss must be 'squared' or 'logistic', got 'hinge'"),
    (lambda: OnlineRNN(dtype="float16"), ValueError, "dtype must be 'float32' or 'float64', got 'float16'"),
    (lambda: OnlineRNN(scale="yes"), TypeError, "scale must be bool, got 'yes' of type str"),
    (lambda: OnlineRNN(seed=-1), ValueError, "seed must be a whole number of at least 0, got -1"),
    (lambda: OnlineRNN(seed=1.5), TypeError, "seed must be a whole number, got 1.5 of type float"),
]


@pytest.mark.parametrize(("make", "kind", "message"), CONFIGURATIONS)
def test_a_wrong_configuration_says_what_is_wrong(make, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        make()


ROWS = [
    (trained, [1.0], 1.0, ValueError, "x has 1 features, this model has learned rows of 2"),
    (
        trained,
        [[1.0, 2.0]],
        1.0,
        ValueError,
        "x must be one row of features (1-D), got an array of shape (1, 2)",
    ),
    (trained, 3.0, 1.0, ValueError, "x must be one row of features (1-D), got an array of shape ()"),
    (
        trained,
        [1.0, INF],
        1.0,
        ValueError,
        "x[1] is inf: a feature must be a finite number, or NaN if it is missing",
    ),
    (trained, [-INF, 1.0], 1.0, ValueError, "x[0] is -inf: a feature must be a finite number"),
    (trained, ["a", "b"], 1.0, TypeError, "x must hold numbers, got text: ['a', 'b']"),
    (trained, "ab", 1.0, TypeError, "x must hold numbers, got text: 'ab'"),
    (trained, [1.0, "b"], 1.0, TypeError, "x must hold numbers, got text: [1.0, 'b']"),
    (trained, [1.0, object()], 1.0, TypeError, "x must hold numbers only"),
    (trained, [1j, 2], 1.0, TypeError, "x must hold numbers, got complex numbers"),
    (
        trained,
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
        1.0,
        TypeError,
        "x must hold numbers, got dates",
    ),
    (
        trained,
        {"a": 1.0, "b": 2.0},
        1.0,
        ValueError,
        "has learned rows of 2 unnamed features: pass an array, not a dict or a table with names",
    ),
    (
        trained,
        [1.0, 2.0],
        INF,
        ValueError,
        "y is inf: a target must be a finite number, or None or NaN if it is not",
    ),
    (trained, [1.0, 2.0], "high", TypeError, "y must hold numbers, got text: 'high'"),
    (
        trained,
        [1.0, 2.0],
        [1.0],
        ValueError,
        "y is an array of 1 values, this model has learned targets that are numbers",
    ),
    (trained, [1.0, 2.0], [[1.0]], ValueError, "y must be a number or a 1-D array"),
    (trained, [1.0, 2.0], [], ValueError, "y is empty: pass None where no target is known"),
    (
        named,
        [1.0, 2.0],
        1.0,
        ValueError,
        "this model knows its features by name (a, b): pass a dict or a table with names, not an array",
    ),
    (named, {"a": "x"}, 1.0, TypeError, "x['a'] must be a number, got 'x' of type str"),
    (
        named,
        {"a": INF},
        1.0,
        ValueError,
        "x['a'] is inf: a feature must be a finite number, or NaN if it is missing",
    ),
    (named, {1: 2.0}, 1.0, TypeError, "a feature's name must be a str, got 1 of type int"),
    (
        pairs,
        [1.0, 2.0],
        1.0,
        ValueError,
        "y is a number, this model has learned targets that are arrays of 2 values",
    ),
    (
        pairs,
        [1.0, 2.0],
        [1.0, 2.0, 3.0],
        ValueError,
        "y is an array of 3 values, this model has learned targets that",
    ),
    (pairs, [1.0, 2.0], [1.0, INF], ValueError, "y[1] is inf"),
    (
        lambda: trained(loss="logistic"),
        [1.0, 2.0],
        1.5,
        ValueError,
        "y is 1.5: with loss='logistic' a target must be",
    ),
]


@pytest.mark.parametrize(("make", "x", "y", "kind", "message"), ROWS)
def test_a_wrong_row_says_what_is_wrong_and_touches_nothing(make, x, y, kind, message):
    model = make()
    before = model.to_bytes()

    with pytest.raises(kind, match=re.escape(message)):
        model.learn_one(x, y)

    assert model.to_bytes() == before


@pytest.mark.parametrize(("make", "x", "y", "kind", "message"), ROWS[:12])
def test_a_wrong_row_is_refused_by_predict_as_well(make, x, y, kind, message):  # noqa: ARG001
    with pytest.raises(kind, match=re.escape(message)):
        make().predict_one(x)


RUNS = [
    (
        np.ones((4, 3)),
        np.ones(4),
        ValueError,
        "the rows of X have 3 features, this model has learned rows of 2",
    ),
    (np.ones(4), np.ones(4), ValueError, "X must have shape (n, n_inputs), got shape (4,)"),
    (
        np.ones((4, 2)),
        np.ones(3),
        ValueError,
        "y must have shape (4,) or (4, n_outputs), as X has 4 rows; got shape (3,)",
    ),
    (
        np.ones((4, 2)),
        np.ones((4, 2)),
        ValueError,
        "a row of y is an array of 2 values, this model has learned targets",
    ),
    ([[1, 2], [3, INF]], [1, 2], ValueError, "X[1, 1] is inf: a feature must be a finite number, or NaN"),
    ([[1, 2], [3, 4]], [1, -INF], ValueError, "y[1] is -inf: a target must be a finite number"),
    ([["a", "b"]], [1], TypeError, "X must hold numbers, got text"),
]


@pytest.mark.parametrize(("X", "y", "kind", "message"), RUNS)
def test_a_wrong_array_is_refused_before_the_first_row_is_learned(X, y, kind, message):
    model = trained()
    before = model.to_bytes()

    with pytest.raises(kind, match=re.escape(message)):
        model.run(X, y)

    assert model.to_bytes() == before


def test_a_probability_out_of_range_in_an_array_is_located():
    with pytest.raises(
        ValueError, match=re.escape("y[2] is -0.5: with loss='logistic' a target must be between 0 and 1")
    ):
        trained(loss="logistic").run(np.ones((3, 2)), [0, 1, -0.5])


def test_a_mixture_of_dicts_and_rows_is_refused():
    with pytest.raises(TypeError, match=re.escape("X[1] must be a dict like X[0], got list")):
        named().run([{"a": 1.0}, [1.0]], [1, 2])


def test_numbers_of_other_types_are_accepted():
    model = trained()
    model.learn_one([Decimal("1.5"), None], Decimal("0.5"))
    model.learn_one(np.array([True, False]), np.int32(1))
    model.learn_one([NAN, NAN], np.float32(0.5))

    assert model.steps == 13
