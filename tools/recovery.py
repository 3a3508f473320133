"""What an absurd stretch costs afterwards: ``python tools/recovery.py``.

Every network and training of the tests, the committees and the forecasters learn ordinary rows, then 100
absurd ones, then 5,000 ordinary ones. The error on these is compared with that of a model that never saw the
stretch: it should be at most 1.5 times as large. Printed are all that are worse, those of them whose rate is
too high for the stream (their error without any stretch is 1.5 times that at the rate they have by default),
and the worst of each kind.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import Committee, Forecaster, HessianFree, OnlineRNN

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from combos import NETWORKS, TRAININGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Rows = tuple[NDArray[Any], NDArray[Any]]

BEFORE, STRETCH, AFTER, MOST, TOO_HIGH = 1000, 100, 5000, 1.5, 1.5
STRETCHES: dict[str, Callable[[NDArray[Any], NDArray[Any]], Rows]] = {
    "giant features": lambda X, y: (1e12 * X, y),
    "giant targets": lambda X, y: (X, 1e12 * y),
    "gigantic": lambda X, y: (1e300 * X, -1e300 * y),
    "a million times larger": lambda X, y: (1e6 * X, 1e6 * y),
    "a hundred thousand times larger": lambda X, y: (1e5 * X, 1e5 * y),
    "targets a hundred thousand times larger": lambda X, y: (X, 1e5 * y),
    "features a hundred times larger": lambda X, y: (100 * X, y),
    "a thousand times larger": lambda X, y: (1e3 * X, 1e3 * y),
    "a hundred times larger": lambda X, y: (100 * X, 100 * y),
    "another level": lambda X, y: (X + 500, y - 500),
    "a code for missing": lambda X, y: (0 * X - 99999, 0 * y - 99999),
    "nothing": lambda X, y: (0 * X, 0 * y),
    "constant giants": lambda X, y: (0 * X + 1e9, 0 * y - 1e9),
    "heavy tails": lambda X, y: (np.tan(np.clip(X, -1.57, 1.57)), 1e6 * np.sign(y)),
}


def stream(seed: int) -> Rows:
    """Return ordinary rows: the target depends on the present and the last one, and on chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BEFORE + STRETCH + AFTER, 3))
    y = np.tanh(X[:, 0]) + 0.5 * np.roll(X[:, 1], 1) + 0.3 * rng.normal(size=len(X))
    return X, y


def models() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every configuration by name."""
    for network, (cell, readout) in NETWORKS.items():
        for name, training in TRAININGS.items():
            rated = hasattr(training, "rate") and not isinstance(training, HessianFree)
            for factor in (1, 10) if rated else (1,):
                rule = replace(training, rate=factor * training.rate) if factor > 1 else training
                yield (
                    f"{network}, {name} x {factor}",
                    lambda cell=cell, rule=rule, readout=readout: OnlineRNN(cell, rule, readout, seed=1),
                )
    yield "Committee", Committee
    yield "Committee, small", lambda: Committee(size="small")


def error(make: Callable[[], Any], rows: Rows, stretch: Rows | None) -> float:
    """Return the mean squared error on the rows after the stretch."""
    (X, y), behind = rows, slice(BEFORE + STRETCH, None)
    model = make()
    model.run(X[:BEFORE], y[:BEFORE])
    if stretch is not None:
        model.run(*stretch)
    return float(np.mean((model.run(X[behind], y[behind]) - y[behind]) ** 2))


def forecast_error(size: str, y: NDArray[Any], stretch: NDArray[Any] | None) -> float:
    """Return the same for forecasts of the next 6 rows."""
    model, last = Forecaster(6, size=size), y[BEFORE + STRETCH :]
    model.run(y[:BEFORE], every=BEFORE)
    if stretch is not None:
        model.run(stretch, every=STRETCH)
    made = model.run(last).mean[: 1 - 6 - 1]
    ahead = np.stack([last[h + 1 : h + 1 + len(made)] for h in range(6)], axis=1)
    return float(np.mean((made - ahead) ** 2))


def main() -> int:
    """Compare all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="configurations whose name holds this")
    parser.add_argument("--seed", type=int, default=0, help="of the ordinary rows")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = stream(asked.seed)
    part = slice(BEFORE, BEFORE + STRETCH)
    spoiled = {name: change(rows[0][part], rows[1][part]) for name, change in STRETCHES.items()}
    ratios: dict[str, dict[str, float]] = {name: {} for name in STRETCHES}
    usuals: dict[str, float] = {}
    for name, make in models():
        if asked.only in name:
            usual = usuals[name] = error(make, rows, None)
            for kind, stretch in spoiled.items():
                ratios[kind][name] = error(make, rows, stretch) / usual
    season = np.sin(np.arange(len(rows[1])) / 24 * 2 * np.pi) + 0.3 * rows[1]
    for size in ("large", "small") if asked.only in "Forecaster" else ():
        usual = forecast_error(size, season, None)
        for kind, change in STRETCHES.items():
            stretch = change(rows[0][part], season[part])[1]
            ratios[kind][f"Forecaster, {size}"] = forecast_error(size, season, stretch) / usual
    return report(ratios, {name for name in usuals if is_too_high(name, usuals)})


def is_too_high(name: str, usuals: dict[str, float]) -> bool:
    """Whether a configuration has ten times its rate and is far worse for it on ordinary rows."""
    gentle = name.replace(" x 10", " x 1")
    return name != gentle and not usuals[name] <= TOO_HIGH * usuals.get(gentle, np.inf)


def report(ratios: dict[str, dict[str, float]], too_high: set[str]) -> int:
    """Print what is worse than it may be, and the worst of each kind; 1 if anything is."""
    worse = [
        (kind, name, ratio) for kind, of in ratios.items() for name, ratio in of.items() if not ratio <= MOST
    ]
    for kind, name, ratio in sorted(worse, key=lambda each: each[1] in too_high):
        print(f"{ratio:10.2f}  {kind}: {name}{', a rate too high' if name in too_high else ''}")
    for kind, of in ratios.items():
        name = max(of, key=lambda each: of[each])
        middle = np.median(list(of.values()))
        print(f"{kind}: {len(of)} configurations, worst {of[name]:.3g} ({name}), median {middle:.3g}")
    return int(any(name not in too_high for _, name, _ in worse))


if __name__ == "__main__":
    sys.exit(main())
