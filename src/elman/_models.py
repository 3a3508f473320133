"""Models by the name that a person types, and models of any kind from their bytes."""

from __future__ import annotations

from typing import Any

import elman
from elman import _state
from elman.cells import Cell
from elman.training import Training

COMMITTEE = "Committee"
DEFAULT = COMMITTEE if hasattr(elman, COMMITTEE) else "SRNN-EKF"
"""The model for a stream that nothing is known of."""


def make(name: str, *, lags: int, seed: int, **options: Any) -> tuple[Any, int]:
    """Return the model called `name` and how many lags it has to be given.

    `name` is ``"Committee"``, which makes its own lags, or the paper's name of a cell and a training, which
    `options` configure as in `OnlineRNN.named`.

    Examples
    --------
    >>> model, lags = make("SRNN-Adam", lags=3, seed=1, rate=0.01)
    >>> model.training.rate, lags
    (0.01, 3)
    """
    if name.lower() != COMMITTEE.lower():
        return elman.OnlineRNN.named(name, seed=seed, **options), lags
    if options:
        raise TypeError(f"{COMMITTEE} has no option {next(iter(options))!r}: there is nothing to tune")
    return _committee()(lags=lags, seed=seed), 0


def load(blob: bytes) -> Any:
    """Return the model that some model's `to_bytes` wrote."""
    kind = _state.parse(blob)[0].get("kind")
    if kind == COMMITTEE:
        return _committee().from_bytes(blob)
    return elman.OnlineRNN.from_bytes(blob)


def _committee() -> Any:
    if not hasattr(elman, COMMITTEE):
        raise ValueError("this version of elman has no Committee; name a cell and a training, as SRNN-EKF")
    return getattr(elman, COMMITTEE)


def names() -> list[str]:
    """Return all names that `make` takes."""
    pairs = [f"{cell}-{training}" for cell in Cell.by_name for training in Training.by_name]
    return [COMMITTEE, *pairs] if hasattr(elman, COMMITTEE) else pairs
