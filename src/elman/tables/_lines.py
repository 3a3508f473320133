"""Which line of a file a record is, found by reading the file once more up to there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elman.tables import _plain
from elman.tables._dialect import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.tables._relation import Relation


class LineFinder:
    """Finds records one after the other, in the order of the file."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._records = self._all()

    def find(self, cells: list[str | None]) -> int | None:
        """Return the line that the next record with these cells ends in; None if it is not found."""
        wanted = [cell for cell in cells if cell is not None]
        for line, found in self._records:
            if found[: len(wanted)] == wanted:
                return line
        return None

    def _all(self) -> Iterator[tuple[int, list[str]]]:
        relation = self._relation
        assert relation.dialect is not None
        for path in relation.paths:
            with _plain.opened(path, relation.compression, "utf-8-sig") as text:
                found = records(text, relation.dialect)
                if relation.has_header:
                    next((cells for _, cells in found if is_header(cells, relation.names)), None)
                yield from found


def is_header(cells: list[str], names: list[str]) -> bool:
    """Whether a record names the columns; one without a name is called by its place."""
    return len(cells) == len(names) and all(
        cell.strip().removeprefix("\ufeff") in ("", name) for cell, name in zip(cells, names, strict=True)
    )
