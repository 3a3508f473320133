"""The application: its life, its routes and its guard put together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

import elman
from elman.serve import problems, routes
from elman.serve.events import Overview
from elman.serve.guard import Guard
from elman.serve.lane import Lane
from elman.serve.limits import Limits
from elman.serve.metrics import Metrics
from elman.serve.problems import Problem
from elman.serve.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from elman.serve.guard import App
    from elman.serve.store import Store
    from elman.serve.tokens import Tokens

_ABOUT = """Streams that learn. A row is answered with a prediction and an interval, and learned if it has a
target; what was answered is on the disk. The page at `/` shows them live."""


@dataclass(frozen=True)
class Settings:
    """How a service runs."""

    store: Store
    limits: Limits = field(default_factory=Limits)
    tokens: Tokens | None = None
    local: bool = True
    """Whether only this machine reaches it."""
    beside: Callable[[Service], Coroutine[Any, Any, None]] | None = None
    """Something that goes on beside it, such as a demonstration."""


@dataclass
class Running:
    """What the routes work with; the service is there while the application lives."""

    metrics: Metrics = field(default_factory=Metrics)
    service: Service | None = None
    overview: Overview | None = None


def application(settings: Settings) -> tuple[App, Running]:
    """Return the application, and what of it is running once it has started."""
    running = Running()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        running.service = Service(settings.store, settings.limits)
        running.overview = Overview(running.service)
        task = None if settings.beside is None else asyncio.create_task(settings.beside(running.service))
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await running.service.close()

    app = FastAPI(
        title="elman",
        version=elman.__version__,
        description=_ABOUT,
        docs_url=None,  # it would be fetched from another host; `routes` has one of its own
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    routes.add(app, running)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _fault)
    return Guard(Lane(app), settings.tokens, running.metrics, local=settings.local), running


async def _problem(_: Any, problem: Any) -> JSONResponse:
    return problems.answer(problem)


async def _http_problem(request: Any, error: Any) -> JSONResponse:
    if error.status_code == 405:
        headers = {"allow": ", ".join(sorted(_allowed(request)))}
        return JSONResponse({"error": "this cannot be done here"}, 405, headers)
    said = "there is nothing here" if error.status_code == 404 else error.detail
    return JSONResponse({"error": said}, error.status_code, error.headers)


def _allowed(request: Any) -> set[str]:
    """Return all methods of the path that was asked for: each has a route of its own."""
    return {
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    }


async def _invalid(_: Any, error: Any) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])[:100]
    status = 400 if first["type"] == "json_invalid" else 422
    return JSONResponse({"error": f"{place}: {first['msg']}" if place else first["msg"]}, status)


async def _fault(_: Any, __: Any) -> JSONResponse:
    return problems.fault()
