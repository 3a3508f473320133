"""Hessian-free optimisation: what it promises besides the contract and its oracle at one setting."""

from itertools import pairwise

import numpy as np
import pytest

import combos
from elman import LSTM, SRNN, HessianFree
from inside import arrays

WHOLE_STEPS = HessianFree(window=8, rate=1.0, damping=0.03, least_damping=0.001)
# With the rows after which the last bit is not yet amplified.
SETTINGS = {
    "every third row": (HessianFree(window=6, iterations=3, every=3, rate=0.5), 200),
    "no memory, no structure": (HessianFree(window=6, iterations=2, structural=0.0, persistence=0.0), 200),
    "one sample": (HessianFree(window=1, iterations=4, rate=0.5), 200),
    "whole steps": (WHOLE_STEPS, 25),
}


def dampings(model, X, Y):
    """The damping after each row."""
    found = []
    for x, y in zip(X, Y, strict=True):
        model.learn_one(x, y)
        found.append(arrays(model)["damping"].item())
    return found


@pytest.mark.parametrize(("training", "rows"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("cell", [SRNN(4), LSTM(3)], ids=["SRNN", "LSTM"])
def test_steps_and_damping_follow_the_oracle(cell, training, rows):
    model = combos.new_model(cell, training)
    oracle = combos.naive_counterpart(model)

    combos.assert_follows([model], oracle, *combos.stream(length=rows))

    damping = arrays(model)["damping"].item()
    assert damping == pytest.approx(oracle.learner.training.damping, rel=1e-9)


def test_the_damping_falls_where_the_loss_is_foreseen_and_rises_where_it_is_not():
    found = dampings(combos.new_model(SRNN(4), WHOLE_STEPS), *combos.stream(length=80))

    ratios = {round(after / before, 3) for before, after in pairwise(found)}

    assert {0.667, 1.0, 1.5} <= ratios


def test_between_its_steps_the_weights_stay():
    model = combos.new_model(SRNN(4), HessianFree(window=6, every=3), n_outputs=1)
    X, Y = combos.stream(length=31, n_outputs=1)
    moved = []
    for x, y in zip(X, np.nan_to_num(Y), strict=True):
        before = model.weights
        model.learn_one(x, y)
        moved.append(any(not np.array_equal(before[name], now) for name, now in model.weights.items()))

    assert [i for i, each in enumerate(moved) if each] == list(range(0, 31, 3))
