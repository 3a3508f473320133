"""Theorems 1 and 2: the constants, and that the bounds hold on real runs."""

import math

import numpy as np
import pytest

from elman import SRNN, WOGD, Adam, Committee, OnlineRNN, streams, theory


def bounded_stream(n, seed=0):
    """A robot arm with features in [-1, 1] and targets well inside [-sqrt(n_hidden), sqrt(n_hidden)]."""
    X, y = streams.kinematics(seed=seed).take(n)
    return X / np.max(np.abs(X)), (y - y.mean()) / np.max(np.abs(y - y.mean()))


def test_the_constants_are_those_of_theorem_1():
    bounds = theory.smoothness_bounds(n_hidden=16, n_inputs=3, spectral_limit=0.5)

    assert bounds.recurrent == 4 * 16 * 4 / 0.125
    assert bounds.inputs == 4 * 4 * 4 / 0.125
    assert bounds.mixed == 4 * 16 * 2 / 0.125
    assert bounds.beta == bounds.recurrent
    assert theory.certified_rate(16, 3, 0.5) == 1 / bounds.beta


def test_beta_is_the_largest_constant_when_inputs_dominate():
    bounds = theory.smoothness_bounds(n_hidden=4, n_inputs=99, spectral_limit=0.5)

    assert bounds.beta == bounds.inputs


def test_the_regret_bound_is_that_of_theorem_2():
    assert math.isclose(theory.regret_bound(700, 50, 9, 0.5), 16 * 3 / 0.5 * 700 / 50 + 16 * 3 / 0.5)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (theory.certified_rate, (0, 1), ValueError, "n_hidden must be .* at least 1, got 0"),
        (theory.certified_rate, (2.5, 1), TypeError, "n_hidden must be a whole number, got 2.5"),
        (theory.certified_rate, (1, -1), ValueError, "n_inputs must be .* at least 0, got -1"),
        (theory.smoothness_bounds, (1, 1, 0), ValueError, "spectral_limit must be .* below 1, got 0"),
        (theory.smoothness_bounds, (1, 1, 1), ValueError, "spectral_limit must be .* below 1, got 1"),
        (theory.regret_bound, (-1, 1, 1, 1), ValueError, "steps must be .* at least 0, got -1"),
        (theory.regret_bound, (1, 0, 1, 1), ValueError, "window must be .* at least 1, got 0"),
        (theory.regret_bound, (1, 1, 0, 1), ValueError, "n_hidden must be .* at least 1, got 0"),
        (theory.regret_bound, (1, 1, 1, -1), ValueError, "rate must be a finite number above 0, got -1"),
    ],
)
def test_an_argument_out_of_range_is_refused_by_name(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


def test_the_certified_setting_is_algorithm_1_at_rate_1_over_beta():
    training = WOGD.certified(n_hidden=10, n_inputs=8, window=50)

    assert training == WOGD.algorithm1(50, theory.certified_rate(10, 8))
    assert (training.projection_threshold, training.readout_rate, training.readout_limit) == (0, 1, 1)


@pytest.mark.parametrize("spectral_limit", [0.3, 0.95])
@pytest.mark.parametrize("window", [1, 20])
def test_the_regret_bound_holds_at_every_step_of_a_certified_run(spectral_limit, window):
    X, y = bounded_stream(400)
    training = WOGD.certified(6, X.shape[1], window, spectral_limit)
    model = OnlineRNN(SRNN(6), training, scale=False, dtype="float64", seed=0)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        model.learn_one(x, target)
        assert theory.local_regret(model) <= theory.regret_bound(t, window, 6, training.rate)
        assert np.linalg.norm(model.weights["W"], 2) <= spectral_limit + 1e-12
        assert np.linalg.norm(model.weights["U"], 2) <= spectral_limit + 1e-12
        assert np.linalg.norm(model.weights["C"]) <= 1 + 1e-12


@pytest.mark.parametrize(
    "training", [WOGD.algorithm1(window=20, rate=0.05), WOGD.algorithm1(window=20, rate=0.5)]
)
def test_the_empirical_smoothness_stays_below_beta(training):
    X, y = bounded_stream(300)
    model = OnlineRNN(SRNN(6), training, scale=False, dtype="float64", seed=0)

    smoothness = theory.empirical_smoothness(model, X, y)

    assert np.all(smoothness > 0)
    assert np.max(smoothness) <= theory.smoothness_bounds(6, X.shape[1]).beta


def test_measuring_the_smoothness_does_not_change_what_is_learned():
    X, y = bounded_stream(100)
    measured, plain = (OnlineRNN(SRNN(6), WOGD(window=20), seed=0) for _ in range(2))

    theory.empirical_smoothness(measured, X, y)
    plain.run(X, y)

    assert measured.to_bytes() == plain.to_bytes()


def test_the_normalised_regret_falls_on_a_stationary_stream():
    X, y = bounded_stream(4000)
    model = OnlineRNN(SRNN(8), WOGD(window=100), seed=0)
    assert math.isnan(theory.normalised_local_regret(model))
    model.run(X[:1000], y[:1000])
    early = theory.normalised_local_regret(model)

    model.run(X[1000:], y[1000:])

    assert 0 < theory.normalised_local_regret(model) < early


def test_rows_without_a_target_have_no_smoothness():
    X, y = bounded_stream(30)
    y[::2] = np.nan

    smoothness = theory.empirical_smoothness(OnlineRNN(SRNN(4), WOGD(window=5), seed=0), X, y)

    assert np.array_equal(np.isnan(smoothness), np.isnan(y))


def test_the_smoothness_of_another_training_is_refused():
    X, y = bounded_stream(3)

    with pytest.raises(ValueError, match=r"WOGD's windowed loss, .* Adam"):
        theory.empirical_smoothness(OnlineRNN(SRNN(4), Adam()), X, y)


@pytest.mark.parametrize("meter", [theory.local_regret, theory.normalised_local_regret])
@pytest.mark.parametrize("model", [Committee(seed=1), OnlineRNN(SRNN(4), Adam(), seed=1)], ids=repr)
def test_a_model_that_wogd_does_not_train_has_no_regret(model, meter):
    with pytest.raises(ValueError, match="are those of WOGD's windowed loss, got "):
        meter(model)
