"""A live pipe: a header, then a row on each line, which must be answered before the next one comes."""

from __future__ import annotations

import csv
import math
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from elman.limits import LINE_CHARACTERS
from elman.tables._dialect import guess_separator, header_names
from elman.tables._understand import DATE_FORMATS, TIMELY, compact_form, era
from elman.tables.block import Bad, Block
from elman.tables.column import Column, Kind, certain_unit, key_column, moment, number
from elman.tables.options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from elman.tables.block import Report


class PipeTable:
    """Rows that come line by line; made by `open_pipe`. It can be read once.

    `inputs`, `target`, `time`, `left_out` and `notes` are those of a `Table`.
    """

    def __init__(
        self,
        lines: Iterator[tuple[int, str | Bad]],
        names: list[str],
        separator: str,
        options: ReadingOptions,
    ) -> None:
        self._lines, self._names, self._separator = lines, names, separator
        self._options = options
        self._waiting: list[list[str] | Bad] = []
        self.label = self.name = "standard input"
        self.inputs: list[Column] = []
        self.target = Column("", "number", ".", (0,))
        self.time: Column | None = None
        self.id: str | None = None
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []
        self.key: Column | None = None

    def keyed_by(self, name: str) -> None:
        """Let every row say whom it belongs to: a column that is not among the inputs."""
        self.key = key_column(name, self._names, self.left_out)

    def described(self) -> dict[str, Any]:
        """Return how the columns are read, as JSON values, to read them so again."""
        return {
            "inputs": [each.described() for each in self.inputs],
            "target": self.target.described(),
            "time": None if self.time is None else self.time.name,
            "left_out": self.left_out,
            "id": self.id,
        }

    def rows(self) -> Iterator[Block | Bad]:
        """Yield every line as soon as it is there: a block of one row, or what is wrong with it."""
        for cells in self._cells():
            yield cells if isinstance(cells, Bad) else self._block(cells)

    def blocks(self, report: Report) -> Iterator[Block]:
        """Yield every row as soon as it is there; `report` hears of every line that is passed over."""
        for row in self.rows():
            if isinstance(row, Bad):
                report(row)
            else:
                yield row

    def first_row(self) -> list[str]:
        """Return the cells of the first line that has as many as there are names, and keep it for `rows`."""
        for cells in self._cells():
            self._waiting.append(cells)
            if isinstance(cells, list):
                return cells
        raise ValueError(f"{self.label} has a header but no rows")

    def _cells(self) -> Iterator[list[str] | Bad]:
        while self._waiting:
            yield self._waiting.pop(0)
        for number_, line in self._lines:
            if isinstance(line, Bad):
                yield line
            elif line.strip():
                yield self._cut(number_, line)

    def _cut(self, line_number: int, line: str) -> list[str] | Bad:
        cells = cut(line, self._separator)
        if [cell.strip() for cell in cells] == self._names:
            return Bad(line_number, "the header comes again", line)
        if len(cells) != len(self._names):
            return Bad(line_number, f"{len(cells)} cells where {len(self._names)} are expected", line)
        self._at = line_number
        return cells

    def _block(self, cells: list[str]) -> Block | Bad:
        columns = [*self.inputs, self.target]
        values = np.empty((1, len(columns)))
        for i, column in enumerate(columns):
            try:
                values[0, i] = column.read(cells, self._options.missing)
            except (ValueError, OverflowError):
                return Bad(self._at, column.refusal(cells), self._separator.join(cells))
        time = None if self.time is None else values[:, columns.index(self.time)]
        key = None if self.key is None else [cells[self.key.places[0]].strip()]
        row = Block(np.ascontiguousarray(values[:, :-1]), values[:, -1:].copy(), time, key=key)
        if self.id is None:
            return row
        id_ = cells[self._names.index(self.id)].strip()
        if not id_:
            return Bad(self._at, f"no {self.id}, which says whose truth it is", self._separator.join(cells))
        return replace(row, ids=(id_,))


def open_pipe(
    source: str,
    target: str | None = None,
    *,
    ignore: Collection[str] = (),
    options: ReadingOptions | None = None,
    known: dict[str, Any] | None = None,
    id_column: str | None = None,
) -> PipeTable:
    """Open standard input, for ``"-"``, or a named pipe; wait for the header, and a row if that is needed.

    What its columns hold is seen by their first cells: a column that begins with a missing one holds numbers.
    `id_column` names the one that says which rows belong together; nothing is learned from it.
    """
    options = options or ReadingOptions()
    label = "standard input" if source == "-" else source
    lines = _lines(_opened(source), options.encoding or "utf-8-sig")
    header = next((line for _, line in lines if isinstance(line, Bad) or line.strip()), None)
    if header is None:
        raise ValueError(f"{label} is empty: expected a line of names and rows")
    if isinstance(header, Bad):
        raise ValueError(f"{label}: {header}")  # noqa: TRY004 - what came is wrong, not its type
    separator = options.separator or guess_separator(header)
    cells = cut(header, separator)
    names = header_names(cells, label, options)
    table = PipeTable(lines, names, separator, options)
    table.label = label
    if not options.header:
        table._waiting.append(cells)  # noqa: SLF001 - one of this module
    for name in [*ignore, *options.text, *filter(None, [options.time, target, id_column])]:
        if name not in names:
            raise ValueError(f"{label} has no column {name!r}; it has {', '.join(names)}")
    table.id = id_column or (known or {}).get("id")
    if table.id is not None and table.id == (target or names[-1]):
        raise ValueError(f"{label}: {table.id!r} cannot be both the id and the target")
    if known is None:
        _understand(table, target or names[-1], set(ignore) | {table.id or ""}, options)
    else:
        table.inputs = [Column.of(each) for each in known["inputs"]]
        table.target = Column.of(known["target"])
        table.left_out = dict(known["left_out"])
        table.time = next((each for each in table.inputs if each.name == known["time"]), None)
    return table


def _opened(source: str) -> IO[bytes]:
    if source != "-":
        return Path(source).open("rb")
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(9, "it is closed", "standard input")
    return sys.stdin.buffer


def _lines(file: IO[bytes], encoding: str) -> Iterator[tuple[int, str | Bad]]:
    """Yield the lines with their numbers, each as soon as it is there."""
    number_ = 0
    while piece := file.readline(LINE_CHARACTERS + 1):
        number_ += 1
        if len(piece) > LINE_CHARACTERS:
            beginning = piece[:40].decode(errors="replace")
            while piece and not piece.endswith(b"\n"):
                piece = file.readline(LINE_CHARACTERS + 1)
            yield (
                number_,
                Bad(number_, f"longer than {LINE_CHARACTERS:,} characters, the limit of a line", beginning),
            )
            continue
        try:
            yield number_, piece.decode(encoding if number_ == 1 else encoding.removesuffix("-sig"))
        except UnicodeDecodeError:
            yield (
                number_,
                Bad(number_, f"not {encoding.removesuffix('-sig')} text", piece.decode(errors="replace")),
            )


def cut(line: str, separator: str) -> list[str]:
    r"""Cut a line into cells; a quote that is not closed ends with the line.

    Examples
    --------
    >>> cut('1, "a, b",3\n', ",")
    ['1', 'a, b', '3']
    """
    with suppress(csv.Error):
        return next(csv.reader([line.rstrip("\r\n")], delimiter=separator, skipinitialspace=True), [])
    return []


def _understand(table: PipeTable, target: str, ignore: set[str], options: ReadingOptions) -> None:
    """Decide by the first row what the columns hold."""
    cells = table.first_row()
    for place, name in enumerate(table._names):  # noqa: SLF001 - one of this module
        if name in ignore:
            table.left_out[name] = "ignored" if name != table.id else "the id"
            continue
        called = "" if name == target else name  # a target counts no time, whatever it is called
        column = Column(name, *_kind(cells[place].strip(), called, options), (place,))
        if name != target:
            table.inputs.append(column)
        elif column.kind == "number":
            table.target = column
        else:
            raise ValueError(
                f"{table.label}: the target must hold numbers, but {name!r} begins with {cells[place]!r}; "
                "--target names the one to predict"
            )
    times = [each for each in table.inputs if each.is_time]
    if options.time is not None and options.time not in [each.name for each in times]:
        raise ValueError(
            f"{table.label}: --time {options.time}: that column does not hold dates that can be read; "
            "--date-format says how they are written"
        )
    table.time = next((each for each in times if options.time in (None, each.name)), None)


def _kind(cell: str, name: str, options: ReadingOptions) -> tuple[Kind, str]:  # noqa: PLR0911 - one a kind
    if options.is_text(name):
        return "text", ""
    if cell.lower() in options.missing:
        return (
            ("datetime", options.date_format or "iso")
            if name == options.time
            else ("number", _plain(options))
        )
    with suppress(ValueError):
        value = number(cell, _plain(options))
        return _time_in_number(cell, value, name, options) or ("number", _plain(options))
    if cell.lower() in ("true", "false"):
        return "number", "bool"
    forms = ("iso", *DATE_FORMATS) if options.date_format is None else (options.date_format,)
    for form in forms:
        with suppress(ValueError):
            moment(cell, form)
            has_clock = (form == "iso" and len(cell) > len("2024-01-01")) or "%H" in form or "%I" in form
            return "datetime" if has_clock else "date", form
    unit = certain_unit(cell)
    with suppress(ValueError):
        number(cell, form := f"{_plain(options)}|{unit}")
        return "number", form
    return "text", ""


def _time_in_number(cell: str, value: float, name: str, options: ReadingOptions) -> tuple[Kind, str] | None:
    """Return how a number is a date, such as 20240131 or seconds since 1970, if its name says that it is."""
    if not (name == options.time or TIMELY.search(name)) or not math.isfinite(value):
        return None
    form = compact_form(value, value)
    if form is not None:
        with suppress(ValueError):
            moment(cell, form)
            return "datetime" if "%H" in form else "date", form
    units = era(value, value)
    return None if units is None else ("datetime", f"epoch {units}")


def _plain(options: ReadingOptions) -> str:
    return options.decimal or "."
