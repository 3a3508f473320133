"""Where the models of a fleet are: all of them in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elman.fleets._patterns import Pattern


class InMemory:
    """Models by key. What `OnDisk` does besides, saving and making room, is nothing here."""

    most = 10_000
    """Keys to learn at once."""

    def __init__(self) -> None:
        self._models: dict[Any, Pattern] = {}

    def __len__(self) -> int:
        return len(self._models)

    def __contains__(self, key: Any) -> bool:
        return key in self._models

    def keys(self) -> list[Any]:
        """Return all keys."""
        return list(self._models)

    def get(self, key: Any) -> Any:
        """Return the model of a key, to be asked, or None."""
        return self._models.get(key)

    def changing(self, key: Any) -> Any:
        """Return the model of a key, which is about to change, or None."""
        return self._models.get(key)

    def hand_out(self, key: Any) -> Any:
        """Return the model of a key to somebody who may change it at any time."""
        return self._models.get(key)

    def add(self, key: Any, model: Pattern) -> None:
        """Keep the model of a new key."""
        self._models[key] = model

    def remove(self, key: Any) -> None:
        """Forget a key."""
        del self._models[key]

    def learned(self, rows: int) -> None:
        """Take note that rows have been learned, and that no model is in the middle of a change."""

    def save(self) -> None:
        """Write everything down."""

    def note(self, name: str, content: bytes) -> None:
        """Keep something beside the models."""

    def noted(self, name: str) -> bytes | None:
        """Return what was noted, which is nothing."""
        del name
        return None

    def close(self, *, save: bool = True) -> None:
        """Write everything down and let go of it."""
