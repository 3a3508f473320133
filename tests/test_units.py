"""Units that change without a jump: what an absolute member has learned stays true in those of the stream."""

import itertools

import numpy as np
import pytest

import naive
from combos import CELLS, GENTLE_TRAININGS, READOUTS, covariance
from elman import EKF, RLS, SRNN, WOGD, Adam, Committee, Gradient, HalfEKF, Linear, Member, OnlineRNN
from elman.configuration.cells import Clockwork
from inside import arrays, sized, write
from naive import rescale
from small_committees import stream

N_FEATURES, LAGS = 2, 2
NETWORKS = {"skip": (Gradient(skip=True), CELLS | {"Linear": Linear()}), "RLS": (READOUTS["RLS"], CELLS)}
COMBINATIONS = {
    f"{name}-{readout}-{training}": (cell, NETWORKS[readout][0], GENTLE_TRAININGS[training])
    for readout in NETWORKS
    for name, cell in NETWORKS[readout][1].items()
    for training in GENTLE_TRAININGS
}
every_combination = pytest.mark.parametrize(
    ("cell", "readout", "training"), COMBINATIONS.values(), ids=COMBINATIONS
)
CONTENTS = {"momentum.": "gradient", "square.": "squares", "direction.": "direction"}


def committee(cell, readout, training, *, absolute=True, dtype="float64"):
    member = Member("it", cell, training, readout, lagged=True, absolute=absolute)
    return sized(Committee([member], lags=LAGS, dtype=dtype), N_FEATURES)


def jumping(n=150):
    """A column and the target get another level and spread, which are adopted in rows 74 and 94."""
    X, y = stream(n, N_FEATURES)
    X[70:, 0] = 8000 + 1300 * X[70:, 0]
    y[90:] = -6000 - 900 * (y[90:] - 5)
    return X, y


class Network:
    """A member as a learner of its own whose state is rescaled by the oracle."""

    def __init__(self, model):
        (self.member,) = model.members
        parts = self.member.cell, self.member.training, self.member.readout
        learner = OnlineRNN(*parts, scale=False, dtype=model.dtype)
        self.learner = sized(learner, N_FEATURES + LAGS, 1)
        write(self.learner, arrays(model, "output0.member0."))
        exists = arrays(self.learner)["W"] != 0 if isinstance(self.member.cell, Clockwork) else None
        self.exists, self.row = exists, None

    def predict(self, row):
        return self.learner.predict_one(row)

    def ask(self, row):
        self.row = np.asarray(row)

    def tell(self, _, target):
        self.learner.learn_one(self.row, target)

    def rescale(self, inputs, outputs):
        write(self.learner, self.rescaled(arrays(self.learner), inputs, outputs))
        self.row = np.array([rescale.seen(x, each) for x, each in zip(self.row, inputs, strict=True)])

    def rescaled(self, state, inputs, outputs):
        network = rescale.Network(inputs, outputs)
        weights = list(self.learner.weights)
        new = {name: network.weights(name, state[name]) for name in weights}
        for moment in state:
            prefix, dot, name = moment.partition(".")
            if dot and name in weights:
                squares = prefix == "moment2" or (prefix == "moment1" and moment_of_squares(self.member))
                content = CONTENTS.get(prefix + ".", "squares" if squares else "gradient")
                new[moment] = getattr(network, content)(name, state[moment])
        if "covariance" in state:
            P, training = covariance(self.learner), self.member.training
            rounding = np.finfo(float).eps * np.sqrt(len(P)) * training.initial_variance
            noise = max(training.process_noise, rounding)
            v = training.initial_variance
            P = network.covariance(P, self.places(state, weights, len(P)), min(noise, v), 2 * max(v, noise))
            new["covariance"] = P[np.tril_indices(len(P))]
        if "least_squares" in state:
            P, v = covariance(self.learner, "least_squares"), self.member.readout.initial_variance
            first = len(P) - len(inputs) - 1
            for j, (scale, shift) in enumerate(inputs):
                rescale.add_row(P, len(P) - 1, first + j, shift, (0, v))
                rescale.multiply_row(P, first + j, scale, (0, v))
            new["least_squares"] = P[np.tril_indices(len(P))]
        new["window_inputs"] = state["window_inputs"].copy()
        for j, each in enumerate(inputs):
            new["window_inputs"][:, j] = rescale.seen(state["window_inputs"][:, j], each)
        new["window_targets"] = rescale.seen(state["window_targets"], outputs[0])
        return new

    def places(self, state, weights, n):
        own = [name for name in weights if name not in "CD" or "least_squares" not in state]
        found = [
            (name, i, j)
            for name in own
            for i, j in itertools.product(*map(range, state[name].shape))
            if name != "W" or self.exists is None or self.exists[i, j]
        ]
        assert len(found) == n
        return found


def moment_of_squares(member):
    return type(member.training).__name__ == "RMSprop"


def oracle(model):
    network = Network(model)
    member = naive.Member(network, [0], lagged=True, absolute=True)
    return naive.Committee([member], N_FEATURES, 1, LAGS)


@every_combination
def test_an_absolute_member_follows_the_oracle_through_jumps(cell, readout, training):
    """Until the last bit is amplified: least squares move far by what is far from all that was seen."""
    X, y = (each[: 80 if isinstance(readout, RLS) else 96] for each in jumping())
    model = committee(cell, readout, training)
    expected = oracle(model).run(X, y)[0].ravel()
    size = np.maximum.accumulate(np.abs(y))
    np.testing.assert_allclose(model.run(X, y) / size, expected / size, rtol=0, atol=1e-9)
    in_deviations = committee(cell, readout, training, absolute=False).run(X, y)
    assert np.abs(in_deviations - expected)[75:].max() > 0.1


@pytest.mark.parametrize("training", [Adam(lookback=1), EKF(lookback=1)], ids=["Adam", "EKF"])
def test_an_absolute_member_follows_the_oracle_through_a_stretch_and_back(training):
    X, y = stream(660, N_FEATURES)
    X[560:620] *= 300
    y[560:620] *= 300
    model = committee(Linear(), Gradient(skip=True), training)
    expected = oracle(model)
    answers = expected.run(X, y)[0].ravel()
    np.testing.assert_allclose(model.run(X, y), answers, rtol=1e-6, atol=1e-6)
    assert expected.preparation.targets[0].calm == 40  # the features of row 620 have said it


@every_combination
def test_a_change_of_units_changes_no_answer(cell, readout, training):
    y = stream(60, N_FEATURES)[1]
    model = committee(cell, readout, training)
    network = Network(model)
    rows = np.random.default_rng(0).normal(size=(61, N_FEATURES + LAGS))
    network.learner.run(rows[:60], (y - y.mean())[:, None] / y.std())
    network.row = rows[60]
    before = network.predict(rows[60])[0]

    scale, shift = 1.5, -0.5
    network.rescale([(2.0, 1.0), rescale.NONE, (0.5, -0.3), (1.0, 0.7)], [(scale, shift)])

    np.testing.assert_allclose(shift + scale * network.predict(network.row)[0], before, rtol=0, atol=1e-9)


ABSOLUTE = (
    Member("filter", SRNN(4), EKF(lookback=3), Gradient(skip=True), lagged=True, absolute=True),
    Member("window", SRNN(4), WOGD(window=8), Gradient(), lagged=True),
    Member("half", SRNN(3), HalfEKF(lookback=3), Gradient(skip=True), absolute=True),
    Member("Adam", Linear(), Adam(lookback=1), Gradient(skip=True), lagged=True, absolute=True),
)


def test_answers_do_not_depend_on_how_rows_are_cut_or_saved():
    X, y = jumping()
    whole = Committee(ABSOLUTE, lags=LAGS).run(X, y)
    model = Committee(ABSOLUTE, lags=LAGS, threads=2)
    parts = []
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        parts.append(model.predict_one(x))
        model.learn_one(x, target)
        if i in (72, 74, 75, 94, 95, 100):
            model = Committee.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(parts, whole)


def test_questions_may_be_open_when_units_change():
    X, y = jumping()
    model = Committee(ABSOLUTE, lags=LAGS)
    answers = model.run(X[:98], y[:98], delay=7)
    model = Committee.from_bytes(model.to_bytes())
    answers = np.append(answers, model.run(X[98:], y[98:], delay=7))
    np.testing.assert_array_equal(Committee(ABSOLUTE, lags=LAGS).run(X, y, delay=7), answers)


@pytest.mark.parametrize("size", [1e2, 1e5, 1e9, 1e100, 1e-9])
def test_no_change_is_too_large(size):
    X, y = stream(900, N_FEATURES)
    X[300:600] = size * (X[300:600] + 7)
    y[400:700] = size * (y[400:700] - 7)
    model = Committee(ABSOLUTE, lags=LAGS)
    answers = model.run(X, y)
    assert np.isfinite(answers).all()
    assert Committee.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_who_is_absolute_is_saved():
    model = Committee.from_bytes(Committee(ABSOLUTE, lags=LAGS).to_bytes())
    assert [member.absolute for member in model.members] == [True, False, True, True]
    with pytest.raises(TypeError, match="absolute"):
        Member("it", Linear(), Adam(), Gradient(skip=True), absolute="yes")
