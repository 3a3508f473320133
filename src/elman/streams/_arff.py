"""ARFF, the format of OpenML's files, turned into the CSV that the rest reads.

Only what numeric regression needs: dense rows of numeric attributes, `?` for a missing value.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))\s+(.+)""", re.IGNORECASE)
_NUMERIC = {"numeric", "real", "integer"}


def arff_to_csv(lines: Iterable[str], target: str, out: TextIO) -> tuple[int, int]:
    r"""Write an ARFF file as CSV with a header, the target in the last column.

    Parameters
    ----------
    lines
        The lines of the ARFF file.
    target
        Name of the attribute to put last.
    out
        An open text file.

    Returns
    -------
    How many rows were written, and how many inputs they have.

    Raises
    ------
    ValueError
        If the file is not dense numeric ARFF, or has no such attribute.

    Examples
    --------
    >>> import sys
    >>> arff = ["@relation r", "@attribute y real", "@attribute 'x 1' numeric", "@data", "1.50, ?", "2,3e-1"]
    >>> _ = arff_to_csv(arff, "y", sys.stdout)
    x 1,y
    ,1.50
    3e-1,2
    """
    numbered = _meaningful(lines)
    names = _attribute_names(numbered)
    if target not in names:
        raise ValueError(f"the ARFF file has no attribute {target!r}; it has {', '.join(names)}")
    order = sorted(range(len(names)), key=lambda place: names[place] == target)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([names[place] for place in order])
    written = 0
    for number, line in numbered:
        cells = _cells(number, line, len(names))
        writer.writerow([cells[place] for place in order])
        written += 1
    return written, len(names) - 1


def _meaningful(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, numbered from 1."""
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield number, stripped


def _attribute_names(numbered: Iterator[tuple[int, str]]) -> list[str]:
    """Read the header up to and with `@data`."""
    names: list[str] = []
    for number, line in numbered:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            return names
        if keyword == "@attribute":
            names.append(_attribute_name(number, line))
    raise ValueError("not an ARFF file: it has no line @data")


def _attribute_name(number: int, line: str) -> str:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"ARFF line {number}: cannot read {line!r}")
    *names, kind = match.groups()
    name = next(each for each in names if each is not None)
    if kind.strip().lower() not in _NUMERIC:
        raise ValueError(f"ARFF line {number}: attribute {name!r} is {kind.strip()}, only numbers are read")
    return str(name)


def _cells(number: int, line: str, expected: int) -> list[str]:
    if line.startswith("{"):
        raise ValueError(
            f"ARFF line {number}: sparse rows ({{place value, ...}}) are not read, only dense ones"
        )
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != expected:
        raise ValueError(f"ARFF line {number}: expected {expected} values, got {len(cells)}")
    return [_checked(number, cell) for cell in cells]


def _checked(number: int, cell: str) -> str:
    """Return a cell as CSV has it, if it is a finite number or missing."""
    if cell == "?":
        return ""
    try:
        finite = math.isfinite(float(cell))
    except ValueError:
        finite = False
    if not finite:
        raise ValueError(f"ARFF line {number}: {cell[:40]!r} is not a finite number")
    return cell
