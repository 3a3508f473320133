"""What every learner promises, for every cell with every training."""

import threading
from itertools import product

import numpy as np
import pytest

import combos
from elman import RLS, Gradient, OnlineRNN
from elman.configuration.cells import Cell
from elman.configuration.readouts import Readout
from elman.configuration.training import Training

# Every cell with the paper's readout, and the simplest cell with the others; Linear needs one of those.
NETWORKS = {name: (name, Gradient()) for name in sorted(Cell.by_name) if name != "Linear"} | {
    f"{name}-{kind}": (name, readout)
    for name in ("SRNN", "Linear")
    for kind, readout in combos.READOUTS.items()
}


def every_combination_of(networks):
    return pytest.mark.parametrize(
        ("network", "training"),
        [
            pytest.param(network, training, id=f"{name}-{training}")
            for (name, network), training in product(networks.items(), sorted(Training.by_name))
        ],
    )


every_combination = every_combination_of(NETWORKS)
every_logistic_combination = every_combination_of(
    {name: network for name, network in NETWORKS.items() if not isinstance(network[1], RLS)}
)


def new(network, training, **options):
    cell, readout = network
    length = "window" if training == "WOGD" else "lookback"
    size = {} if cell == "Linear" else {"n_hidden": 5}
    periods = {"periods": (1, 2, 4)} if cell == "Clockwork" else {}
    return OnlineRNN.named(
        f"{cell}-{training}", readout=readout, seed=1, **{length: 6}, **size, **periods, **options
    )


def stream(n=60, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3, 5, (n, 3))
    y = np.sin(X[:, 0]) + np.roll(X[:, 1], 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    y[rng.random(n) < 0.1] = np.nan
    return X, (y if n_outputs is None else np.stack([y + k for k in range(n_outputs)], axis=1))


@every_combination
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_run_loop_chunks_and_save_and_resume_give_the_same_bits(network, training, dtype):
    X, y = stream()
    whole, looped, chunked = (new(network, training, dtype=dtype) for _ in range(3))

    expected = whole.run(X, y)
    one_by_one = []
    for x, target in zip(X, y, strict=True):
        one_by_one.append(looped.predict_one(x))
        looped.predict_one(-x)
        looped.learn_one(x, target)
    parts = []
    for rows in np.array_split(np.arange(len(X)), [1, 2, 9, 23, 24, 41]):
        parts.append(chunked.run(X[rows], y[rows]))
        chunked = OnlineRNN.from_bytes(chunked.to_bytes())

    assert np.array_equal(expected, one_by_one)
    assert np.array_equal(expected, np.concatenate(parts))
    assert whole.to_bytes() == looped.to_bytes() == chunked.to_bytes()


@every_logistic_combination
def test_several_outputs_and_the_logistic_loss_learn_and_stay_in_range(network, training):
    X, y = stream(n_outputs=2)
    model = new(network, training, loss="logistic")

    probabilities = model.run(X, np.where(np.isnan(y), np.nan, y > 0))

    assert probabilities.shape == (60, 2)
    assert np.all((probabilities > 0) & (probabilities < 1))


@every_combination
def test_an_unknown_target_learns_nothing(network, training):
    X, y = stream()
    model = new(network, training)
    model.run(X, y)
    weights = model.weights

    model.run(X, None)

    assert all(np.array_equal(weights[name], after) for name, after in model.weights.items())


@every_combination
def test_a_bad_row_touches_nothing(network, training):
    X, y = stream()
    model = new(network, training)
    model.run(X, y)
    before = model.to_bytes()

    for row, target in [([1, 2], 0.0), ([1, 2, np.inf], 0.0), ([1, 2, 3], np.inf), (["a", 1, 2], 0.0)]:
        with pytest.raises((TypeError, ValueError)):
            model.learn_one(row, target)

    assert model.to_bytes() == before


@every_combination
def test_a_damaged_state_is_refused(network, training):
    model = new(network, training)
    model.run(*stream())
    blob = model.to_bytes()
    rng = np.random.default_rng(0)

    for at in rng.integers(0, len(blob), 50):
        damaged = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
        with pytest.raises(ValueError, match="saved"):
            OnlineRNN.from_bytes(damaged)


@every_combination
def test_calls_from_several_threads_are_taken_one_at_a_time(network, training):
    X, y = stream()
    model, sequential = new(network, training), new(network, training)
    threads = [threading.Thread(target=model.run, args=(X, y)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for _ in threads:
        sequential.run(X, y)

    assert model.to_bytes() == sequential.to_bytes()


@every_combination
@pytest.mark.parametrize("scale", [True, False])
def test_hostile_rows_leave_the_model_finite(network, training, scale):
    X = np.where(np.arange(600).reshape(200, 3) % 7 == 0, 1e300, 1.0)
    model = new(network, training, scale=scale)

    assert np.all(np.isfinite(model.run(X, X[:, 0])))
    assert all(np.all(np.isfinite(weights)) for weights in model.weights.values())


@every_combination
def test_a_feature_that_appears_later_keeps_what_was_learned(network, training):
    X, y = stream()
    model = new(network, training)
    model.run([{"a": x[0], "b": x[1]} for x in X], y)
    before = model.weights

    model.learn_one({"a": 1.0, "c": 2.0}, None)

    for name, after in model.weights.items():
        kept = after[:, [0, 1, 3]] if name[0] in "UD" else after
        assert np.array_equal(before[name], kept)


def test_every_combination_has_an_oracle():
    assert set(Cell.by_name) <= set(dir(combos.naive))
    assert set(Training.by_name) <= set(dir(combos.naive))
    assert set(Readout.by_name) - {"Gradient"} <= set(dir(combos.naive))  # Gradient is the trainings' own
