"""How DuckDB reads a column: for each an expression of its value, and a condition that is true of bad cells.

Cells are the columns c0, c1, … of a relation. Those of a CSV file are texts, others may be typed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from elman.tables.options import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from elman.tables.column import Column

NUMBERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN",
)  # fmt: skip


_ZONED = r"\d\d:\d\d.*([Zz]|[+-]\d\d(:?\d\d)?)\s*$"


TOTAL = re.compile(
    r"(?i)(grand |sub)?(totals?|sums?|summe|gesamt|averages?|mean|mittel(wert)?|durchschnitt)[:.]?"
)
"""What the first cell of a line of totals holds."""


def is_total(cell: str) -> str:
    """Return a condition: a cell of text names a total."""
    return f"regexp_full_match(trim({cell}), {quoted(TOTAL.pattern)})"


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def is_missing(cell: str, missing: Iterable[str]) -> str:
    """Return a condition: a cell of text stands for no value."""
    return f"lower(trim({cell})) in ({', '.join(map(quoted, sorted(missing)))})"


def _is_missing_rarely(cell: str, missing: Iterable[str]) -> str:
    """Return the same condition for where few rows ask: a list of constants costs time even if none does."""
    return (
        f"regexp_full_match({cell}, {quoted('(?i) *(' + '|'.join(map(re.escape, sorted(missing))) + ') *')})"
    )


def number(cell: str, form: str) -> str:
    """Return the number in a cell of text, null where it is none; behind a | the form has a unit."""
    form, _, unit = form.partition("|")
    if unit:
        cell = without_unit(cell, unit)
    if form == ".":
        return f"try_cast({cell} as double)"
    if form == "bool":
        return f"try_cast(try_cast({cell} as boolean) as double)"
    decimal, thousands = form[0], form[1:]
    others = r"[.,\s'\x{2019}\x{a0}\x{202f}]".replace(decimal, "", 1)
    bare = f"replace(regexp_replace({cell}, {quoted(others)}, '', 'g'), {quoted(decimal)}, '.')"
    group = thousands_class(thousands or ("." if decimal == "," else ","))
    shape = rf"\s*[-+]?\d{{1,3}}({group}\d{{3}})+({_escaped(decimal)}\d*)?\s*"
    signs = quoted(others)
    return (
        f"case when regexp_matches(trim({cell}), {signs}) and not regexp_full_match({cell}, {quoted(shape)}) "
        f"then null else try_cast({bare} as double) end"
    )


def without_unit(cell: str, unit: str) -> str:
    """Return a cell of text without the unit before or behind it, null where it has none or another."""
    sign = re.escape(unit)
    shape = quoted(rf"^(?:([-+]?){sign}\s?(.*\d.*)|(.*\d.*?)\s?{sign})$")
    return f"nullif(regexp_replace(trim({cell}), {shape}, '\\1\\2\\3'), trim({cell}))"


def thousands_class(sign: str) -> str:
    """Return a regular expression of what stands between thousands."""
    return {" ": r"[ \x{a0}\x{202f}]", "'": r"['\x{2019}]"}.get(sign, _escaped(sign))


def _escaped(sign: str) -> str:
    return r"\." if sign == "." else sign


def moment(cell: str, form: str) -> str:
    """Return the date in a cell of text as seconds of the clock on the wall, null where it is none."""
    if form in ("iso", "zoned"):
        return f"epoch(try_cast({cell} as timestamp))"
    if form == "hours":
        return f"try_cast({cell} as double) * 3600"
    if form.startswith("epoch "):
        return f"try_cast({cell} as double) / {form.removeprefix('epoch ')}"
    return f"epoch(try_strptime(trim({cell}), {quoted(form)}))"


def is_zoned(cell: str) -> str:
    """Return a condition: an ISO date says how far its clock is ahead of UTC."""
    return f"regexp_matches({cell}, {quoted(_ZONED)})"


def offset(cell: str) -> str:
    """Return how far the clock of an ISO date is ahead of UTC, in seconds."""
    return f"epoch(try_cast({cell} as timestamp)) - epoch(try_cast({cell} as timestamptz))"


def value(column: Column, types: dict[int, str], missing: frozenset[str] = frozenset()) -> str:
    """Return the expression of a column's value, a DOUBLE, or a VARCHAR for a text."""
    cells = [_unless_said(f"c{place}", missing) for place in column.places]
    kinds = [types[place] for place in column.places]
    if column.kind == "text":
        cell = f"c{column.places[0]}::varchar"
        return f"case when {is_missing(cell, missing)} then null else trim({cell}) end"
    if column.form == "parts":
        year, month, day = (
            f"try_cast({cell}::double as integer)"
            if kinds[i] != "VARCHAR"
            else f"try_cast(try_cast({cell} as double) as integer)"
            for i, cell in enumerate(cells[:3])
        )
        date = f"epoch(try_cast(concat({year}, '-', {month}, '-', {day}) as timestamp))"
        clock = [
            f" + {unit} * try_cast({cell} as double)"
            for unit, cell in zip((3600, 60, 1), cells[3:], strict=False)
        ]
        return date + "".join(clock)
    forms = column.form.split(" + ")
    return " + ".join(_one(column, *each) for each in zip(cells, kinds, forms, strict=True)) + _midnight(
        forms
    )


def _unless_said(cell: str, missing: frozenset[str]) -> str:
    """Return a cell, null where it holds what a person said to be missing: that may be a number."""
    said = missing - frozenset(MISSING)
    return f"(case when {is_missing(f'{cell}::varchar', said)} then null else {cell} end)" if said else cell


def _midnight(forms: list[str]) -> str:
    """Return what makes a time of day, which is read as one of 1900, count from midnight behind a date."""
    return " + 2208988800" if len(forms) > 1 and "%" in forms[1] else ""


def _one(column: Column, cell: str, kind: str, form: str) -> str:
    if kind == "VARCHAR":
        return number(cell, form) if column.kind == "number" else moment(cell, form)
    if form.startswith("epoch "):
        return f"{cell}::double / {form.removeprefix('epoch ')}"
    if form == "hours":
        return f"{cell}::double * 3600"
    if column.kind == "number":
        return f"{cell}::double"
    if kind == "TIME":
        return f"epoch({cell})"
    return f"epoch({cell}::timestamp)"


def bad(column: Column, read: str, types: dict[int, str], missing: frozenset[str]) -> str | None:
    """Return a condition that is true of cells that cannot be read, by their value; None if all can."""
    if column.kind == "text":
        return None
    kinds = {place: types[place] for place in column.places}
    if "VARCHAR" not in kinds.values():
        return f"isinf({read})" if kinds[column.places[0]] in ("FLOAT", "DOUBLE") else None
    unknown = " or ".join(
        _is_missing_rarely(f"c{place}", missing) if kind == "VARCHAR" else f"c{place} is null"
        for place, kind in kinds.items()
    )
    infinite = f" or isinf({read})" if column.kind == "number" else ""
    return f"(({read} is null and not ({unknown})){infinite})"
