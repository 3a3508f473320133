"""`elman run --key`: a model for every key of a file or a pipe."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import typer
from rich import box
from rich.table import Table

from elman import runs
from elman.cli import sources
from elman.cli.console import err, headline, out, plain, tell
from elman.cli.files import same_file
from elman.cli.report import shown
from elman.cli.signals import StopSignals
from elman.fleets import Fleet, FleetRun
from elman.models import catalogue
from elman.runs import Stopped
from elman.tables import Bad, Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from elman.cli.rejects import Rejects
    from elman.cli.sources import Source
    from elman.fleets import Answered
    from elman.tables import ReadingOptions

_CHUNK = 4096
_NEVER = 1 << 62  # the run says when to save, so that its place and the models are of one moment
_SECONDS_BETWEEN_SAVES = 5.0
_SHOWN_KEYS = 5
_ANSWERS = ("prediction", "low", "high")


@dataclass(frozen=True)
class FleetOptions:
    """What the user said of the models."""

    key: str
    model: str
    lags: int | None
    size: str | None
    seed: int
    threads: int
    options: dict[str, Any]
    rows: int | None
    every: int | None

    def setup(self) -> dict[str, Any]:
        """Return what a model is made from, by name."""
        options = dict(self.options)
        if self.model.lower() == catalogue.DEFAULT.lower():
            options["size"] = self.size or "small"
        elif self.size is not None:
            raise typer.BadParameter(f"--size is that of a {catalogue.DEFAULT}, not of {self.model}")
        lags = sources.DEFAULT_LAGS if self.lags is None else self.lags
        return {"model": self.model, "lags": lags, "seed": self.seed, "key": self.key} | options


@dataclass(frozen=True)
class FleetPlaces:
    """Where the fleet and its predictions are kept."""

    save: Path | None
    resume: Path | None
    predictions: Path | None
    live: bool

    def goes_on(self) -> bool:
        """Whether there is a fleet to go on with; an error if there is one and it was not asked for."""
        same = self.save is not None and self.resume is not None and same_file(self.save, self.resume)
        if self.save is not None and self.save.exists() and not same:
            raise typer.BadParameter(
                f"--save {self.save}: there is a fleet already; --resume goes on with it"
            )
        return self.resume is not None and (self.resume.exists() or not same)


def name_of(model: str | None) -> str:
    """Return the name of the model that was asked for."""
    return model or catalogue.DEFAULT


def refuse_without_a_fleet(*, file: str | None, plot: Path | None, surprise: bool, late: bool) -> None:
    """Refuse what does not go with a key."""
    if file is None:
        raise typer.BadParameter("--key belongs to a FILE, and none was given")
    for option, given in (("--plot", plot is not None), ("--surprise", surprise), ("--id or --delay", late)):
        if given:
            raise typer.BadParameter(f"{option} is of one model, and --key makes many")


def run_fleet(  # noqa: PLR0917 - what a command says
    file: str,
    target: str | None,
    ignore: list[str],
    reading: ReadingOptions,
    wanted: FleetOptions,
    places: FleetPlaces,
    rejects: Callable[..., Rejects],
    *,
    as_object: bool,
) -> None:
    """Learn a file or a pipe, a model for each key, and say how well it went."""
    say = err if as_object or file == "-" else out
    resumed = places.goes_on()
    with ExitStack() as stack:
        fleet = stack.enter_context(_opened(wanted, places, resumed=resumed))
        former = FleetRun.noted(fleet) if resumed else None
        if former is not None and former.setup["key"] != wanted.key:
            raise ValueError(
                f"the fleet has a model for each {former.setup['key']}, not for each {wanted.key}"
            )
        source = sources.open_source(file, target, ignore, reading, stack, former, key=wanted.key)
        about = source.names, source.target, source.columns(), source.kinds
        run = former or FleetRun(fleet, wanted.setup(), *about)
        if run.names != tuple(source.names) or run.targets != (source.target,):
            raise ValueError(f"the fleet learns {', '.join(run.names)} → {run.targets[0]}, not this stream")
        headline(
            say, source.name, f"{len(source.names)} inputs → {source.target}, a model for each {wanted.key}"
        )
        for note in source.notes:
            tell(say, f"  {note}", "dim")
        if resumed:
            tell(say, f"  goes on after row {run.rows:,}", "dim")
        label = source.name if source.table is None else source.table.label
        bad = stack.enter_context(rejects(label, learned=lambda: run.rows))
        sitting = _Sitting(run, wanted, bad, saves=places.save is not None or places.resume is not None)
        if places.predictions is not None:
            sitting.output = stack.enter_context(_Output(places.predictions, wanted.key, run))
        try:
            sitting.learn(source, piped=file == "-", silent=as_object, skip=resumed and not places.live)
        finally:
            _conclude(say, sitting, as_object=as_object)
        bad.conclude()


def _opened(wanted: FleetOptions, places: FleetPlaces, *, resumed: bool) -> Fleet:
    setup = wanted.setup()
    try:
        pattern = catalogue.make(setup.pop("model"), **{k: v for k, v in setup.items() if k != "key"})
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"--model {wanted.model}: {error}") from error
    place = places.resume if resumed else places.save or places.resume
    if place is None:
        return Fleet(pattern, threads=wanted.threads)
    return Fleet.open(place, None if resumed else pattern, threads=wanted.threads, every=_NEVER)


class _Sitting:
    """One sitting of a run: from where it is to the end, the limit, or until it is stopped."""

    def __init__(self, run: FleetRun, wanted: FleetOptions, bad: Rejects, *, saves: bool) -> None:
        self.run, self.output = run, None
        self.seconds, self.rows = 0.0, 0
        self._wanted, self._bad, self._saves = wanted, bad, saves
        self._saved_rows, self._saved_at = run.rows, time.monotonic()

    output: _Output | None

    def learn(self, source: Source, *, piped: bool, silent: bool, skip: bool) -> None:
        """Learn all rows; save before, now and then, and at the end."""
        self.save()  # what cannot be written is better said now than after an hour
        try:
            with StopSignals() as stop:
                if piped:
                    rows = stop.interruptible(source.lines())
                    self._converse(runs.skip_lines(rows, self.run.position) if skip else rows, silent=silent)
                    return
                blocks = stop.interruptible(runs.pieces(source.blocks(self._bad), _CHUNK))
                for block in runs.skip(blocks, self.run.position) if skip else blocks:
                    most = self._room()
                    self._learn(self._with_key(block if most is None else block[:most]))
                    if self._room() == 0:
                        return
        finally:
            self.save()

    def _room(self) -> int | None:
        return None if self._wanted.rows is None else max(0, self._wanted.rows - self.run.rows)

    def _with_key(self, block: Block) -> Block:
        """Return the rows that have a key, and tell of others."""
        keys = block.key or []
        kept = [i for i, key in enumerate(keys) if key]
        for _ in range(len(keys) - len(kept)):
            self._bad(Bad(None, f"column {self._wanted.key!r} says nothing", ""))
        if len(kept) == len(keys):
            return block
        time_, offset = (None if part is None else part[kept] for part in (block.time, block.offset))
        return Block(block.X[kept], block.y[kept], time_, offset, [keys[i] for i in kept])

    def _learn(self, block: Block) -> None:
        answered = self._timed(self.run.learn, block)
        for row in answered.refused:
            tell(err, f"key {row.key!r} was not learned: {row.reason}", "yellow")
        self._done(answered)

    def _converse(self, rows: Iterator[Block | Bad], *, silent: bool) -> None:
        if not silent:
            _write(",".join([self._wanted.key, *_ANSWERS]))
        for row in rows:
            if isinstance(row, Bad) or not (row.key or [""])[0]:
                self._bad(row if isinstance(row, Bad) else Bad(None, "there is no key", ""))
                if not silent:
                    _write(",,,")
                continue
            answered = self._timed(self.run.converse, row)
            if answered is not None:
                if not silent:
                    _write(_line([answered.keys[0], *(runs.cell(each[0]) for each in answered[1:4])]))
                self._done(answered)
            if self._room() == 0:
                return

    def _timed(self, do: Callable[..., Any], block: Block) -> Any:
        start, before = time.perf_counter(), self.run.rows
        result = do(block)
        self.seconds += time.perf_counter() - start
        self.rows += self.run.rows - before
        return result

    def _done(self, answered: Answered) -> None:
        if self.output is not None:
            self.output.append(answered)
        new = self.run.rows - self._saved_rows
        late = time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES
        if new >= self._wanted.every if self._wanted.every else late:
            self.save()

    def save(self) -> None:
        """Write the fleet and what belongs to it to the disk."""
        if self.output is not None:
            self.run.output_size = self.output.sync()
        if self._saves:
            self.run.save()
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()


class _Output:
    """A CSV file of predictions with keys; what came after the last save is cut off."""

    def __init__(self, path: Path, key: str, run: FleetRun) -> None:
        first = ["row", key, *_ANSWERS, "truth"]
        if path.exists() and path.stat().st_size and not run.output_size:
            raise typer.BadParameter(f"--predictions {path}: there is such a file already")
        self._file = path.open("r+b" if run.output_size else "wb")
        self._row = run.answered
        if run.output_size:
            self._file.truncate(run.output_size)
            self._file.seek(run.output_size)
        else:
            self._file.write((_line(first) + "\n").encode())

    def append(self, answered: Answered) -> None:
        """Write a line for each row."""
        lines = []
        for key, *numbers in zip(answered.keys, *answered[1:5], strict=True):
            self._row += 1
            lines.append(_line([str(self._row), key, *map(runs.cell, numbers)]))
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def sync(self) -> int:
        """Force all lines to the disk and return how many bytes they are."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def _write(line: str) -> None:
    try:
        typer.echo(line)  # which flushes
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise Stopped from error


def _conclude(say: Console, sitting: _Sitting, *, as_object: bool) -> None:
    run, total = sitting.run, sitting.run.total()
    speed = sitting.rows / sitting.seconds if sitting.seconds else None
    scored = {key: score for key, score in run.scores.items() if score.rows}
    ranked = sorted((each.mse / each.mse_of_mean, key) for key, each in scored.items() if each.mse_of_mean)
    if as_object:
        keys = {
            key: {"rows": score.rows, "mse": score.mse} for key, score in run.scores.items() if score.rows
        }
        values = {"setup": run.setup, "rows": run.rows, "rows_per_second": speed, "keys": keys}
        typer.echo(json.dumps(values | {"mse": total.mse if total.rows else None}))
        return
    if not total.rows:
        return
    table = Table("forecast", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("rows", "MSE", "last value", "mean so far", "of the mean's"):
        table.add_column(heading, justify="right")
    _row(table, f"all {len(run.scores):,} keys", total, "bold")
    few = len(ranked) <= 2 * _SHOWN_KEYS
    best = ranked[: (len(ranked) + 1) // 2 if few else _SHOWN_KEYS]
    worst = ranked[len(best) if few else -_SHOWN_KEYS :]
    for title, chosen, style in (("best", best, "green"), ("worst", worst, "yellow")):
        if not few:
            table.add_section()
            table.add_row(f"the {title} {_SHOWN_KEYS}", style="dim")
        for _, key in chosen:
            _row(table, key, run.scores[key], style)
    say.print(table)
    tell(say, f"{run.rows:,} rows" + ("" if speed is None else f", {speed:,.0f} rows/s"), "dim")


def _row(table: Table, name: str, score: Any, style: str) -> None:
    share = f"{score.mse / score.mse_of_mean:.1%}" if score.mse_of_mean else "-"
    numbers = (shown(each) for each in (score.mse, score.mse_of_last, score.mse_of_mean))
    table.add_row(plain(name), f"{score.rows:,}", *numbers, share, style=style)
