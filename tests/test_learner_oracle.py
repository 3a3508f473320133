"""The compiled learner against the NumPy oracle, step by step: weights, scaling, lags, intervals, meters."""

import numpy as np
import pytest

from combos import assert_follows, both, drawn_weights, rough_stream
from elman import (
    GRU,
    LSTM,
    NARX,
    RLS,
    SRNN,
    WOGD,
    Clockwork,
    Committee,
    Linear,
    Member,
    OnlineRNN,
    _core,
    theory,
)
from inside import arrays, sized, write

SEEDS = {0: [0], 7: [7], 2**32 + 5: [5, 1], 3 * 2**64: [0, 0, 3]}  # as words of 32 bits


def stream(n, n_features, n_outputs=1, **options):
    """Far from standardised."""
    X, y = rough_stream(n, n_features, n_outputs, **options)
    return 1 + 2 * X, 5 + 2 * y


# Initial weights


@pytest.mark.parametrize("n", [1, 100_000])
@pytest.mark.parametrize("entropy", [[0], [1, 2, 3], [2**32 - 1, 2**40, *b"W.f"], list(range(30))])
@pytest.mark.parametrize("build", _core.supported())
def test_the_core_draws_the_normal_numbers_of_numpy(build, entropy, n):
    expected = np.random.default_rng(entropy).standard_normal(n)
    np.testing.assert_array_equal(_core.build(build).normal(entropy, n)[0], expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "cell", [SRNN(5), LSTM(4), GRU(4), NARX(3, 2), Clockwork(3, (1,)), Linear()], ids=repr
)
def test_initial_weights_are_drawn_column_by_column(cell, seed):
    for readout in (None, RLS()):
        model = OnlineRNN(cell, readout=readout, dtype="float64", lags=1, seed=seed)
        weights = sized(model, 3, 2).weights
        for name, drawn in drawn_weights(weights, SEEDS[seed]).items():
            np.testing.assert_array_equal(weights[name], drawn, err_msg=name)


def test_weights_of_a_clockwork_that_do_not_exist_are_not_drawn():
    weights = sized(OnlineRNN(Clockwork(4, (1, 2)), dtype="float64", seed=1), 3).weights
    drawn = drawn_weights(weights, [1])
    drawn["W"][2:, :2] = 0
    for name in "UWC":
        np.testing.assert_array_equal(weights[name], drawn[name])


def test_float32_weights_are_those_of_float64_rounded():
    single, double = (sized(OnlineRNN(LSTM(4), dtype=t, seed=1), 3).weights for t in ("float32", "float64"))
    for name, weights in double.items():
        np.testing.assert_array_equal(single[name], weights.astype("float32"))


@pytest.mark.parametrize("output", [0, 1])
def test_every_member_of_a_committee_has_a_random_stream_of_its_own(output):
    members = [Member(name, GRU(4), WOGD(window=3), RLS(), lagged=name == "b") for name in "ab"]
    model = sized(Committee(members, lags=2, dtype="float64", seed=7), 3, 2)
    for i, member in enumerate(members):
        alone = sized(OnlineRNN(member.cell, member.training, member.readout, seed=0), 3 + 2 * member.lagged)
        state = arrays(model, f"output{output}.member{i}.")
        for name, drawn in drawn_weights(alone.weights, [7, i]).items():
            np.testing.assert_array_equal(state[name], drawn if name in "CD" else drawn.T, err_msg=name)


# Predictions, intervals, weights


def test_predictions_follow_the_oracle_for_500_steps_at_the_papers_setting():
    models, oracle = both(SRNN(10), (8, 200, 1), WOGD())
    assert_follows(models, oracle, *stream(500, 8, missing=0))


@pytest.mark.parametrize("n_features", [0, 2])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("scale", [True, False])
def test_lags_follow_the_oracle_where_many_targets_are_unknown(n_features, n_outputs, scale):
    models, oracle = both(SRNN(6), (n_features, 10, n_outputs), lags=3, scale=scale)
    _, y = rough_stream(120, 1, n_outputs, missing=0.5)
    assert_follows(models, oracle, rough_stream(120, n_features + 1)[0][:, 1:], y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("coverage", [0.02, 0.5, 0.99])
def test_intervals_of_any_coverage_follow_the_oracle(loss, coverage):
    X, y = rough_stream(150, 3, 2, loss=loss)
    y[:40, 1] = 1  # an output that varies late
    models, oracle = both(SRNN(6), (3, 10, 2), loss=loss)
    expected = oracle.run(X, y, coverage)
    for model in models[: len(_core.supported())]:
        np.testing.assert_allclose(model.run_intervals(X, y, coverage), expected, rtol=0, atol=1e-9)


def test_one_by_one_follows_the_oracle():
    X, y = stream(60, 3, 2)
    (model, *_), oracle = both(SRNN(6), (3, 10, 2), lags=2)
    for x, target in zip(X, y, strict=True):
        answer = [model.predict_one(x), *model.interval_one(x, 0.8)]
        np.testing.assert_allclose(answer, oracle.answer(x, 0.8), rtol=0, atol=1e-9)
        model.learn_one(x, target)
        oracle.learn(x, target)


def test_the_projection_beyond_a_threshold_follows_the_oracle():
    X, y = stream(200, 3, missing=0)
    (model, *_), oracle = both(SRNN(6), (3, 10, 1), WOGD(window=10, rate=0.5, projection_threshold=2.5))

    actual = model.run(X, y)

    assert np.max(np.abs(actual - oracle.run(X, y)[0])) < 1e-6  # a rate this high amplifies rounding
    (unprojected, *_), _ = both(SRNN(6), (3, 10, 1), WOGD(window=10, rate=0.5, projection_threshold=1e9))
    assert np.max(np.abs(unprojected.run(X, y) - actual)) > 1e-3


@pytest.mark.parametrize("lags", [0, 2])
def test_columns_that_jump_for_good_follow_the_oracle(lags):
    (model, *_), oracle = both(SRNN(4), (3, 20, 1), lags=lags)
    X, y = stream(200, 3, missing=0)
    X[100:, 0] = 1e6 + 1e3 * X[100:, 0]
    X[150, 1] = 1e9
    y[120:] -= 1e4

    compiled = model.run(X, y)

    assert np.allclose(compiled, oracle.run(X, y)[0], rtol=1e-9, atol=1e-9)
    assert np.abs(compiled[130:] - y[130:]).max() < 100


def test_the_smoothness_follows_the_oracle_and_is_nan_where_no_weight_moved():
    X, y = stream(60, 4, missing=0)
    (model, *_), oracle = both(SRNN(6), (4, 10, 1))
    oracle.learner.weights["C"][:] = 0
    write(model, {"C": np.zeros(6)})
    expected = []
    for x, target in zip(X, y, strict=True):
        oracle.learn(x, target)
        expected.append(oracle.learner.training.smoothness())

    actual = theory.empirical_smoothness(model, X, y)

    assert np.array_equal(np.isnan(actual), np.arange(60) < 2)  # the first target is 0, the second moves C
    assert np.allclose(actual, expected, rtol=1e-6, equal_nan=True)


def test_the_largest_networks_are_exact():
    models, oracle = both(SRNN(512), (40, 6, 1))
    assert_follows(models, oracle, *stream(12, 40))
