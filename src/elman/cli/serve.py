"""`elman serve`: streams over HTTP, with a live page."""

from __future__ import annotations

import gc
import logging
import tempfile
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elman.cli.console import err, headline, tell
from elman.runs import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORE = Path("elman.db")
_ALLOCATIONS_BETWEEN_COLLECTIONS = 20_000
_LOCAL = ("127.0.0.1", "::1", "localhost")


class Sync(StrEnum):
    """What an acknowledged row survives."""

    full = "full"
    normal = "normal"


def serve(  # noqa: PLR0917 - typer makes options of them
    host: Annotated[
        str, typer.Option(help="Address to listen at; another than local needs tokens.")
    ] = _LOCAL[0],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SQLite file with all streams.  [default: elman.db]")
    ] = None,
    sync: Annotated[
        Sync, typer.Option(help="full: answers survive a power cut; normal: kill -9, and are quicker.")
    ] = Sync.full,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines `read TOKEN` or `write TOKEN`: others are refused."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Start with three streams that run by themselves.")
    ] = False,
    demo_rate: Annotated[
        float, typer.Option(min=0.1, max=1000, metavar="N", help="Rows per second of each of them.")
    ] = 20.0,
    most_streams: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many streams there may be.")
    ] = 1000,
    most_bytes: Annotated[int, typer.Option(min=1000, metavar="N", help="Of a request's body.")] = 4_000_000,
    most_waiting: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rows of a stream that wait before 429 is answered.")
    ] = 20_000,
) -> None:
    """Serve streams over HTTP: rows in, predictions with intervals out, a live page at /.

    Needs `pip install 'elman[serve]'`. Every answered row is on the disk: after a crash the streams go on to
    the bit. SIGTERM and Ctrl-C finish what was accepted.

    **Examples**

    `elman serve --demo` · and open http://127.0.0.1:8000

    `curl -X PUT localhost:8000/streams/pump && curl --data-binary @rows.csv localhost:8000/streams/pump/rows`
    """
    try:
        from elman.serve.app import Settings  # noqa: PLC0415 - an extra
        from elman.serve.demo import demonstration  # noqa: PLC0415
        from elman.serve.limits import Limits  # noqa: PLC0415
        from elman.serve.server import Server, bound  # noqa: PLC0415
        from elman.serve.store import Store  # noqa: PLC0415
        from elman.serve.tokens import Tokens  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"elman serve needs {error.name}: pip install 'elman[serve]'", name=error.name
        ) from error

    if host not in _LOCAL and token_file is None:
        raise typer.BadParameter(f"--host {host} can be reached from elsewhere: it needs a --token-file")
    tokens = None if token_file is None else Tokens.read(token_file)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with ExitStack() as stack:
        if store is None and demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="elman-demo-"))
            store = Path(folder) / _STORE
        store = store or _STORE
        listening = stack.enter_context(bound(host, port))
        opened = Store(store, sync.value)
        stack.callback(opened.close)
        settings = Settings(
            opened,
            Limits(streams=most_streams, body_bytes=most_bytes, waiting_rows=most_waiting),
            tokens,
            local=host in _LOCAL,
            beside=demonstration(demo_rate) if demo else None,
        )
        server = Server(settings)
        address = f"[{host}]" if ":" in host else host
        headline(err, f"http://{address}:{listening.getsockname()[1]}", f"{store}, --sync {sync.value}")
        if demo:
            tell(err, "three streams run by themselves; what they learn is forgotten at the end", "dim")
        with _seldom_collected():
            server.run(sockets=[listening])
        if server.signal is not None:
            raise Stopped(server.signal)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage more seldom than is usual, and not at all in what is there already.

    A request makes many lists and no cycles: looking for some took a twentieth of the time.
    """
    former = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()
