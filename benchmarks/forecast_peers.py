"""One forecaster of another library over one series, for benchmarks/forecast.py in an environment of its own.

    python benchmarks/forecast_peers.py MODEL series.npz answers.npz

`series.npz` holds y, the covariates X (no columns: none) that are known ahead, the hour and weekday of each
row, the periods, the first origin and the horizon. The answer holds a forecast at every 24th row from there
on, with 90 % intervals where the library gives some, and the processor time.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

EVERY, LEVEL = 24, 90
FITTED = 1008  # rows that a model which is fitted anew at every origin sees: six weeks of hours
REFIT, TREES = 336, 200


def statsforecast(name: str, data: Any) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    from statsforecast import models  # noqa: PLC0415

    day, week = (int(period) for period in data["periods"])
    y, horizon = data["y"], int(data["horizon"])
    answers = []
    for origin in origins(data):
        seen = y[max(0, origin + 1 - max(FITTED, 3 * week)) : origin + 1]
        model = models.MSTL([day, week]) if name == "MSTL" else getattr(models, name)(season_length=day)
        answers.append(model.forecast(y=seen, h=horizon, level=[LEVEL]))
    return tuple(np.array([each[key] for each in answers]) for key in ("mean", f"lo-{LEVEL}", f"hi-{LEVEL}"))


def lightgbm_recursive(_: str, data: Any) -> tuple[np.ndarray, None, None]:
    """Trees on lags, the clock and the covariates of the row, rolled out on their own answers."""
    import lightgbm  # noqa: PLC0415

    y, X, horizon = data["y"], data["X"], int(data["horizon"])
    day, week = (int(period) for period in data["periods"])
    lags = [*range(1, 7), day, day + 1, 2 * day, week]

    def features(values: np.ndarray, row: int) -> np.ndarray:
        return np.r_[[values[row - lag] for lag in lags], data["clock"][row], X[row]]

    table = np.array(
        [
            features(y, row) if row >= week else np.full(len(lags) + 2 + X.shape[1], np.nan)
            for row in range(len(y))
        ]
    )
    model, fitted, answers = None, -REFIT, []
    for origin in origins(data):
        if origin - fitted >= REFIT:
            model = lightgbm.LGBMRegressor(n_estimators=TREES, learning_rate=0.05, verbose=-1, n_jobs=1)
            model.fit(table[week : origin + 1], y[week : origin + 1])
            fitted = origin
        values = np.r_[y[: origin + 1], np.full(horizon, np.nan)]
        for row in range(origin + 1, origin + 1 + horizon):
            values[row] = model.booster_.predict(features(values, row)[None])[0]
        answers.append(values[origin + 1 :])
    return np.array(answers), None, None


def river(name: str, data: Any) -> tuple[np.ndarray, None, None]:
    from river import time_series  # noqa: PLC0415

    day = int(data["periods"][0])
    model = (
        time_series.HoltWinters(alpha=0.3, beta=0.01, gamma=0.3, seasonality=day)
        if name == "HoltWinters"
        else time_series.SNARIMAX(p=6, d=0, q=0, m=day, sp=2, sd=0, sq=0)
    )
    wanted, answers = set(origins(data)), []
    for row, value in enumerate(data["y"]):
        model.learn_one(float(value))
        if row in wanted:
            answers.append(model.forecast(int(data["horizon"])))
    return np.array(answers), None, None


def origins(data: Any) -> range:
    return range(int(data["first"]), len(data["y"]) - int(data["horizon"]), EVERY)


MODELS = {
    "MSTL": statsforecast,
    "AutoTheta": statsforecast,
    "AutoETS": statsforecast,
    "LightGBM": lightgbm_recursive,
    "HoltWinters": river,
    "SNARIMAX": river,
}


def main() -> None:
    name, series, answers = sys.argv[1:]
    data = dict(np.load(series))
    start = time.process_time()
    mean, low, high = MODELS[name](name, data)
    seconds = time.process_time() - start
    given = {} if low is None else {"low": low, "high": high}
    np.savez(answers, mean=mean, seconds=seconds, **given)


if __name__ == "__main__":
    main()
