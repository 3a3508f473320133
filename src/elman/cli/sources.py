"""What `elman run` learns: a file, standard input, or one of the streams that need no file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from elman import streams
from elman.models import catalogue
from elman.streams import CsvStream

if TYPE_CHECKING:
    from collections.abc import Collection

    from elman.runs import Run
    from elman.streams import Stream

DEFAULT_LAGS = 6
_BUILT_IN_ROWS = 20_000


class BuiltIn(StrEnum):
    """The streams that need no file."""

    arm = "arm"
    addition = "addition"


@dataclass(frozen=True)
class Source:
    """A stream and what suits it where the user says nothing."""

    stream: Stream
    model: str = catalogue.DEFAULT
    lags: int = DEFAULT_LAGS
    rows: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Of the model called `model`; another model takes `loss` only."""

    def model_options(self, name: str) -> dict[str, Any]:
        """Return the options that suit the stream and that the model called `name` has."""
        return {
            option: value
            for option, value in self.options
            if option == "loss" or name.lower() == self.model.lower()
        }

    def notes(self) -> list[str]:
        """Say how the columns were understood, where that was not obvious."""
        if not isinstance(self.stream, CsvStream):
            return []
        dates, left_out = self.stream.dates, self.stream.left_out
        said = []
        if dates:
            said.append(f"{', '.join(dates)}: dates, as sine and cosine of hour, weekday and day of year")
        if left_out:
            said.append(f"{', '.join(left_out)}: left out")
        return said

    def columns(self) -> dict[str, Any]:
        """Return how the columns were understood, to understand them again in the same way."""
        if not isinstance(self.stream, CsvStream):
            return {}
        return {"dates": self.stream.dates, "left_out": self.stream.left_out}


def open_csv(file: str, target: str | None, ignore: Collection[str], former: Run | None = None) -> Source:
    """Return a file, or standard input for ``"-"``, as a source, understood as in a former run."""
    known = {"left_out": ignore} if former is None else former.columns
    stream = streams.read_csv(
        file,
        former.targets[0] if target is None and former is not None else target,
        ignore=known.get("left_out", ()),
        ignore_text=former is None,
        dates=known.get("dates", ()),
    )
    return Source(stream)


def built_in(name: BuiltIn, rows: int | None, seed: int) -> Source:
    """Return a stream that needs no file."""
    rows = rows or _BUILT_IN_ROWS
    if name is BuiltIn.arm:
        arm = streams.kinematics(seed=seed, drift=streams.Drift(at=rows // 2, amount=0.3))
        return Source(arm, lags=0, rows=rows)
    # Once it is learned the weights grow on: projection would undo it.
    options = {"rate": 0.1, "projection_threshold": 100, "n_hidden": 15, "loss": "logistic"}
    addition = streams.binary_addition(2, seed=seed)
    return Source(addition, "SRNN-WOGD", lags=0, rows=rows, options=tuple(options.items()))


def refuse_file_options(**given: Any) -> None:
    """Refuse options that only a file has."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"--{option} belongs to a FILE, and none was given")
