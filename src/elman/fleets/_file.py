"""The file of a fleet: a SQLite database with the state of every model."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elman.runs import lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_APPLICATION = 0x656C6D6E  # "elmn", by which SQLite's file is known as ours
_FORMAT = 1
_MAGIC = b"SQLite format 3\x00"
_SCHEMA = """
CREATE TABLE notes(name TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE keys(id INTEGER PRIMARY KEY, key NOT NULL UNIQUE, rows INTEGER NOT NULL, error REAL);
CREATE TABLE states(id INTEGER PRIMARY KEY REFERENCES keys(id), state BLOB NOT NULL);
"""  # keys have no type, so that 1 and '1' stay two keys


class Entry(NamedTuple):
    """What is known of a key without its model: rows learned, and its mean error or None."""

    key: Any
    rows: int
    error: float | None


class FleetFile:
    """A database that belongs to one process as long as it is open; others may read it meanwhile.

    Everything that is written between two calls of `commit` is there after a crash, or none of it. So it is
    when something cannot be written, as on a full disk; then the file must be opened again.

    Parameters
    ----------
    path
        The file, which need not exist.
    pattern
        The bytes of the fleet's pattern, for a file that is new; None to go on with a file only.
    """

    def __init__(self, path: str | os.PathLike[str], pattern: bytes | None) -> None:
        self._named = os.fspath(path)
        self._path = Path(os.path.realpath(path))
        self._lock = self._path.with_name(f".{self._path.name}.lock")
        self._process = os.getpid()
        self._given_up: str | None = None
        with self._named_errors():
            self._descriptor = lock.acquire(self._lock)
        try:
            with self._named_errors():
                if pattern is None:
                    self._path.stat()  # which must be there
                self._database = connect(self._path)
                self._begin(pattern)
        except BaseException:
            lock.release(self._lock, self._descriptor)
            raise

    def _begin(self, pattern: bytes | None) -> None:
        do = self._database.execute
        new = is_new(self._database)
        if new and pattern is None:
            raise ValueError("it is empty: a new fleet needs a pattern")
        if not new:
            check(self._database)
        do("PRAGMA journal_mode = WAL")
        do("PRAGMA synchronous = FULL")
        if new:
            do("BEGIN IMMEDIATE")
            for statement in _SCHEMA.strip().rstrip(";").split(";\n"):
                do(statement)
            do(f"PRAGMA application_id = {_APPLICATION}")
            do(f"PRAGMA user_version = {_FORMAT}")
            self.note("pattern", pattern or b"")
            do("COMMIT")
        do("BEGIN IMMEDIATE")

    # What is in it

    def __len__(self) -> int:
        return int(self._do("SELECT count(*) FROM keys").fetchone()[0])

    def entries(self) -> list[Entry]:
        """Return all keys, in the order in which they were first written."""
        self._check_process()
        with self._named_errors():
            return entries(self._database)

    def state(self, key: Any) -> bytes | None:
        """Return the bytes of the model of a key."""
        query = "SELECT state FROM keys LEFT JOIN states USING (id) WHERE key = ?"
        found = self._do(query, (key,)).fetchone()
        return None if found is None else _blob(found[0])

    def __contains__(self, key: Any) -> bool:
        return self._do("SELECT 1 FROM keys WHERE key = ?", (key,)).fetchone() is not None

    def noted(self, name: str) -> bytes | None:
        """Return what was noted under a name."""
        self._check_process()
        with self._named_errors():
            return noted(self._database, name)

    # Writing

    def write(self, models: Iterable[tuple[Entry, bytes]]) -> None:
        """Write the states of models."""
        for entry, state in models:
            (number,) = self._do(
                "INSERT INTO keys(key, rows, error) VALUES (?, ?, ?) "
                "ON CONFLICT(key) DO UPDATE SET rows = excluded.rows, error = excluded.error RETURNING id",
                entry,
            ).fetchone()
            self._do("INSERT OR REPLACE INTO states VALUES (?, ?)", (number, state))

    def remove(self, key: Any) -> None:
        """Forget a key."""
        self._do("DELETE FROM states WHERE id = (SELECT id FROM keys WHERE key = ?)", (key,))
        self._do("DELETE FROM keys WHERE key = ?", (key,))

    def note(self, name: str, content: bytes) -> None:
        """Keep something besides the models."""
        self._do("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, content))

    def commit(self) -> None:
        """Make all that was written since the last time last."""
        self._do("COMMIT")
        self._do("BEGIN IMMEDIATE")

    def close(self, *, commit: bool) -> None:
        """Let go of the file, with what was written since the last `commit` or without."""
        if self._process != os.getpid():
            return
        try:
            if commit:
                self._do("COMMIT")
        finally:
            with suppress(sqlite3.Error):
                self._database.close()
            lock.release(self._lock, self._descriptor)

    def _do(self, statement: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        self._check_process()
        with self._named_errors():
            if self._given_up is not None:
                raise OSError(errno.EIO, self._given_up)
            try:
                return self._database.execute(statement, tuple(values))
            except sqlite3.Error as error:
                self._give_up(error)
                raise

    def _give_up(self, error: sqlite3.Error) -> None:
        """SQLite ends a transaction that cannot be written, with models in it that left memory since."""
        if self._database.in_transaction:
            return
        lost = "what was learned since the last save is not kept; open the fleet again"
        self._given_up = f"SQLite says: {error}; {lost}"
        raise OSError(errno.EIO, self._given_up) from error

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(f"{self._named} belongs to the process that opened it, not to its child")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        with named_errors(self._named):
            yield


@contextmanager
def named_errors(path: str) -> Iterator[None]:
    """Say of an error which file it is about."""
    try:
        yield
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, error.strerror, path) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorname", "")
        if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise ValueError(f"{path}: not a fleet, or damaged: {error}") from error
        raise OSError(errno.EIO, f"SQLite says: {error}", path) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def connect(path: Path, *, read_only: bool = False, immutable: bool = False) -> sqlite3.Connection:
    """Open a database; transactions are begun and ended by hand."""
    if not read_only:
        new = not path.exists() or path.stat().st_size == 0
        if not new and not is_database(path):  # a file of a few bytes SQLite would take for a new one
            raise ValueError("not a fleet, or damaged: file is not a database")
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        if new:
            database.execute("PRAGMA page_size = 8192")
        return database
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' * immutable}"
    return sqlite3.connect(address, uri=True, isolation_level=None)


def is_database(path: Path) -> bool:
    """Whether a file begins as one of SQLite does."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def is_new(database: sqlite3.Connection) -> bool:
    """Whether nothing was ever written."""
    return not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def check(database: sqlite3.Connection) -> None:
    """Raise ValueError unless a database is the file of a fleet that this version reads."""
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise ValueError("it is a database of something else, not a fleet")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version != _FORMAT:
        raise ValueError(f"the fleet has format {version}, this elman reads {_FORMAT}")
    made = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if made != set(_SCHEMA.strip().rstrip(";").split(";\n")):  # no trigger and no view of somebody else
        raise ValueError("damaged: its tables are not those of a fleet")


def entries(database: sqlite3.Connection) -> list[Entry]:
    """Return all keys, in the order in which they were first written."""
    found = [Entry(*row) for row in database.execute("SELECT key, rows, error FROM keys ORDER BY id")]
    for key, rows, error in found:
        learned = type(rows) is int and rows >= 0
        if not (
            type(key) in {str, int} and learned and (error is None or (type(error) is float and error >= 0))
        ):
            raise ValueError(f"damaged: its key {key!r} has learned {rows!r} rows with an error of {error!r}")
    return found


def noted(database: sqlite3.Connection, name: str) -> bytes | None:
    """Return what was noted under a name."""
    found = database.execute("SELECT content FROM notes WHERE name = ?", (name,)).fetchone()
    return None if found is None else _blob(found[0])


def _blob(value: Any) -> bytes:
    """Return what a column of bytes holds; SQLite lets a column hold anything."""
    if not isinstance(value, bytes):
        raise ValueError(f"damaged: it holds {type(value).__name__} where bytes should be")  # noqa: TRY004 - of a file
    return value
