"""What the tests of every cell share: a stream, a model beside its oracle, and what each cell promises."""

import itertools
from unittest import mock

import numpy as np

import elman.models.learner
import naive
from elman import WOGD, OnlineRNN, _core


def stream(n, n_features, n_outputs, *, loss="squared", missing=0.1, seed=0):
    """Rows and targets of ordinary size, some of both missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.2, 1, (n, n_features))
    drive = np.sin(X @ rng.normal(size=(n_features, n_outputs))) + 0.3 * np.roll(X[:, :1], 1)
    y = drive if loss == "squared" else (drive > 0).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y[rng.random(y.shape) < missing] = np.nan
    return X, y


def both(cell, naive_cell, sizes, training=None, *, loss="squared", scale=False):
    """Learners of every build and dtype, and an oracle with their weights; sizes: features, window, outputs.

    The default rate is so small that the dynamics do not amplify the last bit.
    """
    n_features, window, n_outputs = sizes
    if training is None:
        training = WOGD(window=window, rate=0.3 / (n_features + cell.n_hidden), readout_rate=2.0)
    models = []
    for dtype, name in itertools.product(["float64", "float32"], _core.supported()):
        with mock.patch.object(elman.models.learner, "core", _core.load(name)):
            model = OnlineRNN(cell, training, loss=loss, scale=scale, dtype=dtype, seed=1)
            model.run(np.empty((0, n_features)), np.empty((0, n_outputs)))
            models.append(model)
    drawn = models[0]._with_initial_weights(models[0]._new_learner(n_features, n_outputs).state())
    options = {name: value for name, value in vars(training).items() if name not in ("window", "rate")}
    oracle = naive.Learner(
        naive_cell,
        naive.WOGD(training.window, training.rate, **options),
        {name: drawn[name] if name == "C" else drawn[name].T for name in "WUC"},
        n_outputs=n_outputs,
        loss=loss,
    )
    return models, naive.ScaledLearner(oracle, n_features, scale=scale)


def assert_follow(models, oracle, X, y):
    """Predictions, and at the end all weights, are those of the oracle: within 1e-9, and 1e-3 in float32."""
    expected = oracle.run(X, y)
    for model in models:
        tolerance = 1e-9 if model.dtype == "float64" else 1e-3
        actual = model.run(X, y).reshape(expected.shape)
        assert np.max(np.abs(actual - expected)) < tolerance, model
        for name, weights in model.weights.items():
            assert np.max(np.abs(weights - oracle.weights[name])) < tolerance, (model, name)
        regret = oracle.learner.training.local_regret
        assert np.isclose(model.local_regret, regret, rtol=tolerance), model


def gradient(model):
    """The core's gradient of the mean loss of the window, each matrix (rows, columns)."""
    return {name: g if name == "C" else g.T for name, g in model._learner.gradient().items()}


def finite_differences(oracle, name, step=1e-5):
    """Central differences of the windowed loss in one weight matrix, by the oracle's forward pass alone."""
    window, weights = oracle.learner.samples(), oracle.learner.weights
    slopes = np.empty_like(weights[name])
    for index in itertools.product(*map(range, slopes.shape)):
        ends = []
        for sign in (1, -1):
            moved = weights[name].copy()
            moved[index] += sign * step
            ends.append(window.mean_loss(weights | {name: moved}))
        slopes[index] = (ends[0] - ends[1]) / (2 * step)
    return slopes


def assert_gradients_are_exact(models, oracle, X, y):
    """Those of the oracle, whose are within 1e-6 of finite differences."""
    oracle.run(X, y)
    expected = oracle.learner.samples().mean_gradient(oracle.learner.weights)
    for name, by_oracle in expected.items():
        slopes, size = finite_differences(oracle, name), np.max(np.abs(by_oracle))
        assert np.max(np.abs(by_oracle - slopes)) < 1e-6 * size, name
    for model in models:
        model.run(X, y)
        tolerance = 1e-9 if model.dtype == "float64" else 1e-3
        for name, actual in gradient(model).items():
            error = np.max(np.abs(actual - expected[name]))
            assert error < tolerance * np.max(np.abs(expected[name])), (model, name)


def assert_same_bits_however_it_is_run(make_model, n_features, n_outputs, n=240, seed=5):
    """`run`, a loop, `run` in pieces, with predictions in between, and with saving at random rows."""
    X, y = stream(n, n_features, n_outputs, seed=seed)
    y = y[:, 0] if n_outputs == 1 else y
    rng = np.random.default_rng(seed)

    whole = make_model()
    expected = whole.run(X, y)

    looped, answers = make_model(), []
    for x, t in zip(X, y, strict=True):
        answers.append(looped.predict_one(x))
        looped.predict_one(x[::-1].copy())
        looped.learn_one(x, t)
    assert np.array_equal(expected, np.array(answers))

    pieces, saved = make_model(), make_model()
    cuts = [0, *sorted(rng.choice(np.arange(1, n), 12, replace=False)), n]
    by_pieces, by_saved = [], []
    for begin, end in itertools.pairwise(cuts):
        by_pieces.append(pieces.run(X[begin:end], y[begin:end]))
        saved = OnlineRNN.from_bytes(saved.to_bytes())
        by_saved.append(saved.run(X[begin:end], y[begin:end]))
    assert np.array_equal(expected, np.concatenate(by_pieces))
    assert np.array_equal(expected, np.concatenate(by_saved))
    assert whole.to_bytes() == looped.to_bytes() == pieces.to_bytes() == saved.to_bytes()
