"""What the columns of a table hold, by a sample of its rows: numbers, dates in some format, or names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.tables import _sql
from elman.tables.column import NO_UNIT, PARTS, UNIT_BEFORE, UNIT_BEHIND, Column, Kind

if TYPE_CHECKING:
    from elman.tables._relation import Relation
    from elman.tables.options import ReadingOptions

SAMPLE_ROWS = 10_000
_SAMPLE_CELLS = 2_000_000  # of wide tables fewer rows are looked at
_SURVEYED = 20  # columns in one question
_FEW = 60
_MOSTLY = 0.9
_ID_SHARE, _ID_ROWS = 0.95, 20
_DAYS = (
    "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y",
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %B %Y", "%d %B %Y",
    "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%a %d %b %Y", "%a, %d %b %Y", "%Y-%m", "%m/%Y",
)  # fmt: skip
_CLOCKS = (
    "", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %I %p",
    " %I:%M%p", " %I%p", " %H", " %Hh", " %H.%M", " %H:%M Uhr", ", %H:%M", ", %H:%M:%S", ", %I:%M %p", "%H%M",
    "%H%M%S", " %H%M", ":%H:%M", ":%H:%M:%S",
)  # fmt: skip
_STAMPS = (
    *(day + clock for clock in ("T%H", "T%HZ") for day in ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d")),
    *(f"%Y%m%dT{clock}{zone}" for clock in ("%H%M", "%H%M%S", "%H%M%S.%f") for zone in ("", "Z")),
    "%Y-%m-%d %HZ", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M UTC", "%Y-%m-%d %H:%M:%S.%f UTC",
    "%a, %d %b %Y %H:%M:%S GMT", "%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S +0000",
)  # fmt: skip
"""As machines write them, beyond those that are read as ISO."""
DATE_FORMATS = (*(day + clock for day, clock in product(_DAYS, _CLOCKS)), *_STAMPS)
_COMPACT = {"%Y%m%d": 10**4, "%Y%m%d%H": 10**6, "%Y%m%d%H%M": 10**8, "%Y%m%d%H%M%S": 10**10}
_TIMES_OF_DAY = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I %p", "%Hh", "%H:%M Uhr")
TIMELY = re.compile(r"time|date|stamp|epoch|unix|when|zeit|datum|^ts$|^t$|^d$|^dt$|day|tag", re.IGNORECASE)
_PART_NAMES = {
    "year": ("year", "yr", "yyyy", "jahr"),
    "month": ("month", "mon", "mnth", "mm", "monat"),
    "day": ("day", "dd", "dayofmonth", "day_of_month", "mday", "tag"),
    "hour": ("hour", "hr", "hh", "hours", "stunde"),
    "minute": ("minute", "min", "mi", "minutes"),
    "second": ("second", "sec", "ss", "seconds", "sekunde"),
}
_ERAS = ((1e8, 5e9, "1"), (1e11, 5e12, "1000"), (1e14, 5e15, "1000000"), (1e17, 5e18, "1000000000"))


@dataclass
class Understood:
    """The columns of a table, why others are left out, and what is worth saying of some."""

    columns: list[Column] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def understand(relation: Relation, options: ReadingOptions, ignore: set[str], target: str) -> Understood:
    """Find out what each column holds; the one called `target` is taken for numbers if it possibly can."""
    look = _Look(relation, options)
    found = Understood()
    for place, name in enumerate(relation.names):
        if name in ignore:
            found.left_out[name] = "ignored"
            continue
        column = look.column(place, name, is_target=name == target)
        if isinstance(column, str):
            found.left_out[name] = column
        else:
            found.columns.append(column)
    _join_dates(found, look, target)
    for each in found.columns:
        if each.is_time and "%" in each.form:
            found.notes.append(f"{each.name}: dates as {each.form}")
        elif each.kind == "number" and each.form != ".":
            found.notes.append(f"{each.name}: {_said(each.form)}")
    return found


class _Look:
    """A sample of a relation, and questions to it."""

    def __init__(self, relation: Relation, options: ReadingOptions) -> None:
        self._relation, self._options = relation, options
        self._connection = relation.connection
        self._most = min(SAMPLE_ROWS, max(100, _SAMPLE_CELLS // len(relation.names)))
        self._connection.execute(
            f"create or replace temp table sample as select * from {relation.sql} limit {self._most}"
        )
        self._surveyed = self._survey()
        self.decimal = options.decimal or self._file_decimal()

    def _survey(self) -> dict[int, tuple[int, int, int, int]]:
        """Count in columns of text what is known, plain numbers, and commas before decimals, thousands."""
        decimals = _sql.quoted(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+(\s?[^\d\s.,]{1,6})?")
        thousands = _sql.quoted(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
        found = {}
        texts = [place for place, kind in self._relation.types.items() if kind == "VARCHAR"]
        for begin in range(0, len(texts), _SURVEYED):
            places = texts[begin : begin + _SURVEYED]
            conditions = []
            for place in places:
                known = f"not {_sql.is_missing(f'c{place}', self._options.missing)}"
                is_code = f"contains(c{place}, '_')"  # 1_000 is one
                conditions += [
                    known,
                    f"{known} and not {is_code} and try_cast(c{place} as double) is not null",
                    f"regexp_full_match(trim(c{place}), {decimals})",
                    f"regexp_full_match(trim(c{place}), {thousands})",
                ]
            counts = self.ask([f"count(*) filter ({each})" for each in conditions])[0]
            found.update({place: tuple(counts[4 * i : 4 * i + 4]) for i, place in enumerate(places)})
        return found

    def ask(self, expressions: list[str], where: str = "true", rows: str = "sample") -> list[tuple[Any, ...]]:
        query = f"select {', '.join(expressions)} from {rows} where {where}"
        found: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        return found

    def column(self, place: int, name: str, *, is_target: bool) -> Column | str:  # noqa: PLR0911 - one a type
        """Return a column, or why it is left out."""
        kind = self._relation.types[place]
        if self._options.is_text(name):
            return Column(name, "text", "", (place,))
        if kind == "VARCHAR":
            return self._text(place, name, is_target=is_target)
        if kind in _sql.NUMBERS or kind.startswith("DECIMAL"):
            return self._number(place, name, ".")
        if kind == "DATE":
            return Column(name, "date", "iso", (place,))
        if kind.startswith("TIMESTAMP"):
            return Column(name, "datetime", "iso", (place,))
        if kind == "TIME":
            return Column(name, "datetime", "clock", (place,))
        if kind.startswith("ENUM") or kind == "UUID":
            return self._name(place, name)
        return f"it holds {kind.split('(')[0].lower()} values, which have no place in a row"

    def _text(self, place: int, name: str, *, is_target: bool) -> Column | str:
        cell = f"c{place}"
        known = f"not {_sql.is_missing(cell, self._options.missing)}"
        count, plain, _, _ = self._surveyed[place]
        asked = self._options.date_format is not None and TIMELY.search(name) is not None
        if 0 < count == plain and self.decimal == "." and not asked:
            return self._number(place, name, ".")
        if not count:
            # None in the sample: perhaps later.
            rest = f"(select {cell} from {self._relation.sql} where {known} limit {self._most})"
            self._connection.execute(f"create or replace temp table later as select * from {rest}")
            (count,) = self.ask([f"count({cell})"], rows="later")[0]
            if not count:
                return "it is empty"
            rows = "later"
        else:
            rows = "sample"
        form = self._number_form(cell, known, count, rows)
        if form is not None and not asked:
            return self._number(place, name, form)
        if not is_target:
            time = self._time(place, name, known, count, rows)
            if time is not None:
                return time
        form = self._unit_form(cell, known, count, rows)
        if form is not None:
            return Column(name, "number", form, (place,))
        return Column(name, "text", "", (place,)) if is_target else self._name(place, name)

    def _time(self, place: int, name: str, known: str, count: int, rows: str) -> Column | None:
        """Return a column of dates or of times of day, None if it holds others."""
        cell = f"c{place}"
        form = self._date_form(cell, known, count, rows)
        if form is None:
            clock = self._best(cell, known, count, rows, _TIMES_OF_DAY)
            return None if clock is None else Column(name, "datetime", clock, (place,))
        has_clock = "%H" in form or "%I" in form or form == "zoned"
        has_clock = has_clock or (form == "iso" and self._has_clock(cell, rows))
        return Column(name, "datetime" if has_clock else "date", form, (place,))

    def _number_form(self, cell: str, known: str, count: int, rows: str) -> str | None:
        """Return how numbers are written in a cell, None if it holds others."""
        decimal = self.decimal
        forms = [".", ".,"] if decimal == "." else [",", ",."]
        forms += [f"{decimal} ", f"{decimal}'"]
        if self._options.decimal is None:
            forms += [",", ",."] if decimal == "." else ["."]
        forms.append("bool")
        counts = self.ask([f"count({_sql.number(cell, form)})" for form in forms], known, rows)[0]
        best = max(range(len(forms)), key=lambda i: (counts[i], -i))
        (codes,) = self.ask([f"count(*) filter (contains({cell}, '_'))"], known, rows)[0]  # 1_000 is a code
        return forms[best] if counts[best] - codes >= _MOSTLY * count else None

    def _unit_form(self, cell: str, known: str, count: int, rows: str) -> str | None:
        """Return how numbers are written that have one and the same unit before or behind them, else None."""
        units = [
            f"regexp_extract(trim({cell}), {_sql.quoted(f'^{shape}$')}, 1)"
            for shape in (UNIT_BEFORE, UNIT_BEHIND)
        ]
        unit = f"coalesce(nullif({units[0]}, ''), nullif({units[1]}, ''))"
        (found,) = self.ask([f"mode({unit})"], known, rows)[0]
        if not found or "|" in found or NO_UNIT.fullmatch(found):
            return None
        form = self._number_form(_sql.without_unit(cell, found), known, count, rows)
        return None if form in (None, "bool") else f"{form}|{found}"

    def _file_decimal(self) -> str:
        """Return the decimal sign of a CSV file: a comma if cells have one that can be nothing else."""
        separated = self._relation.separator == ","
        for _, _, decimals, thousands in self._surveyed.values():
            if decimals > (thousands if separated else 0):
                return ","
        return "."

    def _number(self, place: int, name: str, form: str) -> Column:
        """Return a column of numbers, or of dates if its name and its values say that it counts time."""
        column = Column(name, "number", form, (place,))
        asked = name == self._options.time
        if form != "." or not (asked or TIMELY.search(name)):
            return column
        read = _sql.value(column, self._relation.types)
        low, high, whole = self.ask([f"min({read})", f"max({read})", f"bool_and({read} = floor({read}))"])[0]
        if low is None:
            return column
        compact = self._compact_form(place, low, high) if whole else None
        if compact is not None:
            return Column(name, "datetime" if "%H" in compact else "date", compact, (place,))
        units = era(low, high)
        if units is not None:
            return Column(name, "datetime", f"epoch {units}", (place,))
        return column

    def _compact_form(self, place: int, low: float, high: float) -> str | None:
        """Return the format of dates that are written as one number, such as 20240131, None if it is none."""
        form = compact_form(low, high)
        if self._relation.types[place] != "VARCHAR" or form is None:
            return None
        return self._best(f"c{place}", "true", 1, "sample", (form,))

    def _date_form(self, cell: str, known: str, count: int, rows: str) -> str | None:
        if self._options.date_format:
            forms: tuple[str, ...] = (self._options.date_format,)
            return self._best(cell, known, count, rows, forms)
        (iso,) = self.ask([f"count({_sql.moment(cell, 'iso')})"], known, rows)[0]
        if iso >= _MOSTLY * count:
            (zoned,) = self.ask([f"count(*) filter ({_sql.is_zoned(cell)})"], known, rows)[0]
            return "zoned" if zoned >= _MOSTLY * count else "iso"
        return self._best(cell, known, count, rows, DATE_FORMATS)

    def _best(self, cell: str, known: str, count: int, rows: str, forms: tuple[str, ...]) -> str | None:
        """Return the format that reads most cells; of equals the one that orders them in shortest steps."""
        few = f"(select {cell} from {rows} where {known} limit {_FEW})"
        read = {
            form: f"case when year({m}) >= 1000 then {m} end"
            for form in forms
            for m in [f"try_strptime(trim({cell}), {_sql.quoted(form)})"]
        }
        counts = self.ask([f"count({each})" for each in read.values()], rows=few)[0]
        most = max(counts)
        if not most:
            return None
        candidates = [form for form, each in zip(forms, counts, strict=True) if each >= _MOSTLY * most]
        values = self.ask([f"epoch({read[form]})" for form in candidates], known, rows)
        times = np.array(values, dtype=np.float64).T
        counted = [int(np.isfinite(each).sum()) for each in times]
        steps = [np.diff(each[np.isfinite(each)]) for each in times]
        in_order = [int((each >= 0).sum()) for each in steps]
        usual = [float(np.median(each[each > 0])) if (each > 0).any() else 0.0 for each in steps]
        best = max(range(len(candidates)), key=lambda i: (counted[i], in_order[i], -usual[i], -i))
        return candidates[best] if counted[best] >= _MOSTLY * min(count, len(values)) else None

    def _has_clock(self, cell: str, rows: str) -> bool:
        (clocks,) = self.ask([f"count(*) filter ({_sql.moment(cell, 'iso')} % 86400 <> 0)"], rows=rows)[0]
        (long,) = self.ask([f"max(length(trim({cell})))"], rows=rows)[0]
        return bool(clocks) or long > len("2024-01-01")

    def _name(self, place: int, name: str) -> Column | str:
        cell = f"c{place}::varchar"
        known = f"not {_sql.is_missing(cell, self._options.missing)}"
        count, levels = self.ask([f"count({cell})", f"count(distinct {cell})"], known)[0]
        if count >= _ID_ROWS and levels > _ID_SHARE * count:
            return "text that is different in every row"
        return Column(name, "text", "", (place,))


def _said(form: str) -> str:
    """Return in words how numbers are written."""
    form, _, unit = form.partition("|")
    if form == "bool":
        return "true and false as 1 and 0"
    return f"decimal {form[0]}" + (f", without {unit}" if unit else "")


def compact_form(low: float, high: float) -> str | None:
    """Return the format of numbers from low to high that begin with a year, such as 20240131, else None."""
    return next((form for form, rest in _COMPACT.items() if 1900 <= low // rest <= high // rest < 2100), None)


def era(low: float, high: float) -> str | None:
    """Return how many units a second has if numbers from low to high count them since 1970, else None.

    Examples
    --------
    >>> era(1.6e9, 1.7e9), era(1.6e12, 1.7e12), era(0, 50)
    ('1', '1000', None)
    """
    return next((units for first, last, units in _ERAS if first <= low and high <= last), None)


def _join_dates(found: Understood, look: _Look, target: str) -> None:
    """Make one column of a date that is spread over several: its parts, or a day and a time of day."""
    columns = [each for each in found.columns if each.name != target]
    clocks = [
        each for each in columns if each.is_time and (each.form == "clock" or each.form in _TIMES_OF_DAY)
    ]
    dates = [each for each in columns if each.is_time and each not in clocks]
    numbers = {each.name.lower(): each for each in columns if each.kind == "number"}
    parts = [next((numbers[n] for n in _PART_NAMES[part] if n in numbers), None) for part in PARTS]
    if len(dates) == 1 and dates[0].kind == "date" and (clocks or parts[3] is not None):
        clock = clocks[0] if clocks else parts[3]
        assert clock is not None
        form = clock.form if clocks else "hours"
        joined = Column(
            dates[0].name, "datetime", f"{dates[0].form} + {form}", (*dates[0].places, *clock.places)
        )
        _replace(found, [dates[0], clock], joined)
        found.notes.append(f"{dates[0].name} and {clock.name} together: when a row was")
    elif not dates and all(part is not None for part in parts[:3]):
        used = [part for part in parts[:3] if part is not None]
        for part in parts[3:]:
            if part is None:
                break
            used.append(part)
        places = tuple(each.places[0] for each in used)
        (first,) = look.ask([f"min(try_cast(c{places[0]} as double))"])[0]
        if first is not None and first >= 1000:
            kind: Kind = "datetime" if len(used) > 3 else "date"
            name = "time" if "time" not in {each.name for each in found.columns} else "time of row"
            _replace(found, used, Column(name, kind, "parts", places))
            found.notes.append(f"{', '.join(each.name for each in used)} together: when a row was")


def _replace(found: Understood, parts: list[Column], joined: Column) -> None:
    at = min(found.columns.index(each) for each in parts)
    found.columns = [each for each in found.columns if each not in parts]
    found.columns.insert(at, joined)
