"""Writing a file so that whoever reads it, at any moment and after any crash, finds it whole."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: afterwards the file holds either what it held before or all of `content`.

    A temporary file beside it is written, forced to the disk and renamed over it. If that fails (a full disk,
    a folder that may not be written) the error is raised and the old file is as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/state", b"all of it")
    ...     Path(folder, "state").read_bytes()
    b'all of it'
    """
    target = Path(path).resolve()  # a symbolic link stays one
    # Always the same name: what a killed process leaves behind is written over by the next one.
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(error.errno, f"cannot save: {error.strerror}", str(path)) from error
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the renaming itself to the disk, where the system can do that with a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
