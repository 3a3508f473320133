"""Questions whose truth comes later, as people hold them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

MAX_PENDING = 10_000

NOT_OPEN = {
    "unknown": "no row of that number was asked",
    "dropped": "it was forgotten, or more than max_pending were open",
    "settled": "its target was told before, or given with the row",
}
"""Why a question is not open."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What `ask` returns: an answer, and what its target is told by.

    The numbers are floats, or arrays (n_outputs,) if targets are arrays.
    """

    id: int
    """The number of the row, counted from 1; all that `tell` needs."""
    prediction: Any
    low: Any
    """With `high` the interval that holds the target with the probability that was asked for."""
    high: Any


def question_of(ticket: Any) -> int:
    """Return the id of a ticket, or an id as it is."""
    if isinstance(ticket, Ticket):
        return ticket.id
    try:
        question = operator.index(ticket)
    except TypeError:
        raise TypeError(f"a question is a Ticket or its id, got {ticket!r}") from None
    return question if 0 <= question < 1 << 62 else 0  # there never is a question 0
