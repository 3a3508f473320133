"""Who of a forecaster's members is trusted at which step ahead, and how far off everybody was lately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elman.arrays import Float64

_CYCLES = {1: "rows", 2: "rows, a day", 3: "rows, a week", 4: "rows, a year"}
_LAST, _NAIVE = 0, (2, 3)


@dataclass(frozen=True)
class Standing:
    """Weights and recent errors of the members at every step ahead."""

    names: list[str]
    weights: Float64
    """Shape (horizon, members): each row adds up to one."""
    errors: Float64
    """Recent mean squared errors over the variance, shape (horizon, members + 1); last, the mixture's."""
    learned: Float64
    """Rows that each step has learned from, shape (1, horizon)."""
    seasons: tuple[tuple[int, int], ...]
    """Cycle and period of each season."""

    def table(self, samples: int, steps: int) -> str:
        """Return a small table of it."""
        horizon = len(self.weights)
        found = " and ".join(f"{period} {_CYCLES[cycle]}" for cycle, period in self.seasons) or "none"
        lines = [f"Forecaster after {samples:,} rows, {steps:,} with a value", f"seasons: {found}"]
        if not self.learned[0, 0]:
            return "\n".join(lines)
        columns = {"forecast": self.errors[:, -1], "last value": self.errors[:, _LAST]}
        for i in range(len(self.seasons)):
            columns[f"seasonal naive {i + 1}"] = self.errors[:, _NAIVE[i]]
        shown = sorted({1, 2, 3, 6, 12, 24, 48, horizon} & set(range(1, horizon + 1)))
        lines += ["", "recent squared errors over the variance, by step ahead"]
        lines.append(f"{'step':>6}  " + "  ".join(f"{name:>16}" for name in columns) + "  most trusted")
        for step in shown:
            if not self.learned[0, step - 1]:
                continue
            cells = "  ".join(f"{column[step - 1]:16.4f}" for column in columns.values())
            best = int(self.weights[step - 1].argmax())
            lines.append(f"{step:>6}  {cells}  {self.names[best]} {self.weights[step - 1, best]:.0%}")
        lines += ["", f"{'share of each, all steps':32}  weight   error"]
        means = self.weights.mean(axis=0)
        for i in sorted(range(len(means)), key=lambda place: -means[place]):
            lines.append(f"{self.names[i]:32}  {means[i]:6.3f}  {self.errors[:, i].mean():6.4f}")
        return "\n".join(lines)
