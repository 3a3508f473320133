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
    setup TEXT NOT NULL, created REAL NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE log (
    place INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, how TEXT NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE snapshots (
    stream INTEGER PRIMARY KEY, place INTEGER NOT NULL, model BLOB NOT NULL, record BLOB NOT NULL,
    checksum INTEGER NOT NULL
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
        try:
            self._lock: int | None = lock.acquire(self._lock_path)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, error.strerror, str(self.path)) from None
        self._connections: list[sqlite3.Connection] = []
        self._read_lock = threading.Lock()
        self._last_places: dict[int, int] = {}
        self.sync = sync
        try:
            self._writing, self._reading = self._connect(sync), self._connect(sync)
            self._make_or_check()
        except (sqlite3.DatabaseError, DamagedError) as error:
            self.close()
            raise ValueError(f"{self.path}: not a store of elman, or damaged ({error})") from error
        except BaseException:
            self.close()
            raise

    def _connect(self, sync: Sync) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        self._connections.append(connection)
        self._check_whose(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {sync.upper()}")
        connection.execute("PRAGMA wal_autocheckpoint = 2000")  # pages, 8 MB: seldom enough to be no burden
        connection.execute("PRAGMA cache_size = -8000")  # kB: what is trimmed was written a moment ago
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def _check_whose(self, connection: sqlite3.Connection) -> None:
        """Refuse a database of something else before anything is changed in it."""
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            return
        if not {"about", "streams", "log", "snapshots", "answers"} <= tables:
            raise ValueError(f"{self.path}: a database of something else, not a store of elman")
        found = connection.execute("SELECT value FROM about WHERE name = 'format'").fetchone()
        if found is None or found[0] != _FORMAT:
            raise ValueError(
                f"{self.path}: a store of format {found and found[0]}, this elman reads {_FORMAT}"
            )

    def _make_or_check(self) -> None:
        if not self._writing.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with self.transaction():
                for statement in _SCHEMA.split(";")[:-1]:
                    self._writing.execute(statement)
                self._writing.execute("INSERT INTO about VALUES ('format', ?)", (_FORMAT,))
        damage = self._writing.execute("PRAGMA integrity_check(1)").fetchone()[0]  # 2 s for a gigabyte
        if damage != "ok":
            raise DamagedError(damage)
        self.streams()

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
        rows = self._read("SELECT id, name, setup, created, checksum FROM streams ORDER BY id")
        for *values, checksum in rows:
            if _checksum(*values[1:]) != checksum:
                raise DamagedError(f"what stream {values[0]} was made from is damaged")
        return [Kept(id_, name, json.loads(setup), created) for id_, name, setup, created, _ in rows]

    def snapshot(self, stream: int) -> Snapshot | None:
        """Return the last snapshot of a stream, if there is one."""
        rows = self._read("SELECT place, model, record, checksum FROM snapshots WHERE stream = ?", stream)
        if not rows:
            return None
        *values, checksum = rows[0]
        if _checksum(stream, *values) != checksum:
            raise DamagedError(f"the snapshot of stream {stream} is damaged")
        return Snapshot(*values[1:])

    def behind(self, stream: int) -> Iterator[Logged]:
        """Yield what was logged after the last snapshot, in order."""
        after = self._trimmed_to(stream)
        while True:
            rows = self._read(
                "SELECT place, time, kind, how, body, checksum FROM log"
                " WHERE place > ? AND place < ? ORDER BY place LIMIT 100",
                after,
                (stream + 1) * _PLACES,
            )
            for place, *values, checksum in rows:
                after, logged = after + 1, Logged(*values)
                if place != after or _checksum(*logged) != checksum:
                    raise DamagedError(f"entry {after % _PLACES} of the log of stream {stream} is damaged")
                yield logged
            if not rows:
                return

    def _trimmed_to(self, stream: int) -> int:
        """Return the place in the log of the last entry that is in the snapshot."""
        rows = self._read("SELECT place FROM snapshots WHERE stream = ?", stream)
        place: int = rows[0][0] if rows else stream * _PLACES
        return place

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
                if _checksum(stream, *answered) != checksum:
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
            self._last_places.clear()
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
            raise

    def add_stream(self, name: str, setup: dict[str, Any], created: float) -> int:
        """Keep a new stream and return its number."""
        values = (name, json.dumps(setup), created)
        cursor = self._writing.execute(
            "INSERT INTO streams (name, setup, created, checksum) VALUES (?, ?, ?, ?)",
            (*values, _checksum(*values)),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def set_setup(self, kept: Kept, setup: dict[str, Any]) -> None:
        """Change what a stream was made from."""
        values = (kept.name, json.dumps(setup), kept.created)
        self._writing.execute(
            "UPDATE streams SET setup = ?, checksum = ? WHERE id = ?",
            (values[1], _checksum(*values), kept.id),
        )

    def remove_stream(self, stream: int) -> None:
        """Forget a stream and all that belongs to it."""
        self._trim(stream)
        for table in ("snapshots", "answers"):
            self._writing.execute(f"DELETE FROM {table} WHERE stream = ?", (stream,))  # noqa: S608 - of the line above
        self._writing.execute("DELETE FROM streams WHERE id = ?", (stream,))

    def append(self, stream: int, entries: Iterable[Logged], answers: Iterable[Answered]) -> None:
        """Write what was asked, and what was answered to what may be sent again."""
        places = range(self._last_place(stream) + 1, (stream + 1) * _PLACES)
        placed = [(place, *entry, _checksum(*entry)) for place, entry in zip(places, entries, strict=False)]
        self._writing.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", placed)
        self._last_places[stream] = placed[-1][0] if placed else places[0] - 1
        kept = [(stream, *answer, _checksum(stream, *answer)) for answer in answers]
        if kept:
            self._writing.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", kept)

    def _last_place(self, stream: int) -> int:
        """Return where the stream's last entry is, or was before it was trimmed."""
        if stream not in self._last_places:
            end = (stream + 1) * _PLACES
            query = "SELECT max(place) FROM log WHERE place >= ? AND place < ?"
            found = self._writing.execute(query, (stream * _PLACES, end)).fetchone()[0]
            self._last_places[stream] = self._trimmed_to(stream) if found is None else found
        return self._last_places[stream]

    def _trim(self, stream: int) -> None:
        places = (stream * _PLACES, (stream + 1) * _PLACES)
        self._writing.execute("DELETE FROM log WHERE place >= ? AND place < ?", places)

    def keep(self, stream: int, snapshot: Snapshot, forget_before: int) -> None:
        """Replace the snapshot, trim the log behind it and the answers to rows before a number."""
        values = (stream, self._last_place(stream), *snapshot)
        self._writing.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", (*values, _checksum(*values))
        )
        self._trim(stream)
        self._writing.execute("DELETE FROM answers WHERE stream = ? AND row < ?", (stream, forget_before))


def _checksum(*values: Any) -> int:
    """Return a checksum of all that is kept in a line of a table, which SQLite itself does not have."""
    found = 0
    for value in values:
        found = zlib.crc32(value if isinstance(value, bytes) else repr(value).encode(), found)
    return found
