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
from urllib.request import HTTPRedirectHandler, Request, build_opener

from elman.limits import DESCRIPTION_BYTES, DOWNLOAD_BYTES
from elman.streams.fetch_error import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIMEOUT_SECONDS = 30.0
_PIECE_BYTES = 1 << 16

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that have come and the bytes that will, `None` if the server does not say."""


def get_json(url: str, *, plain: bool = False) -> Any:
    """Get a JSON document of a limited size; `plain` allows http."""
    with _opened(url, plain=plain) as response:
        body = response.read(DESCRIPTION_BYTES + 1)
    if len(body) > DESCRIPTION_BYTES:
        raise FetchError(
            f"{url} answered with more than {DESCRIPTION_BYTES:,} bytes, the limit of a description"
        )
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{url} did not answer with JSON") from error


def download(url: str, path: Path, *, md5: str, plain: bool = False, progress: Progress | None = None) -> str:
    """Write the file at `url` to `path`, piece by piece, and verify its checksum.

    Parameters
    ----------
    url
        An https address.
    path
        Where to write. What is there after an error is not to be used.
    md5
        The MD5 checksum that the server says it has, in hexadecimal.
    plain
        Whether http is allowed as well.
    progress
        Called after every piece.

    Returns
    -------
    Its SHA-256, in hexadecimal.
    """
    digest, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    done = 0
    with _opened(url, plain=plain) as response, path.open("wb") as file:
        total = response.length
        _check_size(url, total or 0)
        while piece := response.read(_PIECE_BYTES):
            done += len(piece)
            _check_size(url, done)
            file.write(piece)
            digest.update(piece)
            sha256.update(piece)
            if progress is not None:
                progress(done, total)
    if total is not None and done < total:
        raise FetchError(f"{url}: the download broke off after {done} of {total} bytes; try again")
    if digest.hexdigest() != md5.lower():
        raise FetchError(
            f"{url}: the file is damaged, its MD5 is {digest.hexdigest()} and should be {md5}; try again"
        )
    return sha256.hexdigest()


def _check_size(url: str, size: int) -> None:
    if size > DOWNLOAD_BYTES:
        raise FetchError(f"{url} is larger than {DOWNLOAD_BYTES:,} bytes, the limit of a download")


def _check_address(url: str, *, plain: bool) -> None:
    scheme = urlsplit(url).scheme
    if scheme != "https" and not (plain and scheme == "http"):
        raise FetchError(f"only {'http and ' if plain else ''}https addresses are fetched, got {url!r}")


class _Redirects(HTTPRedirectHandler):
    """Follow a redirection only to where a first request might have gone."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain

    def redirect_request(  # noqa: PLR0917 - as its base class has it
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        _check_address(newurl, plain=self._plain)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _opened(url: str, *, plain: bool) -> Iterator[HTTPResponse]:
    """Open an address and turn all that may go wrong while it is read into `FetchError`."""
    _check_address(url, plain=plain)
    try:
        with build_opener(_Redirects(plain=plain)).open(url, timeout=_TIMEOUT_SECONDS) as response:
            yield response
    except FetchError:
        raise
    except HTTPError as error:
        with error:
            raise FetchError(f"{url}: the server answered {error.code} {error.reason}") from error
    except URLError as error:
        raise FetchError(f"{url} could not be reached: {error.reason}") from error
    except (HTTPException, ConnectionError, TimeoutError) as error:
        raise FetchError(f"{url}: the connection broke: {error!r}; try again") from error
