"""A lane past the framework for requests with rows, of which there are thousands a second.

Their routes are described as all others are; finding them, their parameters and their problems by way of the
framework would take longer than a model takes for a row.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.routing import APIRoute

from elman.serve.problems import Problem, answer, fault

if TYPE_CHECKING:
    from elman.serve.guard import App, Receive, Scope, Send

_log = logging.getLogger("elman.serve")
_PREFIX = "/streams/{name}/"


class Direct(APIRoute):
    """A route of which the endpoint takes the request as it came."""

    def get_route_handler(self) -> Any:
        """Return the endpoint itself."""
        return self.endpoint


class Lane:
    """Calls the endpoints of direct routes, and leaves everything else to the framework.

    Parameters
    ----------
    app
        The framework's application; its direct routes are ``POST /streams/{name}/…``.
    """

    def __init__(self, app: Any) -> None:
        self._app: App = app
        self._routes = {
            route.path.removeprefix(_PREFIX): route for route in app.routes if isinstance(route, Direct)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        route = self._route(scope)
        if route is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await route.endpoint(Request(scope, receive))
        except Problem as problem:
            response = answer(problem)
        except Exception:  # noqa: BLE001 - as the framework does
            _log.exception("a request to %s", route.path)
            response = fault()
        await response(scope, receive, send)

    def _route(self, scope: Scope) -> Direct | None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        parts = scope["path"].split("/")
        if len(parts) != 4 or parts[1] != "streams" or parts[3] not in self._routes:
            return None
        route = self._routes[parts[3]]
        scope["route"], scope["path_params"] = route, {"name": parts[2]}
        return route
