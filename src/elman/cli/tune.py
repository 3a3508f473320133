"""`elman tune`: learning rates by the paper's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from elman.cli import options
from elman.cli.console import out
from elman.cli.progress import work

if TYPE_CHECKING:
    from collections.abc import Sequence


def tune(
    model: Annotated[str | None, typer.Argument(help="Only this system, such as LSTM-Adam.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Only this set, such as kinematics or addition2.")
    ] = None,
    jobs: options.Jobs = options.CORES,
    folder: options.Results = options.RESULTS,
    rows: options.FewRows = None,
) -> None:
    """Choose learning rates by the paper's protocol: a grid, ten seeded runs each, the mean error decides.

    **Examples**

    `elman tune` · every system on every set

    `elman tune LSTM-Adam --dataset kinematics` · one of them
    """
    from elman.paper import reproduce as paper  # noqa: PLC0415 - not for the other commands
    from elman.paper import tune as tuning  # noqa: PLC0415
    from elman.paper.rows import available_sets  # noqa: PLC0415
    from elman.paper.systems import MODELS  # noqa: PLC0415

    names = [*available_sets()[0], *(name for name in tuning.ALL_TUNED if name.startswith("addition"))]
    models, datasets = _chosen("system", model, MODELS), _chosen("set", dataset, names)
    points = list(tuning.points(datasets, models))
    with work() as bar:
        scores = paper.tuned(points, folder, bar, jobs=jobs, rows=rows)
    tuning.write(scores, folder)
    out.print(_table(scores))


def _chosen(what: str, name: str | None, names: Sequence[str]) -> Sequence[str]:
    if name is not None and name not in names:
        raise typer.BadParameter(f"no {what} is called {name!r}; there are {', '.join(names)}")
    return names if name is None else [name]


def _table(scores: list[dict[str, Any]]) -> Table:
    from elman.paper.systems import paper_rate  # noqa: PLC0415 - not for the other commands

    table = Table("set", "system", "hidden", "rate", "readout rate", "mean error or steps", "paper's rate")
    for row in scores:
        if not row["chosen"]:
            continue
        adding = row["dataset"].startswith("addition")
        table.add_row(
            row["dataset"],
            row["model"],
            str(row["n_hidden"]),
            f"{row['rate']:g}",
            f"{row['readout_rate']:g}" if "readout_rate" in row else "",
            f"{row['score']:,.0f} steps" if adding else f"{row['score']:.4f}",
            "" if adding else f"{paper_rate(row['model'], row['dataset']):g}",
        )
    return table
