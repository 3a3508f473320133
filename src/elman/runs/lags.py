"""Models as they are to be: `OnlineRNN` with lags and intervals, made and read like any other model.

To be deleted, with its tests, once `OnlineRNN` has both: `make` and `load` are those of `models.catalogue`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import state
from elman.models import catalogue

if TYPE_CHECKING:
    from elman.runs.samples import Float64


class WithLags:
    """A model whose rows are followed by the last targets, latest first; its intervals hold everything."""

    def __init__(self, model: Any, past: Any) -> None:
        self.model = model
        self.past = np.array(past, dtype=np.float64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def predict_one(self, x: Float64) -> float:
        return float(self.model.predict_one(np.concatenate([x, self.past])))

    def interval_one(self, _: Float64) -> tuple[float, float]:
        return -math.inf, math.inf

    def learn_one(self, x: Float64, y: float) -> None:
        self.model.learn_one(np.concatenate([x, self.past]), y)
        self.past = np.append(y, self.past)[: len(self.past)]

    def run_intervals(self, X: Float64, y: Float64) -> tuple[Float64, Float64, Float64]:
        lags = len(self.past)
        targets = np.concatenate([self.past[::-1], y])
        columns = [targets[lags - lag : len(targets) - lag] for lag in range(1, lags + 1)]
        predictions = self.model.run(np.column_stack([X, *columns]), y)
        self.past = targets[::-1][:lags].copy()
        return predictions, np.full(len(y), -math.inf), np.full(len(y), math.inf)

    def to_bytes(self) -> bytes:
        model = np.frombuffer(self.model.to_bytes(), dtype=np.uint8)
        return state.dump({"kind": "WithLags"}, {"past": self.past, "model": model})


def make(name: str, *, lags: int, seed: int, **options: Any) -> Any:
    """Return the model called `name`."""
    model, missing = catalogue.make(name, lags=lags, seed=seed, **options)
    return model if hasattr(model, "interval_one") else WithLags(model, [math.nan] * missing)


def load(blob: bytes) -> Any:
    """Return the model of these bytes."""
    header, arrays = state.parse(blob)
    if header["kind"] != "WithLags":
        return catalogue.load(blob)
    return WithLags(catalogue.load(arrays["model"].tobytes()), arrays["past"])
