"""Models by the name that a person types, and models of any kind from their bytes."""

from __future__ import annotations

from typing import Any

from elman import state
from elman.configuration.cells import Cell, Linear
from elman.configuration.training import Training
from elman.models.committee import Committee
from elman.models.learner import OnlineRNN

DEFAULT = "Committee"
"""The model for a stream that nothing is known of."""


def make(name: str, *, lags: int, seed: int, **options: Any) -> tuple[Any, int]:
    """Return the model called `name` and how many lags it has to be given.

    `name` is ``"Committee"``, which makes its own lags, or one that `OnlineRNN.named` knows, with its
    `options`.

    Examples
    --------
    >>> model, lags = make("SRNN-Adam", lags=3, seed=1, rate=0.01)
    >>> model.training.rate, lags
    (0.01, 3)
    """
    if name.lower() != DEFAULT.lower():
        return OnlineRNN.named(name, seed=seed, **options), lags
    if options:
        raise TypeError(f"{DEFAULT} has no option {next(iter(options))!r}: there is nothing to tune")
    return Committee(lags=lags, seed=seed), 0


def load(blob: bytes) -> Any:
    """Return the model that some model's `to_bytes` wrote."""
    kind = Committee if state.parse(blob)[0].get("kind") == Committee.__name__ else OnlineRNN
    return kind.from_bytes(blob)


def names() -> list[str]:
    """Return all names that `make` takes."""
    cells = [name for name, cell in Cell.by_name.items() if cell is not Linear]
    return [DEFAULT, "linear", *(f"{cell}-{training}" for cell in cells for training in Training.by_name)]
