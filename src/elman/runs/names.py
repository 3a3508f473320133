"""Questions by the ids that a sender gives them."""

from __future__ import annotations

from itertools import islice
from typing import Any, Self

_REMEMBERED = 10_000  # ids that were settled: a truth that comes twice is found out among so many


class Names:
    """Which question an id means, as long as that is open, and which ids were settled lately.

    Examples
    --------
    >>> names = Names()
    >>> names.ask("a", 1)
    >>> names.settle("a")
    >>> names.question("a"), names.is_settled("a")
    (None, True)
    """

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._settled: dict[str, None] = {}

    def question(self, name: str) -> int | None:
        """Return the open question of an id."""
        return self._open.get(name)

    def is_settled(self, name: str) -> bool:
        """Whether the truth of an id has come, of those that came last."""
        return name in self._settled

    def ask(self, name: str, question: int) -> None:
        """Let an id mean a question."""
        self._settled.pop(name, None)
        self._open[name] = question

    def settle(self, name: str) -> None:
        """Note that the truth of an id has come."""
        self._open.pop(name, None)
        self._settled[name] = None
        if len(self._settled) > _REMEMBERED:
            del self._settled[next(iter(self._settled))]

    def give_up(self, question: int) -> None:
        """Forget the id of a question whose truth is not waited for any more."""
        for name, each in self._open.items():
            if each == question:  # the oldest one, so that it is among the first
                del self._open[name]
                return

    def described(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {"open": self._open, "settled": list(self._settled)}

    @classmethod
    def of(cls, described: dict[str, Any]) -> Self:
        """Return what `described` told of."""
        names = cls()
        names._open = {str(name): int(question) for name, question in described["open"].items()}
        names._settled = dict.fromkeys(map(str, islice(described["settled"], _REMEMBERED)))
        return names
