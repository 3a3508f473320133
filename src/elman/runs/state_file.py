"""The file of a state: held by one process at a time, and whole at any moment and after any crash."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
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
        self._path = Path(path).resolve()
        self._lock = self._path.with_name(f".{self._path.name}.lock")
        self._temporary = self._path.with_name(f".{self._path.name}.tmp")

    def __enter__(self) -> Self:
        with self._named_errors():
            self._descriptor = acquire(self._lock)
            self._temporary.unlink(missing_ok=True)  # left behind by a process that was killed
        return self

    def __exit__(self, *_: object) -> None:
        release(self._lock, self._descriptor)

    def exists(self) -> bool:
        """Whether anything was written yet."""
        return self._path.exists()

    def read(self) -> bytes:
        """Return what was written last."""
        return Path(self._named).read_bytes()

    def write(self, content: bytes) -> None:
        """Write the file: afterwards it holds either what it held before or all of `content`.

        A temporary file beside it is written, forced to the disk and renamed over it, with the mode of the
        old one. If that fails (a full disk, a folder that may not be written) the error is raised and the
        old file is as it was.
        """
        with self._named_errors():
            try:
                with os.fdopen(self._new_descriptor(), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                self._temporary.replace(self._path)
            except BaseException:
                self._temporary.unlink(missing_ok=True)
                raise
            _sync_folder(self._path.parent)

    def _new_descriptor(self) -> int:
        flags = os.O_WRONLY | os.O_EXCL | SAFELY
        if not self._path.exists():
            return os.open(self._temporary, flags, 0o666)
        mode = stat.S_IMODE(self._path.stat().st_mode)
        descriptor = os.open(self._temporary, flags, mode)
        if sys.platform != "win32":
            os.fchmod(descriptor, mode)  # whatever the umask
        return descriptor

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, error.strerror, self._named) from None
        except OSError as error:
            raise OSError(error.errno, f"cannot save: {error.strerror}", self._named) from error


def _sync_folder(folder: Path) -> None:
    """Force the renaming itself to the disk, where the system can do that with a folder."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
