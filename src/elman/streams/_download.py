"""Bringing a file over HTTP, checked. Imported only when something is fetched: `urllib` is slow to import."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from elman.streams.fetch_error import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIMEOUT_SECONDS = 30.0
_PIECE_BYTES = 1 << 16

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that have come and the bytes that will, `None` if the server does not say."""


def get_json(url: str) -> Any:
    """Get a JSON document."""
    with _opened(url) as response:
        body = response.read()
    try:
        return json.loads(body)
    except ValueError as error:
        raise FetchError(f"{url} did not answer with JSON") from error


def download(url: str, path: Path, *, md5: str, progress: Progress | None = None) -> None:
    """Write the file at `url` to `path` and verify its checksum.

    Parameters
    ----------
    url
        An http or https address.
    path
        Where to write. What is there after an error is not to be used.
    md5
        Expected MD5 checksum, in hexadecimal.
    progress
        Called after every piece.
    """
    digest = hashlib.md5(usedforsecurity=False)
    done = 0
    with _opened(url) as response, path.open("wb") as file:
        total = response.length
        while piece := response.read(_PIECE_BYTES):
            file.write(piece)
            digest.update(piece)
            done += len(piece)
            if progress is not None:
                progress(done, total)
    if total is not None and done < total:
        raise FetchError(f"{url}: the download broke off after {done} of {total} bytes; try again")
    if digest.hexdigest() != md5.lower():
        raise FetchError(
            f"{url}: the file is damaged, its MD5 is {digest.hexdigest()} and should be {md5}; try again"
        )


@contextmanager
def _opened(url: str) -> Iterator[HTTPResponse]:
    """Open an address and turn all that may go wrong while it is read into `FetchError`."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise FetchError(f"only http and https addresses are fetched, got {url!r}")
    try:
        with urlopen(url, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310  the scheme has just been checked
            yield response
    except HTTPError as error:
        with error:
            raise FetchError(f"{url}: the server answered {error.code} {error.reason}") from error
    except URLError as error:
        raise FetchError(f"{url} could not be reached: {error.reason}") from error
    except (HTTPException, ConnectionError, TimeoutError) as error:
        raise FetchError(f"{url}: the connection broke: {error!r}; try again") from error
