"""`elman run`: learn a file, a pipe or a built-in stream."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from elman import runs
from elman.cli import options, sources
from elman.cli.console import err, headline, out, tell
from elman.cli.errors import about
from elman.cli.files import refuse_overwriting, same_file
from elman.cli.progress import learning
from elman.cli.report import as_json, errors_table, facts
from elman.cli.signals import StopSignals
from elman.cli.sources import BuiltIn, Source
from elman.models import catalogue
from elman.runs import Run, Stopped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from elman.runs import Answer, Session

_STATE: dict[str, Any] = {"rich_help_panel": "State"}
_MODEL: dict[str, Any] = {"rich_help_panel": "Model"}


def _model_names(incomplete: str) -> list[str]:
    return [name for name in catalogue.names() if name.lower().startswith(incomplete.lower())]


def run(  # noqa: PLR0917 - typer makes an option of each
    file: options.OptionalFile = None,
    target: options.Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{catalogue.DEFAULT}, or a cell and a training: SRNN-EKF, SRNN-WOGD, LSTM-Adam, …",
            autocompletion=_model_names,
            show_default=catalogue.DEFAULT,
        ),
    ] = None,
    lags: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help=options.LAGS, show_default=str(sources.DEFAULT_LAGS)),
    ] = None,
    ignore: options.Ignore = None,
    rows: options.Rows = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="OUT.csv", help="Write every prediction to this file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw truth, prediction and errors.")
    ] = None,
    as_object: options.Json = False,
    save: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Save to this file, whole at any moment.", **_STATE)
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Go on with this state, and save to it.", **_STATE)
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows between saves.", show_default="1000, or 5 seconds", **_STATE
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="With --resume: all rows are new, none comes again.", **_STATE)
    ] = False,
    hidden: Annotated[int | None, typer.Option(min=1, metavar="N", help="Hidden units.", **_MODEL)] = None,
    window: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Samples whose loss WOGD descends.", **_MODEL)
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="X", help="Learning rate.", **_MODEL)] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of the weights, and of a built-in stream.", **_MODEL)
    ] = 0,
    stream: Annotated[
        BuiltIn, typer.Option(help="Without FILE: an arm whose law changes half-way, or adding bits.")
    ] = BuiltIn.arm,
) -> None:
    """Learn a file, a pipe or a built-in stream, and say how well it went.

    Every row is predicted before it is learned, so the error is that of a forecast.

    **Examples**

    `elman run` · a robot arm whose law changes half-way

    `elman run load.csv.gz --target load --plot load.png` · a file of your own

    `elman run load.csv --predictions out.csv --save s` · stop it, then go on with `--resume s`

    `sensor | elman run - --target y --save s --resume s` · for ever; goes on with s if it is there

    **In a pipe** come a header, then rows. Each row is answered at once by a line `prediction,low,high`, made
    before its target is looked at; nine of ten targets are expected from low to high. A target that is not
    known yet is left empty. When it is, send it on a line of its own with all other cells empty:
    `10:00,3.2,` is answered; `,,41.7` is learned and gets no answer. If the next row comes first, the target
    counts as never known.

    **After a crash**, `kill -9` too, `--resume` goes on from the last save. Send the stream again from its
    beginning: rows that were learned are checked and passed over; predictions made after the save are cut
    off their file and made again, the same. A sender that cannot begin again goes on after the samples that
    `elman inspect` says were read, with `--live`; `--every 1` saves after each row. One process at a time can
    save to a state.
    """
    if plot is not None:
        options.check_plot(plot)
    refuse_overwriting(
        {"--predictions": predictions, "--plot": plot},
        {"the input": file, "--save": save, "--resume": resume},
    )
    say = err if as_object or file == "-" else out
    given = {"n_hidden": hidden, "window": window, "rate": rate}
    wanted = _Wanted(model, lags, seed, {name: value for name, value in given.items() if value is not None})
    with ExitStack() as stack:
        place = save or resume
        state = None if place is None else stack.enter_context(runs.StateFile(place))
        former = _former(save, resume)
        if file is None:
            sources.refuse_file_options(target=target, ignore=ignore)
            source = sources.built_in(stream, rows, seed)
        else:
            source = sources.open_csv(file, target, ignore or [], former)
        current = _begun(source, wanted) if former is None else _fitting(former, source, wanted)
        _introduce(say, source, current, resumed=former is not None)
        session = runs.Session(current, state, every=every, limit=rows or source.rows)
        if predictions is not None:
            mark = current.output_size, current.output_checksum
            output = runs.Output(predictions, current.targets, *mark, begun=current.rows > 0)
            session.output = stack.enter_context(output)
        elif current.output_size:
            tell(
                err,
                f"no --predictions: those of row {current.rows + 1:,} and after are not written",
                "yellow",
            )
        try:
            skip = former is not None and not live
            _learn(session, source, piped=file == "-", silent=as_object, skip=skip)
        except Stopped:
            _conclude(session, source, say, plot, as_object=as_object)
            raise
        _conclude(session, source, say, plot, as_object=as_object)


@dataclass(frozen=True)
class _Wanted:
    """What the user said of the model; None where nothing was said."""

    model: str | None
    lags: int | None
    seed: int
    options: dict[str, Any]


def _former(save: Path | None, resume: Path | None) -> Run | None:
    """Return the run to go on with, if any. The same file for both options goes on with it if it is there."""
    same = save is not None and resume is not None and same_file(save, resume)
    if save is not None and save.exists() and not same:
        raise typer.BadParameter(f"--save {save}: there is a state already; --resume goes on with it")
    if resume is not None and (resume.exists() or not same):
        with about(resume):
            return Run.from_bytes(resume.read_bytes())
    return None


def _fitting(former: Run, source: Source, wanted: _Wanted) -> Run:
    said = {"model": wanted.model, "lags": wanted.lags} | wanted.options
    expected = {name: value for name, value in said.items() if value is not None}
    runs.check_fits(former, source.stream.names, [source.stream.target], expected)
    return former


def _begun(source: Source, wanted: _Wanted) -> Run:
    name = wanted.model or source.model
    lags = source.lags if wanted.lags is None else wanted.lags
    chosen = source.model_options(name) | wanted.options
    stream = source.stream
    try:
        run = runs.begin(name, stream.names, [stream.target], lags=lags, seed=wanted.seed, options=chosen)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"--model {name}: {error}") from error
    run.columns = source.columns()
    return run


def _introduce(say: Console, source: Source, current: Run, *, resumed: bool) -> None:
    stream = source.stream
    given = " and ".join(
        f"{count} {what}{'s' if count > 1 else ''}"
        for count, what in ((stream.n_inputs, "input"), (current.setup["lags"], "lag"))
        if count
    )
    headline(say, stream.name, f"{given or 'no inputs'} → {stream.target}, by {current.setup['model']}")
    for note in source.notes():
        tell(say, f"  {note}", "dim")
    if resumed:
        tell(say, f"  goes on after row {current.rows:,}", "dim")


def _learn(session: Session, source: Source, *, piped: bool, silent: bool, skip: bool) -> None:
    def reply(answer: Answer) -> None:
        if not silent:
            _answer(map(runs.cell, np.stack(answer[1:], axis=-1).flat))

    with StopSignals() as stop, learning(session):
        samples = stop.interruptible(iter(source.stream))
        if skip:
            runs.skip(samples, session.run.position)
        if not piped:
            session.learn(samples)
            return
        if not silent:
            _answer(runs.column_names(session.run.targets, ("prediction", "low", "high")))
        session.converse(samples, reply)


def _answer(cells: Iterable[str]) -> None:
    try:
        typer.echo(",".join(cells))  # which flushes
    except BrokenPipeError as error:
        # What is in the buffer has nowhere to go: without this Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Stopped(signal.SIGPIPE) from error


def _conclude(session: Session, source: Source, say: Console, plot: Path | None, *, as_object: bool) -> None:
    """Say how it went, to the end or until it was stopped."""
    if as_object:
        typer.echo(json.dumps(as_json(session)))
    elif session.run.rows:
        say.print(errors_table([session]))
        for fact in facts(session.run):
            tell(say, fact, "dim")
    if plot is not None and session.run.score.rows:
        from elman import plots  # noqa: PLC0415 - matplotlib is an extra

        plots.save(plots.of_run(session.run, source.stream.name), plot)
        tell(say, f"drawn: {plot}")
