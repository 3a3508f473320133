"""What one thread at a time may use: a lock that never waits for its own thread, nor for one that is gone."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable

_all: Iterable[Locked] = weakref.WeakSet()


class Locked:
    """Something with a `_lock`.

    A thread that waits for what it holds itself would wait for ever: a signal handler that uses a model does,
    if it interrupts a call of the same model in the same thread. It gets a RuntimeError. So does, in a child
    of `os.fork`, whoever uses what another thread was using at that moment: that thread does not exist there.
    """

    def __init__(self) -> None:
        self._mutex: Any = threading.RLock()
        _all.add(self)  # type: ignore[attr-defined]

    @property
    def _lock(self) -> Any:
        """The lock, to be entered at once."""
        if self._mutex._is_owned():  # noqa: SLF001 - as threading.Condition asks
            raise RuntimeError(
                "this model is in the middle of another call in the same thread: a signal handler, or what "
                "else interrupted that call, cannot use it. Let it raise, and use the model after the call"
            )
        return self._mutex


class _Gone:
    """In place of the lock of something that a thread was using which does not exist in this process."""

    def _is_owned(self) -> NoReturn:
        raise RuntimeError(
            "this model was in use in another thread when the process was forked, so this process has half "
            "of a change: load the model from its bytes"
        )


def _after_fork_in_child() -> None:
    for each in list(_all):
        mutex = each._mutex  # noqa: SLF001 - of this module
        if isinstance(mutex, _Gone):
            continue
        if mutex.acquire(blocking=False):
            mutex.release()
        else:
            each._mutex = _Gone()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
