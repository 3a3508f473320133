"""The files of the page, read once from the package."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str
    """By which a browser knows whether it has it already."""


def assets() -> dict[str, Asset]:
    """Return all files of the page by their names."""
    found = {}
    for file in (files("elman.serve") / "page").iterdir():
        ending = "." + file.name.rpartition(".")[2]
        if ending in _TYPES:
            content = file.read_bytes()
            tag = f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
            found[file.name] = Asset(content, _TYPES[ending], tag)
    return found
