"""Which file a data set is: by a digest that is known, or else by the one that was seen first.

The server that sends a file also says its checksum, so that shows damage only. A digest in `PINNED` was
compared with a file from elsewhere. Where there is none, the digest of the first file that was fetched is
written down beside the data, and another file later on is an error.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from elman.streams.fetch_error import FetchError

if TYPE_CHECKING:
    from pathlib import Path

PINNED: dict[str, str] = {}
"""SHA-256 of the files at OpenML, by the data set's name; only what is certain."""

FILE = "digests.json"
"""In the folder of the data: the digests that were seen first."""


def check_digest(name: str, sha256: str, folder: Path) -> None:
    """Raise FetchError if a data set has another digest than is known of it."""
    known = PINNED.get(name)
    if known is not None and known != sha256:
        raise FetchError(
            f"{name}: its SHA-256 is {sha256}, but elman knows the file as {known}; do not use it"
        )
    seen = _seen(folder).get(name)
    if known is None and seen not in {None, sha256}:
        raise FetchError(
            f"{name}: its SHA-256 is {sha256}, but it was {seen} when it was fetched first: it has been "
            f"changed. If that is right remove {name} from {folder / FILE}"
        )


def remember_digest(name: str, sha256: str, folder: Path) -> None:
    """Write a digest down for the next time."""
    text = json.dumps(_seen(folder) | {name: sha256}, indent=2, sort_keys=True)
    temporary = folder / f".{FILE}.{sha256[:16]}"
    temporary.write_text(f"{text}\n", encoding="utf-8")
    temporary.replace(folder / FILE)


def _seen(folder: Path) -> dict[str, str]:
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FetchError(f"{path} is damaged: {error}; remove it to begin it anew") from error
    if not isinstance(found, dict):
        raise FetchError(f"{path} is damaged; remove it to begin it anew")
    return {str(name): str(digest) for name, digest in found.items()}
