"""Hessian-free optimisation: what it promises besides the contract and its oracle at one setting."""

from itertools import pairwise

import numpy as np
import pytest

import combos
from elman import LSTM, SRNN, Gradient, HessianFree, Linear
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


def as_weights(model, named):
    """Arrays of the state that are shaped like the weights, as the oracle stacks these."""
    turned = {name: array if name in "CD" else array.T for name, array in named.items()}
    return combos.naive_weights(model.cell, turned)


def state_of(model):
    """What the oracle's learner knows, by the compiled state: weights, state, direction and damping."""
    named, prefix = arrays(model), "direction."
    direction = as_weights(
        model, {n.removeprefix(prefix): a for n, a in named.items() if n.startswith(prefix)}
    )
    rows = [named[name].reshape(-1, model.cell.n_hidden) for name in ("state", "cell_state") if name in named]
    rows = [each[::-1] for each in rows]  # of NARX, which keeps the newest last
    return {
        **combos.naive_weights(model.cell, model.weights),
        "state": np.vstack(rows) if rows else np.zeros((1, 0)),
        "direction": np.concatenate(
            [direction[name].ravel() for name in ("W", "U", "C", "D") if name in direction]
        ),
        "damping": named["damping"],
    }


def state_of_oracle(learner):
    return {
        **learner.weights,
        "state": learner.state,
        "direction": learner.training.direction,
        "damping": np.array(learner.training.damping),
    }


def put_into_oracle(learner, known):
    learner.weights = {name: known[name].copy() for name in learner.weights}
    learner.state = known["state"].copy()
    learner.training.direction, learner.training.damping = known["direction"].copy(), known["damping"].item()


@pytest.mark.parametrize(
    ("loss", "n_outputs"), [("squared", 2), ("logistic", 1)], ids=["squared", "logistic"]
)
@pytest.mark.parametrize("cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"])
def test_each_of_two_hundred_whole_steps_is_that_of_the_oracle(cell, loss, n_outputs):
    """From the same state: by itself the oracle parts after some dozens of rows.

    Whether a step lowers the loss, and by as much as was foreseen, is decided by the last bit now and then.
    """
    readout = Gradient(skip=isinstance(cell, Linear))
    model = combos.new_model(cell, WHOLE_STEPS, loss, n_outputs=n_outputs, readout=readout)
    learner = combos.naive_counterpart(model).learner
    moved = 0
    for x, y in zip(*combos.stream(loss, length=200, n_outputs=n_outputs), strict=True):
        before = state_of(model)
        put_into_oracle(learner, before)
        np.testing.assert_allclose(model.predict_one(x), learner.predict(x).squeeze(), rtol=0, atol=1e-8)

        model.learn_one(x, y)
        learner.learn(x, y)

        after, expected = state_of(model), state_of_oracle(learner)
        for name, array in expected.items():
            np.testing.assert_allclose(after[name], array, rtol=0, atol=1e-8, err_msg=name)
        moved += not np.array_equal(before["C"], after["C"]) or not np.array_equal(
            before.get("D"), after.get("D")
        )
    assert moved > 100


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
