"""Where the models of a fleet are: in a file, and those that were used last in memory as well."""

from __future__ import annotations

import math
import sys
import time
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elman.fleets._file import Entry, FleetFile
from elman.fleets._patterns import mean_error
from elman.models.catalogue import load_any

if TYPE_CHECKING:
    import os

    from elman.fleets._patterns import Pattern

_SECONDS_BETWEEN_SAVES = 5.0
_SHARE_OF_SAVING = 0.1  # of the time, at most


class OnDisk:
    """Models by key, like `InMemory`; at most `max_in_memory` of them are in memory between two calls.

    Parameters
    ----------
    path, pattern
        As for `FleetFile`.
    max_in_memory
        Models to keep in memory. Others are written and read again when their key comes.
    every
        Rows between two saves; None for some seconds.
    """

    def __init__(
        self, path: str | os.PathLike[str], pattern: Pattern | None, max_in_memory: int, every: int | None
    ) -> None:
        self._file = FleetFile(path, None if pattern is None else pattern.to_bytes())
        self.most = max_in_memory
        self._every = every
        self._models: OrderedDict[Any, Pattern] = OrderedDict()  # the one used last at the end
        self._dirty: set[Any] = set()
        self._held: dict[Any, Pattern] = {}  # which somebody else may have, too, and change
        self._new = 0  # keys that are not in the file yet
        self._rows = 0  # since the last save
        self._saved, self._took = time.monotonic(), 0.0

    def pattern(self) -> bytes:
        """Return the pattern that the fleet was made from."""
        return self._file.noted("pattern") or b""

    def __len__(self) -> int:
        return len(self._file) + self._new

    def __contains__(self, key: Any) -> bool:
        return key in self._models or key in self._file

    def keys(self) -> list[Any]:
        """Return all keys, those that have been longest in the file first."""
        self._write(self._dirty)
        return [entry.key for entry in self._file.entries()]

    def rows(self) -> dict[Any, int]:
        """Return how many rows each key in the file has learned."""
        return {entry.key: entry.rows for entry in self._file.entries()}

    def get(self, key: Any) -> Any:
        """Return the model of a key, to be asked, or None."""
        model = self._models.get(key)
        if model is None:
            model = self._held.get(key) or self._read(key)
            if model is None:
                return None
            self._models[key] = model
        self._models.move_to_end(key)
        return model

    def changing(self, key: Any) -> Any:
        """Return the model of a key, which is about to change, or None."""
        model = self.get(key)
        if model is not None:
            self._dirty.add(key)
        return model

    def hand_out(self, key: Any) -> Any:
        """Return the model of a key to somebody who may change it at any time."""
        model = self.changing(key)
        if model is not None:
            self._held[key] = model
        return model

    def add(self, key: Any, model: Pattern) -> None:
        """Keep the model of a new key."""
        self._models[key] = model
        self._dirty.add(key)
        self._new += 1

    def remove(self, key: Any) -> None:
        """Forget a key."""
        if key not in self:
            raise KeyError(key)
        self._write(self._dirty & {key})
        self._models.pop(key, None)
        self._held.pop(key, None)
        self._file.remove(key)

    def learned(self, rows: int) -> None:
        """Take note that rows have been learned; make room, and save if it is time."""
        self._rows += rows
        if len(self._models) > self.most:
            self._make_room()
        now = time.monotonic()
        pause = max(_SECONDS_BETWEEN_SAVES, self._took / _SHARE_OF_SAVING)
        if self._rows >= self._every if self._every else now - self._saved > pause:
            self.save()

    def save(self) -> None:
        """Write all models that have changed, and make it last."""
        begun = time.monotonic()
        self._write(self._dirty)
        self._file.commit()
        self._rows, self._saved = 0, time.monotonic()
        self._took = self._saved - begun

    def note(self, name: str, content: bytes) -> None:
        """Keep something besides the models, to last from the next save."""
        self._file.note(name, content)

    def noted(self, name: str) -> bytes | None:
        """Return what was noted under a name."""
        return self._file.noted(name)

    def close(self, *, save: bool = True) -> None:
        """Write everything down, unless told not to, and let go of the file."""
        try:
            if save:
                self._write(self._dirty)
        except BaseException:
            save = False
            raise
        finally:
            self._models.clear()
            self._file.close(commit=save)

    def _make_room(self) -> None:
        oldest = [key for key, _ in zip(self._models, range(len(self._models) - self.most), strict=False)]
        self._write(self._dirty.intersection(oldest))
        for key in oldest:
            del self._models[key]

    def _write(self, keys: set[Any]) -> None:
        """Write these models, and those that somebody holds."""
        keys = keys | set(self._held)
        states = []
        for key, model in (self._held | self._models).items():
            if key in keys:
                error = mean_error(model)
                entry = Entry(key, model.n_samples, None if math.isnan(error) else error)
                states.append((entry, model.to_bytes()))
        if self._new:
            self._new -= sum(entry.key not in self._file for entry, _ in states)
        self._file.write(states)
        self._dirty -= keys
        self._let_go()

    def _let_go(self) -> None:
        """Forget that models were handed out which nobody else has any more."""
        for key in list(self._held):
            mine = 2 + (key in self._models)  # this dictionary, the argument of the next call, and memory
            if sys.getrefcount(self._held[key]) <= mine:
                del self._held[key]

    def _read(self, key: Any) -> Any:
        try:
            state = self._file.state(key)
            return None if state is None else self._checked(load_any(state))
        except ValueError as error:
            raise ValueError(f"the model of key {key!r} cannot be read: {error}") from error

    @cached_property
    def _kind(self) -> type:
        return type(load_any(self.pattern()))

    def _checked(self, model: Any) -> Any:
        if type(model) is not self._kind:
            raise ValueError(f"it is a {type(model).__name__} in a fleet of {self._kind.__name__}")
        return model
