"""A trial: one seeded run of one system on one set. What it is, what it costs, and what it gives.

A `Trial` says everything that its result depends on, apart from the rows themselves, the version of elman and
the compiled build, which `key` adds. So a result that was written down under its key need never be made
again.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import elman
from elman import Committee, OnlineRNN, theory
from elman._core import SIMD
from elman.paper import fresh
from elman.paper import rows as data
from elman.paper.systems import SUSTAINED

if TYPE_CHECKING:
    from collections.abc import Callable

    from elman.arrays import Float64

Result = dict[str, Any]

_USUAL_SPAN = 200  # where a trial does not say: a committee has members of many


@dataclass(frozen=True)
class Trial:
    """One seeded run of one system.

    Parameters
    ----------
    measure
        What is measured: a name in `MEASURES`.
    dataset
        A set of the paper, or `addition2` or `addition3`.
    model
        The paper's name of cell and training.
    n_hidden
        Hidden units.
    rows
        How many rows are learned; at most so many in an addition.
    seed
        Of the initial weights.
    settings
        Options of cell and training, by name.
    points
        How many points of a curve are kept.
    stream
        Which addition: the seed of its bits.
    repetition
        Of a trial for its time.
    """

    measure: str
    dataset: str
    model: str
    n_hidden: int
    rows: int
    seed: int
    settings: tuple[tuple[str, Any], ...]
    points: int = 0
    stream: int = 0
    repetition: int = 0

    @property
    def addends(self) -> int:
        """How many numbers an addition adds; 0 for a set of the paper."""
        return int(self.dataset.removeprefix("addition")) if self.dataset.startswith("addition") else 0

    @property
    def span(self) -> int:
        """The window or lookback: how many samples one update looks at."""
        options = dict(self.settings)
        return int(options.get("window") or options.get("lookback") or _USUAL_SPAN)

    def __str__(self) -> str:
        return f"{self.measure} of {self.model} on {self.dataset}"


def key(trial: Trial) -> str:
    """Return what determines the result of a trial, as one line of text."""
    facts = asdict(trial) | {"elman": elman.__version__, "build": SIMD}
    if not trial.addends:
        facts["data"] = data.raw(trial.dataset, trial.rows).fingerprint
    return json.dumps(facts, sort_keys=True)


def cost(trial: Trial) -> float:
    """Return roughly the seconds that a trial takes, for the estimate of the time left and the order."""
    microseconds = 1 + trial.span * trial.n_hidden * (0.016 if trial.model.startswith("LSTM") else 0.004)
    factor = {"smoothness": 3, "certified": 4, "addition": 0.2}.get(trial.measure, 1)
    if trial.measure == "fresh windows":
        return trial.rows * trial.span * 3e-5
    slower = 8 if "HessianFree" in trial.model or trial.model == "Committee" else 1
    return trial.rows * microseconds * factor * slower * 1e-6


def execute(trial: Trial) -> Result:
    """Make the trial and return its result: numbers and lists of numbers by name."""
    return MEASURES[trial.measure](trial)


def _any_model(trial: Trial, **options: Any) -> OnlineRNN | Committee:
    """Return the trial's model; a committee scales by itself, and adds as it predicts any other number."""
    return Committee(seed=trial.seed) if trial.model == "Committee" else _model(trial, **options)


def _model(trial: Trial, **options: Any) -> OnlineRNN:
    options = (
        dict(trial.settings) | {"n_hidden": trial.n_hidden, "scale": False, "seed": trial.seed} | options
    )
    return OnlineRNN.named(trial.model, **options)


def ends(rows: int, points: int) -> list[int]:
    """Return the numbers of rows after which the points of a curve are taken.

    >>> ends(10, 4)
    [2, 5, 7, 10]
    """
    return [rows * (i + 1) // points for i in range(points)]


def _error(trial: Trial) -> Result:
    """Mean squared error over all rows, and over the first rows up to each point."""
    rows = data.standardised(trial.dataset, trial.rows)
    squares = (_any_model(trial).run(rows.X, rows.y) - rows.y) ** 2
    result: Result = {"mse": float(np.mean(squares))}
    if trial.points:
        result["curve"] = [float(np.mean(squares[:end])) for end in ends(trial.rows, trial.points)]
    return result


def _fresh_windows(trial: Trial) -> Result:
    rows, options = data.standardised(trial.dataset, trial.rows), dict(trial.settings)
    cell, rule = trial.model.split("-")
    network = fresh.Network(
        trial.n_hidden,
        fresh.CLOCK_PERIODS if cell == "CWRNN" else (1,),
        trial.span,
        options.get("input_deviation", 0.1),
    )
    learned = {"rule": rule, "rate": options["rate"], "seed": trial.seed}
    return {"mse": float(fresh.squared_errors(rows.X, rows.y, network, **learned).mean())}


def _seconds(trial: Trial) -> Result:
    rows = data.standardised(trial.dataset, trial.rows)
    return _timed(_any_model(trial), rows.X, rows.y)


def _timed(model: OnlineRNN | Committee, X: Float64, y: Float64) -> Result:
    """Take the processor's time: on an idle machine it is the clock's, on a busy one it stays so."""
    start = time.thread_time()
    model.run(X, y)
    return {"seconds": time.thread_time() - start, "load": _busy()}


def _busy() -> float | None:
    """Return how many processes wanted to run in the last minute, where the system says so."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _smoothness(trial: Trial) -> Result:
    """Smallest, mean and largest smoothness between two points (section IV-A3)."""
    rows = data.standardised(trial.dataset, trial.rows)
    values = theory.empirical_smoothness(_model(trial, dtype="float64"), rows.X, rows.y)
    parts = np.split(values, ends(trial.rows, trial.points)[:-1])
    return {
        "low": [float(part.min()) for part in parts],
        "mean": [float(part.mean()) for part in parts],
        "high": [float(part.max()) for part in parts],
    }


def _regret(trial: Trial) -> Result:
    """Normalised local regret R_w(t)/t at each point."""
    rows, model, begin, values = data.standardised(trial.dataset, trial.rows), _model(trial), 0, []
    for end in ends(trial.rows, trial.points):
        model.run(rows.X[begin:end], rows.y[begin:end])
        values.append(theory.normalised_local_regret(model))
        begin = end
    return {"regret": values}


def _certified(trial: Trial) -> Result:
    """Local regret at each point, and how near it came to the bound of Theorem 2 at any step at all."""
    rows, model = data.bounded(trial.dataset, trial.rows, trial.n_hidden), _model(trial, dtype="float64")
    rate = dict(trial.settings)["rate"]
    regrets = np.empty(trial.rows)
    for i, (x, y) in enumerate(zip(rows.X, rows.y.tolist(), strict=True)):
        model.learn_one(x, y)
        regrets[i] = theory.local_regret(model)
    bounds = [theory.regret_bound(t, trial.span, trial.n_hidden, rate) for t in range(1, trial.rows + 1)]
    shares = regrets / bounds
    return {
        "regret": [float(regrets[end - 1]) for end in ends(trial.rows, trial.points)],
        "largest_share": float(shares.max()),
        "steps_within": int(np.sum(shares <= 1)),
    }


def _addition(trial: Trial) -> Result:
    """Count the steps until the last thousand predictions were all right; None if that never came."""
    X, y = data.addition(trial.addends, trial.rows, trial.stream)
    model, streak = _any_model(trial, loss="logistic"), 0
    for begin in range(0, trial.rows, SUSTAINED):
        part = slice(begin, begin + SUSTAINED)
        right = (model.run(X[part], y[part]) > 0.5) == (y[part] > 0.5)
        for i, each in enumerate(right.tolist()):
            streak = streak + 1 if each else 0
            if streak == SUSTAINED:
                return {"steps": begin + i + 1}
    return {"steps": None}


def _addition_errors(trial: Trial) -> Result:
    """Share of wrong bits between two points, whatever was learned before."""
    X, y = data.addition(trial.addends, trial.rows, trial.stream)
    wrong = (_model(trial, loss="logistic").run(X, y) > 0.5) != (y > 0.5)
    parts = np.split(wrong, ends(trial.rows, trial.points)[:-1])
    return {"wrong": [float(part.mean()) for part in parts]}


def _addition_seconds(trial: Trial) -> Result:
    return _timed(_any_model(trial, loss="logistic"), *data.addition(trial.addends, trial.rows, trial.stream))


MEASURES: dict[str, Callable[[Trial], Result]] = {
    "error": _error,
    "fresh windows": _fresh_windows,
    "seconds": _seconds,
    "smoothness": _smoothness,
    "regret": _regret,
    "certified": _certified,
    "addition": _addition,
    "addition errors": _addition_errors,
    "addition seconds": _addition_seconds,
}
