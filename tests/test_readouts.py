"""What a readout promises: with a skip, by recursive least squares, and without any hidden unit."""

import numpy as np
import pytest

import combos
from elman import EKF, RLS, SGD, SRNN, WOGD, Gradient, Linear, OnlineRNN


def linear(forgetting=0.9995, **options):
    return OnlineRNN(Linear(), readout=RLS(forgetting=forgetting), seed=1, **options)


def smallest_and_largest_variance(model):
    eigenvalues = np.linalg.eigvalsh(combos.covariance(model, "least_squares"))
    return eigenvalues[0], eigenvalues[-1]


def largest_weight(model):
    return max(np.max(np.abs(weights), initial=0) for weights in model.weights.values())


# Descriptions


def test_the_default_is_the_readout_of_the_paper():
    model = OnlineRNN(seed=1)
    model.learn_one([1.0], 1.0)
    assert model.readout == Gradient() == Gradient(skip=False)
    assert set(model.weights) == {"U", "W", "C"}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: RLS(forgetting=0),
            ValueError,
            "forgetting must be a finite number of at least 1e-06 and at most 1",
        ),
        (lambda: RLS(forgetting=1.01), ValueError, "of at least 1e-06 and at most 1, got 1.01"),
        (lambda: RLS(forgetting=np.nan), ValueError, "of at least 1e-06 and at most 1, got nan"),
        (lambda: RLS(forgetting="1"), TypeError, "forgetting must be a number, got '1' of type str"),
        (
            lambda: RLS(initial_variance=0),
            ValueError,
            "must be a finite number above 0 and at most 1e+12, got 0",
        ),
        (lambda: RLS(skip=1), TypeError, "skip must be bool, got 1 of type int"),
        (lambda: Gradient(skip=None), TypeError, "skip must be bool, got None"),
        (lambda: Linear(3), TypeError, "positional argument"),
        (
            lambda: OnlineRNN(readout="RLS"),
            TypeError,
            (
                "readout must be Gradient, RLS, LastValue, RecentMean, Mean, Seasonal or Autoregression, "
                "got 'RLS' of type str"
            ),
        ),
        (
            lambda: OnlineRNN(readout=RLS(), loss="logistic"),
            ValueError,
            "fits squared errors; the logistic loss needs readout=Gradient()",
        ),
        (
            lambda: OnlineRNN(Linear(), readout=Gradient()),
            ValueError,
            "a Linear() cell needs a readout with skip=True, got Gradient(skip=False)",
        ),
        (lambda: OnlineRNN(Linear(), readout=RLS(skip=False)), ValueError, "needs a readout with skip=True"),
        (
            lambda: OnlineRNN.named("Linear-SGD", readout=Gradient(skip=True), n_hidden=3),
            TypeError,
            "Linear-SGD has no option 'n_hidden': the cell takes no option; the training takes rate",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)


def test_a_linear_model_has_a_name():
    model = OnlineRNN.named("linear-sgd", readout=RLS(), rate=0.1)
    assert (model.cell, model.training, model.readout) == (Linear(), SGD(0.1), RLS())


def test_a_linear_model_needs_no_window():
    assert linear().training == WOGD(window=1)


def test_weights_have_the_shapes_that_are_documented():
    X, Y = combos.stream(length=10)
    model, without_units = (OnlineRNN(cell, readout=RLS(), seed=1) for cell in (SRNN(5), Linear()))
    model.run(X, Y)
    without_units.run(X, Y)
    shapes = {name: weights.shape for name, weights in model.weights.items()}
    assert shapes == {"U": (5, 4), "W": (5, 5), "C": (2, 5), "D": (2, 4)}
    assert {name: weights.shape for name, weights in without_units.weights.items()} == {
        "C": (2, 0),
        "D": (2, 4),
    }


def test_a_model_without_a_single_feature_learns_the_mean():
    model = linear(forgetting=1.0, scale=False, dtype="float64")
    model.run(np.empty((500, 0)), np.tile([2.0, 4.0], 250))
    assert model.predict_one([]) == pytest.approx(3, abs=1e-3)


# What they learn


@pytest.mark.parametrize("training", [WOGD(), SGD(), EKF()], ids=["WOGD", "SGD", "EKF"])
def test_a_skip_learns_what_is_linear_and_large(training):
    """A tanh cannot give it: the target is far beyond what C h reaches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = X @ [3.0, -2.0] + 1
    errors = [
        np.mean((OnlineRNN(SRNN(4), training, readout, scale=False, seed=1).run(X, y) - y)[1000:] ** 2)
        for readout in (Gradient(), RLS())
    ]
    assert errors[1] < 1e-2 * errors[0]


def test_least_squares_need_few_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ rng.normal(size=5) + 2
    predictions = linear(scale=False, dtype="float64").run(X, y)
    assert np.max(np.abs(predictions - y)[30:]) < 0.05


def test_forgetting_follows_a_change():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = np.where(np.arange(1000) < 500, X[:, 0], -X[:, 0])
    forgetful, faithful = (linear(f, scale=False).run(X, y) - y for f in (0.98, 1.0))
    assert np.mean(forgetful[800:] ** 2) < 1e-3
    assert np.mean(faithful[800:] ** 2) > 0.1


def test_an_output_that_is_known_learns_as_it_would_alone():
    X, Y = combos.stream(length=80)
    Y = np.nan_to_num(Y)
    partly, alone = Y.copy(), linear(scale=False, dtype="float64")
    partly[::2, 1] = np.nan
    both = linear(scale=False, dtype="float64")
    np.testing.assert_allclose(both.run(X, partly)[:, 0], alone.run(X, Y[:, 0]), rtol=1e-9, atol=1e-12)


def test_an_output_that_is_unknown_keeps_its_weights_but_for_the_penalty():
    X, Y = combos.stream(length=80)
    model = OnlineRNN(Linear(), readout=RLS(forgetting=1), scale=False, dtype="float64", seed=1)
    model.run(X[:40], np.nan_to_num(Y[:40]))
    before = model.weights["D"]
    model.run(X[40:], np.column_stack([np.nan_to_num(Y[40:, 0]), np.full(40, np.nan)]))
    np.testing.assert_array_equal(model.weights["D"][1], before[1])
    assert not np.array_equal(model.weights["D"][0], before[0])


# Features that appear later


def rows(X):
    return [dict(zip("abc", x.tolist(), strict=False)) for x in X]


@pytest.mark.parametrize("cell", [SRNN(5), Linear()], ids=["SRNN", "Linear"])
def test_a_new_feature_starts_from_the_initial_variance_and_the_others_keep_theirs(cell):
    X, Y = combos.stream(length=60)
    model = OnlineRNN(cell, readout=RLS(initial_variance=4), scale=False, dtype="float64", seed=1)
    model.run(rows(X[:, :2]), Y)
    before = combos.covariance(model, "least_squares")
    model.run(rows(X[:1]), None)
    after, new = combos.covariance(model, "least_squares"), cell.n_hidden + 2
    np.testing.assert_array_equal(np.delete(np.delete(after, new, 0), new, 1), before)
    np.testing.assert_array_equal(after[new], 4 * np.eye(len(after))[new])


# What they withstand


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("forgetting", [0.9995, 0.99])
@pytest.mark.parametrize("scale", [True, False])
def test_a_feature_that_rests_for_long_and_then_moves(scale, forgetting, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(21_000, 3))
    X[:20_000, 1] = 5.0
    y = X @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=len(X))
    model = linear(forgetting, scale=scale, dtype=dtype)
    model.run(X[:20_000], y[:20_000])
    smallest, largest = smallest_and_largest_variance(model)
    assert smallest > 0
    assert largest < 2 * model.readout.initial_variance
    assert largest_weight(model) < 10
    predictions = model.run(X[20_000:], y[20_000:])
    assert np.max(np.abs(predictions)) < 100
    if not scale:  # the running deviation needs as many rows again to find its new size
        assert np.mean((predictions - y[20_000:])[500:] ** 2) < 0.015


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("forgetting", [1.0, 0.9995, 0.99])
def test_collinear_features(forgetting, dtype):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(20_000, 2))
    X = np.column_stack([base, base[:, 0], base @ [1.0, 1.0], 1e-9 * rng.normal(size=len(base)) + base[:, 1]])
    y = base @ [1.0, -2.0] + 0.1 * rng.normal(size=len(base))
    model = linear(forgetting, scale=False, dtype=dtype)
    errors = model.run(X, y) - y
    smallest, largest = smallest_and_largest_variance(model)
    assert smallest > 0
    assert largest < 2 * model.readout.initial_variance
    assert largest_weight(model) < 10
    assert np.mean(errors[1000:] ** 2) < 0.015


@pytest.mark.parametrize("cell", [SRNN(4), Linear()], ids=["SRNN", "Linear"])
def test_a_feature_that_turns_more_slowly_than_the_past_fades(cell):
    t = np.arange(20_000)
    X = np.column_stack([np.sin(t / 5000), np.cos(t / 5000)])
    y = X @ [1.0, 2.0] + 0.1 * np.random.default_rng(0).normal(size=len(t))
    model = OnlineRNN(cell, SGD(lookback=3), RLS(forgetting=0.99), scale=False, seed=1)
    errors, smallest, largest = [], [], []
    for begin in range(0, len(t), 2000):
        part = slice(begin, begin + 2000)
        errors.append(model.run(X[part], y[part]) - y[part])
        for values, value in zip((smallest, largest), smallest_and_largest_variance(model), strict=True):
            values.append(value)
        assert largest_weight(model) < 10
    assert min(smallest) > 0
    assert max(largest) < 2 * model.readout.initial_variance
    assert np.mean(np.concatenate(errors)[1000:] ** 2) < 0.015


@pytest.mark.parametrize("forgetting", [0.995, 0.5])
def test_a_weight_that_no_sample_says_anything_about_returns_to_the_initial_variance(forgetting):
    """Within what fades between two turns."""
    model = linear(forgetting, scale=False, dtype="float64")
    model.run(np.random.default_rng(0).normal(size=(200, 20)), np.zeros(200))
    assert np.mean(np.diagonal(combos.covariance(model, "least_squares"))) < 8
    model.run(np.zeros((4000, 20)), np.zeros(4000))
    n = 21
    renewals = max(1, int(np.ceil(n * (1 - forgetting))))
    slack = forgetting ** -np.ceil(n / renewals)
    variances = np.diagonal(combos.covariance(model, "least_squares"))[:-1]
    assert np.all(variances > 10 / slack)
    assert np.all(variances < 10 * slack)


@pytest.mark.parametrize(("forgetting", "n_inputs"), [(0.5, 60), (0.8, 150), (0.01, 30), (1e-6, 3)])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_short_memory_with_many_features_stays_finite(forgetting, n_inputs, quiet):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, n_inputs))
    y = X[:, 0].copy()
    X[:, 1:] *= not quiet
    model = linear(forgetting, scale=False)
    assert np.max(np.abs(model.run(X, y))) < 20
    assert largest_weight(model) < 20
    assert smallest_and_largest_variance(model)[0] > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("forgetting", [1.0, 0.9995, 0.9])
def test_huge_inputs_with_a_huge_initial_variance_stay_finite(forgetting, dtype):
    """Double precision does not hold their condition number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    X[::7, 0] = 1e200
    X[3::11] *= 1e9
    X[1000:2000] = 1.0
    readout = RLS(forgetting=forgetting, initial_variance=1e4)
    model = OnlineRNN(Linear(), readout=readout, scale=False, dtype=dtype, seed=1)
    predictions = model.run(X, X[:, 1])
    assert np.max(np.abs(predictions)) < 1e7
    assert largest_weight(model) < 1e3
    assert np.all(np.isfinite(combos.covariance(model, "least_squares")))
