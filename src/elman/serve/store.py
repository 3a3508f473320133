"""The file behind a service: SQLite in WAL mode, with streams, their log, their snapshots and their answers.

One thread writes (`writer`), others read through a connection of their own. Names of streams are values in a
table; none of them becomes a path.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from elman.runs import lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Sync: TypeAlias = Literal["full", "normal"]

_FORMAT = 2
_PLACES = 1 << 40  # of one stream in the log
_READ_AT_ONCE = 500  # bound variables of a statement, below every limit of SQLite
# The log of a stream lies together, in order: an entry touches one page or two, and no index has to be kept.
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    setup TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE log (
    place INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, how TEXT NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE snapshots (
    stream INTEGER PRIMARY KEY, model BLOB NOT NULL, record BLOB NOT NULL
);
CREATE TABLE answers (
    stream INTEGER NOT NULL, key TEXT NOT NULL, row INTEGER NOT NULL,
    digest BLOB NOT NULL, answer BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (stream, key)
) WITHOUT ROWID;
CREATE INDEX answers_by_row ON answers (stream, row);
"""


class DamagedError(ValueError):
    """The file holds something else than was written to it."""


class Logged(NamedTuple):
    """What was asked of a stream, as it came: enough to do it again."""

    time: float
    kind: str
    """What it was: rows, ask, tell."""
    how: str
    """How its body is read, as JSON."""
    body: bytes


class Answered(NamedTuple):
    """What was answered to something that may be sent again."""

    key: str
    row: int
    """The number of the stream's rows at that time, by which it is forgotten one day."""
    digest: bytes
    """Of what was asked."""
    answer: bytes


class Snapshot(NamedTuple):
    """A stream's model and what is known of how well it does, both as bytes."""

    model: bytes
    record: bytes


class Kept(NamedTuple):
    """A stream as the store has it."""

    id: int
    name: str
    setup: dict[str, Any]
    created: float


class Store:
    """The open file. While it is open no other process can open it as a store.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    sync
        ``"full"``: what was committed survives a loss of power. ``"normal"``: it survives the end of the
        process, however that comes; a loss of power may take the last commits, never the file's integrity.
    """

    def __init__(self, path: str | Path, sync: Sync = "full") -> None:
        self.path = Path(path)
        self._lock_path = self.path.with_name(self.path.name + ".lock")
        self._lock: int | None = lock.acquire(self._lock_path)
        self._connections: list[sqlite3.Connection] = []
        self._read_lock = threading.Lock()
        self._last_places: dict[int, int] = {}
        self.sync = sync
        try:
            self._writing, self._reading = self._connect(sync), self._connect(sync)
            self._make()
            self.streams()
        except (sqlite3.DatabaseError, DamagedError) as error:
            self.close()
            raise ValueError(f"{self.path}: not a store of elman, or damaged ({error})") from error
        except BaseException:
            self.close()
            raise

    def _connect(self, sync: Sync) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        self._connections.append(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {sync.upper()}")
        connection.execute("PRAGMA wal_autocheckpoint = 2000")  # pages, 8 MB: seldom enough to be no burden
        connection.execute("PRAGMA cache_size = -8000")  # kB: what is trimmed was written a moment ago
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def _make(self) -> None:
        tables = {name for (name,) in self._writing.execute("SELECT name FROM sqlite_master")}
        if not tables:
            with self.transaction():
                for statement in _SCHEMA.split(";")[:-1]:
                    self._writing.execute(statement)
                self._writing.execute("INSERT INTO about VALUES ('format', ?)", (_FORMAT,))
        elif "about" not in tables:
            raise ValueError(f"{self.path}: a database of something else, not a store of elman")
        found = self._writing.execute("SELECT value FROM about WHERE name = 'format'").fetchone()
        if found is None or found[0] != _FORMAT:
            raise ValueError(
                f"{self.path}: a store of format {found and found[0]}, this elman reads {_FORMAT}"
            )

    def close(self) -> None:
        """Write everything back into the one file and give it free."""
        if self._lock is None:
            return
        for connection in self._connections:
            connection.close()  # the last one checkpoints and removes the write-ahead log
        lock.release(self._lock_path, self._lock)
        self._lock = None

    # Reading, from any thread

    def streams(self) -> list[Kept]:
        """Return all streams, the oldest first."""
        rows = self._read("SELECT id, name, setup, created FROM streams ORDER BY id")
        try:
            return [Kept(id_, name, json.loads(setup), created) for id_, name, setup, created in rows]
        except ValueError as error:
            raise DamagedError(f"what a stream was made from cannot be read: {error}") from error

    def snapshot(self, stream: int) -> Snapshot | None:
        """Return the last snapshot of a stream, if there is one."""
        rows = self._read("SELECT model, record FROM snapshots WHERE stream = ?", stream)
        return Snapshot(*rows[0]) if rows else None

    def behind(self, stream: int) -> Iterator[Logged]:
        """Yield what was logged after the last snapshot, in order."""
        after = stream * _PLACES
        while True:
            rows = self._read(
                "SELECT place, time, kind, how, body, checksum FROM log"
                " WHERE place > ? AND place < ? ORDER BY place LIMIT 100",
                after,
                (stream + 1) * _PLACES,
            )
            for place, *values, checksum in rows:
                after, logged = place, Logged(*values)
                if _checksum(logged) != checksum:
                    raise DamagedError(
                        f"entry {place - stream * _PLACES} of the log of stream {stream} is damaged"
                    )
                yield logged
            if not rows:
                return

    def answered(self, stream: int, keys: list[str]) -> dict[str, Answered]:
        """Return what is known of these keys."""
        found = {}
        for i in range(0, len(keys), _READ_AT_ONCE):
            some = keys[i : i + _READ_AT_ONCE]
            places = ",".join("?" * len(some))
            query = "SELECT key, row, digest, answer, checksum FROM answers WHERE stream = ?"
            rows = self._read(f"{query} AND key IN ({places})", stream, *some)
            for *values, checksum in rows:
                answered = Answered(*values)
                if _checksum(answered) != checksum:
                    raise DamagedError(f"an answer of stream {stream} is damaged, that to {answered.key!r}")
                found[answered.key] = answered
        return found

    def _read(self, query: str, *values: Any) -> list[Any]:
        try:
            with self._read_lock:
                return self._reading.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise DamagedError(str(error)) from error

    # Writing, by one thread, within a transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written within, or nothing of it."""
        self._writing.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writing.execute("COMMIT")
        except BaseException:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
            raise

    def add_stream(self, name: str, setup: dict[str, Any], created: float) -> int:
        """Keep a new stream and return its number."""
        cursor = self._writing.execute(
            "INSERT INTO streams (name, setup, created) VALUES (?, ?, ?)", (name, json.dumps(setup), created)
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def set_setup(self, stream: int, setup: dict[str, Any]) -> None:
        """Change what a stream was made from."""
        self._writing.execute("UPDATE streams SET setup = ? WHERE id = ?", (json.dumps(setup), stream))

    def remove_stream(self, stream: int) -> None:
        """Forget a stream and all that belongs to it."""
        self._trim(stream)
        for table in ("snapshots", "answers"):
            self._writing.execute(f"DELETE FROM {table} WHERE stream = ?", (stream,))  # noqa: S608 - of the line above
        self._writing.execute("DELETE FROM streams WHERE id = ?", (stream,))

    def append(self, stream: int, entries: Iterable[Logged], answers: Iterable[Answered]) -> None:
        """Write what was asked, and what was answered to what may be sent again."""
        places = range(self._last_place(stream) + 1, (stream + 1) * _PLACES)
        placed = [(place, *entry, _checksum(entry)) for place, entry in zip(places, entries, strict=False)]
        self._writing.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", placed)
        self._last_places[stream] = placed[-1][0] if placed else places[0] - 1
        kept = [(stream, *answer, _checksum(answer)) for answer in answers]
        if kept:
            self._writing.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", kept)

    def _last_place(self, stream: int) -> int:
        """Return where the stream's last entry is, or was: after one that was rolled back a gap may stay."""
        if stream not in self._last_places:
            first, end = stream * _PLACES, (stream + 1) * _PLACES
            query = "SELECT max(place) FROM log WHERE place >= ? AND place < ?"
            found = self._writing.execute(query, (first, end)).fetchone()[0]
            self._last_places[stream] = first if found is None else found
        return self._last_places[stream]

    def _trim(self, stream: int) -> None:
        places = (stream * _PLACES, (stream + 1) * _PLACES)
        self._writing.execute("DELETE FROM log WHERE place >= ? AND place < ?", places)

    def keep(self, stream: int, snapshot: Snapshot, forget_before: int) -> None:
        """Replace the snapshot, trim the log behind it and the answers to rows before a number."""
        self._writing.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (stream, *snapshot))
        self._trim(stream)
        self._writing.execute("DELETE FROM answers WHERE stream = ? AND row < ?", (stream, forget_before))


def _checksum(entry: Logged | Answered) -> int:
    """Return a checksum of all that is kept of an entry, which SQLite itself does not have."""
    *few, last = entry
    return zlib.crc32(last, zlib.crc32(repr(few).encode()))
