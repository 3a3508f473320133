"""Errors as one line on standard error, and what the exit code says."""

from __future__ import annotations

import signal
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from elman.cli.console import printable
from elman.runs import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SYSTEM, USAGE, DATA = 1, 2, 3

EXIT_CODES = (
    "**Exit codes**: 0 all well · 1 a file, the disk or the network failed, or a state is in use · 2 the "
    "command was not understood · 3 a row or a saved state cannot be used · 130, 143 stopped by Ctrl-C, "
    "SIGTERM, with the state saved · 141 nobody reads the answers any more"
)


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Say of which file it is that something in it is wrong."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


class Commands(TyperGroup):
    """The commands; whatever goes wrong in them becomes one line, or a traceback with `--debug`."""

    def main(self, args: Sequence[str] | None = None, *positional: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in given
        options["standalone_mode"] = False
        try:
            sys.exit(super().main([each for each in given if each != "--debug"], *positional, **options))
        except Exception as error:  # noqa: BLE001 - the last line of defence
            if debug:
                traceback.print_exc()
            sys.exit(_said(error))


def _said(error: Exception) -> int:
    """Say what went wrong, unless it says itself, and return the exit code."""
    if isinstance(error, Stopped):
        return 128 + error.signal
    if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed when this is raised
        return USAGE
    if type(error).__name__ == "Abort":  # what the parser makes of Ctrl-C
        return 128 + signal.SIGINT
    code, message = _code_and_message(error)
    print(f"elman: {printable(' '.join(message.split()))}", file=sys.stderr)  # noqa: T201 - rich would wrap the line
    return code


def _code_and_message(error: Exception) -> tuple[int, str]:
    if hasattr(error, "format_message"):  # of the parser, whose classes differ between versions of typer
        return getattr(error, "exit_code", USAGE), f"{error.format_message()} (try --help)"
    if isinstance(error, OSError) and error.strerror:
        return SYSTEM, f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, (OSError, ModuleNotFoundError)):
        return SYSTEM, str(error)
    if isinstance(error, ValueError):
        return DATA, str(error)
    if isinstance(error, MemoryError):
        return SYSTEM, "there is not enough memory"
    return SYSTEM, f"{type(error).__name__}: {error} (a fault in elman; --debug shows where)"
