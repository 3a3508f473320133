"""Where lines of text come from: a file by its path, an open file, or standard input."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import zlib
from abc import ABC, abstractmethod
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from elman.limits import LINE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

Readable: TypeAlias = str | os.PathLike[str] | TextIO


def read_lines(file: TextIO, label: str) -> Iterator[str]:
    r"""Yield the lines of an open file, none of which may be longer than the limit.

    Examples
    --------
    >>> from io import StringIO
    >>> list(read_lines(StringIO("one\ntwo"), "a file"))
    ['one\n', 'two']

    Raises
    ------
    ValueError
        At a line that is too long, of which no more than that is read, and at damage of a compressed file.
    """
    number = 0
    while line := _next_line(file, label, number + 1):
        number += 1
        yield line


def _next_line(file: TextIO, label: str, number: int) -> str:
    try:
        line = file.readline(LINE_CHARACTERS + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{label}, line {number}: the gzip file is damaged or cut off ({error})") from error
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), label) from error
    check_length(len(line), f"{label}, line {number}")
    return line


def check_length(characters: int, where: str) -> None:
    """Raise ValueError if a line, or a row of several lines, is longer than the limit."""
    if characters > LINE_CHARACTERS:
        raise ValueError(f"{where}: longer than {LINE_CHARACTERS:,} characters, the limit of a line")


class Text(ABC):
    """Lines of text that can be looked at, then read."""

    def __init__(self, label: str) -> None:
        self.label = label
        """What error messages call it."""

    @property
    def name(self) -> str:
        """A short name for the stream made of it: the file's, without folder and endings."""
        return Path(self.label).name.removesuffix(".gz").removesuffix(".csv")

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield all lines from the beginning."""

    def peek(self) -> Iterator[str]:
        """Yield the first lines, as many as are asked for, and leave them for `lines`."""
        return self.lines()


class PathText(Text):
    """A file, plain or with gzip where its name ends in `.gz`, opened anew for every reading."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def lines(self) -> Iterator[str]:
        with self._open() as file:
            yield from read_lines(file, self.label)

    def _open(self) -> TextIO:
        if self._path.suffix == ".gz":
            return gzip.open(self._path, "rt", encoding="utf-8-sig", newline="")
        return self._path.open(encoding="utf-8-sig", newline="")


class SeekableText(Text):
    """An open file that can be wound back, read from where it stood when it came here."""

    def __init__(self, file: TextIO, label: str) -> None:
        super().__init__(label)
        self._file = file
        self._start = file.tell()

    def lines(self) -> Iterator[str]:
        self._file.seek(self._start)
        return read_lines(self._file, self.label)


class PipeText(Text):
    """An open file that can be read only once, such as a pipe."""

    def __init__(self, file: TextIO, label: str) -> None:
        super().__init__(label)
        self._file, self._lines = file, read_lines(file, label)
        self._peeked: list[str] = []
        self._gone = False

    def peek(self) -> Iterator[str]:
        for line in self._lines:
            self._peeked.append(line)
            yield line

    def lines(self) -> Iterator[str]:
        if self._gone:
            raise RuntimeError(f"{self.label} can be read only once; save it to a file to read it again")
        self._gone = True
        return chain(self._peeked, self._lines)


def text(source: Readable) -> Text:
    r"""Find out how to read a source.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open text file.

    Examples
    --------
    >>> from io import StringIO
    >>> source = text(StringIO("one\ntwo\n"))
    >>> next(source.peek()), list(source.lines())
    ('one\n', ['one\n', 'two\n'])
    """
    if source == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise OSError(errno.EBADF, "it is closed", "standard input")
        return _open_text(sys.stdin, "standard input")
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if (
            path.is_fifo()
        ):  # as in `elman run <(command)`: a second opening would miss what the first has read
            return PipeText(path.open(encoding="utf-8-sig", newline=""), str(path))
        return PathText(path)
    name = getattr(source, "name", None)
    return _open_text(source, name if isinstance(name, str) else "open file")


def _open_text(file: TextIO, label: str) -> Text:
    return SeekableText(file, label) if file.seekable() else PipeText(file, label)
