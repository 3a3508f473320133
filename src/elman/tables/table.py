"""A table in files or of a query, read by DuckDB in blocks, in order and in bounded memory."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman._core import core
from elman.tables import _sql
from elman.tables._lines import LineFinder
from elman.tables._relation import MORE, Relation, database_errors, is_query, relation
from elman.tables._understand import understand
from elman.tables.block import Bad, Block, Report
from elman.tables.column import Column, key_column
from elman.tables.options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BLOCK_ROWS, _BLOCK_CELLS = 4096, 400_000
_SWALLOWED_LINES = 50
_MOST_CHECKED = 50  # columns whose cells the database checks: of more it would take hundreds of megabytes
_LOOK_AGAIN, _TOTAL = -2, -3


class Table:
    """A table whose columns have been understood; made by `open_table`.

    Attributes
    ----------
    name, label
        What it is called in headings, and in messages.
    inputs, target
        The columns that are learned from, and the one that is predicted.
    time
        The column that says when a row was, None if there is none.
    left_out
        Columns that are not read, each with the reason.
    notes
        What is worth saying of how it is read.
    """

    def __init__(
        self,
        relation: Relation,
        columns: list[Column],
        target: Column,
        time: Column | None,
        options: ReadingOptions,
    ) -> None:
        self.label = relation.label
        self.name = "query" if is_query(relation.label) else _short_name(relation.label)
        self.inputs, self.target, self.time = columns, target, time
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []
        self.key: Column | None = None
        self._relation, self._options = relation, options
        self._stack = ExitStack()

    def keyed_by(self, name: str) -> None:
        """Let every row say whom it belongs to: a column that is not among the inputs."""
        self.key = key_column(name, self._relation.names, self.left_out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def described(self) -> dict[str, Any]:
        """Return how the columns are read, as JSON values, to read them so again."""
        return {
            "inputs": [each.described() for each in self.inputs],
            "target": self.target.described(),
            "time": None if self.time is None else self.time.name,
            "left_out": self.left_out,
        }

    def blocks(self, report: Report = lambda _: None) -> Iterator[Block]:
        """Yield the rows from the beginning; `report` hears of every line that is passed over."""
        relation, types, missing = self._relation, self._relation.types, self._options.missing
        used = [*self.inputs, self.target]
        read = [*used] if self.time is None or self.time in used else [*used, self.time]
        values = [f"{_sql.value(each, types, missing)} as v{i}" for i, each in enumerate(read)]
        offset = [] if self.time is None else [self._offset()]
        keys = [] if self.key is None else [f"{_sql.value(self.key, types, missing)}"]
        wrong = self._wrong(read)
        numbers = [*(f"v{i}" for i in range(len(read))), *offset, *keys, f"{wrong} as wrong"]
        cells = f"case when wrong is not null then {self._cells()} end"
        finder = LineFinder(relation) if relation.has_lines else None
        with closing(relation.connection.cursor()) as cursor:
            with database_errors(self.label):
                # In three steps, so that a cell is read once.
                inner = f"select *, {', '.join(values)} from {relation.sql}"
                cursor.execute(f"select {', '.join(numbers)}, {cells} from ({inner})")
            for rows, is_last in self._fetched(cursor, read):
                for part, bad in _parts(rows, is_last=is_last):
                    if part:
                        yield self._block(part, read)
                    if bad is not None:
                        report(self._told(bad, read, finder))
            for hidden in self._hidden(cursor):
                report(hidden)

    def _fetched(self, cursor: Any, read: list[Column]) -> Iterator[tuple[list[tuple[Any, ...]], bool]]:
        """Yield the rows block by block, and whether a block is the last one."""
        count = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // len(read)))
        with database_errors(self.label):
            rows = cursor.fetchmany(count)
        while rows:
            with database_errors(self.label):
                following = cursor.fetchmany(count)
            if len(read) > _MOST_CHECKED:
                rows = [self._checked(row, read) for row in rows]
            yield rows, not following
            rows = following

    def _block(self, rows: list[tuple[Any, ...]], read: list[Column]) -> Block:
        n = len(self.inputs)
        values = np.empty((len(rows), len(read) + (self.time is not None)))
        core.fill(rows, values)
        X, y = np.ascontiguousarray(values[:, :n]), np.ascontiguousarray(values[:, n : n + 1])
        key = None if self.key is None else [row[-3] or "" for row in rows]
        if self.time is None:
            return Block(X, y, key=key)
        offset = values[:, -1]
        time = np.ascontiguousarray(values[:, read.index(self.time)])
        return Block(X, y, time, None if np.isnan(offset).all() else np.ascontiguousarray(offset), key)

    def _offset(self) -> str:
        """Return the expression of how far the clock of a row is ahead of UTC, null where nothing says it."""
        assert self.time is not None
        return _sql.offset(f"c{self.time.places[0]}") if self.time.form == "zoned" else "null::double"

    def _wrong(self, read: list[Column]) -> str:
        """Return the expression of what is wrong: the number of a column, -1 for too few or many cells."""
        if not (suspicions := self._suspicions(read)):
            return "null"
        # Few rows are suspicious, and only they are looked at closely.
        found = self._first_bad(read) if len(read) <= _MOST_CHECKED else f"{_LOOK_AGAIN}"
        return f"case when {' or '.join(suspicions)} then {found} end"

    def _suspicions(self, read: list[Column]) -> list[str]:
        """Return conditions, quick to look at, of which one is true of every row that is bad."""
        relation, missing = self._relation, self._options.missing
        found = [
            f"v{i} is null or isinf(v{i})"
            for i, each in enumerate(read)
            if _sql.bad(each, "", relation.types, missing) is not None
        ]
        if relation.has_lines:
            found.append(f"c{len(relation.names) - 1} is null or {MORE} is not null")
        if self._may_have_totals(read):
            found.append(_sql.is_total("c0"))
        return found

    def _first_bad(self, read: list[Column]) -> str:
        """Return the expression of what is wrong with a row that is suspicious."""
        relation = self._relation
        cases = []
        if relation.has_lines:
            cases.append(f"when c{len(relation.names) - 1} is null or {MORE} is not null then -1")
        for i, each in enumerate(read):
            condition = _sql.bad(each, f"v{i}", relation.types, self._options.missing)
            if condition is not None:
                cases.append(f"when {condition} then {i}")
        if self._may_have_totals(read):
            cases.append(f"when {_sql.is_total('c0')} then {_TOTAL}")
        return f"case {' '.join(cases)} end"

    def _may_have_totals(self, read: list[Column]) -> bool:
        """Whether the first cell of a line may be a name, not found to be bad as a number or a date."""
        checked = any(0 in each.places and each.kind != "text" for each in read)
        return self._relation.types[0] == "VARCHAR" and not checked

    def _checked(self, row: tuple[Any, ...], read: list[Column]) -> tuple[Any, ...]:
        """Return a row with what is wrong with it, if the database left that open."""
        if row[-2] != _LOOK_AGAIN:
            return row
        *values, _, cells = row
        names = self._relation.names
        if self._relation.has_lines and (cells[len(names) - 1] is None or cells[-1] is not None):
            return (*values, -1, cells)
        wrong = next((i for i, each in enumerate(read) if self._is_bad(each, values[i], cells)), None)
        if (
            wrong is None
            and self._relation.types[0] == "VARCHAR"
            and _sql.TOTAL.fullmatch((cells[0] or "").strip())
        ):
            wrong = _TOTAL
        return (*values, wrong, cells)

    def _is_bad(self, column: Column, value: float | None, cells: list[str | None]) -> bool:
        """Whether the cells of a column cannot be read, by the value that the database has found."""
        if column.kind == "text":
            return False
        if value is not None:
            return math.isinf(value)
        missing = self._options.missing
        return not any((cells[place] or "").strip().lower() in missing for place in column.places)

    def _cells(self) -> str:
        cells = [f"c{i}::varchar" for i in range(len(self._relation.names))]
        if self._relation.has_lines:
            cells.append(MORE)
        return f"[{', '.join(cells)}]"

    def _told(self, row: tuple[Any, ...], read: list[Column], finder: LineFinder | None) -> Bad:
        *_, wrong, cells = row
        if any((cell or "").count("\n") > _SWALLOWED_LINES for cell in cells):
            raise ValueError(
                f"{self.label}: a quote that is opened is not closed for many lines: {cells[0]!r}"
            )
        line = None if finder is None else finder.find(cells)
        text = self._relation.separator.join(cell for cell in cells if cell is not None)
        names = self._relation.names
        if [cell.strip() for cell in cells if cell is not None] == names:
            return Bad(line, "the header comes again", text)
        if wrong == -1:
            found = sum(cell is not None for cell in cells)
            count = f"{found}" if found <= len(names) else f"more than {len(names)}"
            return Bad(line, f"{count} cells where {len(names)} are expected", text)
        if wrong == _TOTAL:
            return Bad(line, "a total at the end is no row", text)
        return Bad(line, read[wrong].refusal(cells), text)

    def _hidden(self, cursor: Any) -> Iterator[Bad]:
        """Yield the lines that DuckDB has passed over by itself: too long, or not in its encoding."""
        if not self._relation.has_lines:
            return
        with database_errors(self.label):
            found = cursor.execute(
                "select line, any_value(error_message), any_value(csv_line) from reject_errors "
                "group by line order by line"
            ).fetchall()
            cursor.execute("drop table reject_errors; drop table reject_scans")
        for line, message, text in found:
            yield Bad(int(line), message, text or "")


def _parts(
    rows: list[tuple[Any, ...]], *, is_last: bool
) -> Iterator[tuple[list[tuple[Any, ...]], tuple[Any, ...] | None]]:
    """Yield runs of good rows, each with the bad row behind it if there is one.

    A row that calls itself a total is bad at the end of a file only: elsewhere it is a level like others.
    """
    begin, end = 0, len(rows) - 1 if is_last else -1
    for i, row in enumerate(rows):
        if row[-2] is not None and (row[-2] != _TOTAL or i == end):
            yield rows[begin:i], row
            begin = i + 1
    yield rows[begin:], None


def open_table(
    source: str,
    target: str | None = None,
    *,
    ignore: Collection[str] = (),
    options: ReadingOptions | None = None,
    known: dict[str, Any] | None = None,
    only_inputs: bool = False,
) -> Table:
    """Open a table: a file (CSV, Parquet, JSON lines; gzip, zstd), a pattern of files, or a query.

    Parameters
    ----------
    source
        The file, the pattern or the query.
    target
        Name of the column to predict; the last one that holds numbers if not said.
    ignore
        Names of columns to leave out.
    options
        How to read it, where looking at it is not enough.
    known
        How it was `described` before; then that is not found out again.
    only_inputs
        Whether nothing is to be predicted: all columns are inputs, and the first stands for the target.
        Columns that `options` name may be absent.

    Raises
    ------
    ValueError
        If it is no table, or has no such columns; the message says what to do.
    """
    options = options or ReadingOptions()
    with ExitStack() as stack:
        found = relation(source, options, stack)
        if only_inputs:
            table = _with_inputs_only(found, set(ignore), options)
        else:
            table = _opened(found, target, set(ignore), options, known)
        table.notes = [*found.notes, *table.notes]
        table._stack = stack.pop_all()  # noqa: SLF001 - one of this module
        return table


def _opened(
    found: Relation,
    target: str | None,
    ignore: set[str],
    options: ReadingOptions,
    known: dict[str, Any] | None,
) -> Table:
    if known is not None:
        return _known(found, options, known)
    for name in [*ignore, *options.text, *filter(None, [options.time, target])]:
        if name not in found.names:
            raise ValueError(f"{found.label} has no column {name!r}; it has {', '.join(found.names)}")
    if target is not None and target in ignore:
        raise ValueError(f"{found.label}: column {target!r} is the target and cannot be ignored")
    with database_errors(found.label):
        understood = understand(found, options, ignore, target or found.names[-1])
    chosen = _target(found, understood.columns, target)
    if not any(each is chosen for each in understood.columns):
        raise ValueError(f"{found.label}: column {chosen.name!r} cannot be the target")
    time = _time(understood.columns, chosen, options)
    inputs = [each for each in understood.columns if each is not chosen]
    table = Table(found, inputs, chosen, time, options)
    table.left_out, table.notes = understood.left_out, understood.notes
    return table


def _with_inputs_only(found: Relation, ignore: set[str], options: ReadingOptions) -> Table:
    time = options.time if options.time in found.names else None
    with database_errors(found.label):
        understood = understand(found, replace(options, time=time), ignore, "")
    if not understood.columns:
        raise ValueError(f"{found.label} has no column that can be read")
    inputs = understood.columns
    times = (each for each in inputs if each.is_time and time in (None, each.name))
    table = Table(found, inputs, inputs[0], next(times, None), options)
    table.left_out, table.notes = understood.left_out, understood.notes
    return table


def _known(found: Relation, options: ReadingOptions, known: dict[str, Any]) -> Table:
    """Return a table whose columns were understood before."""
    inputs = [Column.of(each) for each in known["inputs"]]
    target = Column.of(known["target"])
    for each in [*inputs, target]:
        if max(each.places) >= len(found.names):
            raise ValueError(f"{found.label} has no column {each.name!r} as it had when the state was saved")
    time = next((each for each in inputs if each.name == known["time"]), None)
    table = Table(found, inputs, target, time, options)
    table.left_out = dict(known["left_out"])
    return table


def _target(found: Relation, columns: list[Column], target: str | None) -> Column:
    """Return the column to predict: the one asked for, or the last; it must hold numbers."""
    if target is None:
        unnamed = {f"column{i}" for i in range(len(found.names) + 1)}
        last = next((each for each in reversed(columns) if each.name not in unnamed), None)
        last = last or (columns[-1] if columns else None)
        if last is None:
            raise ValueError(f"{found.label} has no column that can be read")
        if last.kind != "number":
            numbers = [each.name for each in columns if each.kind == "number"]
            raise ValueError(
                f"{found.label}: the last column, {last.name!r}, holds {_plural(last)} and is no target: "
                f"--target names the one to predict{_among(numbers)}"
            )
        return last
    chosen = next((each for each in columns if each.name == target), None)
    if chosen is None or chosen.kind != "number":
        what = "no values" if chosen is None else _plural(chosen)
        numbers = [each.name for each in columns if each.kind == "number"]
        raise ValueError(
            f"{found.label}: the target must hold numbers, but {target!r} holds {what}{_among(numbers)}"
        )
    return chosen


def _plural(column: Column) -> str:
    return "text" if column.kind == "text" else "dates"


def _among(names: list[str]) -> str:
    return f"; {', '.join(names)} would do" if names else "; no column holds numbers"


def _time(columns: list[Column], target: Column, options: ReadingOptions) -> Column | None:
    """Return the column that says when a row was: the one asked for, or the first that holds dates."""
    if options.time is None:
        return next((each for each in columns if each.is_time and each is not target), None)
    asked = next((each for each in columns if each.name == options.time), None)
    if asked is None or not asked.is_time:
        raise ValueError(
            f"--time {options.time}: that column does not hold dates that can be read; --date-format says "
            "how they are written, such as %d.%m.%Y"
        )
    return asked


def _short_name(label: str) -> str:
    name = Path(label).name
    for ending in (".gz", ".zst", ".csv", ".parquet", ".json", ".ndjson", ".jsonl", ".tsv", ".txt"):
        name = name.removesuffix(ending)
    return name
