"""What a person may say of a table where looking at it is not enough."""

from __future__ import annotations

from dataclasses import dataclass

MISSING = (
    "", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "nil", "missing", "-", "--", "?", ".", r"\n",
)  # fmt: skip
"""Cells that stand for no value, in small letters."""


@dataclass(frozen=True)
class ReadingOptions:
    r"""How to read a table; None and empty where it is to be found out.

    Parameters
    ----------
    separator
        Between cells; ``"tab"`` and ``"\\\\t"`` for a tabulator.
    decimal
        The decimal sign of numbers, ``"."`` or ``","``.
    encoding
        Of the text, as Python names it.
    na
        Further cells that stand for no value.
    date_format
        Of dates, as strptime has it.
    time
        Name of the column that says when a row was.
    text
        Names of columns whose values are names, even if they look like numbers.
    header
        Whether the first line names the columns.
    were_text
        Names of columns that were names before and still are; they may be absent.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()
    date_format: str | None = None
    time: str | None = None
    text: tuple[str, ...] = ()
    header: bool = True
    were_text: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.separator is not None:
            named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
            object.__setattr__(self, "separator", named.get(self.separator.lower(), self.separator))
            if len(self.separator) != 1:
                raise ValueError(f"the separator must be one character or 'tab', got {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"the decimal sign must be . or , got {self.decimal!r}")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    def is_text(self, name: str) -> bool:
        """Whether a column holds names, whatever it looks like."""
        return name in self.text or name in self.were_text

    @property
    def missing(self) -> frozenset[str]:
        """Return all cells that stand for no value, in small letters."""
        return frozenset(MISSING) | {each.strip().lower() for each in self.na}


AS_FOUND = ReadingOptions()
"""Everything is found out by looking at the table."""


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError as error:
        raise ValueError(
            f"there is no encoding {encoding!r}; try utf-8, utf-16, latin-1 or cp1252"
        ) from error
