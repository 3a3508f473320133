"""Whoever is sent events: so many at a time, and not for ever if they do not take them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from elman.serve import events
from elman.serve.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from elman.serve.guard import Receive, Scope, Send
    from elman.serve.service import Service

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Watched(StreamingResponse):
    """Events for one who watches.

    Raises
    ------
    Problem
        If too many watch already.
    """

    def __init__(self, service: Service, source: AsyncIterator[bytes]) -> None:
        if service.watchers >= service.limits.watchers:
            raise Problem(429, f"{service.watchers} watch already, the limit", Retry_After="10")
        super().__init__(source, media_type=events.MEDIA_TYPE, headers=_HEADERS)
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes, or has taken none of them for too long."""

        async def patiently(message: Any) -> None:
            async with asyncio.timeout(self._service.limits.watcher_seconds):
                await send(message)

        self._service.watchers += 1
        try:
            await super().__call__(scope, receive, patiently)
        except* (ClientDisconnect, TimeoutError):  # older versions of Starlette raise a group of them
            pass  # without an end of its answer, so that the connection is closed
        finally:
            self._service.watchers -= 1
