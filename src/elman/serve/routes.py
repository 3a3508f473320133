"""The routes: each takes a request apart, asks the service and puts the answer together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

import elman
from elman.serve import bodies, events, metrics, schemas
from elman.serve.assets import Asset, assets
from elman.serve.lane import Direct
from elman.serve.problems import Problem
from elman.serve.requests import parameters, read_body
from elman.serve.schemas import SetupBody, problems
from elman.serve.service import NAME
from elman.serve.watchers import Watched

if TYPE_CHECKING:
    from elman.serve.app import Running
    from elman.serve.bodies import How
    from elman.serve.requests import Parameters
    from elman.serve.service import Service

_IN_A_THREAD = 200_000  # bytes of a body from which on reading it would hold up the event loop

Name = Annotated[str, Path(pattern=NAME, max_length=100, description="The stream.")]
Output = Annotated[int, Query(ge=0, le=100, description="Which target, from 0.")]


def add(routes: FastAPI, running: Running) -> None:
    """Add all routes of a service, those first that are asked for most."""
    routes.router.route_class = Direct
    _add_rows(routes, running)
    routes.router.route_class = APIRoute
    _add_service(routes, running)
    _add_streams(routes, running)
    _add_questions(routes, running)
    _add_state(routes, running)
    _add_page(routes, assets())


def _service(running: Running) -> Service:
    assert running.service is not None, "the application has not started"
    return running.service


def _add_service(routes: FastAPI, running: Running) -> None:
    @routes.get("/health", responses={200: schemas.OBJECT} | problems(), tags=["service"])
    async def health() -> JSONResponse:
        """Say whether the service answers, and how many streams still learn their log again."""
        service = _service(running)
        replaying = sum(not live.ready for live in service)
        content = {
            "status": "ok",
            "version": elman.__version__,
            "streams": len(service),
            "replaying": replaying,
            "sync": service.store.sync,
        }
        return JSONResponse(content)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}} | problems(),
        tags=["service"],
    )
    async def prometheus() -> Response:
        """Tell Prometheus what was counted."""
        return Response(running.metrics.text(_service(running)), media_type=metrics.MEDIA_TYPE)

    @routes.get(
        "/events",
        response_class=StreamingResponse,
        responses={200: {"content": {events.MEDIA_TYPE: {}}}} | problems(429),
        tags=["live"],
    )
    async def all_events() -> StreamingResponse:
        """Send all streams at a glance, once a second, as server-sent events."""
        assert running.overview is not None
        return Watched(_service(running), running.overview.events())


def _add_streams(routes: FastAPI, running: Running) -> None:
    @routes.get("/streams", responses={200: schemas.OBJECT} | problems(), tags=["streams"])
    async def streams() -> JSONResponse:
        """List all streams, with how they do."""
        return JSONResponse({"streams": [events.summary(live) for live in _service(running)]})

    @routes.get("/streams/{name}", responses={200: schemas.OBJECT} | problems(404), tags=["streams"])
    async def stream(name: Name) -> JSONResponse:
        """Describe a stream: what it was made from, and how it does."""
        live = _service(running)[name]
        return JSONResponse({**events.summary(live), **live.setup.to_json(), "created": live.kept.created})

    @routes.put(
        "/streams/{name}",
        status_code=201,
        responses={
            200: schemas.OBJECT | {"description": "It was made so before."},
            201: schemas.OBJECT | {"description": "It was made."},
        }
        | problems(409, 429),
        tags=["streams"],
    )
    async def make(name: Name, setup: SetupBody | None = None) -> JSONResponse:
        """Make a stream; without a body, of a Committee."""
        wanted = (SetupBody() if setup is None else setup).setup()
        new = await _service(running).add(name, wanted)
        return JSONResponse({"name": name, **wanted.to_json()}, 201 if new else 200)

    @routes.delete("/streams/{name}", status_code=204, responses=problems(404), tags=["streams"])
    async def remove(name: Name) -> Response:
        """Forget a stream with all that it has learned."""
        await _service(running).remove(name)
        return Response(status_code=204)


def _posted(routes: FastAPI, what: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Describe a route by which rows are sent to a stream."""
    return routes.post(
        f"/streams/{{name}}/{what}",
        response_class=Response,
        responses={200: answer} | problems(404, 408, 409, 413, 415, 429),
        openapi_extra=body,
        tags=["learning"],
    )


def _asked(routes: FastAPI, what: str, answer: dict[str, Any]) -> Any:
    """Describe a route by which something is asked of a stream's model."""
    return routes.get(
        f"/streams/{{name}}/{what}", responses={200: answer} | problems(404, 429), tags=["streams"]
    )


def _add_rows(routes: FastAPI, running: Running) -> None:
    @_posted(routes, "rows", schemas.ROWS, schemas.ANSWER)
    async def rows(request: Request) -> Response:
        """Answer rows with predictions and intervals, and learn those that have a target.

        JSON: a row `{"x": …, "y": …, "id": …}`, a list of them, or columns `{"X": …, "y": …, "ids": …}`. With
        `?target=` a row is a flat object, like a line of CSV. A row with an id, or a request with an
        `Idempotency-Key`, is learned once however often it is sent, and answered the same.
        """
        return await _learned(_service(running), request, "rows")

    @_posted(routes, "ask", schemas.ASK, schemas.ASKED)
    async def ask(request: Request) -> Response:
        """Answer rows whose targets come later, or never: tell them by the ids in the answer.

        A row may come with an id of its own, by which it can then be told, and which makes it safe to send it
        twice. Beyond 10,000 open questions of a stream the oldest is given up.
        """
        return await _learned(_service(running), request, "ask")

    @_posted(routes, "tell", schemas.TOLD, schemas.OBJECT)
    async def tell(request: Request) -> Response:
        """Learn the targets of rows that were asked, in any order: `{"id": …, "y": …}`, or a list of them.

        CSV has the columns `id` and the target's. All of a request are learned, or none.
        """
        service, asked = _service(running), parameters(request)
        body, way = await _body_of_rows(service, request, asked)
        told = bodies.read_told(body, way, service.limits)
        return Response(await service.tell(asked.name, told, asked.key), media_type="application/json")

    @_posted(routes, "forecast", schemas.AHEAD, schemas.FORECAST)
    async def forecast_with(request: Request) -> Response:
        """Forecast the next rows of a Forecaster's stream, of which the inputs are known already.

        As many rows as are known, in order, at most as many as the horizon; the answer is JSON.
        """
        return await _learned(_service(running), request, "forecast")


async def _learned(service: Service, request: Request, kind: str) -> Response:
    asked = parameters(request)
    body, way = await _body_of_rows(service, request, asked, targets=kind == "rows")
    if len(body) < _IN_A_THREAD:
        rows = bodies.read_rows(body, way, service.limits)
    else:
        rows = await asyncio.to_thread(bodies.read_rows, body, way, service.limits)
    answer = await service.learn(asked.name, rows, way, body, asked.key, kind=kind)
    form: bodies.Format = "json" if kind == "forecast" else way.format
    return Response(answer, media_type=bodies.MEDIA_TYPES[form])


async def _body_of_rows(
    service: Service, request: Request, asked: Parameters, *, targets: bool = True
) -> tuple[bytes, How]:
    usual_target = service[asked.name].setup.target if targets else ""
    body = await read_body(request, service.limits.body_bytes, service.limits.body_seconds)
    content_type = request.headers.get("content-type", "")
    return body, bodies.how(content_type, body, asked.target, asked.id, usual_target)


def _add_questions(routes: FastAPI, running: Running) -> None:
    @_asked(routes, "forecast", schemas.FORECAST)
    async def forecast(name: Name) -> JSONResponse:
        """Forecast the next rows of a Forecaster's stream, each with an interval."""
        return JSONResponse(await _service(running).call(name, lambda pupil: pupil.forecast()))

    @_asked(routes, "explain", schemas.OBJECT)
    async def explain(name: Name) -> JSONResponse:
        """Explain how well the stream is forecast, by whom, and whether it has changed."""
        return JSONResponse(await _service(running).call(name, lambda pupil: pupil.explain()))

    @_asked(routes, "importance", schemas.OBJECT)
    async def importance(name: Name) -> JSONResponse:
        """Say what matters: how far the answer moves with each input, in units of the target."""
        found = await _service(running).call(name, lambda pupil: pupil.importance())
        return JSONResponse({"importance": found})

    @_asked(routes, "changes", schemas.OBJECT)
    async def changes(name: Name) -> JSONResponse:
        """List where the model noticed a change, the last 200, and how many times larger errors became."""
        return JSONResponse(await _service(running).call(name, lambda pupil: pupil.changes()))

    @routes.get(
        "/streams/{name}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {events.MEDIA_TYPE: {}}}} | problems(404, 429),
        tags=["live"],
    )
    async def stream_events(name: Name, output: Output = 0) -> StreamingResponse:
        """Send rows of a stream as they are learned, its errors and its members, as server-sent events."""
        service = _service(running)
        service[name]  # or there is none
        return Watched(service, events.of_stream(service, name, output))


def _add_state(routes: FastAPI, running: Running) -> None:
    @routes.get(
        "/streams/{name}/state",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}} | problems(404, 429),
        tags=["state"],
    )
    async def state(name: Name) -> Response:
        """Download the model, for `elman.load` or another service."""
        blob = await _service(running).call(name, lambda pupil: pupil.model.to_bytes())
        headers = {"content-disposition": f'attachment; filename="{name}.elman"'}
        return Response(blob, media_type="application/octet-stream", headers=headers)

    @routes.put(
        "/streams/{name}/state",
        status_code=204,
        responses=problems(404, 408, 413, 415, 429),
        openapi_extra=schemas.STATE,
        tags=["state"],
    )
    async def replace(name: Name, request: Request) -> Response:
        """Go on with an uploaded model; what was known of the former one is forgotten."""
        service = _service(running)
        service[name]
        blob = await read_body(request, service.limits.state_bytes, service.limits.body_seconds)
        await service.replace(name, blob)
        return Response(status_code=204)


def _add_page(routes: FastAPI, files: dict[str, Asset]) -> None:
    def sent(name: str, request: Request) -> Response:
        if name not in files:
            raise Problem(404, "there is nothing here")
        asset = files[name]
        headers = {"etag": asset.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.media_type, headers=headers)

    page = {"response_class": HTMLResponse, "responses": problems(), "tags": ["page"]}

    @routes.get("/", **page)
    async def index(request: Request) -> Response:
        """Show the streams live."""
        return sent("index.html", request)

    @routes.get("/docs", **page)
    async def docs(request: Request) -> Response:
        """Show this description."""
        return sent("docs.html", request)

    @routes.get(
        "/page/{file}",
        response_class=Response,
        responses={200: {"content": {"*/*": {}}}} | problems(404),
        tags=["page"],
    )
    async def asset(file: Annotated[str, Path(max_length=100)], request: Request) -> Response:
        """Send a file of the page."""
        return sent(file, request)
