"""The command line. It parses and prints; everything else is in the library."""

from __future__ import annotations

import time
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

import elman
from elman import SRNN, WOGD, OnlineRNN, streams
from elman.evaluate import Prequential
from elman.paper.command import reproduce_command, tune_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.streams import Stream

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")
data = typer.Typer(no_args_is_help=True, help="Data sets that `elman.streams.load` reads.")
app.add_typer(data, name="data")
app.command("reproduce")(reproduce_command)
app.command("tune")(tune_command)
console = Console()

_CHUNK = 1000  # rows between two looks at the progress line


class BuiltIn(StrEnum):
    """The streams that need no file."""

    arm = "arm"
    addition = "addition"


def _version(value: bool) -> None:
    if value:
        typer.echo(f"elman {elman.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Predict, see the truth, learn, for ever: online regression with recurrent networks."""


@app.command()
def run(  # noqa: PLR0917 - typer makes an option of each
    stream: Annotated[
        BuiltIn, typer.Option(help="A robot arm whose target moves half-way, or the addition of bits.")
    ] = BuiltIn.arm,
    rows: Annotated[int, typer.Option(min=1, help="How many rows to learn.")] = 100_000,
    hidden: Annotated[int, typer.Option(min=1, help="Hidden units.")] = 15,
    window: Annotated[int, typer.Option(min=1, help="Samples whose mean loss is descended.")] = 200,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate; 0 takes one that suits the stream.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the stream and of the initial weights.")] = 0,
) -> None:
    """Learn a built-in stream and say how well it went.

    Every row is predicted before it is learned, so the error is that of a forecast.

    **Examples**

    `elman run` · a drifting robot arm

    `elman run --stream addition --rows 20000` · add two binary numbers, the carry is the memory

    `elman run --window 50 --hidden 8` · a smaller and faster model
    """
    source, options, loss = _BUILT_IN[stream](rows, seed)
    training = WOGD(window, **options | ({"rate": rate} if rate else {}))
    model = OnlineRNN(SRNN(hidden), training, loss=loss, seed=seed)
    console.print(f"[bold]{source.name}[/], {source.n_inputs} inputs, {source.source}: {_described(model)}")
    score, seconds = _learn(model, source, rows)
    console.print(_summary(model, score, seconds))


def _arm(rows: int, seed: int) -> tuple[Stream, dict[str, Any], str]:
    """Return a robot arm whose target moves away half-way, and the paper's rate for this arm."""
    drift = streams.Drift(at=rows // 2, amount=0.3)
    return streams.kinematics(seed=seed, drift=drift), {"rate": 0.075}, "squared"


def _addition(rows: int, seed: int) -> tuple[Stream, dict[str, Any], str]:  # noqa: ARG001 - as _arm
    """Return two binary numbers to add. Once it is learned the weights grow on: projection would undo it."""
    return streams.binary_addition(2, seed=seed), {"rate": 0.1, "projection_threshold": 100}, "logistic"


_BUILT_IN = {BuiltIn.arm: _arm, BuiltIn.addition: _addition}


def _described(model: OnlineRNN) -> str:
    cell, training = type(model.cell).__name__, type(model.training).__name__
    return f"{cell}-{training}, {model.cell.n_hidden} hidden units, window {model.training.window}"


def _learn(model: OnlineRNN, source: Stream, rows: int) -> tuple[Prequential, float]:
    """Run the model over the rows with a live progress line; return its score and the seconds it took."""
    score, seconds = Prequential(), 0.0
    with _progress("[progress.description]{task.description}", MofNCompleteColumn()) as progress:
        task = progress.add_task("learning", total=rows)
        for X, y in _chunks(source, rows):
            start = time.perf_counter()
            predictions = model.run(X, y)
            seconds += time.perf_counter() - start
            score.update(y, predictions)
            progress.update(
                task,
                advance=len(y),
                description=f"{score.rows / seconds:,.0f} rows/s · MSE {score.mse:.4f}",
            )
    return score, seconds


def _progress(*columns: str | TextColumn | MofNCompleteColumn | DownloadColumn) -> Progress:
    return Progress(*columns, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console)


def _chunks(source: Stream, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    samples = islice(source, rows)
    while chunk := list(islice(samples, _CHUNK)):
        yield np.array([x for x, _ in chunk]), np.array([y for _, y in chunk])


def _summary(model: OnlineRNN, score: Prequential, seconds: float) -> Table:
    table = Table(show_header=False, title="learned", title_style="bold", title_justify="left")
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_row("rows", f"{score.rows:,}")
    table.add_row("rows per second", f"{score.rows / seconds:,.0f}")
    table.add_row("mean squared error", f"[bold]{score.mse:.4f}[/]")
    table.add_row("  of always predicting the mean", f"{score.mse_of_mean:.4f}")
    table.add_row("local regret", f"{model.local_regret:,.4g}")
    table.add_row("  per step", f"{model.local_regret / max(model.steps, 1):.2e}")
    return table


@data.command("list")
def list_data() -> None:
    """List the data sets and say where each one is.

    **Example**

    `elman data list`
    """
    table = Table("name", "what", "where")
    for dataset in streams.DATASETS.values():
        table.add_row(dataset.name, dataset.about, _place(dataset))
    console.print(table)


def _place(dataset: streams.Dataset) -> str:
    try:
        streams.load(dataset.name)
    except FileNotFoundError:
        return "[dim]not here[/]" if dataset.openml_id is None else f"elman data fetch {dataset.name}"
    return "[green]here[/]"


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="One of `elman data list`.")],
    base_url: Annotated[str | None, typer.Option(help="Address of another server than OpenML's.")] = None,
) -> None:
    """Download a data set from OpenML into the user's cache, checked against its checksum.

    **Example**

    `elman data fetch kin8nm`
    """
    with _progress("{task.description}", DownloadColumn()) as progress:
        task = progress.add_task(name, total=None)

        def report(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        try:
            options = {} if base_url is None else {"base_url": base_url}
            path = streams.fetch(name, progress=report, **options)
        except (OSError, ValueError) as error:
            progress.stop()
            console.print(f"[red]elman: {error}[/]", highlight=False)
            raise typer.Exit(1) from None
    console.print(f"{path}", highlight=False, soft_wrap=True)
