"""How the text of a CSV file is cut into cells: its separator, its quotes, and where its header is."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from elman.tables.column import moment, number
from elman.tables.options import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from elman.tables.options import ReadingOptions

SEPARATORS = (",", ";", "\t", "|")
_LOOKED_AT = 300
_MOST_TITLES = 20


@dataclass(frozen=True)
class Dialect:
    """A separator and a quote, and of the header how many records are before it."""

    separator: str
    quote: str = '"'
    preamble: int = 0


def records(lines: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a text that are not blank, each with the number of the line that it ends in."""
    reader = csv.reader(lines, delimiter=dialect.separator, quotechar=dialect.quote)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def with_preamble(lines: list[str], separator: str, quote: str, *, header: bool) -> Dialect:
    """Return the dialect of a text by its first lines: the header is the first record of the usual length."""
    dialect = Dialect(separator, quote)
    if not header:
        return dialect
    first = [cells for _, cells in islice(records(lines, dialect), _LOOKED_AT)]
    counts = [len(cells) for cells in first]
    usual, often = Counter(counts).most_common(1)[0] if counts else (0, 0)
    if not counts or usual < 2 or often < 0.5 * len(counts):
        return dialect
    if counts[0] >= usual:
        return Dialect(separator, quote, _filled_up(first))
    return Dialect(separator, quote, counts.index(usual))


def _filled_up(first: list[list[str]]) -> int:
    """Return how many records are before the header of a table that a spreadsheet filled up with separators.

    Titles leave at least half of their cells empty; the header is the first record of which each is a name.
    """
    for place, cells in enumerate(first[:_MOST_TITLES]):
        texts = [cell.strip() for cell in cells]
        if all(text.lower() not in MISSING and not _is_value(text) for text in texts):
            return place
        if 2 * texts.count("") < len(texts):
            return 0
    return 0


def guess_separator(line: str) -> str:
    r"""Return what stands between the cells of a header.

    Examples
    --------
    >>> guess_separator("time;load, in MW;temperature\n")
    ';'
    """
    counts = [line.count(each) for each in SEPARATORS]
    return SEPARATORS[counts.index(max(counts))]


def header_names(cells: list[str], label: str, options: ReadingOptions) -> list[str]:
    """Return the names of the columns from the cells of the header, or numbered ones without a header."""
    if not options.header:
        return [f"column{place}" for place in range(1, len(cells) + 1)]
    names = [
        cell.removeprefix("\ufeff").strip() or f"column{place}" for place, cell in enumerate(cells, start=1)
    ]
    values = [cell for cell in cells if _is_value(cell.strip())]
    if values:
        raise ValueError(
            f"{label}: the first line has {values[0].strip()!r} where the name of a column is expected; "
            "give the file a line of names, or say --no-header to call them column1, column2, and so on"
        )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{label}: column {repeated[0]!r} comes more than once: rename one of them")
    return names


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or a date, and not the name of a column."""
    with suppress(ValueError):
        number(cell, ".,")
        return cell.lower() not in ("true", "false", "nan", "inf", "infinity")
    with suppress(ValueError):
        moment(cell, "iso")
        return True
    for form in ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y"):
        with suppress(ValueError):
            moment(cell, form)
            return True
    return False
