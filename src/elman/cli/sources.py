"""What `elman run` learns: a file, a query, a pipe, a data set, or a stream that needs no file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from elman import runs, streams, tables
from elman.models import catalogue
from elman.streams.datasets import dataset_file
from elman.tables import Column, PipeTable, ReadingOptions, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import ExitStack

    from elman.models.coded import Kind
    from elman.streams import Stream
    from elman.tables import Bad, Block, Report

DEFAULT_LAGS = 6
_BUILT_IN_ROWS = 20_000


class Former(Protocol):
    """A run that goes on."""

    targets: tuple[str, ...]
    columns: dict[str, Any]


class BuiltIn(StrEnum):
    """The streams that need no file."""

    arm = "arm"
    addition = "addition"


@dataclass(frozen=True)
class Source:
    """A table or a stream, and what suits it where the user says nothing."""

    table: Table | PipeTable | None = None
    stream: Stream | None = None
    model: str = catalogue.DEFAULT
    lags: int = DEFAULT_LAGS
    rows: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Of the model called `model`; another model takes `loss` only."""
    notes: list[str] = field(default_factory=list)
    """How the columns were understood, where that was not obvious."""

    @property
    def name(self) -> str:
        """What it is called in headings."""
        return (self.table or self._stream).name

    @property
    def _stream(self) -> Stream:
        assert self.stream is not None
        return self.stream

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that are learned from."""
        if self.table is not None:
            return tuple(self.table.inputs)
        return tuple(Column(name, "number", ".", (i,)) for i, name in enumerate(self._stream.names))

    @property
    def target(self) -> str:
        """The name of the column that is predicted."""
        return self._stream.target if self.table is None else self.table.target.name

    @property
    def time(self) -> str | None:
        """The name of the column that says when a row was, if there is one."""
        return None if self.table is None or self.table.time is None else self.table.time.name

    @property
    def reading_notes(self) -> list[str]:
        """How the columns were read, whatever is made of them."""
        return [] if self.table is None else [*self.table.notes, *_left_out(self.table)]

    def blocks(self, report: Report) -> Iterator[Block]:
        """Yield the rows in blocks; `report` hears of lines that are passed over."""
        if self.table is not None:
            return self.table.blocks(report)
        return runs.as_blocks(self._stream)

    def lines(self) -> Iterator[Block | Bad]:
        """Yield the rows of a pipe as soon as they are there, and what is wrong with others."""
        assert isinstance(self.table, PipeTable)
        return self.table.rows()

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [each.name for each in self.inputs]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What the inputs hold, as models call it."""
        return tuple("category" if each.kind == "text" else each.kind for each in self.inputs)

    def columns(self) -> dict[str, Any]:
        """Return how the columns were understood, to understand them again in the same way."""
        if self.table is None:
            return {}
        described = self.table.described()
        if self.table.key is not None:
            described["left_out"] = described["left_out"] | {self.table.key.name: "ignored"}
        return described

    def model_options(self, name: str) -> dict[str, Any]:
        """Return the options that suit the stream and that the model called `name` has."""
        return {
            option: value
            for option, value in self.options
            if option == "loss" or name.lower() == self.model.lower()
        }


def open_source(  # noqa: PLR0917 - what a command says of its input
    name: str,
    target: str | None,
    ignore: Collection[str],
    reading: ReadingOptions,
    stack: ExitStack,
    former: Former | None = None,
    key: str | None = None,
    id_column: str | None = None,
) -> Source:
    """Return a file, pattern, query or data set, or standard input for ``"-"``, read as in a former run."""
    known = None if former is None else _known(former)
    ignore = ignore if key is None else [*ignore, key]
    if target is None and former is not None:
        target = former.targets[0]
    if name == "-" or Path(name).is_fifo():
        pipe = tables.open_pipe(
            name, target, ignore=ignore, options=reading, known=known, id_column=id_column
        )
        _keyed(pipe, key)
        return Source(pipe, notes=_notes(pipe))
    if id_column is not None:
        raise typer.BadParameter("--id belongs to a pipe; in a file the target stands in its row")
    if not Path(name).exists() and name.lower() == "puma32fm":
        return Source(stream=streams.load(name), lags=0, rows=_BUILT_IN_ROWS)
    path = name if Path(name).exists() else dataset_file(name) or name
    table = stack.enter_context(
        tables.open_table(str(path), target, ignore=ignore, options=reading, known=known)
    )
    _keyed(table, key)
    return Source(table, notes=_notes(table))


def _keyed(table: Table | PipeTable, key: str | None) -> None:
    if key is not None:
        table.keyed_by(key)


def _known(former: Former) -> dict[str, Any] | None:
    if not former.columns:
        return None
    if "inputs" not in former.columns:
        raise ValueError(
            "the state was saved by an elman that read files in another way: it can be inspected, but "
            "not gone on with"
        )
    return former.columns


def _notes(table: Table | PipeTable) -> list[str]:
    said = list(table.notes)
    dates = [each.name for each in table.inputs if each.is_time]
    texts = [each.name for each in table.inputs if each.kind == "text"]
    if dates:
        said.append(f"{', '.join(dates)}: dates, as sine and cosine of hour, weekday and day of year")
    if texts:
        said.append(f"{', '.join(texts)}: names, each as the mean of its past targets")
    return said + _left_out(table)


def _left_out(table: Table | PipeTable) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, reason in table.left_out.items():
        reasons.setdefault(reason, []).append(name)
    return [
        f"{', '.join(names)}: left out" + ("" if reason == "ignored" else f", {reason}")
        for reason, names in reasons.items()
    ]


def built_in(name: BuiltIn, rows: int | None, seed: int) -> Source:
    """Return a stream that needs no file."""
    rows = rows or _BUILT_IN_ROWS
    if name is BuiltIn.arm:
        arm = streams.kinematics(seed=seed, drift=streams.Drift(at=rows // 2, amount=0.3))
        return Source(stream=arm, lags=0, rows=rows)
    # Once it is learned the weights grow on: projection would undo it.
    options = {"rate": 0.1, "projection_threshold": 100, "n_hidden": 15, "loss": "logistic"}
    addition = streams.binary_addition(2, seed=seed)
    return Source(stream=addition, model="SRNN-WOGD", lags=0, rows=rows, options=tuple(options.items()))


def refuse_file_options(**given: Any) -> None:
    """Refuse options that only a file has."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"--{option} belongs to a FILE, and none was given")
