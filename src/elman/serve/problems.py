"""What a request can fail with: a status and one sentence for the person who sent it."""

from __future__ import annotations

from fastapi.responses import JSONResponse


class Problem(Exception):  # noqa: N818 - it is the client's
    """A request that is not done; nothing of it was learned."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def not_found(name: str) -> Problem:
    """Return the problem of a stream that is not there."""
    return Problem(404, f"there is no stream {name!r}")


def not_stored() -> Problem:
    """Return the problem of a store that cannot be written."""
    return Problem(503, "the store could not be written: nothing was learned, send it again", Retry_After="1")


def stopping() -> Problem:
    """Return the problem of a service that ends."""
    return Problem(503, "the service is stopping", Retry_After="5")


def answer(problem: Problem) -> JSONResponse:
    """Return what a client is answered whose request has a problem."""
    return JSONResponse({"error": problem.message}, problem.status, problem.headers)


def fault() -> JSONResponse:
    """Return what is answered where the fault is the service's; its log says more."""
    return JSONResponse({"error": "something went wrong inside"}, 500)
