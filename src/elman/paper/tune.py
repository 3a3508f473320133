"""The paper's way to choose rates: a grid, ten seeded runs each, the smallest mean error decides.

The seeds are others than those of the tables. For the addition, whose sizes and rates the paper does not
give, the fewest mean steps decide, a failed run counting as many as it was allowed.
"""

from __future__ import annotations

import json
import math
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

from elman.paper.systems import (
    ADDENDS,
    ADDITION_MODELS,
    CLOCK_PERIODS,
    LIMIT_STEPS,
    MODELS,
    SETS,
    USUAL_LOOKBACK,
    WOGD,
    paper_rate,
)
from elman.paper.trials import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from elman.paper.journal import Journal

Record = dict[str, Any]

SEEDS = range(100, 110)
"""Ten, and none of those that the tables use."""

TUNED_WINDOW = 200
UNPROJECTED = 100.0
"""A threshold that the weights of an addition never reach; the paper's 7.5 makes them unlearn it."""

_RATES = {
    "WOGD": (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15),
    "SGD": (0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2),
    "RMSprop": (0.0003, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015),
    "Adam": (0.0003, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015),
}
_READOUT_RATES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_ADDITION_RATES = {
    "WOGD": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4),
    "RMSprop": (0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.03, 0.04, 0.06),
}
_ADDITION_READOUT_RATES = (2.0, 4.0, 8.0, 16.0)
_ADDITION_SIZES = (8, 12, 16)


def grid(model: str, dataset: str) -> list[Record]:
    """Return the settings to try for a system: flat rows, the paper's own among them."""
    training = model.split("-")[1]
    rates = sorted({*_RATES[training], paper_rate(model, dataset)})
    n_hidden = SETS[dataset].n_hidden
    if model == WOGD:
        choices: Iterable[Record] = (
            {"window": TUNED_WINDOW, "rate": rate, "readout_rate": readout_rate}
            for rate, readout_rate in product(rates, _READOUT_RATES)
        )
    else:
        choices = ({"lookback": USUAL_LOOKBACK, "rate": rate} for rate in rates)
    return [{"dataset": dataset, "model": model, "n_hidden": n_hidden} | choice for choice in choices]


def addition_grid(model: str, addends: int) -> list[Record]:
    """Return the settings to try for a system of Table II."""
    name = {"dataset": f"addition{addends}", "model": model}
    if model == WOGD:
        return [
            name
            | {"n_hidden": n_hidden, "window": TUNED_WINDOW, "rate": rate, "readout_rate": readout_rate}
            | {"projection_threshold": UNPROJECTED}
            for n_hidden, rate, readout_rate in product(
                _ADDITION_SIZES, _ADDITION_RATES["WOGD"], _ADDITION_READOUT_RATES
            )
        ]
    return [
        name | {"n_hidden": n_hidden, "lookback": USUAL_LOOKBACK, "rate": rate}
        for n_hidden, rate in product(_ADDITION_SIZES, _ADDITION_RATES["RMSprop"])
    ]


def settings_of(row: Record) -> tuple[tuple[str, Any], ...]:
    """Return the options of cell and training that a row holds, as a `Trial` takes them.

    >>> settings_of({"model": "CWRNN-SGD", "dataset": "addition2", "rate": 0.1, "mse": 2.0})
    (('rate', 0.1), ('periods', (1, 2, 4, 8)))
    """
    names = ("window", "lookback", "rate", "readout_rate", "projection_threshold")
    settings = tuple((name, row[name]) for name in names if row.get(name) is not None)
    clock = row["model"].startswith("CWRNN") and row["dataset"].startswith("addition")
    return (*settings, ("periods", CLOCK_PERIODS)) if clock else settings


def trials_of(point: Record, rows: int | None = None) -> list[Trial]:
    """Return the ten trials of one point of a grid."""
    adding = point["dataset"].startswith("addition")
    most = LIMIT_STEPS if adding else SETS[point["dataset"]].rows
    return [
        Trial(
            measure="addition" if adding else "error",
            dataset=point["dataset"],
            model=point["model"],
            n_hidden=point["n_hidden"],
            rows=min(rows or most, most),
            seed=seed,
            settings=settings_of(point),
            stream=seed if adding else 0,
        )
        for seed in SEEDS
    ]


def points(datasets: Iterable[str], models: Iterable[str] | None = None) -> Iterator[Record]:
    """Yield every point of every grid for these sets and, if given, only these models."""
    wanted = None if models is None else set(models)
    for dataset in datasets:
        adding = dataset.startswith("addition")
        for model in ADDITION_MODELS if adding else MODELS:
            if wanted is None or model in wanted:
                yield from addition_grid(model, int(dataset[-1])) if adding else grid(model, dataset)


def scored(tried: Iterable[Record], journal: Journal, rows: int | None = None) -> list[Record]:
    """Return the points with their mean error (or mean steps), the best of each system marked `chosen`.

    That one also says how many points were `tried`, and whether a rate of it is at the edge of the grid.
    """
    scores = [
        point | {"runs": len(SEEDS), "score": _score(point, journal, rows), "chosen": False}
        for point in tried
    ]
    systems: dict[tuple[str, str], list[Record]] = {}
    for row in scores:
        systems.setdefault((row["dataset"], row["model"]), []).append(row)
    for tries in systems.values():
        best = min(tries, key=lambda row: float(row["score"]))
        best.update(chosen=True, tried=len(tries), at_edge=_at_edge(best, tries))
    return scores


def _at_edge(best: Record, rows: list[Record]) -> bool:
    """Whether a rate of the best point is the smallest or the largest that was tried."""
    tried = {name: [row[name] for row in rows] for name in ("rate", "readout_rate") if name in best}
    return any(best[name] in (min(values), max(values)) for name, values in tried.items())


def _score(point: Record, journal: Journal, rows: int | None) -> float:
    results = [journal[trial] for trial in trials_of(point, rows)]
    if point["dataset"].startswith("addition"):
        return sum(LIMIT_STEPS if each["steps"] is None else each["steps"] for each in results) / len(results)
    mean = sum(each["mse"] for each in results) / len(results)
    return mean if math.isfinite(mean) else math.inf


def shipped() -> list[Record]:
    """Return the settings that `elman tune` chose, as they are kept with the package."""
    kept: list[Record] = json.loads(files("elman.paper").joinpath("tuned.json").read_text(encoding="utf-8"))
    return kept


def chosen(scores: Iterable[Record]) -> list[Record]:
    """Return only the settings that won."""
    return [
        {name: value for name, value in row.items() if name != "chosen"} for row in scores if row["chosen"]
    ]


ALL_TUNED = (*SETS, *(f"addition{addends}" for addends in ADDENDS))
"""Everything that is tuned."""


def write(scores: list[Record], folder: Path) -> None:
    """Write every point to `tune.json`, and the settings that won to `tuned.json`."""
    for name, rows in (("tune", scores), ("tuned", chosen(scores))):
        lines = ",\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
