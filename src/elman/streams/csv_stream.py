"""Any CSV file with a header as a stream, read row by row in constant memory."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elman.streams._columns import Column, Dates, NotFiniteError, Numbers, column, date, number
from elman.streams._text import Readable, Text, check_length, text
from elman.streams.stream import Sample, Stream

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator

    from elman.arrays import Float64

Row: TypeAlias = tuple[int, list[str]]
"""A line number from 1 and the cells there."""


def read_csv(
    path: Readable,
    target: str | int | None = None,
    *,
    ignore: Collection[str] = (),
    ignore_text: bool = False,
    dates: Collection[str] = (),
    name: str | None = None,
) -> CsvStream:
    r"""Make a stream of a CSV file with a header line.

    Columns of numbers become inputs as they are. A column whose first value is an ISO date becomes six: the
    sine and cosine of the time of day (`date.hour.sin`), the day of the week (`date.weekday.sin`) and the
    day of the year (`date.yearday.sin`). An empty cell, `nan` or `NA` is NaN, in the target too. Blank
    lines are passed over.

    Parameters
    ----------
    path
        A file, with gzip where its name ends in `.gz`; `"-"` for standard input; or an open text file. What
        cannot be wound back (a pipe) can be iterated once, and each row comes out as soon as its line is
        there.
    target
        Name of the column to predict, or its place from 0 (from -1, backwards). The last one if not said.
    ignore
        Names of columns to leave out.
    ignore_text
        Leave out the columns whose first value is neither a number nor a date, instead of refusing them; the
        stream's `left_out` names them.
    dates
        Names of columns that hold dates, whatever their first value is; an empty one does not show it.
    name
        What to call the stream; the file's name if not said.

    Raises
    ------
    ValueError
        Here, if the header, the first row or the arguments make no sense; later, at the first row that does
        not read. The message says the line and the column.

    Examples
    --------
    >>> from io import StringIO
    >>> stream = read_csv(StringIO("a,b,price\n1,2,3\n4,,6\n"))
    >>> stream.names, stream.target
    (('a', 'b'), 'price')
    >>> for x, y in stream:
    ...     print(x, y)
    [1. 2.] 3.0
    [ 4. nan] 6.0
    """
    source = text(path)
    rows = _rows(source.peek(), source.label)
    header = _header(next(rows, None), source.label)
    first = next(rows, None)
    rows.close()
    if first is None:
        raise ValueError(f"{source.label} has a header but no rows")
    _check_length(source.label, first, header)
    target_name = _target_name(source.label, header, target)
    _check_ignored(source.label, header, target_name, ignore)
    columns, left_out = list[Column](), list[str]()
    for place, each in enumerate(header):
        if each in ignore or (ignore_text and each != target_name and _is_text(first, place)):
            left_out.append(each)
        elif each in dates:
            columns.append(Dates(each, place))
        else:
            columns.append(_column(source.label, header, place, first))
    return CsvStream(source, name or source.name, header, columns, target_name, left_out=left_out)


class CsvStream(Stream):
    """A CSV file whose columns have been understood; made by `read_csv`.

    `dates` names the columns that hold dates, `left_out` those that are not read.
    """

    def __init__(
        self,
        text: Text,
        name: str,
        header: list[str],
        columns: list[Column],
        target: str,
        *,
        left_out: Collection[str] = (),
    ) -> None:
        self.dates = tuple(each.name for each in columns if isinstance(each, Dates))
        self.left_out = tuple(left_out)
        self._text = text
        self._header = header
        self._inputs = [each for each in columns if each.name != target]
        (self._target,) = (each for each in columns if each.name == target)
        if self._target.kind != Numbers.kind:
            raise ValueError(f"{text.label}: the target must be a number, but column {target!r} holds dates")
        names = [input_name for each in self._inputs for input_name in each.names]
        super().__init__(name, names, target=target, source="real")

    def __iter__(self) -> Iterator[Sample]:
        rows = _rows(self._text.lines(), self._text.label)
        next(rows)  # the header
        for row in rows:
            _check_length(self._text.label, row, self._header)
            yield self._x(row), _values(self._text.label, self._target, row)[0]

    def _x(self, row: Row) -> Float64:
        values = [value for each in self._inputs for value in _values(self._text.label, each, row)]
        return np.array(values, dtype=np.float64)


def _rows(lines: Iterator[str], label: str) -> Generator[Row, None, None]:
    """Yield the rows that are not blank, the header first."""
    size = 0  # of the row that is being read

    def counted() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            check_length(size, f"{label}, line {reader.line_num + 1}")
            yield line

    reader = csv.reader(counted(), skipinitialspace=True)
    try:
        for cells in reader:
            size = 0
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{label}, line {reader.line_num}: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{label}: not UTF-8 text near line {reader.line_num + 1}") from error


def _header(row: Row | None, label: str) -> list[str]:
    if row is None:
        raise ValueError(f"{label} is empty: expected a header line and rows")
    line, cells = row
    names = [
        cell.removeprefix("\ufeff").strip() or f"column{place}" for place, cell in enumerate(cells, start=1)
    ]
    if all(_is_value(cell) for cell in cells):
        raise ValueError(
            f"{label}, line {line}: expected the names of the columns, got values: {','.join(cells)}"
        )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{label}, line {line}: column {repeated[0]!r} comes more than once")
    return names


def _is_value(cell: str) -> bool:
    for read in (number, date):
        with suppress(ValueError):
            read(cell)
            return True
    return False


def _check_length(label: str, row: Row, header: list[str]) -> None:
    line, cells = row
    if len(cells) != len(header):
        raise ValueError(
            f"{label}, line {line}: expected {len(header)} cells as in the header, got {len(cells)}"
        )


def _target_name(label: str, header: list[str], target: str | int | None) -> str:
    if isinstance(target, str):
        if target not in header:
            raise ValueError(f"{label} has no column {target!r} to be the target; it has {', '.join(header)}")
        return target
    place = -1 if target is None else index(target)
    if not -len(header) <= place < len(header):
        raise ValueError(f"{label} has {len(header)} columns: no target at place {place}")
    return header[place]


def _check_ignored(label: str, header: list[str], target: str, ignore: Collection[str]) -> None:
    if isinstance(ignore, str):
        raise TypeError(f"ignore must be a list of column names, got the string {ignore!r}")
    unknown = [each for each in ignore if each not in header]
    if unknown:
        raise ValueError(f"{label} has no column {unknown[0]!r} to ignore; it has {', '.join(header)}")
    if target in ignore:
        raise ValueError(f"{label}: column {target!r} is the target and cannot be ignored")


def _is_text(first: Row, place: int) -> bool:
    return column("", place, first[1][place]) is None


def _column(label: str, header: list[str], place: int, first: Row) -> Column:
    line, cells = first
    found = column(header[place], place, cells[place])
    if found is None:
        raise ValueError(
            f"{label}, line {line}, column {header[place]!r}: {cells[place]!r} is neither a number "
            f"nor an ISO date; ignore=[{header[place]!r}] leaves the column out"
        )
    return found


def _values(label: str, column: Column, row: Row) -> tuple[float, ...]:
    line, cells = row
    where = f"{label}, line {line}, column {column.name!r}"
    try:
        return column.read(cells[column.place])
    except NotFiniteError as error:
        raise ValueError(
            f"{where}: {_short(cells[column.place])} is not a finite number; "
            "leave the cell empty where a value is missing"
        ) from error
    except ValueError as error:
        raise ValueError(f"{where}: {_short(cells[column.place])} is not {column.kind}") from error


def _short(cell: str) -> str:
    """Quote a cell, or its beginning if it is long.

    Examples
    --------
    >>> _short("many"), len(_short("1" * 500))
    ("'many'", 45)
    """
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}...")
