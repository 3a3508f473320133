"""The file of a state: held by one process at a time, and whole at any moment and after any crash."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elman.runs.lock import SAFELY, acquire, release

if TYPE_CHECKING:
    from collections.abc import Iterator


class StateFile:
    """A file that belongs to one process as long as this context lasts: the bytes of a run or a model.

    The lock is a file beside it, and ends with its process. A second process that wants the file gets a
    BlockingIOError at once, which names the first.

    Parameters
    ----------
    path
        The file, which need not exist; a symbolic link stands for the file that it points to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, StateFile(f"{folder}/state") as file:
    ...     file.write(b"all of it")
    ...     file.read()
    b'all of it'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._named = os.fspath(path)
        self._path = Path(os.path.realpath(path))
        self._lock = self._path.with_name(f".{self._path.name}.lock")
        self._descriptor = self._process = -1

    def __enter__(self) -> Self:
        with self._named_errors():
            self._former()  # what cannot be written is better said now
            self._descriptor, self._process = acquire(self._lock), os.getpid()
            self._remove_leftovers()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_held():
            release(self._lock, self._descriptor)
        self._descriptor = self._process = -1

    def exists(self) -> bool:
        """Whether anything was written yet."""
        return self._path.exists()

    def read(self) -> bytes:
        """Return what was written last."""
        with self._named_errors("cannot read"):
            return self._path.read_bytes()

    def write(self, content: bytes) -> None:
        """Write the file: afterwards it holds either what it held before or all of `content`.

        A temporary file beside it is written, forced to the disk and renamed over it, with the mode of the
        old one. If that fails (a full disk, a folder that may not be written) the error is raised and the
        old file is as it was.

        Raises
        ------
        RuntimeError
            If the file is not held: outside of the context, or in a child of the process that entered it.
        """
        if not self._is_held():
            raise RuntimeError(
                f"{self._named} is not held by this process: write it within `with StateFile(...)`"
            )
        with self._named_errors():
            # A name of its own: whoever has broken the lock never writes into the same temporary file.
            temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}.tmp")
            try:
                with os.fdopen(self._new_descriptor(temporary), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self._path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            _sync_folder(self._path.parent)

    def _is_held(self) -> bool:
        """Whether this process, and not its parent, has the lock."""
        return self._process == os.getpid()

    def _former(self) -> os.stat_result | None:
        """Return what is known of the file that will be replaced, if there is one."""
        try:
            found = os.stat(self._named)  # noqa: PTH116 - which says what is wrong with a loop of links
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return found

    def _remove_leftovers(self) -> None:
        """Remove temporary files of processes that were killed while they wrote."""
        mine = re.compile(rf"\.{re.escape(self._path.name)}\.[0-9a-f]{{16}}\.tmp")
        with suppress(PermissionError):  # a folder that may be written and not read
            for each in self._path.parent.iterdir():
                if mine.fullmatch(each.name):
                    each.unlink(missing_ok=True)

    def _new_descriptor(self, temporary: Path) -> int:
        """Open a new file with the mode and, where that is allowed, the owner of the old one."""
        flags = os.O_WRONLY | os.O_EXCL | SAFELY
        former = self._former()
        if former is None:
            return os.open(temporary, flags, 0o666)
        mode = stat.S_IMODE(former.st_mode)
        descriptor = os.open(temporary, flags, mode & 0o700)
        try:
            _take_after(descriptor, former)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    @contextmanager
    def _named_errors(self, what: str = "cannot save") -> Iterator[None]:
        try:
            yield
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, error.strerror, self._named) from None
        except OSError as error:
            raise OSError(error.errno, f"{what}: {error.strerror}", self._named) from error


def _take_after(descriptor: int, former: os.stat_result) -> None:
    """Give a file the mode and, where that is allowed, the owner of another one."""
    if sys.platform == "win32":
        return
    mode, found = stat.S_IMODE(former.st_mode), os.fstat(descriptor)
    if (found.st_uid, found.st_gid) != (former.st_uid, former.st_gid):
        try:
            os.fchown(descriptor, former.st_uid, former.st_gid)
        except PermissionError:
            mode &= ~0o070  # what one group might read is not for another
    os.fchmod(descriptor, mode)  # whatever the umask


def _sync_folder(folder: Path) -> None:
    """Force the renaming itself to the disk, where the system can do that with a folder."""
    if sys.platform == "win32":
        return
    with suppress(PermissionError):  # a folder that may be written and not read
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
