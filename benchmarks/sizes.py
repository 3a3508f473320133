"""What a smaller Committee costs in accuracy and saves in memory and time.

    ELMAN_DATA=... python benchmarks/sizes.py [--json benchmarks/results/sizes.json] [--rows N]

On the streams of `accuracy.py`, with the same inputs: prequential mean squared errors over those of the large
Committee, and over the best of linear RLS, the last value and the mean so far. Memory of a model is resident
memory among many, at 8 features, as in `fleets.py`; rows per second are of processor time. With `--json` the
table of docs/guides/fleets.md is made anew.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from accuracy import MODELS, STREAMS, samples
from elman import SRNN, Committee, Gradient, Member
from elman.configuration.sizes import MEMBERS, SIZES
from fleets import alone, one_model
from page import table as markdown

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "fleets.md"
BEGIN, END = "<!-- sizes: made by benchmarks/sizes.py -->\n", "<!-- end of sizes -->"
SIMPLE = ("linear RLS", "last value", "mean")
_FIRST, _SECOND, *_OTHERS = MEMBERS["small"]


def _filtered(member: Member, **options: float) -> Member:
    return replace(member, training=replace(member.training, **options))


def _small(*networks: Member) -> partial[Committee]:
    return partial(Committee, [*networks, *_OTHERS])


def _medium_without(name: str) -> partial[Committee]:
    return partial(Committee, [member for member in MEMBERS["medium"] if member.name != name])


# The sizes, and what else was tried.
COMMITTEES = {
    **{size: partial(Committee, size=size) for size in SIZES},
    "small with one network": _small(_FIRST),
    "small with 4 units in the second": _small(_FIRST, replace(_SECOND, cell=SRNN(4))),
    "small without a skip in the second": _small(_FIRST, replace(_SECOND, readout=Gradient())),
    **{
        f"small with variance {variance} in the first": _small(
            _filtered(_FIRST, initial_variance=variance), _SECOND
        )
        for variance in (0.1, 0.2)
    },
    **{
        f"small with noise {noise} in the second": _small(_FIRST, _filtered(_SECOND, measurement_noise=noise))
        for noise in (0.3, 0.7)
    },
    **{
        f"medium without {name}": _medium_without(name)
        for name in ("SRNN(10)-WOGD", "SRNN(4)-HalfEKF, calm, quick, lags")
    },
}
IN_MEMORY = {"medium": 1000, "large": 300}  # models whose memory is measured; of the others 3,000


def predictions_of(model: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    before = np.concatenate([[0.0], y[:-1]])
    if model == "last value":
        return before
    if model == "mean":
        return np.cumsum(before) / np.maximum(np.arange(len(y)), 1)
    make = COMMITTEES[model] if model in COMMITTEES else MODELS[model][0]
    return np.asarray(make().run(X, y))


def errors_on(stream: str, limit: int | None) -> dict[str, float]:
    """Mean squared errors in units of the target's variance, of all committees and of the simple models."""
    X, y = samples(stream, limit)
    return {
        model: float(np.mean((predictions_of(model, X, y) - y) ** 2) / y.var())
        for model in (*COMMITTEES, *SIMPLE)
    }


def largest(ratios: dict[str, float]) -> tuple[str, float]:
    return max(ratios.items(), key=lambda item: item[1])


def summary(size: str, errors: dict[str, dict[str, float]]) -> dict[str, Any]:
    over_large = {stream: found[size] / found["large"] for stream, found in errors.items()}
    over_simple = {stream: found[size] / min(found[k] for k in SIMPLE) for stream, found in errors.items()}
    return {
        "mean_over_large": float(np.exp(np.mean(np.log(list(over_large.values()))))),
        "worst_over_large": largest(over_large),
        "worst_over_simple": largest(over_simple),
    }


def costs_table(sizes: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = ["Committee", "memory of a model", "saved state", "rows/s of processor time"]
    header += ["error over large: mean", "worst", "over the best simple model: worst"]
    rows = []
    for size, values in sizes.items():
        (worst, most), (nearest, above) = values["worst_over_large"], values["worst_over_simple"]
        row = [size, f"{values['memory_kB']:,.0f} kB", f"{values['state_kB']:,.0f} kB"]
        row += [f"{values['rows_per_second']:,.0f}", f"{values['mean_over_large']:.3f}"]
        rows.append(
            [*row, f"{most:.3f} ({worst})" if size != "large" else "1.000", f"{above:.3f} ({nearest})"]
        )
    return header, rows


def errors_table(errors: dict[str, dict[str, float]]) -> tuple[list[str], list[list[str]]]:
    models = (*SIZES, *SIMPLE)
    rows = [[stream, *(f"{found[model]:.4f}" for model in models)] for stream, found in errors.items()]
    return ["stream", *models], rows


def show(header: list[str], rows: list[list[str]]) -> None:
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    Console(width=150).print(table)


def write_page(found: dict[str, Any]) -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    made = markdown(*costs_table(found["sizes"])) + "\n" + markdown(*errors_table(found["errors"]))
    PAGE.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the raw numbers here, and the table into the docs")
    parser.add_argument("--rows", type=int, help="of every stream, at most")
    options = parser.parse_args()
    costs = {
        name: alone(one_model, make, IN_MEMORY.get(name.split()[0], 3000))
        for name, make in COMMITTEES.items()
    }
    errors = {stream: errors_on(stream, options.rows) for stream in STREAMS}
    found = {"errors": errors, "sizes": {name: summary(name, errors) | costs[name] for name in COMMITTEES}}
    show(*errors_table(errors))
    show(*costs_table(found["sizes"]))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
        write_page(found)


if __name__ == "__main__":
    main()
