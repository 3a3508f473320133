"""What one call of `elman reproduce` is asked for; every table and figure reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elman.paper.systems import LIMIT_STEPS, SETS

if TYPE_CHECKING:
    from elman.paper.tune import Record


@dataclass(frozen=True)
class Plan:
    """What to reproduce, and how much of it.

    Parameters
    ----------
    items
        Names of tables and figures: some of `elman.paper.reproduce.ITEMS`.
    datasets
        Names of the sets.
    runs
        Seeds 0, 1, ... of every system.
    tuned
        Settings that a grid chose, one row for each system and set.
    repetitions
        Runs of which the shortest gives the seconds.
    rows
        Only so many of each set's rows, and of an addition's steps: for tests.
    """

    items: tuple[str, ...]
    datasets: tuple[str, ...]
    runs: int
    tuned: tuple[Record, ...]
    repetitions: int = 3
    rows: int | None = None

    @property
    def seeds(self) -> range:
        """Those of the tables and figures."""
        return range(self.runs)

    def rows_of(self, dataset: str) -> int:
        """Return how many rows of a set are learned."""
        return min(self.rows or SETS[dataset].rows, SETS[dataset].rows)

    @property
    def limit(self) -> int:
        """Steps after which an addition has failed."""
        return min(self.rows or LIMIT_STEPS, LIMIT_STEPS)

    def tuned_settings(self, model: str, dataset: str) -> dict[str, Any]:
        """Return what the grid chose for a system.

        Raises
        ------
        ValueError
            If the grid did not have it.
        """
        for row in self.tuned:
            if (row["model"], row["dataset"]) == (model, dataset):
                return row
        raise ValueError(f"no tuned settings for {model} on {dataset}")
