"""Commands in processes of their own that start at once: forked from a server that has elman loaded."""

import contextlib
import multiprocessing
import os
import sys

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["elman.cli", "elman.runs", "elman.streams"])


def _elman(arguments, standard_input):
    from elman.cli import app  # noqa: PLC0415 - in the new process

    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    with open(standard_input, encoding="utf-8") as sys.stdin, contextlib.suppress(SystemExit):  # noqa: PTH123
        app(arguments)


def start(*arguments, standard_input):
    """Start `elman` with its output thrown away."""
    process = _CONTEXT.Process(target=_elman, args=([str(each) for each in arguments], str(standard_input)))
    process.start()
    return process
