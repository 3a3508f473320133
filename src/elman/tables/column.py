"""What a column of a table is, and how one cell of it is read.

A form says how the cells of a column are written:

- number: the decimal sign and behind it the sign between thousands, if there is one: ``"."``, ``".,"``,
  ``",."``; ``"bool"`` for true and false; behind a ``"|"`` the unit that every number has
- date, datetime: ``"iso"``, or ``"zoned"`` if its offset from UTC stands behind it; a format of strptime;
  ``"epoch 1000"`` for so many units a second; ``"parts"`` for year, month, day, hour, minute and second in
  columns of their own; two forms with ``" + "`` between them for a day and a time of day, which may be
  ``"hours"``
- text: ``""``
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from elman.codes import level, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind: TypeAlias = Literal["number", "date", "datetime", "text"]

PARTS = ("year", "month", "day", "hour", "minute", "second")
_MONEY = "$€£¥₹"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR"
UNIT_BEFORE = rf"[-+]?([{_MONEY}]|{_CODES})\s?[-+]?\d[\d.,' ]*"
UNIT_BEHIND = rf"[-+]?[\d.,'\s]*\d[.,]?\s?([A-Za-z%‰°µΩ{_MONEY}][^\s\d.,;:+_-]{{0,7}}[23]?)"
"""A number with a unit, such as $5, 12.5 kWh or 3 W/m2, as regular expressions of Python and of DuckDB."""
NO_UNIT = re.compile(r"[ap]\.?m\.?|uhr|(jan|feb|ma|apr|jun|jul|aug|sep|o[ck]t|nov|de[cz]).*", re.IGNORECASE)
"""What stands behind the numbers of a time of day and of a date."""
_WHAT = {"number": "a finite number", "date": "a date", "datetime": "a date", "text": "a text"}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name
        What it is called.
    kind
        What it holds.
    form
        How that is written.
    places
        Where its cells are in a line, from 0: one place, or those of its parts.
    """

    name: str
    kind: Kind
    form: str
    places: tuple[int, ...]

    @property
    def is_time(self) -> bool:
        """Whether it holds dates, with a time of day or without."""
        return self.kind in ("date", "datetime")

    def described(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, description: dict[str, Any]) -> Column:
        """Return the column that was described."""
        return cls(**{**description, "places": tuple(description["places"])})

    def refusal(self, cells: Sequence[str | None]) -> str:
        """Say why cells of it cannot be read."""
        shown = " ".join(_short(cells[place] or "") for place in self.places)
        return f"column {self.name!r}: {shown} is not {_WHAT[self.kind]}"

    def read(self, cells: Sequence[str], missing: frozenset[str]) -> float:
        """Return the number that stands for the cells of a line; ValueError if they cannot be read."""
        texts = [cells[place].strip() for place in self.places]
        if any(text.lower() in missing for text in texts):
            return math.nan
        value = self._read(texts)
        if math.isinf(value):
            raise ValueError("not finite")
        return value

    def _read(self, texts: list[str]) -> float:
        if self.kind == "number":
            return number(texts[0], self.form)
        if self.kind == "text":
            return level(texts[0])
        if self.form == "parts":
            year, month, day, *clock = (int(float(text)) for text in texts)
            midnight = seconds(datetime(year, month, day))  # noqa: DTZ001 - the clock on the wall
            return midnight + sum(u * part for u, part in zip((3600, 60, 1), clock, strict=False))
        form, *forms = self.form.split(" + ")
        return moment(texts[0], form) + sum(moment(texts[1], each) % 86400 for each in forms)


def key_column(name: str, names: list[str], left_out: dict[str, str]) -> Column:
    """Return the column that says whom a row belongs to; it is one that was left out of the inputs."""
    if name not in names:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(names[:20])}")
    if left_out.pop(name, None) is None:
        raise ValueError(f"column {name!r} is an input or the target and cannot be the key as well")
    return Column(name, "text", "", (names.index(name),))


def number(text: str, form: str) -> float:
    """Read a number that is written in a form.

    Examples
    --------
    >>> number("1.234,5", ",."), number("-3e2", "."), number("1,234", ".,"), number("12.5 kWh", ".|kWh")
    (1234.5, -300.0, 1234.0, 12.5)
    """
    form, _, unit = form.partition("|")
    if unit:
        text = _without_unit(text.strip(), unit)
    if form == "bool":
        return {"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0}.get(text.lower(), math.nan)
    decimal, thousands = form[0], form[1:]
    if thousands and thousands in text:
        whole, _, fraction = text.lstrip("+-").partition(decimal)
        first, *others = whole.split(thousands)
        if not (1 <= len(first) <= 3 and all(len(each) == 3 for each in others)) or thousands in fraction:
            raise ValueError(f"{text!r} is not a number")
        text = text.replace(thousands, "")
    if "_" in text or (decimal != "." and "." in text):
        raise ValueError(f"{text!r} is not a number")
    return float(text.replace(decimal, "."))


def certain_unit(text: str) -> str:
    """Return the unit of a number where a single cell shows that it is one: a sign, or behind a space.

    Examples
    --------
    >>> certain_unit("$5"), certain_unit("12.5 kWh"), certain_unit("12 %"), certain_unit("7b")
    ('$', 'kWh', '%', '')
    """
    found = re.fullmatch(UNIT_BEFORE, text) or re.fullmatch(UNIT_BEHIND, text)
    unit = found[1] if found is not None and not NO_UNIT.fullmatch(found[1]) else ""
    return unit if not unit[:1].isalpha() or f" {unit}" in text or text.startswith(unit) else ""


def _without_unit(text: str, unit: str) -> str:
    """Return the number before or behind a unit; ValueError if it has none: it may be in another."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    if text.endswith(unit):
        return text.removesuffix(unit).strip()
    if text.removeprefix(sign).startswith(unit):
        return sign + text.removeprefix(sign).removeprefix(unit).strip()
    raise ValueError(f"{text!r} is not in {unit}")


def moment(text: str, form: str) -> float:
    """Read a date in a form, as seconds since 1970 of the clock on the wall.

    Examples
    --------
    >>> moment("1970-01-02", "iso"), moment("01.01.70 00:01", "%d.%m.%y %H:%M"), moment("5000", "epoch 1000")
    (86400.0, 60.0, 5.0)
    """
    if form in ("iso", "zoned"):
        return seconds(datetime.fromisoformat(text))
    if form == "hours":
        return 3600 * float(text)
    if form.startswith("epoch "):
        return float(text) / float(form.removeprefix("epoch "))
    return seconds(datetime.strptime(text, form))  # noqa: DTZ007 - the clock on the wall


def _short(cell: str) -> str:
    """Quote a cell, or its beginning if it is long."""
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}...")
