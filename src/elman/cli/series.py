"""A table as a series: its values, its stamps, its covariates, and what is known of the rows ahead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import tables
from elman.cli.rejects import Rejects
from elman.models.coded import Coded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.arrays import Float64
    from elman.cli.sources import Source
    from elman.models.coded import Kind
    from elman.tables import Block, Column, ReadingOptions, Report

MOST_MEASURED = 16
"""Columns that are not known ahead are covariates unless there are more of them: each makes a row dearer."""

_DAY, _CLOCKS_BEGIN = 86400.0, -2208988800.0  # 1900-01-01: a time of day without a date is read as of then


@dataclass(frozen=True)
class Covariates:
    """Columns besides the target and the time, by what they are called and hold."""

    names: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    places: tuple[int, ...] = ()
    """Where they are among the inputs of the table."""

    @classmethod
    def of(cls, inputs: tuple[Column, ...], time: str | None) -> Covariates:
        """Return all inputs but the time."""
        chosen = [(i, each) for i, each in enumerate(inputs) if each.name != time]
        kinds: list[Kind] = ["category" if each.kind == "text" else each.kind for _, each in chosen]
        return cls(tuple(each.name for _, each in chosen), tuple(kinds), tuple(i for i, _ in chosen))

    def only(self, names: set[str]) -> Covariates:
        """Return those of them that have these names."""
        kept = [i for i, name in enumerate(self.names) if name in names]
        return Covariates(
            tuple(self.names[i] for i in kept),
            tuple(self.kinds[i] for i in kept),
            tuple(self.places[i] for i in kept),
        )

    def rows(self, X: Float64) -> Coded | None:
        """Return them of rows of the table, None if there are none."""
        return Coded(X[:, self.places], self.kinds, self.names) if self.names else None

    def row(self, x: Float64) -> Coded | None:
        """Return them of one row."""
        return Coded(x[list(self.places)], self.kinds, self.names) if self.names else None


@dataclass(frozen=True)
class Ahead:
    """What is known of rows that have not come: covariates, and stamps in seconds, NaN where missing."""

    covariates: Covariates
    X: Float64
    times: Float64 | None

    def after(self, time: float | None, most: int) -> tuple[Coded | None, Any]:
        """Return covariates and stamps of the next rows, those after a time if both have one."""
        first = 0
        if time is not None and self.times is not None:
            first = int(np.searchsorted(self.times, time, side="right"))
        rows = slice(first, first + most)
        if not len(self.X[rows]):
            return None, None
        return self.covariates.rows(self.X[rows]), None if self.times is None else dates(self.times[rows])


@dataclass(frozen=True)
class Series:
    """A file: what was, which covariates go with it, and what is known of the next rows."""

    y: Float64
    X: Float64
    times: Float64 | None
    covariates: Covariates
    ahead: Ahead | None
    notes: tuple[str, ...] = ()

    @property
    def known_ahead(self) -> list[str]:
        """Names of the covariates that the next rows have."""
        return [] if self.ahead is None else list(self.ahead.covariates.names)


def dates(stamps: Float64) -> Any:
    """Return seconds as datetime64, to the second or finer; NaT for NaN."""
    known = np.where(np.isnan(stamps), 0, stamps)
    unit, units = ("s", 1.0) if (known == np.round(known)).all() else ("us", 1e6)
    found = np.round(known * units).astype(np.int64).astype(f"datetime64[{unit}]")
    found[np.isnan(stamps)] = np.datetime64("NaT")
    return found


def read_series(source: Source, limit: int | None, future: str | None, reading: ReadingOptions) -> Series:
    """Read a file whole. Rows at its end without a target are the next rows, as those of `future` are."""
    y, X, times = _arrays(source.name, source.blocks, limit)
    if np.isnan(y).all():
        raise ValueError(f"{source.name}: column {source.target!r} has no value at all")
    times, notes = _usable(times, source)
    last = int(np.flatnonzero(~np.isnan(y))[-1]) + 1
    covariates = Covariates.of(source.inputs, source.time)
    ahead: Ahead | None = None
    if future is not None:
        ahead = read_future(future, covariates, reading)
    elif last < len(y):
        held = {
            name
            for name, place in zip(covariates.names, covariates.places, strict=True)
            if not np.isnan(X[last:, place]).all()
        }
        ahead = Ahead(covariates.only(held), X[last:], None if times is None else times[last:])
    known = set() if ahead is None else set(ahead.covariates.names)
    measured = [name for name in covariates.names if name not in known]
    if len(measured) > MOST_MEASURED:
        covariates = covariates.only(known)
        notes += (
            f"{len(measured)} columns that are not known ahead are not used: more than {MOST_MEASURED}",
        )
    return Series(y[:last], X[:last], None if times is None else times[:last], covariates, ahead, notes)


def read_future(future: str, covariates: Covariates, reading: ReadingOptions) -> Ahead:
    """Read the covariates of rows ahead, which are called and hold what those of the series do."""
    texts = tuple(
        name for name, kind in zip(covariates.names, covariates.kinds, strict=True) if kind == "category"
    )
    options = replace(reading, text=(), were_text=(*reading.were_text, *reading.text, *texts))
    with tables.open_table(future, options=options, only_inputs=True) as table:
        _, X, times = _arrays(table.label, table.blocks, None)
        time = None if table.time is None else table.time.name
        there = Covariates.of(tuple(table.inputs), time)
    found = there.only(set(covariates.names))
    if not found.names:
        raise ValueError(
            f"{future} has none of the covariates {', '.join(covariates.names) or '(there are none)'}; "
            f"it has {', '.join(there.names) or 'no columns but the time'}"
        )
    return Ahead(found, X, times)


def _arrays(name: str, blocks_of: Any, limit: int | None) -> tuple[Float64, Float64, Float64 | None]:
    """Return all targets, inputs and stamps of a table."""
    blocks, count = list[tables.Block](), 0
    with Rejects(name, learned=lambda: count) as bad:
        for block in _taken(blocks_of, bad, limit):
            blocks.append(block)
            count += len(block)
        bad.conclude()
    if not count:
        raise ValueError(f"{name} has no rows")
    times = None if blocks[0].time is None else np.concatenate([b.time for b in blocks if b.time is not None])
    return np.concatenate([b.y[:, 0] for b in blocks]), np.concatenate([b.X for b in blocks]), times


def _taken(blocks_of: Any, report: Report, limit: int | None) -> Iterator[Block]:
    """Yield blocks until there are as many rows as are asked for."""
    count = 0
    for block in blocks_of(report):
        yield block if limit is None else block[: limit - count]
        count += len(block)
        if limit is not None and count >= limit:
            return


def _usable(times: Float64 | None, source: Source) -> tuple[Float64 | None, tuple[str, ...]]:
    """Return stamps that say when rows were, and why they are not used if they do not say it."""
    if times is None:
        return None, ()
    known = times[~np.isnan(times)]
    if not len(known):
        return None, ()
    if known.min() >= _CLOCKS_BEGIN and known.max() < _CLOCKS_BEGIN + _DAY:
        return None, (f"{source.time}: a time of day without a date does not say when a row was",)
    return times, ()
