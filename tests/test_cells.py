"""What every cell tells of itself."""

import numpy as np
import pytest

import combos
from elman import EKF, Clockwork, Gradient, Linear, OnlineRNN

CELLS = [*combos.CELLS.values(), Linear(), Clockwork(13, periods=(1, 3, 7))]


@pytest.mark.parametrize("cell", CELLS, ids=repr)
@pytest.mark.parametrize("n_inputs", [0, 8])
def test_a_cell_has_as_many_weights_as_it_says(cell, n_inputs):
    model = OnlineRNN(cell, EKF(), Gradient(skip=True), seed=1)
    model.learn_one(np.ones(n_inputs), 1.0)

    weights = [array for name, array in model.weights.items() if name[0] in "UW"]

    # Weights are drawn at random: those that are 0 do not exist.
    assert cell.n_weights(n_inputs) == sum(np.count_nonzero(array) for array in weights)
