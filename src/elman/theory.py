"""Theorems 1 and 2 of the paper as numbers: smoothness constants, certified rates, regret bound, meters.

`n_inputs` is always the number of features of a row; the constant input that every learner appends is added
here, so the paper's ``n_x`` is ``n_inputs + 1``. The theorems hold for features in [-1, 1], targets in
[-sqrt(n_hidden), sqrt(n_hidden)] and a readout of norm at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elman.arguments import number, whole_number

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.models.learner import OnlineRNN


@dataclass(frozen=True)
class Smoothness:
    """Theorem 1: bounds on the second derivatives of the windowed loss, and the largest of them."""

    recurrent: float
    """beta_theta, equation (10): twice in the recurrent weights W."""
    inputs: float
    """beta_mu, equation (11): twice in the input weights U."""
    mixed: float
    """beta_theta_mu, equation (12): once in each."""

    @property
    def beta(self) -> float:
        """The largest of the three, equation (16)."""
        return max(self.recurrent, self.inputs, self.mixed)


def smoothness_bounds(n_hidden: int, n_inputs: int, spectral_limit: float = 0.95) -> Smoothness:
    """Return the three constants of Theorem 1.

    >>> smoothness_bounds(n_hidden=16, n_inputs=8, spectral_limit=0.5)
    Smoothness(recurrent=2048.0, inputs=1152.0, mixed=1536.0)
    """
    whole_number("n_hidden", n_hidden, at_least=1)
    whole_number("n_inputs", n_inputs, at_least=0)
    number("spectral_limit", spectral_limit, above=0, below=1)
    n_x = n_inputs + 1
    contraction = (1 - spectral_limit) ** 3
    return Smoothness(
        recurrent=4 * n_hidden * math.sqrt(n_hidden) / contraction,
        inputs=4 * n_x * math.sqrt(n_hidden) / contraction,
        mixed=4 * n_hidden * math.sqrt(n_x) / contraction,
    )


def certified_rate(n_hidden: int, n_inputs: int, spectral_limit: float = 0.95) -> float:
    """Return the largest learning rate that Theorem 2 allows, ``1/beta``.

    >>> round(1 / certified_rate(n_hidden=15, n_inputs=8))
    1859032
    """
    return 1 / smoothness_bounds(n_hidden, n_inputs, spectral_limit).beta


def regret_bound(steps: int, window: int, n_hidden: int, rate: float) -> float:
    """Return the bound of Theorem 2 on the local regret after `steps` steps, equation (18).

    >>> regret_bound(steps=1000, window=100, n_hidden=16, rate=0.01)
    70400.0
    """
    whole_number("steps", steps, at_least=0)
    whole_number("window", window, at_least=1)
    whole_number("n_hidden", n_hidden, at_least=1)
    number("rate", rate, above=0)
    return 16 * math.sqrt(n_hidden) / rate * (steps / window + 1)


def local_regret(model: OnlineRNN) -> float:
    """Return R_w(t), the sum over all steps of the squared norm of the projected gradient, equation (7)."""
    return float(_of_wogd(model, "local_regret"))


def normalised_local_regret(model: OnlineRNN) -> float:
    """Return R_w(t)/t, which falls towards zero while the weights settle; NaN before the first step."""
    regret = local_regret(model)
    return regret / model.steps if model.steps else math.nan


def empirical_smoothness(model: OnlineRNN, X: Any, y: Any) -> Float64:
    """Let `model` learn the rows, and return how much the gradient changed along each step (section IV-A3).

    ``max(|dL/dW(next) - dL/dW| / |W(next) - W|, same for U)`` for the same windowed loss and readout, which
    Theorem 1 bounds by beta. It takes a second gradient at every step, about twice the time of
    `OnlineRNN.run`.

    Parameters
    ----------
    model
        The learner; afterwards it has learned the rows.
    X
        Rows, shape (n, n_inputs).
    y
        Targets, shape (n,) or (n, n_outputs).

    Returns
    -------
    array of shape (n,)
        NaN for a row without a target or without a step.
    """
    smoothness: Float64 = _of_wogd(model, "run_measured")(X, y)
    return smoothness


def _of_wogd(model: OnlineRNN, meter: str) -> Any:
    """Return what only models that WOGD trains have."""
    try:
        return getattr(model, meter)
    except AttributeError as error:
        raise ValueError(f"regret and smoothness are those of WOGD's windowed loss, got {model!r}") from error
