"""What is in the file of a fleet, read without making a model; also while a process works with it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman import state
from elman.fleets import _file

if TYPE_CHECKING:
    from elman.fleets._file import Entry


@dataclass(frozen=True)
class Contents:
    """The file of a fleet as it was last saved."""

    pattern: dict[str, Any]
    """The header of the pattern's bytes: its kind and its configuration."""
    entries: list[Entry]
    """Of each key the rows learned and the mean squared error in units of the target's variance, or None."""
    state_bytes: int
    """Of all models together."""


def is_fleet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a database, as that of a fleet is, and not the bytes of a model."""
    return _file.is_database(Path(path))


def contents(path: str | os.PathLike[str]) -> Contents:
    """Return what is in the file of a fleet; a ValueError if it is damaged or something else."""
    named = os.fspath(path)
    with _file.named_errors(named):
        with Path(path).open("rb"):
            pass  # which says what is wrong better than SQLite does
        with closing(_connected(Path(path))) as database:
            _file.check(database)
            database.execute("BEGIN")  # one moment for all that is read
            pattern = _file.noted(database, "pattern") or b""
            (size,) = database.execute("SELECT total(length(state)) FROM states").fetchone()
            return Contents(state.parse(pattern)[0], _file.entries(database), int(size))


def _connected(path: Path) -> sqlite3.Connection:
    database = _file.connect(path, read_only=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        database.close()  # a folder in which SQLite may make no file: nobody else is writing there either
        return _file.connect(path, read_only=True, immutable=True)
    return database
