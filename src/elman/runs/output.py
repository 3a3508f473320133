"""The file of predictions: it grows line by line and can be cut back to where a saved state left it."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elman.runs.run import Outcome

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


class Output:
    """A CSV file of `Outcome`, written in the order of the rows.

    Parameters
    ----------
    path
        The file.
    targets
        The names of the targets.
    size
        Bytes to keep of it: what came after the last save is cut off. 0 begins the file anew.
    """

    def __init__(self, path: str | os.PathLike[str], targets: Sequence[str], size: int = 0) -> None:
        self._path = os.fspath(path)
        present = Path(path).stat().st_size if size else 0
        if present < size:
            raise ValueError(
                f"{self._path} has {present:,} bytes, but {size:,} when the state was saved: "
                "the predictions before that are gone"
            )
        self._file = Path(path).open("r+b" if size else "wb")  # noqa: SIM115 - closed by close
        if size:
            self._file.truncate(size)
            self._file.seek(size)
        else:
            self._write([",".join(["row", *column_names(targets, Outcome._fields)])])

    def append(self, first_row: int, lines: Float64) -> None:
        """Write the lines of an outcome, shape (n, outputs, 4), each after the number of its row."""
        flat = lines.reshape(len(lines), -1).tolist()
        self._write(f"{row}," + ",".join(map(cell, line)) for row, line in enumerate(flat, start=first_row))

    def _write(self, lines: Iterable[str]) -> None:
        with self._named_errors():
            self._file.write("".join(line + "\n" for line in lines).encode())

    def sync(self) -> int:
        """Force all lines to the disk and return how many bytes they are."""
        with self._named_errors():
            self._file.flush()
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
