"""The compiled SRNN with WOGD against the NumPy oracle, step by step, in every build of the core."""

import itertools

import numpy as np
import pytest

import elman.models.learner
import naive
from elman import SRNN, WOGD, OnlineRNN, _core

# (features, hidden, window, outputs): both sides of every size at which the kernel changes, and the extremes.
SIZES = [
    (1, 1, 1, 1),
    (3, 2, 1, 2),
    (2, 4, 2, 1),
    (8, 8, 20, 1),
    (8, 10, 20, 1),
    (11, 10, 9, 3),
    (12, 15, 30, 1),
    (18, 15, 30, 2),
    (32, 16, 7, 1),
    (5, 17, 5, 1),
    (8, 24, 25, 1),
    (8, 25, 25, 2),
    (50, 12, 8, 1),
    (32, 64, 8, 1),
    (3, 127, 4, 1),
]


@pytest.fixture(params=_core.supported())
def build(request, monkeypatch):
    monkeypatch.setattr(elman.models.learner, "core", _core.load(request.param))
    return request.param


def stream(n, n_features, n_outputs, *, probability=False, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(1, 2, (n, n_features))
    drive = np.sin(X @ rng.normal(size=(n_features, n_outputs))) + 0.3 * np.roll(X[:, :1], 1)
    y = (drive > 0).astype(float) if probability else 5 + 2 * drive
    X[rng.random(X.shape) < missing] = np.nan
    y[rng.random(y.shape) < missing] = np.nan
    return X, y


def both(sizes, training=None, *, loss="squared", scale=True, dtype="float64"):
    """The compiled learner and the oracle with the same initial weights.

    The default rate falls with the size of the network, as its largest stable one does: beyond that the
    dynamics are chaotic and amplify the last bit.
    """
    n_features, n_hidden, window, n_outputs = sizes
    training = WOGD(window=window, rate=0.3 / (n_features + n_hidden)) if training is None else training
    model = OnlineRNN(SRNN(n_hidden), training, loss=loss, scale=scale, dtype=dtype, seed=1)
    model.run(np.empty((0, n_features)), np.empty((0, n_outputs)))
    options = {name: value for name, value in vars(training).items() if name not in ("window", "rate")}
    oracle = naive.ScaledLearner(
        naive.Learner(
            naive.SRNN(n_hidden),
            naive.WOGD(training.window, training.rate, **options),
            {name: weights.astype(np.float64) for name, weights in model.weights.items()},
            n_outputs=n_outputs,
            loss=loss,
        ),
        n_features,
        scale=scale,
    )
    return model, oracle


def followed(model, oracle, X, y):
    """Predictions of both, shape (n, n_outputs) each."""
    expected = np.array([(oracle.predict(x), oracle.learn(x, t))[0] for x, t in zip(X, y, strict=True)])
    return model.run(X, y), expected.reshape(len(X), -1)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("scale", [True, False])
def test_predictions_follow_the_oracle_in_float64(build, sizes, scale):  # noqa: ARG001
    X, y = stream(120, sizes[0], sizes[3], missing=0.1)
    if not scale:
        X, y = X / 4, (y - 5) / 2
    model, oracle = both(sizes, scale=scale)

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < 1e-9


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-3)])
def test_predictions_follow_the_oracle_for_500_steps_at_the_papers_setting(build, dtype, tolerance):  # noqa: ARG001
    X, y = stream(500, 8, 1)
    model, oracle = both((8, 10, 200, 1), WOGD(), dtype=dtype)

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < tolerance
    for name, weights in model.weights.items():
        assert np.max(np.abs(weights - oracle.learner.weights[name])) < tolerance


@pytest.mark.parametrize("sizes", [(3, 5, 7, 1), (2, 12, 30, 2)], ids=str)
def test_logistic_predictions_follow_the_oracle(build, sizes):  # noqa: ARG001
    X, y = stream(200, sizes[0], sizes[3], probability=True, missing=0.1)
    model, oracle = both(sizes, loss="logistic")

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < 1e-9
    assert np.all((actual > 0) & (actual < 1))


@pytest.mark.parametrize("sizes", [(3, 5, 7, 1), (2, 40, 5, 2)], ids=str)
def test_algorithm_1_with_projection_at_every_step_follows_the_oracle(build, sizes):  # noqa: ARG001
    X, y = stream(120, sizes[0], sizes[3])
    model, oracle = both(sizes, WOGD.algorithm1(window=sizes[2], rate=0.2), scale=True)

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < 1e-9
    assert np.linalg.norm(model.weights["W"], 2) <= 0.95 + 1e-12
    assert np.linalg.norm(model.weights["U"], 2) <= 0.95 + 1e-12


def test_the_projection_beyond_a_threshold_follows_the_oracle():
    X, y = stream(200, 3, 1)
    training = WOGD(window=10, rate=0.5, projection_threshold=2.5)
    model, oracle = both((3, 6, 10, 1), training)

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < 1e-6  # a rate this high amplifies rounding
    unprojected, _ = both((3, 6, 10, 1), WOGD(window=10, rate=0.5, projection_threshold=1e9))
    assert np.max(np.abs(unprojected.run(X, y) - actual)) > 1e-3


def test_columns_that_jump_for_good_follow_the_oracle():
    model, oracle = both((3, 4, 20, 1))
    X, y = stream(200, 3, 1)
    X[100:, 0] = 1e6 + 1e3 * X[100:, 0]
    X[150, 1] = 1e9
    y[120:] -= 1e4

    compiled, expected = followed(model, oracle, X, y)

    assert np.allclose(compiled, expected, rtol=1e-9, atol=1e-9)
    assert np.abs(compiled[130:] - y[130:]).max() < 100


def test_meters_follow_the_oracle():
    X, y = stream(60, 4, 1)
    model, oracle = both((4, 6, 10, 1))
    expected = []
    for x, t in zip(X, y, strict=True):
        oracle.learn(x, t)
        expected.append(oracle.learner.training.smoothness())

    actual = elman.theory.empirical_smoothness(model, X, y)

    assert np.allclose(actual, expected, rtol=1e-6)
    assert np.isclose(model.local_regret, oracle.learner.training.local_regret, rtol=1e-9)


def finite_differences(model, name, step=1e-6):
    """Central differences of the windowed loss in one weight matrix, by the oracle's forward pass alone."""
    window = model.learner.samples()
    weights = {key: value.copy() for key, value in model.learner.weights.items()}
    slopes = np.empty_like(weights[name])
    for index in itertools.product(*map(range, slopes.shape)):
        ends = []
        for sign in (1, -1):
            moved = {key: value.copy() for key, value in weights.items()}
            moved[name][index] += sign * step
            ends.append(window.mean_loss(moved))
        slopes[index] = (ends[0] - ends[1]) / (2 * step)
    return slopes


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", ["U", "W", "C"])
def test_gradients_agree_with_finite_differences(build, loss, name):  # noqa: ARG001
    X, y = stream(40, 3, 2, probability=loss == "logistic", missing=0.1)
    model, oracle = both((3, 10, 15, 2), loss=loss)
    followed(model, oracle, X, y)

    gradient = model._learner.gradient()[name]
    actual = gradient if name == "C" else gradient.T

    expected = finite_differences(oracle, name)
    assert np.max(np.abs(actual - expected)) / np.max(np.abs(expected)) < 1e-6


def test_the_largest_networks_are_exact():
    X, y = stream(12, 40, 1)
    model, oracle = both((40, 512, 6, 1))

    actual, expected = followed(model, oracle, X, y)

    assert np.max(np.abs(actual - expected)) < 1e-9


def test_all_builds_agree_to_rounding(monkeypatch):
    X, y = stream(400, 8, 1)
    predictions = []
    for name in _core.supported():
        monkeypatch.setattr(elman.models.learner, "core", _core.load(name))
        predictions.append(OnlineRNN(SRNN(10), WOGD(window=50), seed=1).run(X, y))

    for other in predictions[1:]:
        assert np.max(np.abs(other - predictions[0])) < 1e-3
