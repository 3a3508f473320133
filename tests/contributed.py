"""Tests of what CONTRIBUTING.md adds; run by test_contributing.py in a process that has a build with it."""

import os
import re
from functools import partial
from itertools import product

import numpy as np
import pytest

import elman
from contract import checks_of, grow
from contract_maker import Make, arrays, bits, named
from elman import SGD, SRNN, WOGD, OnlineRNN, state
from elman.configuration.cells import Cell, Linear
from elman.configuration.training import Training
from inside import sized, write

if not hasattr(elman, "Leaky"):
    pytest.skip("it needs the build that test_contributing.py makes", allow_module_level=True)

Leaky, Momentum = elman.Leaky, elman.Momentum
NEW = Make(partial(OnlineRNN, Leaky(4), Momentum(lookback=4)))
VELOCITY = "output0.member0.moment1.U"


def test_the_build_is_the_new_one():
    assert elman.__file__.startswith(os.environ["PYTHONPATH"])


@pytest.mark.parametrize("check", checks_of(NEW).values(), ids=checks_of(NEW))
def test_contract(check):
    check(NEW)


PAIRS = [pair for pair in product(Cell.by_name, Training.by_name) if {"Leaky", "Momentum"} & {*pair}]


@pytest.mark.parametrize(("cell", "training"), PAIRS)
def test_the_new_parts_go_with_all_others(cell, training):
    readout = elman.Gradient(skip=Cell.by_name[cell] is Linear)
    make = Make(partial(OnlineRNN.named, f"{cell}-{training}", readout=readout))

    checks_of(make)["same bits in calls of all kinds"](make)


def test_with_a_leak_of_1_it_is_an_elman_network():
    X, y = NEW.stream()
    leaky, simple = (OnlineRNN(cell, seed=1, dtype="float64") for cell in (Leaky(4, leak=1), SRNN(4)))

    assert leaky.run(X, y) == pytest.approx(simple.run(X, y), rel=1e-9)


def test_without_memory_momentum_is_sgd():
    X, y = NEW.stream()
    models = (OnlineRNN(SRNN(4), training, seed=1) for training in (Momentum(0.03, decay=0), SGD(0.03)))

    assert len({bits(model.run(X, y)) for model in models}) == 1


def test_the_gradient_of_leaky_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    training = WOGD(window=6, rate=1e-300, readout_rate=0)

    def run(U):
        model = sized(OnlineRNN(Leaky(3, leak=0.3), training, scale=False, dtype="float64", seed=1), 2)
        write(model, {"U": U})
        return model, np.mean((model.run(X, y) - y) ** 2) / 2

    U = rng.normal(size=(3, 3))
    gradient, step = run(U)[0]._native.gradient()["U"].T, 1e-6

    for place in np.ndindex(U.shape):
        moved = np.zeros_like(U)
        moved[place] = step
        assert (run(U + moved)[1] - run(U - moved)[1]) / (2 * step) == pytest.approx(
            gradient[place], rel=1e-5
        )


# A velocity is an array that nothing outside its training has heard of


def test_a_velocity_is_saved_and_says_what_its_axes_are():
    model = NEW.trained()
    table, values = arrays(model)

    assert table[VELOCITY] == (VELOCITY, "f4", [4, 4], ["input", "hidden"])
    assert values[VELOCITY].any()
    assert bits(values[VELOCITY]) == bits(arrays(elman.load(model.to_bytes()))[1][VELOCITY])


def test_a_velocity_grows_with_the_features():
    X, y = NEW.stream()
    model = NEW()
    model.run(named(X, "ab"), y)
    before = arrays(model)[1][VELOCITY]

    grow(model, NEW)

    velocity = arrays(model)[1][VELOCITY]
    assert before.shape == (3, 4)
    assert velocity.shape == (4, 4)
    assert bits(before) == bits(velocity[[0, 1, 3]])
    assert not velocity[2].any()


def test_a_velocity_of_another_shape_is_refused():
    header, whole = state.parse(NEW.trained().to_bytes())
    at = [row[0] for row in whole.table].index(VELOCITY)

    for changed in ([2, 8], ["input", "hidden"]), ([4, 4], ["hidden", "hidden"]):
        whole.table[at] = (VELOCITY, "f4", *changed)
        with pytest.raises(
            ValueError, match=rf"array '{re.escape(VELOCITY)}' is missing or has another type"
        ):
            OnlineRNN.from_bytes(state.dump(header, whole))
