"""How a model's state grows when new features appear, or when its first target shows several outputs.

The state is the dict of arrays that the core exchanges. Weight matrices come column by column and the readout
output by output, so a row of U belongs to one input and a row of C to one output.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    State = dict[str, NDArray[Any]]


def grown(old: State, new: State) -> State:
    """Return the state `old` in the sizes of `new`, the state of a new model; additions are as in `new`."""
    state = old | {name: _grown(name, old, new) for name in old}
    for name, origin in (("covariance", _origin_of_weights), ("least_squares", _origin_of_regressors)):
        if name in old:
            state[name] = _grown_triangle(old[name], new[name], origin(old, new))
    return state


def is_weight(name: str) -> bool:
    """Whether this array of a state is a weight matrix: U, W, C or D, or one gate's of them such as U.f."""
    return name[0] in "UWCD"


def _grown(name: str, old: State, new: State) -> NDArray[Any]:
    before, after = old[name], new[name]
    n_inputs, n_inputs_after = len(old["input_moments"]), len(new["input_moments"])
    n_outputs, n_samples = len(old["C"]), len(old["window_inputs"])
    weight = name.split(".", 1)[1] if name.startswith("moment") else name
    if weight[0] == "U" or name in {"input_moments", "input_surprises"}:  # the constant stays last
        return np.concatenate([before[:n_inputs], after[n_inputs:n_inputs_after], before[n_inputs:]])
    if weight == "D":
        added = after[:n_outputs, n_inputs:n_inputs_after]
        kept = np.concatenate([before[:, :n_inputs], added, before[:, n_inputs:]], axis=1)
        return np.concatenate([kept, after[n_outputs:]])
    if weight == "C" or name in {"target_moments", "target_surprises"}:
        return np.concatenate([before, after[n_outputs:]])
    if name == "window_inputs":
        zeros = np.zeros((n_samples, n_inputs_after - n_inputs), before.dtype)
        return np.concatenate([before[:, :-1], zeros, before[:, -1:]], axis=1)
    if name == "window_targets":
        unknown = np.full((len(new["C"]) - n_outputs, n_samples), math.nan, before.dtype)
        return np.concatenate([before, unknown])
    return before


def _origin_of_weights(old: State, new: State) -> NDArray[Any]:
    """Return for every weight its number among the old ones, in the order of the state, or -1 if new.

    The old weights are numbered and the numbers grow as the weights do.
    """
    names = [name for name in old if is_weight(name)]
    ends = np.cumsum([old[name].size for name in names])
    ranges = np.split(np.arange(ends[-1]), ends[:-1])
    numbers = {name: numbers.reshape(old[name].shape) for name, numbers in zip(names, ranges, strict=True)}
    nothing = {name: np.full(new[name].shape, -1) for name in names}
    return np.concatenate([_grown(name, old | numbers, new | nothing).ravel() for name in names])


def _origin_of_regressors(old: State, new: State) -> NDArray[Any]:
    """Return for every regressor of the readout, hidden units and then inputs, its old number or -1."""
    n_hidden, n_inputs, n_inputs_after = (
        old["C"].shape[1],
        len(old["input_moments"]),
        len(new["input_moments"]),
    )
    if "D" not in old:
        return np.arange(n_hidden)
    inputs, constant = np.arange(n_hidden, n_hidden + n_inputs), n_hidden + n_inputs
    return np.concatenate([np.arange(n_hidden), inputs, np.full(n_inputs_after - n_inputs, -1), [constant]])


def _grown_triangle(before: NDArray[Any], after: NDArray[Any], origin: NDArray[Any]) -> NDArray[Any]:
    """Return the covariance `after` with the entries of `before` where they belong now.

    Both are lower triangles, row by row. `origin` tells the old number of each row, or -1; growth keeps the
    order of the old rows, so an entry of the triangle stays below the diagonal.
    """
    row, column = np.tril_indices(len(origin))
    i, j = origin[row], origin[column]
    kept = (i >= 0) & (j >= 0)
    triangle = after.copy()
    triangle[0, kept] = before[0, (i * (i + 1) // 2 + j)[kept]]
    return triangle
