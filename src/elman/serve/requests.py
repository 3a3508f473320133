"""Taking a request apart: its parameters, and its body, of which no more is read than is allowed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from elman.serve.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST_PARAMETER = 200
"""Characters of a column's name or an `Idempotency-Key`."""


class Parameters(NamedTuple):
    """What is said of rows besides the rows."""

    name: str
    target: str | None
    id: str | None
    key: str | None


def parameters(request: Request) -> Parameters:
    """Return the parameters of a request with rows.

    By hand, as the framework would take longer for them than a model for a row.
    """
    asked = request.query_params if request.scope["query_string"] else {}
    found = Parameters(
        request.path_params["name"],
        asked.get("target"),
        asked.get("id"),
        request.headers.get("idempotency-key"),
    )
    for what, value in (("target", found.target), ("id", found.id), ("Idempotency-Key", found.key)):
        if value is not None and len(value) > LONGEST_PARAMETER:
            raise Problem(422, f"{what} is longer than {LONGEST_PARAMETER} characters")
    if found.key == "":
        raise Problem(422, "the Idempotency-Key is empty")
    return found


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """Return the body of a request.

    Raises
    ------
    Problem
        413 if it is larger than `most` bytes, of which the rest is not read; 408 if it takes longer than
        `seconds`; 415 if it is compressed; 400 if its sender went away before it was whole.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "a compressed body is not understood")
    length = request.headers.get("content-length")
    if length is not None and int(length) > most:  # the server has seen that it is a number
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "the body was cut off")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise Problem(408, f"the body took longer than {seconds:g} seconds", Connection="close") from None


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body is larger than {most:,} bytes, the limit", Connection="close")
