"""What every request passes before it reaches a route: who asks, and from where; and it is measured."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from elman.serve.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from elman.serve.metrics import Metrics
    from elman.serve.tokens import Tokens

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("elman.serve")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"geolocation=(), camera=(), microphone=()"),
]


class Guard:
    """The outermost part of the service.

    Parameters
    ----------
    app
        What is guarded.
    tokens
        Who may do what; None if everybody may.
    local
        Whether the service is bound to this machine only. Then a name that a stranger's page has let point
        here is refused: without tokens nothing else would stop such a page.
    metrics
        Where requests are counted.
    """

    def __init__(self, app: App, tokens: Tokens | None, metrics: Metrics, *, local: bool) -> None:
        self._app, self._tokens, self._metrics, self._local = app, tokens, metrics, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        status = 500

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            problem = self._problem(scope)
            if problem is None:
                await self._app(scope, receive, guarded)
            else:
                await refuse(problem, guarded)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._metrics.note_request(scope["method"], path, status, time.perf_counter() - begin)

    def _problem(self, scope: Scope) -> Problem | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._local and self._tokens is None and _hostname(host) not in LOCAL_HOSTS:
            return Problem(421, "this service answers to localhost only")
        safe = scope["method"] in SAFE_METHODS
        if self._tokens is not None:
            right = self._tokens.right(headers.get(b"authorization", b"").decode("latin-1"))
            if right is None:
                return Problem(401, "a token is needed", WWW_Authenticate=_challenge(headers))
            if right == "read" and not safe:
                return Problem(403, "this token may read only")
        if not safe and _from_elsewhere(headers, host):
            return Problem(403, "another site's page may not change anything here")
        return None


def _challenge(headers: dict[bytes, bytes]) -> str:
    """Return how to ask for a token: a browser shows a dialog for a password, others know bearers."""
    basic = b"text/html" in headers.get(b"accept", b"")
    return 'Basic realm="elman: the token is the password", charset="UTF-8"' if basic else "Bearer"


def _from_elsewhere(headers: dict[bytes, bytes], host: str) -> bool:
    if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
        return True
    origin = headers.get(b"origin")
    return origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host.lower()


def _hostname(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


async def refuse(problem: Problem, send: Send) -> None:
    """Answer with a problem."""
    body = json.dumps({"error": problem.message}).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",  # a body that nobody reads may follow
        **problem.headers,
    }
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
