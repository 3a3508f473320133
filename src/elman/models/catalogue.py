"""Models by the name that a person types, and models of any kind from their bytes."""

from __future__ import annotations

from typing import Any

from elman import state
from elman.configuration.cells import Cell, Linear
from elman.configuration.training import Training
from elman.models._model import Model
from elman.models.committee import Committee
from elman.models.forecaster import Forecaster
from elman.models.learner import OnlineRNN

DEFAULT = "Committee"
"""The model for a stream that nothing is known of."""

_COMMITTEE_OPTIONS = ("size", "dtype", "max_pending", "lowest", "highest")


def make(name: str, *, lags: int, seed: int, **options: Any) -> Model:
    """Return the model called `name`: ``"Committee"``, or one of `OnlineRNN.named`, with its `options`.

    Examples
    --------
    >>> model = make("SRNN-Adam", lags=3, seed=1, rate=0.01)
    >>> model.training.rate, model.lags
    (0.01, 3)
    """
    if name.lower() != DEFAULT.lower():
        return OnlineRNN.named(name, lags=lags, seed=seed, **options)
    unknown = [option for option in options if option not in _COMMITTEE_OPTIONS]
    if unknown:
        raise TypeError(f"{DEFAULT} has no option {unknown[0]!r}: there is nothing to tune")
    return Committee(lags=lags, seed=seed, **options)


def load(blob: bytes) -> Model:
    """Return the model that some model's `to_bytes` wrote, whatever it is.

    Examples
    --------
    >>> load(Committee().to_bytes())
    Committee(lags=6, threads=1, dtype='float32', seed=0)
    """
    kind = state.parse(blob)[0].get("kind")
    if not isinstance(kind, str) or kind not in Model.by_kind:
        raise ValueError(f"it is a saved {kind}, not a saved model")
    return Model.by_kind[kind].from_bytes(blob)


def load_any(blob: bytes) -> Model | Forecaster:
    """Return whatever some `to_bytes` wrote: a model, or a `Forecaster`.

    Examples
    --------
    >>> load_any(Forecaster(3).to_bytes())
    Forecaster(horizon=3, size='large', seed=0)
    """
    if state.parse(blob)[0].get("kind") == Forecaster.kind:
        return Forecaster.from_bytes(blob)
    return load(blob)


def names() -> list[str]:
    """Return all names that `make` takes."""
    cells = [name for name, cell in Cell.by_name.items() if cell is not Linear]
    return [DEFAULT, "linear", *(f"{cell}-{training}" for cell in cells for training in Training.by_name)]
