"""`elman compare`: several models on the same file."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from elman import runs
from elman.cli import options, sources
from elman.cli.console import err, headline, out, printable, tell
from elman.cli.files import refuse_overwriting
from elman.cli.progress import learning
from elman.cli.rejects import Rejects
from elman.cli.report import as_json, errors_table
from elman.models import catalogue
from elman.tables import AS_FOUND, ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.cli.sources import Source
    from elman.runs import Session
    from elman.tables import Block

_DEFAULT_MODELS = f"{catalogue.DEFAULT},linear,SRNN-EKF,SRNN-WOGD,LSTM-Adam"


@options.reads_tables
def compare(  # noqa: PLR0917 - typer makes an option of each
    file: options.File,
    models: Annotated[str, typer.Option(metavar="A,B,…", help="Names, as in elman run.")] = _DEFAULT_MODELS,
    target: options.Target = None,
    lags: Annotated[int, typer.Option(min=0, metavar="N", help=options.LAGS)] = sources.DEFAULT_LAGS,
    ignore: options.Ignore = None,
    reading: ReadingOptions = AS_FOUND,
    rows: options.Rows = None,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw the learning curves.")] = None,
    as_object: options.Json = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the initial weights.")] = 0,
) -> None:
    """Let several models learn the same file and show them side by side.

    Every row is predicted before it is learned. All models get the same inputs, in the same order.

    **Examples**

    `elman compare load.csv --target load`

    `elman compare load.csv.gz --models SRNN-EKF,SRNN-WOGD,LSTM-Adam --lags 24 --plot curves.png`
    """
    if plot is not None:
        options.check_plot(plot)
    refuse_overwriting({"--plot": plot}, {"the input": file})
    say = err if as_object else out
    with ExitStack() as stack:
        source = sources.open_source(file, target, ignore or [], reading, stack)
        headline(say, source.name, source.target)
        for note in source.notes:
            tell(say, f"  {note}", "dim")
        begun = [_begun(source, name.strip(), lags, seed) for name in models.split(",")]
        bad = Rejects(file)
        blocks = _taken(source.blocks(bad), rows)
    for session in begun:
        session.limit = sum(map(len, blocks))
        with learning(session, label=escape(printable(f"{session.run.setup['model']} · "))):
            session.learn(runs.pieces(blocks))
    _show(begun, source.name, plot, as_object=as_object)


def _taken(blocks: Iterator[Block], rows: int | None) -> list[Block]:
    """Return the first blocks, as many rows as are asked for."""
    taken, count = [], 0
    for block in blocks:
        taken.append(block if rows is None else block[: rows - count])
        count += len(taken[-1])
        if count == rows:
            break
    return taken


def _begun(source: Source, name: str, lags: int, seed: int) -> Session:
    try:
        run = runs.begin(
            name,
            source.names,
            [source.target],
            lags=lags,
            seed=seed,
            options={},
            kinds=source.kinds,
        )
    except ValueError as error:
        raise typer.BadParameter(f"--models: {error}") from error
    return runs.Session(run)


def _show(sessions: list[Session], name: str, plot: Path | None, *, as_object: bool) -> None:
    if as_object:
        results: dict[str, Any] = {str(each.run.setup["model"]): as_json(each) for each in sessions}
        typer.echo(json.dumps(results))
    else:
        out.print(errors_table(sessions))
    if plot is not None:
        from elman import plots  # noqa: PLC0415 - matplotlib is an extra

        plots.save(plots.of_comparison([each.run for each in sessions], name), plot)
        tell(err if as_object else out, f"drawn: {plot}")
