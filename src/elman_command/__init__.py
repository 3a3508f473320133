"""The command `elman`, before anything of it is imported: Ctrl-C ends it without a word from the start."""

import os
import signal


def main() -> None:
    """Import the command line and run it."""
    quiet_interrupts()
    from elman.__main__ import main as run  # noqa: PLC0415 - it is why this module is there

    run()


def quiet_interrupts() -> None:
    """Let Ctrl-C end the process at once: while modules are imported there is nothing to be finished."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and it is not ignored, as by nohup
        signal.signal(signal.SIGINT, _end)


def ordinary_interrupts() -> None:
    """Let Ctrl-C be an exception again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, _: object) -> None:
    os._exit(128 + number)
