"""Going on with a run that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.runs.run import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def load(path: str | os.PathLike[str]) -> Run:
    """Return the run that `Session.save` wrote to `path`; a ValueError if it is damaged or foreign."""
    try:
        return Run.from_bytes(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def check_fits(run: Run, names: Sequence[str], target: str, setup: dict[str, Any]) -> None:
    """Raise ValueError unless a saved run can go on with a stream.

    Parameters
    ----------
    run
        The run that was saved.
    names, target
        The names of the stream's inputs and of its target.
    setup
        What the caller expects of the run's `setup`; other entries may be anything.
    """
    for what, saved, now in (("inputs", run.names, tuple(names)), ("target", (run.target,), (target,))):
        if saved != now:
            raise ValueError(
                f"the state was saved with {what} {', '.join(saved)}; this stream has {', '.join(now)}"
            )
    for name, value in setup.items():
        if run.setup.get(name) != value:
            raise ValueError(f"the state was saved with {name} {run.setup.get(name)}, not {value}")
