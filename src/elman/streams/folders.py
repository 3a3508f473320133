"""Where data files are: the folder that `ELMAN_DATA` names, then the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ENVIRONMENT_VARIABLE = "ELMAN_DATA"


def cache_folder() -> Path:
    """Return the folder that `fetch` writes to: `elman` in `XDG_CACHE_HOME`, else in the platform's cache."""
    return _caches() / "elman"


def _caches() -> Path:
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def data_folders() -> list[Path]:
    """Return the folders that `load` looks in, in that order."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def find_file(name: str) -> Path | None:
    """Return the first file `name.csv.gz` or `name.csv` in the data folders, `None` if there is none."""
    candidates = (folder / f"{name}{ending}" for folder in data_folders() for ending in (".csv.gz", ".csv"))
    return next((path for path in candidates if path.is_file()), None)
