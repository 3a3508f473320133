"""River's regressors for benchmarks/accuracy.py, each with the scaling that suits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from river import forest, linear_model, neighbors, preprocessing
except ImportError:
    REGRESSORS: dict[str, Callable[[], Any] | None] = dict.fromkeys(["ARF", "AMF", "KNN", "Bayesian linear"])
else:

    def _scaled(regressor: Any) -> Any:
        return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(regressor=regressor)

    REGRESSORS = {
        "ARF": lambda: _scaled(forest.ARFRegressor(seed=1)),
        "AMF": lambda: forest.AMFRegressor(seed=1),  # scale does not matter to its trees
        "KNN": lambda: _scaled(neighbors.KNNRegressor()),
        "Bayesian linear": lambda: _scaled(linear_model.BayesianLinearRegression()),
    }


def run_river(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict every row, then learn from it. River has no missing values: zeros stand for the first lags."""
    make = REGRESSORS[name]
    assert make is not None
    model, predictions = make(), np.empty(len(y))
    for i, (row, target) in enumerate(zip(np.nan_to_num(X), y, strict=True)):
        x = dict(enumerate(row.tolist()))
        answer = model.predict_one(x)
        predictions[i] = 0 if answer is None else answer  # AMF has no answer to the first row
        model.learn_one(x, float(target))
    return predictions
