"""The file of predictions: it grows line by line and can be cut back to where a saved state left it."""

from __future__ import annotations

import errno
import math
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

import numpy as np

from elman.evaluate import surprise
from elman.runs import lock
from elman.runs.clock import stamp
from elman.runs.run import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from elman.arrays import Float64


def cell(value: float) -> str:
    """Write a number so that it reads back the same, and nothing for NaN.

    Examples
    --------
    >>> cell(0.1), cell(float("nan"))
    ('0.1', '')
    """
    return "" if math.isnan(value) else repr(float(value))


def column_names(targets: Sequence[str], numbers: Iterable[str]) -> list[str]:
    """Return the names of columns that hold some numbers of each target.

    Examples
    --------
    >>> column_names(["y"], ["low", "high"]), column_names(["a", "b"], ["low"])
    (['low', 'high'], ['a.low', 'b.low'])
    """
    return [number if len(targets) == 1 else f"{target}.{number}" for target in targets for number in numbers]


def quoted(name: str) -> str:
    """Return a name as a cell of CSV.

    Examples
    --------
    >>> quoted("time"), quoted("a, b")
    ('time', '"a, b"')
    """
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n\r') else name


_FIRST_LINE = re.compile(
    rb"row(?:,[^\n]*)?"
    + rb"".join(rb"(,(?:[^\n]*\.)?%b)" % name.encode() for name in NUMBERS)
    + rb"(?:,[^\n]*)?"
)
_PIECE_BYTES = 1 << 20
_OTHER = "; name another file, or remove this one"


class Output:
    """A CSV file of `Outcome`, written in the order of the rows.

    A file that exists and that elman did not write is refused: what is at the path must be empty, begin with
    the first line of such a file, or, to go on with it, be the very file that was there when a state was
    saved. While it is open no other process can open it as its output.

    Parameters
    ----------
    path
        The file.
    targets
        The names of the targets.
    size
        Bytes to keep of it: what came after the last save is cut off. 0 begins the file anew.
    checksum
        Of these bytes, as `checksum` was then; they are not looked at if it is None.
    time
        The name of the column of times, None if there is none.
    surprise
        Whether to write how surprising each truth was.
    begun
        Whether rows have been learned before, so that a file that is there holds others than will be written.

    Attributes
    ----------
    checksum : int
        Of all that was written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        targets: Sequence[str],
        size: int = 0,
        checksum: int | None = None,
        *,
        time: str | None = None,
        surprise: bool = False,
        begun: bool = False,
    ) -> None:
        self._has_time, self._has_surprise = time is not None, surprise
        self._path = os.fspath(path)
        self.checksum = 0
        keeps = not Path(path).exists() or Path(path).is_file()  # and is no pipe, terminal or device
        # Opened as it is and looked at before a byte of it is changed.
        flags = (os.O_RDWR if keeps else os.O_WRONLY) | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._keeps = keeps
        self._file: BinaryIO = os.fdopen(os.open(path, flags, 0o666), "r+b" if keeps else "wb")
        try:
            self._begin(size, checksum, begun=begun)
            if not size:
                numbers = [*NUMBERS, "surprise"] if surprise else NUMBERS
                times = [] if time is None else [quoted(time)]
                self._write([",".join(["row", *times, *column_names(targets, numbers)])])
        except BaseException:
            self._file.close()
            raise

    def _begin(self, size: int, checksum: int | None, *, begun: bool) -> None:
        """Take the file if it may be written, and cut it to its first `size` bytes."""
        if not self._keeps and size:
            raise ValueError(f"{self._path} is no file that can be gone on with")
        if not self._keeps:
            return
        if not lock.take(self._file.fileno()):
            raise BlockingIOError(errno.EAGAIN, "another process writes its predictions there", self._path)
        self._check(size, checksum, begun=begun)
        self._file.truncate(size)
        self._file.seek(size)

    def _check(self, size: int, checksum: int | None, *, begun: bool) -> None:
        """Refuse a file that is not this one; leave `checksum` as that of the part that is kept."""
        self._file.seek(0)
        present = os.fstat(self._file.fileno()).st_size
        if present < size:
            raise ValueError(
                f"{self._path} has {present:,} bytes, but {size:,} when the state was saved: "
                "the predictions before that are gone"
            )
        if present and not _FIRST_LINE.fullmatch(self._file.readline(_PIECE_BYTES).rstrip(b"\r\n")):
            raise FileExistsError(errno.EEXIST, f"elman did not write what is there{_OTHER}", self._path)
        self._file.seek(0)
        if not size and present and begun:
            raise ValueError(
                f"{self._path} holds predictions that this state does not go on with, as it was saved "
                f"without them since or belongs to another run{_OTHER}"
            )
        left = size
        while left and (piece := self._file.read(min(left, _PIECE_BYTES))):
            self.checksum = zlib.crc32(piece, self.checksum)
            left -= len(piece)
        if size and checksum is not None and checksum != self.checksum:
            raise ValueError(
                f"the first {size:,} bytes of {self._path} are not those that were there when the state was "
                "saved: it is another file, or it was changed"
            )

    def append(self, first_row: int, lines: Float64, when: Float64 | None = None) -> None:
        """Write the lines of an outcome, shape (n, outputs, 4), each after its row's number and time."""
        if self._has_surprise:
            prediction, low, high, truth = np.moveaxis(lines, -1, 0)
            lines = np.concatenate([lines, surprise(truth, prediction, low, high)[..., np.newaxis]], axis=-1)
        flat = lines.reshape(len(lines), -1).tolist()
        firsts = [str(row) for row in range(first_row, first_row + len(flat))]
        if self._has_time and when is not None:
            firsts = [f"{row},{stamp(*moment)}" for row, moment in zip(firsts, when.tolist(), strict=True)]
        self._write(f"{first}," + ",".join(map(cell, line)) for first, line in zip(firsts, flat, strict=True))

    def _write(self, lines: Iterable[str]) -> None:
        content = "".join(line + "\n" for line in lines).encode()
        with self._named_errors():
            self._file.write(content)
        self.checksum = zlib.crc32(content, self.checksum)

    def sync(self) -> int:
        """Force all lines to the disk and return how many bytes they are; 0 if the path keeps none."""
        with self._named_errors():
            self._file.flush()
            if not self._keeps:
                return 0
            os.fsync(self._file.fileno())
            return self._file.tell()

    def close(self) -> None:
        """Write what is left and close the file."""
        with self._named_errors():
            self._file.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, f"cannot write: {error.strerror}", self._path) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
