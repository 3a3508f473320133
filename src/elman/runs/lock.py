"""A lock between processes that ends with the process that holds it, however that ends.

It is a lock of the operating system on a file that is made for it, in which the holder writes who it is.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def take(descriptor: int) -> bool:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond what is written: a locked byte cannot be read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


SAFELY = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How to open a file that is to be made: through no link, for no child, byte for byte."""

_held: set[int] = set()
_SIGNATURE = re.compile(rb"[0-9]+ [^\n]*")


def _let_go_in_child() -> None:
    """Close the descriptors that a fork has copied, or a child would keep the lock when its parent ends."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


def acquire(path: Path) -> int:
    """Take the lock and return the descriptor of its file, for `release`.

    Raises
    ------
    BlockingIOError
        If another process, or another part of this one, has it; it says which.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | SAFELY, 0o600)
        with ExitStack() as unless_taken:
            unless_taken.callback(os.close, descriptor)
            if not take(descriptor):
                raise BlockingIOError(errno.EAGAIN, f"in use by {_holder(descriptor)}")
            if _is_at(path, descriptor):  # else its holder has removed it since it was opened
                _check_is_lock(path, descriptor)
                _sign(descriptor)
                unless_taken.pop_all()
                _held.add(descriptor)
                return descriptor


def release(path: Path, descriptor: int) -> None:
    """Give the lock back and remove its file."""
    with suppress(OSError):  # Windows removes no file that is open
        if _is_at(path, descriptor):
            path.unlink()
    _held.discard(descriptor)
    os.close(descriptor)


def _check_is_lock(path: Path, descriptor: int) -> None:
    """Refuse a file that something else than `acquire` has made: it would be overwritten and removed."""
    found = os.fstat(descriptor)
    content = os.pread(descriptor, 1000, 0) if hasattr(os, "pread") and stat.S_ISREG(found.st_mode) else b""
    if (
        found.st_nlink > 1
        or not stat.S_ISREG(found.st_mode)
        or (content and not _SIGNATURE.fullmatch(content))
    ):
        raise FileExistsError(errno.EEXIST, f"{path} is in the way: elman did not make it")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"{os.getpid()} {platform.node()}".encode())


def _holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    process, _, host = os.read(descriptor, 1000).decode(errors="replace").partition(" ")
    if not process:  # it has the lock, but has not signed yet
        return "another process"
    return f"process {process}" + ("" if host == platform.node() else f" on {host}")
