"""Streams that want to break a model: ``python tools/adversaries.py --rows 600``.

Every network and training of the tests, at its rate and at ten times that, on fifteen kinds of adversarial
streams, three of each. All answers must be finite, and what was learned must be saved and loaded again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import HessianFree, OnlineRNN

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from combos import NETWORKS, TRAININGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Change = Callable[[NDArray[Any], NDArray[Any], np.random.Generator], tuple[NDArray[Any], NDArray[Any]]]


def changed(part: slice, x: float = 1.0, y: float = 1.0) -> Change:
    """Return what multiplies a part of a stream."""

    def change(
        inputs: NDArray[Any], targets: NDArray[Any], _: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        inputs[part] *= x
        targets[part] *= y
        return inputs, targets

    return change


_SOME, _ALL = slice(200, 300), slice(None)
KINDS: dict[str, Change] = {
    "plain": changed(_ALL),
    "giant features": changed(_ALL, x=1e9),
    "giant targets": changed(_ALL, y=1e12),
    "tiny targets": changed(_ALL, y=1e-12),
    "a stretch of giant features": changed(_SOME, x=1e12),
    "a stretch of giant targets": changed(_SOME, y=1e12),
    "a stretch of giants": changed(_SOME, x=1e300, y=-1e300),
    "a stretch of nothing": changed(_SOME, x=0, y=0),
    "constant": lambda inputs, targets, _: (0 * inputs, 0 * targets + 3),
    "noise": lambda inputs, targets, rng: (inputs, rng.normal(size=len(targets))),
    "heavy tails": lambda inputs, targets, rng: (
        rng.standard_cauchy(inputs.shape),
        rng.standard_cauchy(len(targets)),
    ),
    "switching levels": lambda inputs, targets, _: (
        inputs,
        targets + 100 * (-1.0) ** (np.arange(len(targets)) // 50),
    ),
    "a walk": lambda inputs, targets, rng: (
        np.cumsum(inputs, axis=0),
        np.cumsum(rng.normal(size=len(targets))),
    ),
    "growth": lambda inputs, targets, _: (inputs, targets * np.exp(np.arange(len(targets)) / 20)),
    "missing": lambda inputs, targets, rng: (
        np.where(rng.random(inputs.shape) < 0.5, np.nan, inputs),
        targets,
    ),
}


def main() -> int:
    """Run everything and print what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, failed = 0, list[str]()
    for network, (cell, readout) in NETWORKS.items():
        for name, training in TRAININGS.items():
            for factor in (
                (1, 10) if hasattr(training, "rate") and not isinstance(training, HessianFree) else (1,)
            ):
                for kind, change in KINDS.items():
                    for seed in range(arguments.seeds):
                        rule = replace(training, rate=factor * training.rate) if factor > 1 else training
                        model = OnlineRNN(cell, rule, readout, seed=1, scale=seed < 2)
                        runs += 1
                        if not is_sound(model, *stream(change, seed, arguments.rows)):
                            failed.append(f"{network}, {name} x {factor}, {kind}, seed {seed}")
    print(*failed, sep="\n")
    print(f"{runs:,} runs of {len(NETWORKS) * len(TRAININGS)} configurations, {len(failed):,} failed")
    return int(bool(failed))


def stream(change: Change, seed: int, rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return an ordinary stream, changed."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, 3))
    return change(inputs, np.tanh(inputs[:, 0]) + 0.5 * np.roll(inputs[:, 1], 1), rng)


def is_sound(model: OnlineRNN, inputs: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether all answers are finite and the model comes back from its bytes."""
    if not np.isfinite(model.run(inputs, y)).all():
        return False
    try:
        return OnlineRNN.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    except ValueError as error:
        print(error)
        return False


if __name__ == "__main__":
    sys.exit(main())
