"""Write the saved models that every later elman has to read, with what they answer.

``python tests/states/make.py`` adds those of the present format version; files that are there already stay as
they are.
"""

import json
from pathlib import Path

import numpy as np

from elman import (
    EKF,
    GRU,
    LSTM,
    NARX,
    RLS,
    SGD,
    SRNN,
    WOGD,
    Adam,
    Clockwork,
    Committee,
    Gradient,
    Linear,
    Member,
    OnlineRNN,
    RMSprop,
    state,
)

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "answers.json"
SKIP = Gradient(skip=True)
MEMBERS = (
    Member("linear", Linear(), WOGD(window=1), RLS(), lagged=True),
    Member("filter", SRNN(2), EKF(lookback=3), SKIP),
    Member("window", SRNN(3), WOGD(window=4), Gradient(), lagged=True),
)
MODELS = {
    "SRNN-WOGD": lambda: OnlineRNN(SRNN(4), WOGD(window=6), seed=1),
    "SRNN-WOGD-RLS": lambda: OnlineRNN(SRNN(4), WOGD(window=6), RLS(), seed=1),
    "SRNN-EKF-skip-lags": lambda: OnlineRNN(SRNN(3), EKF(lookback=3), SKIP, lags=2, seed=1),
    "LSTM-Adam": lambda: OnlineRNN(LSTM(3), Adam(lookback=4), dtype="float64", seed=1),
    "GRU-SGD-logistic": lambda: OnlineRNN(GRU(3), SGD(lookback=4), loss="logistic", seed=1),
    "CWRNN-RMSprop": lambda: OnlineRNN(Clockwork(4, periods=(1, 2)), RMSprop(lookback=4), seed=1),
    "NARX-EKF-raw": lambda: OnlineRNN(NARX(3, delays=2), EKF(lookback=3), scale=False, seed=1),
    "linear": lambda: OnlineRNN(Linear(), seed=1),
    "SRNN-Adam-named-pair": lambda: OnlineRNN(SRNN(3), Adam(lookback=3), seed=1),
    "Committee": lambda: Committee(MEMBERS, lags=2),
    "Committee-named-pair": lambda: Committee(MEMBERS, lags=1),
}


def stream(name):
    """Rows and targets for the model called `name`: dicts and pairs if it says so."""
    rng = np.random.default_rng(0)
    X = rng.normal(1, 2, (40, 3))
    y = np.sin(X[:, 0]) + 0.5 * np.roll(X[:, 1], 1)
    if "logistic" in name:
        y = (y > 0.5).astype(float)
    if "pair" in name:
        y = np.stack([y, -y], axis=1)
    X[5, 1] = y[7] = np.nan
    return ([dict(zip("abc", x, strict=True)) for x in X.tolist()] if "named" in name else X), y


def answers(model):
    """What a model answers to some row: its predictions, then the ends of their intervals."""
    row = [0.5, 1.0, -2.0] if model.feature_names is None else {"a": 0.5, "b": 1.0, "c": -2.0}
    return np.ravel([model.predict_one(row), *model.interval_one(row)]).tolist()


def main():
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name, make in MODELS.items():
        path = FOLDER / f"v{state._VERSION}-{name}.elman"
        if not path.exists():
            model = make()
            model.run(*stream(name))
            path.write_bytes(model.to_bytes())
            recorded[path.name] = answers(model)
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
