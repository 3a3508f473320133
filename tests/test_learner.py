"""What is particular to `OnlineRNN`; what every model promises is in contract.py."""

import re

import numpy as np
import pytest

from elman import SRNN, WOGD, Gradient, OnlineRNN

NAN = float("nan")


def stream(n, n_outputs=None):
    X = np.random.default_rng(0).normal(3, 5, (n, 4))
    y = np.sin(X[:, 0]) + np.roll(X[:, 1], 1)
    return X, (y if n_outputs is None else np.stack([y + k for k in range(n_outputs)], axis=1))


def new(**options):
    return OnlineRNN(SRNN(6), WOGD(window=12), seed=1, **options)


def test_the_weights_are_copies_with_a_row_for_each_unit_or_output():
    X, y = stream(30, n_outputs=2)
    model = new()
    assert model.weights == {}

    model.run(X, y)
    shapes = {name: array.shape for name, array in model.weights.items()}
    model.weights["U"][:] = NAN

    assert shapes == {"U": (6, 5), "W": (6, 6), "C": (2, 6)}
    assert np.all(np.isfinite(model.weights["U"]))


def test_a_feature_that_appears_later_is_the_column_before_the_constant():
    X, y = stream(60)
    model = new()
    model.run([{"a": x[0], "b": x[1]} for x in X], y)
    before = model.weights

    model.learn_one({"a": 1.0, "c": 2.0}, None)

    assert np.array_equal(model.weights["U"][:, [0, 1, 3]], before["U"])
    assert np.array_equal(model.weights["W"], before["W"])


def test_targets_known_only_in_part_train_only_their_outputs():
    X, y = stream(80, n_outputs=2)
    y[:, 1] = NAN
    model = new()
    model.run(X[:1], y[:1])
    readout = model.weights["C"]

    model.run(X[20:], y[20:])

    assert np.array_equal(model.weights["C"][1], readout[1])
    assert not np.array_equal(model.weights["C"][0], readout[0])


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_predictions_do_not_depend_on_the_units(factor):
    X, y = stream(300)

    expected = new(dtype="float64").run(X, y)
    actual = new(dtype="float64").run(X * [factor, 1, 1 / factor, 1], y * factor) / factor

    assert actual == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_learning_works_far_from_the_origin():
    X, _ = stream(3000)
    y = np.sin(X[:, 0] / 5)
    model = OnlineRNN(SRNN(10), WOGD(window=50), seed=1)

    error = model.run(X * 1e3 + 1e6, y * 1e4 - 1e8) - (y * 1e4 - 1e8)

    assert np.mean(error[1500:] ** 2) < 0.2 * np.var(y * 1e4)


def test_lags_are_features_that_nobody_has_to_make():
    y = np.sin(np.arange(1500) / 7)

    errors = OnlineRNN(SRNN(6), WOGD(window=30), lags=3, seed=1).run(np.empty((1500, 0)), y) - y

    assert np.mean(errors[700:] ** 2) < 0.05 * np.var(y)


def test_repr_shows_what_it_was_made_of():
    model = new(loss="logistic", scale=False, lags=2, dtype="float64")
    parts = f"{SRNN(6)!r}, {WOGD(window=12)!r}, {Gradient()!r}"

    options = "loss='logistic', scale=False, lags=2, dtype='float64', seed=1"
    assert f"OnlineRNN({parts}, {options})" == repr(model)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: SRNN(0), ValueError, "n_hidden must be a whole number of at least 1, got 0"),
        (lambda: SRNN(2.5), TypeError, "n_hidden must be a whole number, got 2.5 of type float"),
        (lambda: SRNN(n_hidden=True), TypeError, "n_hidden must be a whole number, got True of type bool"),
        (lambda: WOGD(window=0), ValueError, "window must be a whole number of at least 1, got 0"),
        (lambda: WOGD(rate=0), ValueError, "rate must be a finite number above 0, got 0"),
        (lambda: WOGD(rate=NAN), ValueError, "rate must be a finite number above 0, got nan"),
        (lambda: WOGD(rate="fast"), ValueError, "rate must be a number or 'auto', got 'fast'"),
        (lambda: WOGD(spectral_limit=1), ValueError, "spectral_limit must be a finite number above 0 and"),
        (lambda: WOGD(projection_threshold=-1), ValueError, "projection_threshold must be a finite"),
        (lambda: OnlineRNN("SRNN"), TypeError, "NARX, got 'SRNN' of type str"),
        (lambda: OnlineRNN(training=SRNN()), TypeError, "RMSprop, Adam, EKF, HalfEKF or HessianFree"),
        (lambda: OnlineRNN(loss="hinge"), ValueError, "loss must be 'squared' or 'logistic', got 'hinge'"),
        (lambda: OnlineRNN(dtype="half"), ValueError, "dtype must be 'float32' or 'float64', got 'half'"),
        (lambda: OnlineRNN(scale="yes"), TypeError, "scale must be bool, got 'yes' of type str"),
        (lambda: OnlineRNN(lags=-1), ValueError, "lags must be a whole number of at least 0, got -1"),
        (lambda: OnlineRNN(lags=1001), ValueError, "lags must be at most 1,000, got 1001"),
        (lambda: OnlineRNN(seed=-1), ValueError, "seed must be a whole number of at least 0, got -1"),
        (lambda: OnlineRNN(seed=1.5), TypeError, "seed must be a whole number, got 1.5 of type float"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(make, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        make()
