"""The files that a command names: what it writes is none of what it reads or keeps, by whatever name."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from elman.cli.errors import about

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_State = TypeVar("_State")


def refuse_overwriting(written: Mapping[str, Path | None], kept: Mapping[str, str | Path | None]) -> None:
    """Refuse files to be written that are the same as another one of the command.

    Parameters
    ----------
    written
        The files that are overwritten, by what the user calls them: an option.
    kept
        Those that must stay what they are, likewise; `"-"` is standard input.
    """
    others = {what: path for what, path in kept.items() if path is not None}
    for what, path in written.items():
        if path is None:
            continue
        for other, other_path in others.items():
            if same_file(path, other_path):
                raise typer.BadParameter(f"{what} {path} is the same file as {other}; name another one")
        others[what] = path


def former_state(save: Path | None, resume: Path | None, read: Callable[[bytes], _State]) -> _State | None:
    """Return what to go on with, if any. The same file for both options goes on with it if it is there."""
    same = save is not None and resume is not None and same_file(save, resume)
    if save is not None and save.exists() and not same:
        raise typer.BadParameter(f"--save {save}: there is a state already; --resume goes on with it")
    if resume is None or (same and not resume.exists()):
        return None
    with about(resume):
        return read(resume.read_bytes())


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names stand for one file, which need not exist: by its place, or by a link to it."""
    first, second = _found(one), _found(other)
    if first is not None and second is not None:
        return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)
    return "-" not in (str(one), str(other)) and os.path.realpath(one) == os.path.realpath(other)


def _found(path: str | Path) -> os.stat_result | None:
    with suppress(OSError, ValueError, AttributeError):  # absent; standard input that is closed or no file
        return os.fstat(sys.stdin.fileno()) if str(path) == "-" else Path(path).stat()
    return None
