"""What is in the bytes of a saved run or model, read without making one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import state

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Contents:
    """The header and the arrays of a saved state, and the states that are saved within it."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    axes: dict[str, list[str]]
    """What the axes of each array run over; a triangle of a symmetric matrix has two, but one length."""
    parts: dict[str, Contents]


def contents(blob: bytes) -> Contents:
    """Return what is in a saved run or model; a ValueError if it is damaged or something else.

    Examples
    --------
    >>> from elman import OnlineRNN
    >>> contents(OnlineRNN(seed=1).to_bytes()).header["configuration"]["cell"]
    {'type': 'SRNN', 'n_hidden': 15}
    """
    header, parsed = state.parse(blob)
    arrays = parsed.named()
    within = {name for name, array in arrays.items() if array.dtype == np.uint8}
    return Contents(
        header=header,
        arrays={name: array for name, array in arrays.items() if name not in within},
        axes={name: axes for name, _, _, axes in parsed.table},
        parts={name: contents(arrays[name].tobytes()) for name in within},
    )
