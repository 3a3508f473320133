"""The compiled committee against the oracle around the same learners, row by row; and the oracle's parts."""

import math
from statistics import NormalDist

import numpy as np
import pytest

import elman.models._compiled
import naive
from elman import _core
from inside import arrays, sized, write
from naive.quantiles import LEVELS, normal_quantile
from small_committees import FILTER, LINEAR, MEMBERS, SERIES, SIMPLE, WINDOW, oracle, small, stream


def followed(model, expected, X, y, coverage=0.9):
    """The answers and both ends of their intervals, (3, n, n_outputs), of the model and of the oracle."""
    rows = expected.run(X, y, coverage)
    return np.reshape(model.run_intervals(X, y, coverage), rows.shape), rows


def assert_equal(actual, expected, tolerance=1e-8):
    assert np.array_equal(np.isinf(actual), np.isinf(expected))
    known = np.isfinite(expected)
    assert np.max(np.abs(actual[known] - expected[known])) < tolerance
    assert np.array_equal(actual[~known], expected[~known])


def assert_same_standing(model, expected, tolerance=1e-8):
    shares, recent, mean, _, alarms, last = model._native.standing()
    assert np.max(np.abs(shares - expected.weights)) < tolerance
    assert np.allclose(recent, expected.recent_errors, rtol=tolerance, atol=tolerance)
    assert np.allclose(mean, expected.mean_errors, rtol=tolerance, atol=tolerance)
    assert (alarms, last) == (expected.drift.alarms, expected.drift.last_alarm)
    assert (model.n_samples, model.steps) == (expected.samples, expected.steps)
    state = arrays(model)
    for k, (mixture, quantiles) in enumerate(zip(expected.mixtures, expected.quantiles, strict=True)):
        unit = state[f"output{k}.unit_of_regret"].item()
        for prefix, layer in (("", mixture.fast), ("slow.", mixture.slow), ("above.", mixture.above)):
            of_layer = f"output{k}.{prefix}"
            scale = tolerance * max(layer.range, 1) ** 0.5
            assert np.allclose(unit**2 * state[f"{of_layer}regret"], layer.regret, rtol=1e-5, atol=scale)
            assert np.allclose(unit**4 * state[f"{of_layer}range"], layer.range, rtol=1e-5)
        assert np.allclose(state[f"output{k}.quantiles"], quantiles.quantiles, rtol=0, atol=tolerance)
        assert np.allclose(
            state[f"output{k}.error_fine_variance"] / 2.0**166, quantiles.variance, rtol=tolerance
        )
        owed = state.get(f"output{k}.owed_below", np.zeros(len(LEVELS)))
        assert np.allclose(owed, quantiles.owed, rtol=0, atol=tolerance)
        assert state.get(f"output{k}.errors_late", 0.0) == pytest.approx(quantiles.late)
    assert np.allclose(state["drift_excess"], expected.drift.excess, rtol=0, atol=1e-6)


@pytest.mark.parametrize("lags", [0, 1, 3])
@pytest.mark.parametrize("n_features", [0, 3])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_answers_intervals_weights_and_errors_follow_the_oracle(lags, n_features, n_outputs):
    X, y = stream(300, n_features, n_outputs, missing=0.1)
    model = sized(small(lags=lags), n_features, n_outputs)
    expected = oracle(model)

    assert_equal(*followed(model, expected, X, y))
    assert_same_standing(model, expected)


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_simple_members_follow_the_oracle(n_outputs):
    X, y = stream(300, 3, n_outputs, missing=0.1)
    model = sized(small([LINEAR, *SIMPLE]), 3, n_outputs)
    expected = oracle(model)

    assert_equal(*followed(model, expected, X, y))
    assert_same_standing(model, expected)


def seasonal(n, n_outputs):
    """A day of 12 rows and a week of 60, of which the outputs have different shares, and noise."""
    t = np.arange(n)
    day = np.sin(2 * np.pi * t / 12) + (t % 12 == 3)
    week = 2.0 * (t % 60 > 47)
    y = np.stack([day + k * week for k in range(n_outputs)], 1)
    return y + 0.1 * np.random.default_rng(1).normal(size=y.shape)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_members_that_look_at_the_series_follow_the_oracle(missing):
    y = seasonal(320, 2)
    y[np.random.default_rng(2).random(y.shape) < missing] = np.nan
    model = sized(small([LINEAR, *SERIES]), 0, 2)
    expected = oracle(model)

    assert_equal(*followed(model, expected, np.empty((len(y), 0)), y))
    assert_same_standing(model, expected)
    found = [series.finder.seasons for series in expected.preparation.series]
    assert found[0][0] == 12
    assert [arrays(model)[f"output{k}.season{i}"].item() for k in range(2) for i in range(2)] == [
        *sum(found, ())
    ]


def test_a_member_without_an_opinion_says_what_the_others_say():
    rng = np.random.default_rng(3)
    y = rng.normal(size=200)
    with_season, without = (small([LINEAR, *members]) for members in (SERIES[:1], ()))

    assert np.allclose(with_season.run(np.empty((200, 0)), y), without.run(np.empty((200, 0)), y), atol=1e-12)
    assert arrays(with_season)["output0.season0"] == 0


def test_bounds_follow_the_oracle():
    X, y = stream(300)
    model = sized(small([LINEAR, FILTER, *SIMPLE], lowest=3, highest=6.5), 3)

    actual, expected = followed(model, oracle(model), X, y.clip(3, 6.5))

    assert_equal(actual, expected)
    assert (actual.min(), actual.max()) == (3, 6.5)


def test_every_output_is_answered_as_by_a_committee_of_its_own():
    X, y = stream(200, 3, 3, missing=0.1)
    whole = np.array(sized(small(), 3, 3).run_intervals(X, y))
    for k in range(3):
        assert np.array_equal(whole[:, :, k], sized(small(), 3).run_intervals(X, y[:, k]))


@pytest.mark.parametrize("build", _core.supported())
def test_every_build_follows_the_oracle(build, monkeypatch):
    monkeypatch.setattr(elman.models._compiled, "core", _core.build(build))
    X, y = stream(150, 3, 2, missing=0.1)
    model = sized(small(), 3, 2)
    expected = oracle(model)

    assert type(model._native).__module__ == f"elman._core.{build}"
    assert_equal(*followed(model, expected, X, y))
    assert_same_standing(model, expected)


@pytest.mark.parametrize("coverage", [0.02, 0.5, 0.8, 0.99, 0.9999])
def test_intervals_of_any_coverage_follow_the_oracle(coverage):
    X, y = stream(150)
    model = sized(small([LINEAR]), 3)

    assert_equal(*followed(model, oracle(model), X, y, coverage))


def test_one_by_one_follows_the_oracle():
    X, y = stream(60, n_outputs=2, missing=0.1)
    model = sized(small(), 3, 2)
    expected = oracle(model)
    for x, target in zip(X, y, strict=True):
        answer = np.array([model.predict_one(x), *model.interval_one(x, 0.8)])
        assert_equal(answer, expected.answer(x, 0.8))
        model.learn_one(x, target)
        expected.learn(x, target)


def test_opinions_are_clipped_as_by_the_oracle():
    X, y = stream(200)
    X[100:] *= 1e3  # beyond what the scaling lets through
    y[100:] *= -1e3
    wild = sized(small([LINEAR, FILTER]), 3)
    write(wild, {"output0.member1.C": 1e5 * arrays(wild)["output0.member1.C"]})
    expected = oracle(wild)

    assert abs(expected.members[1].learner.predict(np.ones(3))[0]) > 10
    assert_equal(*followed(wild, expected, X, y), tolerance=1e-5)  # in units of a thousand
    assert_same_standing(wild, expected)


@pytest.mark.parametrize("row", [2, 3, 4, 5, 20])
def test_an_outlier_at_any_row_follows_the_oracle(row):
    X, y = stream(40)
    y[row] = 1e4
    model = sized(small([LINEAR, WINDOW]), 3)
    expected = oracle(model)

    assert_equal(*followed(model, expected, X, y), tolerance=1e-5)  # of ten thousand
    assert_same_standing(model, expected)


def test_a_target_that_varies_late_follows_the_oracle():
    X, y = stream(120)
    y[:40] = 7.0
    model = sized(small(), 3)
    expected = oracle(model)

    assert_equal(*followed(model, expected, X, y))
    assert_same_standing(model, expected)


@pytest.mark.parametrize(("length", "alarms"), [(604, 0), (1200, 1)])
def test_changes_of_the_stream_are_noticed_as_by_the_oracle(length, alarms):
    X, y = stream(length)
    y[600:] *= -1
    y[600:] += 3 * X[600:, 1]
    model = sized(small([LINEAR]), 3)
    expected = oracle(model)

    assert_equal(*followed(model, expected, X, y))
    assert_same_standing(model, expected)
    assert expected.drift.alarms == alarms
    if alarms:
        assert 600 < expected.drift.last_alarm < 800
        assert f"1 noticed, the last at sample {expected.drift.last_alarm:,}" in model.explain()
    else:
        assert 0 < expected.drift.excess < 100


def test_float32_members_follow_the_oracle_to_rounding():
    X, y = stream(300)
    model = sized(small(dtype="float32"), 3)

    actual, expected = followed(model, oracle(model), X, y)

    assert_equal(actual, expected, tolerance=1e-5)


# The parts of the oracle against what they are for


def test_the_mixture_trusts_the_member_that_is_right():
    rng = np.random.default_rng(0)
    mixture = naive.Mixture(3)
    for target in rng.normal(size=500):
        mixture.learn([target + 0.1 * rng.normal(), rng.normal(), 0.0], target)

    assert np.argmax(mixture.weights) == 0
    assert mixture.weights[0] > 0.8
    assert math.isclose(mixture.weights.sum(), 1)


def test_the_mixture_forgets():
    mixture = naive.Mixture(2)
    for t in range(6000):
        mixture.learn([1.0, -1.0] if t < 3000 else [-1.0, 1.0], 0.9)

    assert mixture.weights[1] > 0.9


def test_no_single_sample_decides():
    mixture = naive.Mixture(2)
    for _ in range(200):
        mixture.learn([0.1, -0.1], 0.2)
    before = mixture.weights

    mixture.learn([0.1, -0.1], -1e9)

    assert mixture.weights[0] > 0.5
    assert before[0] > 0.5


@pytest.mark.parametrize("level", [*LEVELS, 0.3, 0.5, 0.6, 0.999])
def test_the_abscissa_is_the_normal_quantile(level):
    assert normal_quantile(level) == pytest.approx(NormalDist().inv_cdf(level), abs=5e-4)


def test_the_share_below_a_quantile_is_its_level_up_to_how_far_it_moved():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=3000) * np.exp(np.sin(np.arange(3000) / 200)) + np.linspace(0, 2, 3000)
    quantiles = naive.Quantiles()
    for error in errors[:1000]:  # from here on the step is the smallest one, 1.5 * 0.02
        quantiles.learn(error)
    before, below = np.array(quantiles.quantiles), np.zeros(len(LEVELS))
    for error in errors[1000:]:
        below += error <= np.array(quantiles.errors)
        quantiles.learn(error)
    moved = np.array(quantiles.quantiles) - before

    assert np.allclose(below / 2000, LEVELS - moved / 0.03 / 2000, rtol=0, atol=1e-12)
    assert np.max(np.abs(moved)) < 2  # whence the shares are within 0.034 of their levels


def test_the_drift_meter_is_silent_on_equal_errors_and_speaks_once_at_a_jump():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=4000) ** 2
    errors[3000:] *= 3
    meter = naive.DriftMeter()
    for t, error in enumerate(errors, 1):
        meter.learn(error, t)

    assert meter.alarms == 1
    assert 3000 < meter.last_alarm < 3300


def test_every_member_counts_in_these_tests():
    X, y = stream(300)
    model = small()
    model.run(X, y)

    assert all(0.01 < weight < 0.9 for weight in model.weights.values())
    assert set(model.weights) == {member.name for member in MEMBERS}
