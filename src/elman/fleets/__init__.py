"""Fleets: a model for every key, made from one pattern, in memory or in a file."""

from typing import TYPE_CHECKING, Any

from elman.fleets.fleet import Fleet
from elman.fleets.refused import Refused, RefusedRow
from elman.fleets.run import Answered, FleetRun

if TYPE_CHECKING:
    from elman.fleets._contents import Contents, contents, is_fleet

__all__ = ["Answered", "Contents", "Fleet", "FleetRun", "Refused", "RefusedRow", "contents", "is_fleet"]


def __getattr__(name: str) -> Any:
    """Load on first use what needs SQLite."""
    if name not in __all__:
        raise AttributeError(f"module 'elman.fleets' has no attribute {name!r}")
    from elman.fleets import _contents  # noqa: PLC0415

    return getattr(_contents, name)
