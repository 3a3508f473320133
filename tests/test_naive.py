"""The oracles are right: derivatives by finite differences, everything else by another way to write it."""

import pickle

import numpy as np
import pytest

import naive

CELLS = {
    "SRNN": naive.SRNN(4),
    "LSTM": naive.LSTM(3),
    "GRU": naive.GRU(3),
    "Clockwork": naive.Clockwork(5, [1, 2, 4]),
    "ClockworkModules": naive.ClockworkModules(5, [1, 2, 4]),
    "NARX": naive.NARX(3, delays=2),
}
TRAININGS = {
    "WOGD": lambda: naive.WOGD(window=4, rate=0.1),
    "SGD": lambda: naive.SGD(rate=0.1, lookback=4),
    "RMSprop": lambda: naive.RMSprop(rate=0.01, lookback=4),
    "Adam": lambda: naive.Adam(rate=0.01, lookback=4),
    "EKF": lambda: naive.EKF(lookback=4),
}
LOSSES = ["squared", "logistic"]
N_FEATURES, N_OUTPUTS, LENGTH = 3, 2, 7

every_cell = pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_training = pytest.mark.parametrize("training", TRAININGS.values(), ids=TRAININGS)


def random_weights(cell, seed=0, scale=0.5, *, skip=False):
    rng = np.random.default_rng(seed)
    shapes = cell.shapes(N_FEATURES + 1) | {"C": (N_OUTPUTS, cell.n_hidden)}
    if skip:
        shapes["D"] = (N_OUTPUTS, N_FEATURES + 1)
    return {name: rng.normal(scale=scale, size=shape) for name, shape in shapes.items()}


def random_stream(loss, length=LENGTH, seed=1):
    """Some targets are unknown: one output of row 2 and of the last, both of row 4."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(length, N_FEATURES)), rng.normal(size=(length, N_OUTPUTS))
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    Y[2, 0] = Y[4] = Y[-1, 1] = np.nan
    return X, Y


def random_window(cell, loss):
    X, Y = random_stream(loss)
    state = np.random.default_rng(2).uniform(-0.9, 0.9, size=cell.initial_state().shape)
    return naive.Window(cell, loss, state, 5, np.column_stack([X, np.ones(len(X))]), Y)


def trained_learner(training, loss="squared", cell=CELLS["SRNN"], length=LENGTH):
    learner = naive.Learner(cell, training, random_weights(cell), N_OUTPUTS, loss)
    learner.run(*random_stream(loss, length))
    return learner


def finite_differences(function, weights, step=1e-3):
    """Derivative of a scalar or array function by each entry: fourth-order central differences."""
    coefficients = {1: 8 / 12, 2: -1 / 12}
    derivatives, shape = {}, np.shape(function(weights))
    for name, value in weights.items():
        entries = []
        for i in range(value.size):
            unit = step * np.eye(value.size)[i].reshape(value.shape)
            change = 0.0
            for k, coefficient in coefficients.items():
                up, down = (np.asarray(function(weights | {name: value + s * k * unit})) for s in (1, -1))
                change = change + coefficient * (up - down)
            entries.append(change / step)
        derivatives[name] = np.moveaxis(np.reshape(entries, (value.size, *shape)), 0, -1).reshape(
            shape + value.shape
        )
    return derivatives


def assert_close(actual, expected, tolerance=1e-9):
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        assert actual[name].shape == array.shape
        assert np.linalg.norm(actual[name] - array) <= tolerance * np.linalg.norm(array), name


@every_loss
@every_cell
@pytest.mark.parametrize("kind", ["mean", "last"])
def test_gradient_is_that_of_finite_differences(kind, cell, loss):
    window, weights = random_window(cell, loss), random_weights(cell)
    expected = finite_differences(getattr(window, f"{kind}_loss"), weights)
    assert_close(getattr(window, f"{kind}_gradient")(weights), expected)


@every_cell
def test_jacobian_is_that_of_finite_differences(cell):
    window, weights = random_window(cell, "squared"), random_weights(cell)
    assert_close(window.last_jacobian(weights), finite_differences(window.last_z, weights))


@every_loss
@pytest.mark.parametrize("cell", [CELLS["SRNN"], naive.Linear(0)], ids=["SRNN", "Linear"])
def test_derivatives_with_a_skip_are_those_of_finite_differences(cell, loss):
    window, weights = random_window(cell, loss), random_weights(cell, skip=True)
    assert_close(window.mean_gradient(weights), finite_differences(window.mean_loss, weights))
    assert_close(window.last_gradient(weights), finite_differences(window.last_loss, weights))
    assert_close(window.last_jacobian(weights), finite_differences(window.last_z, weights))


def test_derivatives_by_the_other_weights_are_the_same_if_those_of_the_readout_are_fixed():
    window, weights = random_window(CELLS["SRNN"], "squared"), random_weights(CELLS["SRNN"], skip=True)
    trained, fixed = ({name: weights[name] for name in names} for names in ("WU", "CD"))
    gradient = window.mean_gradient(weights)
    window.fixed = fixed
    assert_close(window.mean_gradient(trained), {name: gradient[name] for name in "WU"})


@every_training
def test_a_readout_that_learns_by_itself_is_not_trained(training):
    class Still:
        def update(self, w, phi, y, t):  # noqa: ARG002
            return w

    cell, X, Y = CELLS["SRNN"], *random_stream("squared")
    weights = random_weights(cell, scale=3, skip=True)
    learner = naive.Learner(cell, training(), weights, N_OUTPUTS, readout=Still())
    learner.run(X, Y)
    for name in "CD":
        np.testing.assert_array_equal(learner.weights[name], weights[name])
    assert not np.array_equal(learner.weights["W"], weights["W"])


@every_cell
def test_derivative_by_the_initial_state_is_that_of_finite_differences(cell):
    window, weights = random_window(cell, "squared"), random_weights(cell)
    direction = np.random.default_rng(3).normal(size=(LENGTH, cell.n_hidden))

    def projected(parameters):
        trace = cell.forward(weights, parameters["state"], window.X, window.start)
        return np.sum(direction * trace.hidden)

    actual = cell.backward(weights, window.forward(weights), direction)
    expected = finite_differences(projected, {"state": window.state})
    assert_close({"state": actual["state"]}, expected)


def test_losses_are_their_formulas():
    z, y = np.array([0.3, -1.2, 5.0]), np.array([1.0, 0.25, np.nan])
    p = 1 / (1 + np.exp(-z))
    assert naive.sample_loss("squared", z, y) == pytest.approx(0.5 * (0.7**2 + 1.45**2))
    cross_entropy = -np.log(p[0]) - 0.25 * np.log(p[1]) - 0.75 * np.log(1 - p[1])
    assert naive.sample_loss("logistic", z, y) == pytest.approx(cross_entropy)
    np.testing.assert_allclose(naive.output("logistic", z), p)
    np.testing.assert_array_equal(naive.output("squared", z), z)


def test_mean_loss_counts_labelled_samples_only():
    cell = CELLS["SRNN"]
    window, weights = random_window(cell, "squared"), random_weights(cell)
    Z = window.forward(weights).hidden @ weights["C"].T
    assert window.mean_loss(weights) == pytest.approx(np.nansum(0.5 * (Z - window.Y) ** 2) / (LENGTH - 1))


def test_clockwork_as_masked_matrix_is_clockwork_module_by_module():
    masked, modules = naive.Clockwork(11, [1, 2, 3, 8]), naive.ClockworkModules(11, [1, 2, 3, 8])
    assert [len(units) for units in masked.modules] == [3, 3, 3, 2]
    weights, X = random_weights(masked), np.random.default_rng(4).normal(size=(30, N_FEATURES + 1))
    state = np.random.default_rng(5).normal(size=(1, 11))
    one, other = (cell.forward(weights, state, X, start=7) for cell in (masked, modules))
    np.testing.assert_allclose(one.states, other.states, rtol=1e-13)
    d_hidden = np.random.default_rng(6).normal(size=(30, 11))
    expected = modules.backward(weights, other, d_hidden)
    assert_close(masked.backward(weights, one, d_hidden), expected, 1e-13)


def test_clockwork_module_keeps_its_value_between_its_ticks():
    cell = naive.Clockwork(4, [1, 4])
    hidden = cell.forward(random_weights(cell), cell.initial_state(), np.ones((9, 4))).hidden
    changed = np.any(np.diff(hidden, axis=0) != 0, axis=0)
    assert changed.all()
    for step in range(1, 9):
        assert (step % 4 == 0) == (hidden[step, 2:] != hidden[step - 1, 2:]).all()


@pytest.mark.parametrize("cell", [naive.Clockwork(4, [1, 1]), naive.NARX(4, 1)], ids=["Clockwork", "NARX"])
def test_clockwork_of_period_1_and_narx_of_delay_1_are_the_srnn(cell):
    weights, simple = random_weights(cell), naive.SRNN(4)
    expected = random_window(simple, "squared").mean_gradient(weights)
    assert_close(random_window(cell, "squared").mean_gradient(weights), expected, 1e-14)


def test_narx_is_its_formula():
    cell = naive.NARX(3, delays=3)
    weights, X = random_weights(cell), np.random.default_rng(7).normal(size=(6, N_FEATURES + 1))
    W_1, W_2, W_3 = (weights["W"][:, 3 * d : 3 * d + 3] for d in range(3))
    h = [np.zeros(3)] * 3
    for x in X:
        h.append(np.tanh(weights["U"] @ x + W_1 @ h[-1] + W_2 @ h[-2] + W_3 @ h[-3]))
    np.testing.assert_allclose(cell.forward(weights, cell.initial_state(), X).hidden, h[3:], rtol=1e-13)


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3)])
def test_clipping_singular_values_is_the_nearest_matrix_in_the_spectral_ball(shape):
    """The projection P of M on a convex set is the point where <M - P, Q - P> <= 0 for all Q of the set."""
    rng = np.random.default_rng(8)
    M = rng.normal(size=shape)
    P = naive.clip_singular_values(M, 0.95)
    assert np.linalg.norm(P, 2) == pytest.approx(0.95)
    for _ in range(200):
        Q = rng.normal(size=shape)
        Q *= 0.95 / np.linalg.norm(Q, 2)
        assert np.sum((M - P) * (Q - P)) <= 1e-12
    np.testing.assert_allclose(naive.clip_singular_values(P, 0.95), P, atol=1e-14)
    np.testing.assert_allclose(naive.clip_singular_values(0.1 * P, 0.95), 0.1 * P, atol=1e-14)


def test_clipping_rows_scales_only_the_long_ones():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(naive.clip_rows(rows, 2.5), [[1.5, 2.0], [0.3, 0.4], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("threshold", "size", "norm", "clipped"),
    [(7.5, 4, 7.4, False), (7.5, 4, 7.6, True), (7.5, 81, 8.9, False), (7.5, 81, 9.1, True), (0, 4, 1, True)],
)
def test_projection_waits_for_the_threshold(threshold, size, norm, clipped):
    block = np.zeros((size, size + 2))
    block[0, 0] = norm
    projected = naive.WOGD(projection_threshold=threshold).project(block)
    assert np.linalg.norm(projected, 2) == pytest.approx(0.95 if clipped else norm)


def test_initial_weights_are_projected_gate_by_gate():
    cell = naive.LSTM(3)
    weights = random_weights(cell, scale=0.1)
    weights["W"][3:6] *= 100
    weights["C"][1] *= 100
    learner = naive.Learner(cell, naive.WOGD(), weights, N_OUTPUTS)
    expected = weights["W"].copy()
    expected[3:6] = naive.clip_singular_values(expected[3:6], 0.95)
    np.testing.assert_array_equal(learner.weights["W"], expected)
    np.testing.assert_array_equal(learner.weights["U"], weights["U"])
    np.testing.assert_array_equal(learner.weights["C"][0], weights["C"][0])
    assert np.linalg.norm(learner.weights["C"][1]) == pytest.approx(2.5)


def test_projection_leaves_the_missing_weights_of_a_clockwork_at_0():
    cell = naive.Clockwork(5, [1, 2, 4])
    learner = trained_learner(naive.WOGD(4, 0.1, projection_threshold=0), cell=cell)
    missing = cell.mask("W", (5, 5)) == 0
    assert (learner.weights["W"][missing] == 0).all()
    assert (learner.weights["W"][~missing] != 0).all()


def test_wogd_is_algorithm_1_written_out():
    """One output, a window of 2 that three samples pass through, derivatives by finite differences."""
    rate, limit = 0.2, 0.9
    rng = np.random.default_rng(9)
    W, U, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    W, U = (naive.clip_singular_values(M, limit) for M in (W, U))
    training = naive.WOGD(
        2, rate, spectral_limit=limit, projection_threshold=0, readout_rate=4, readout_limit=9
    )
    learner = naive.Learner(naive.SRNN(3), training, {"W": W, "U": U, "C": c[None]})
    before, samples, regret = np.zeros(3), [], 0.0
    for t, (feature, target) in enumerate(rng.normal(size=(3, 2)), start=1):
        if len(samples) == 2:
            before = np.tanh(W @ before + U @ samples.pop(0)[0])
        samples.append((np.array([feature, 1.0]), target))

        def loss(parameters, before=before, samples=tuple(samples)):
            h, total = before, 0.0
            for x, d in samples:
                h = np.tanh(parameters["W"] @ h + parameters["U"] @ x)
                total += 0.5 * (d - parameters["c"] @ h) ** 2
            return total / len(samples)

        g = finite_differences(loss, {"W": W, "U": U, "c": c})
        old = {"W": W, "U": U, "c": c}
        c = c - 4 / np.sqrt(t) * g["c"]
        W, U = (naive.clip_singular_values(old[name] - rate * g[name], limit) for name in ("W", "U"))
        regret += (np.linalg.norm(W - old["W"]) ** 2 + np.linalg.norm(U - old["U"]) ** 2) / rate**2
        learner.learn([feature], target)
        assert_close(learner.weights, {"W": W, "U": U, "C": c[None]})
    assert training.local_regret == pytest.approx(regret, rel=1e-9)
    after = finite_differences(loss, {"W": W, "U": U, "c": old["c"]})
    ratios = [
        np.linalg.norm(after["W"] - g["W"]) / np.linalg.norm(W - old["W"]),
        np.linalg.norm(after["U"] - g["U"]) / np.linalg.norm(U - old["U"]),
    ]
    assert training.smoothness() == pytest.approx(max(ratios), rel=1e-6)


@every_loss
@every_cell
def test_ekf_step_is_the_information_form_of_the_same_posterior(cell, loss):
    """P' = (P^-1 + J^T R^-1 J)^-1 and theta' = theta + P' J^T R^-1 (y - output), a row per known output."""
    window, weights = random_window(cell, loss), random_weights(cell)
    training = naive.EKF(process_noise=0.01, measurement_noise=0.3)
    weights = training.prepare(cell, weights)
    size = len(training.P)
    square = np.random.default_rng(10).normal(size=(size, size))
    prior = training.P = np.eye(size) + 0.1 * square @ square.T / size
    outputs = finite_differences(lambda values: naive.output(loss, window.last_z(values)), weights)
    predicted = naive.output(loss, window.last_z(weights))[0]
    J = np.hstack([outputs[name][:1].reshape(1, -1) for name in ("W", "U", "C")])
    R = 0.3 if loss == "squared" else predicted * (1 - predicted)
    posterior = np.linalg.inv(np.linalg.inv(prior) + J.T @ J / R)
    theta = np.concatenate([weights[name].ravel() for name in ("W", "U", "C")])
    theta = theta + posterior @ J[0] / R * (window.Y[-1, 0] - predicted)
    new = training.update(window, weights, 1)
    actual = np.concatenate([new[name].ravel() for name in ("W", "U", "C")])
    expected = {"theta": theta, "P": posterior + 0.01 * np.eye(size)}
    assert_close({"theta": actual, "P": training.P}, expected)


def test_ekf_noise_of_a_saturated_probability_has_a_floor():
    """One weight c, hidden state 1 (nearly), z = c: P' = P - P^2 s^2 / (P s^2 + 1e-3) with s = p (1 - p)."""
    training = naive.EKF(process_noise=0.0)
    weights = {"W": np.zeros((1, 1)), "U": np.array([[40.0]]), "C": np.array([[12.0]])}
    learner = naive.Learner(naive.SRNN(1), training, weights, loss="logistic")
    learner.learn([], 0.0)
    p = 1 / (1 + np.exp(-12.0))
    s = p * (1 - p)
    assert learner.weights["C"][0, 0] == pytest.approx(12 - s / (s**2 + 1e-3) * p, rel=1e-12)
    assert training.P[2, 2] == pytest.approx(1 - s**2 / (s**2 + 1e-3), rel=1e-12)


@every_cell
def test_ekf_with_a_certain_hidden_layer_is_recursive_least_squares(cell):
    """With prior variance in C alone the hidden layer is fixed: C is the ridge regression on the states."""
    weights, (X, Y) = random_weights(cell), random_stream("squared", 25)
    training = naive.EKF(lookback=3, process_noise=0.0, measurement_noise=0.2)
    learner = naive.Learner(cell, training, weights, N_OUTPUTS)
    hidden_size = learner.weights["W"].size + learner.weights["U"].size
    training.P[:hidden_size] = training.P[:, :hidden_size] = 0
    learner.run(X, Y)
    H = cell.forward(weights, cell.initial_state(), np.column_stack([X, np.ones(len(X))])).hidden
    for k in range(N_OUTPUTS):
        known = ~np.isnan(Y[:, k])
        precision = H[known].T @ H[known] / 0.2 + np.eye(cell.n_hidden)
        expected = np.linalg.solve(precision, H[known].T @ Y[known, k] / 0.2 + weights["C"][k])
        np.testing.assert_allclose(learner.weights["C"][k], expected, rtol=1e-9)


@every_training
def test_prediction_is_the_output_that_the_sample_then_has(training):
    """The state before the window has the same weights, so nothing moves when the oldest sample leaves."""
    learner, (X, Y) = trained_learner(training()), random_stream("squared", seed=11)
    for x, y in zip(X, Y, strict=True):
        weights, prediction = learner.weights, learner.predict(x)
        learner.learn(x, y)
        np.testing.assert_allclose(learner.samples().last_z(weights), prediction, rtol=1e-13)


@every_training
@every_cell
def test_unlabelled_sample_advances_the_state_and_nothing_else(cell, training):
    learner = trained_learner(training(), cell=cell)
    weights, t, x = learner.weights, learner.t, np.ones(N_FEATURES)
    expected, _ = cell.step(weights, learner.current_state(), np.ones(N_FEATURES + 1), LENGTH)
    learner.learn(x, None)
    assert (weights, t) == (learner.weights, learner.t)
    assert t == LENGTH - 1
    np.testing.assert_allclose(learner.current_state(), expected, rtol=1e-13)


@every_training
def test_update_that_would_not_be_finite_is_skipped(training):
    learner = trained_learner(training())
    weights, state, x = learner.weights, pickle.dumps(vars(learner.training)), np.ones(N_FEATURES)
    learner.learn(x, [np.inf, 1.0])
    assert learner.t == LENGTH
    assert learner.weights is weights
    assert pickle.dumps(vars(learner.training)) == state
    for _ in range(learner.window):
        learner.learn(x, [0.5, 1.0])
    assert all(np.isfinite(value).all() for value in learner.weights.values())
    assert not np.array_equal(learner.weights["C"], weights["C"])


@every_loss
@every_training
@every_cell
def test_every_cell_learns_with_every_training(cell, training, loss):
    X, _ = random_stream(loss)
    Y = X[:, :N_OUTPUTS] if loss == "squared" else (X[:, :N_OUTPUTS] > 0).astype(float)
    learner = naive.Learner(cell, training(), random_weights(cell, scale=0.3), N_OUTPUTS, loss)
    errors = [np.mean((learner.run(X, Y) - Y) ** 2) for _ in range(10)]
    assert errors[-1] < errors[0]
    masked = learner.weights["W"] * cell.mask("W", learner.weights["W"].shape)
    np.testing.assert_array_equal(learner.weights["W"], masked)
