"""``python -m elman`` and the command ``elman``."""

import os
import signal
import sys
from typing import Any

from elman_command import ordinary_interrupts, quiet_interrupts


def main() -> None:
    """Run the command line, or say how to install what it needs. Ctrl-C ends it without a traceback."""
    try:
        quiet_interrupts()
        app = _command_line()
        ordinary_interrupts()
        _make_writable()
        app(prog_name="elman")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _command_line() -> Any:
    try:
        from elman.cli import app  # noqa: PLC0415 - the command line's libraries are an extra
    except ModuleNotFoundError as error:
        sys.exit(f"elman: the command line needs {error.name}: pip install 'elman[cli]'")
    return app


def _make_writable() -> None:
    """Let anything be printed: to nowhere if a stream is closed, written out if it has no such letter."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
