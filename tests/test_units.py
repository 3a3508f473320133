"""Units that change without a jump: what an absolute member has learned stays true in those of the stream."""

import itertools

import numpy as np
import pytest

import naive
from combos import CELLS, GATES, GENTLE_TRAININGS, N_HIDDEN, READOUTS, covariance
from elman import EKF, SRNN, WOGD, Adam, Committee, Gradient, Linear, Member, OnlineRNN
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
    """Target and columns jump, one after the other, and the target comes back."""
    X, y = stream(n, N_FEATURES)
    X[70:, 0] = 500 + 4 * X[70:, 0]
    y[90:] = 300 - 3 * y[90:]
    y[120:] = stream(n, N_FEATURES)[1][120:]
    return X, y


class Network:
    """A member as a learner of its own whose state is rescaled by the oracle."""

    def __init__(self, model):
        (self.member,) = model.members
        learner = OnlineRNN(self.member.cell, self.member.training, self.member.readout, scale=False)
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
                rescale.add_row(P, len(P) - 1, first + j, shift, 0, v)
                rescale.multiply_row(P, first + j, scale, 0, v)
            new["least_squares"] = P[np.tril_indices(len(P))]
        new["window_inputs"] = state["window_inputs"].copy()
        for j, each in enumerate(inputs):
            new["window_inputs"][:, j] = rescale.seen(state["window_inputs"][:, j], each)
        new["window_targets"] = rescale.seen(state["window_targets"], outputs[0])
        return new

    def places(self, state, weights, n):
        own = [name for name in weights if name not in "CD" or not self.member.readout.is_trained_by_itself]
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
    X, y = jumping()
    model = committee(cell, readout, training)
    expected = oracle(model).run(X, y)[0].ravel()
    np.testing.assert_allclose(model.run(X, y), expected, rtol=1e-6, atol=1e-6)
