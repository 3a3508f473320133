"""The commands `elman reproduce` and `elman tune`. They parse and print; the rest of the room works."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from elman.paper import tune as tuning
from elman.paper.checks import find
from elman.paper.journal import Journal
from elman.paper.pool import complete
from elman.paper.reproduce import ITEMS, QUICK_RUNS, Order, reproduce, write_page
from elman.paper.rows import available_sets
from elman.paper.runs import cost
from elman.paper.systems import MODELS, paper_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.paper.runs import Run

console = Console()

_CORES = os.cpu_count() or 1
_Jobs = Annotated[int, typer.Option(min=1, help="Processes; seconds are always measured with one.")]
_Out = Annotated[
    Path, typer.Option(help="Folder for results; the journal in it lets a killed command go on.")
]
_Rows = Annotated[int | None, typer.Option(min=1, hidden=True, help="Only so many rows, for tests.")]


class What(StrEnum):
    """What can be reproduced."""

    table1 = "table1"
    table2 = "table2"
    figure1 = "figure1"
    figure2 = "figure2"
    all = "all"


def reproduce_command(  # noqa: PLR0917 - typer makes an option of each
    what: Annotated[What, typer.Argument(help="A table, a figure, or all of them.")] = What.all,
    runs: Annotated[int, typer.Option(min=1, help="Seeded runs of every system.")] = 30,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_RUNS} runs, settings as tuned before, two minutes.")
    ] = False,
    jobs: _Jobs = _CORES,
    out: _Out = Path("reproduction"),
    page: Annotated[Path | None, typer.Option(help="Write the report as Markdown here as well.")] = None,
    rows: _Rows = None,
) -> None:
    """Reproduce the paper's tables and figures, and write a report.

    Ctrl-C, or anything worse, loses nothing that was finished: the same command goes on from there.

    **Examples**

    `elman reproduce` · everything, 30 runs

    `elman reproduce --quick` · everything, roughly, in two minutes

    `elman reproduce table2 --jobs 1 --out addition` · one table, on one core
    """
    _need_matplotlib()
    items = ITEMS if what is What.all else (what.value,)
    typed = (
        f"elman reproduce {what.value} --quick" if quick else f"elman reproduce {what.value} --runs {runs}"
    )
    if page is not None and not page.is_absolute():  # a report names no folder of the machine it was made on
        typed += f" --page {page}"
    order = Order(items, out, QUICK_RUNS if quick else runs, jobs, quick, rows, typed)
    for reason in available_sets()[1]:
        console.print(f"[yellow]left out:[/] {reason}", highlight=False)
    with _resumable(), _Bar() as bar:
        report = reproduce(order, bar)
    if page is not None:
        write_page(report, out, page)
    _summary(out)


def _need_matplotlib() -> None:
    """Say at once what is not installed, not after the first hour of work."""
    if find_spec("matplotlib") is None:
        console.print(
            "[red]elman: the figures need matplotlib: pip install 'elman\\[plot]'[/]", highlight=False
        )
        raise typer.Exit(1)


def _summary(out: Path) -> None:
    table = Table("claim", "set", "holds", "here", title="what holds", title_justify="left")
    for row in json.loads((out / "checks.json").read_text(encoding="utf-8")):
        table.add_row(
            row["claim"], row["dataset"], "[green]yes[/]" if row["holds"] else "[red]no[/]", row["evidence"]
        )
    if table.row_count:
        console.print(table)
    console.print(f"report: {out / 'report.html'}", highlight=False, soft_wrap=True)


def tune_command(
    model: Annotated[str | None, typer.Argument(help="Only this system, such as LSTM-Adam.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Only this set, such as kinematics or addition2.")
    ] = None,
    jobs: _Jobs = _CORES,
    out: _Out = Path("reproduction"),
    rows: _Rows = None,
) -> None:
    """Choose learning rates by the paper's protocol: a grid, ten seeded runs each, the mean error decides.

    **Examples**

    `elman tune` · every system on every set

    `elman tune LSTM-Adam --dataset kinematics` · one of them
    """
    names = [*available_sets()[0], *(name for name in tuning.ALL_TUNED if name.startswith("addition"))]
    _known("system", model, MODELS)
    _known("set", dataset, names)
    points = list(tuning.points([dataset] if dataset else names, None if model is None else [model]))
    out.mkdir(parents=True, exist_ok=True)
    runs = [run for point in points for run in tuning.runs_of(point, rows)]
    with _resumable(), _Bar() as bar:
        journal = Journal(out / "journal.jsonl")
        bar.expect(sum(cost(run) for run in runs if run not in journal))
        bar.stage("tuning")
        complete(runs, journal, jobs=jobs, report=bar.runs)
    scores = tuning.scored(points, journal, rows)
    tuning.write(scores, out)
    console.print(_tuned_table(scores))


def _known(what: str, name: str | None, names: list[str] | tuple[str, ...]) -> None:
    if name is not None and name not in names:
        console.print(
            f"[red]elman: no {what} is called {name!r}; there are {', '.join(names)}[/]", highlight=False
        )
        raise typer.Exit(1)


def _tuned_table(scores: list[tuning.Row]) -> Table:
    table = Table("set", "system", "hidden", "rate", "readout rate", "mean error or steps", "paper's rate")
    for row in find(scores, chosen=True):
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


@contextmanager
def _resumable() -> Iterator[None]:
    """Turn an interruption into a line that says how to go on, and a bad journal into one that says why."""
    try:
        yield
    except KeyboardInterrupt:
        console.print("interrupted; the same command goes on from here")
        raise typer.Exit(130) from None
    except ValueError as error:
        console.print(f"[red]elman: {error}[/]", highlight=False)
        raise typer.Exit(1) from None


class _Bar:
    """A progress bar in seconds of work, with what is being done."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description:8}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(table_column=Column(min_width=7)),
            TextColumn("left"),
            TextColumn("[dim]{task.fields[last]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console,
            speed_estimate_period=60,
        )
        self._task = self._progress.add_task("starting", total=0, last="")
        self._total = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def expect(self, seconds: float) -> None:
        self._total += seconds
        self._progress.update(self._task, total=self._total)

    def stage(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def finished(self, seconds: float, last: str) -> None:
        self._progress.update(self._task, advance=seconds, last=last)

    def runs(self, done: list[Run]) -> None:
        self.finished(sum(map(cost, done)), str(done[-1]))
