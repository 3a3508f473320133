"""Rows that could not be learned, among others that were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 3


class RefusedRow(NamedTuple):
    """A row that is wrong."""

    key: Any
    row: int
    """Its number in the batch, from 0."""
    reason: str


class Refused(ValueError):  # noqa: N818 - what came is the user's, and most of it was learned
    """Some keys of a batch have a row that is wrong. All other keys have been learned.

    Of a key with a wrong row nothing of the batch was learned, so that its rows can be sent again in order.

    Attributes
    ----------
    rows : list of RefusedRow
        The first wrong row of each of these keys.
    answers : list
        What the call would have returned: arrays, with NaN for rows that were not learned.
    """

    def __init__(self, rows: Sequence[RefusedRow], answers: Sequence[Any]) -> None:
        self.rows, self.answers = list(rows), list(answers)
        shown = "; ".join(f"key {row.key!r}, row {row.row}: {row.reason}" for row in self.rows[:_SHOWN])
        more = f"; and {len(self.rows) - _SHOWN:,} more" if len(self.rows) > _SHOWN else ""
        count = "1 key was" if len(self.rows) == 1 else f"{len(self.rows):,} keys were"
        super().__init__(f"{count} not learned, all others were: {shown}{more}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rows, self.answers)
