"""Lines that cannot be read: counted, named once, kept where that is asked for, an error if most are such."""

from __future__ import annotations

import csv
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from elman.cli.console import err, tell
from elman.tables import Bad, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TextIO

_FEWEST = 20


class OnError(StrEnum):
    """What to do with a line that cannot be read."""

    skip = "skip"
    stop = "stop"


class Rejects:
    """Hears of lines that cannot be read.

    Parameters
    ----------
    label
        What they are lines of.
    stops
        Whether the first one ends the run.
    path
        The file to keep them in, if any.
    learned
        Returns how many rows were read so far.
    """

    def __init__(
        self,
        label: str,
        *,
        stops: bool = False,
        path: Path | None = None,
        learned: Callable[[], int] = lambda: 0,
    ) -> None:
        self.count = 0
        self._label, self._stops, self._path, self._learned = label, stops, path, learned
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            self._file = self._path.open("w", encoding="utf-8", newline="")
            csv.writer(self._file, lineterminator="\n").writerow(["line", "reason", "text"])
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __call__(self, bad: Bad) -> None:
        """Hear of one; raise if lines are not to be passed over, or if most are such."""
        if self._stops:
            raise UnreadableError(f"{self._label}, {bad}")
        self.count += 1
        if self._file is not None:
            csv.writer(self._file, lineterminator="\n").writerow([bad.line or "", bad.reason, bad.text])
        if self.count == 1:
            tell(err, f"{self._label}, {bad}; passed over, as others like it will be", "yellow")
        if self.count >= _FEWEST and self.count > self._learned():
            raise UnreadableError(
                f"{self._label}: {self.count:,} lines could not be read and {self._learned():,} could: "
                f"it is not the table that it was taken for. The last: {bad}. --separator, --decimal, "
                "--date-format, --na and --ignore say how to read it"
            )

    def conclude(self) -> None:
        """Say how many there were, and refuse a table of which most lines were such."""
        if self.count > self._learned():
            raise UnreadableError(
                f"{self._label}: {self.count:,} of {self.count + self._learned():,} lines could not be read"
            )
        if self.count > 1:
            kept = "" if self._path is None else f"; they are in {self._path}"
            tell(err, f"{self.count:,} lines could not be read and were passed over{kept}", "yellow")
