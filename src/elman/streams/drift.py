"""A change of the law behind a generated stream, at once or little by little."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64


@dataclass(frozen=True)
class Drift:
    """One change of a robot-arm stream.

    Parameters
    ----------
    at
        The first row (from 0) that feels the change.
    width
        Over how many rows it grows, in a straight line; 0 is a change at once.
    amount
        Its final size: the kilograms added to the last link of a Puma arm, or the metres by which the
        target of `kinematics` moves away from the arm's base. The last link weighs 0.09 kg: 0.09 doubles
        the target of `puma32`, which hangs on that link's inertia, while `puma8` needs about a kilogram to
        change as clearly.

    Examples
    --------
    >>> import numpy as np
    >>> Drift(at=2, width=4, amount=1.0).level(np.arange(8))
    array([0.  , 0.  , 0.25, 0.5 , 0.75, 1.  , 1.  , 1.  ])
    >>> Drift(at=2, amount=0.5).level(np.arange(4))
    array([0. , 0. , 0.5, 0.5])
    """

    at: int
    width: int = 0
    amount: float = 1.0

    def __post_init__(self) -> None:
        if self.at < 0:
            raise ValueError(f"at must be a row number from 0, got {self.at}")
        if self.width < 0:
            raise ValueError(f"width must be 0 (at once) or a number of rows, got {self.width}")
        if not math.isfinite(self.amount):
            raise ValueError(f"amount must be finite, got {self.amount}")

    def level(self, rows: NDArray[np.int64]) -> Float64:
        """Return the size of the change at each row.

        Parameters
        ----------
        rows
            Row numbers from 0, of any shape.

        Returns
        -------
        Array of the same shape: 0 before the change, `amount` after it.
        """
        grown = (rows - self.at + 1) / max(self.width, 1)
        return self.amount * np.clip(grown, 0.0, 1.0)
