"""Server-sent events: what is new on all streams once a second, and on one of them several times a second.

However many watch, a stream is looked at once for all of them; however fast rows come, a message is bounded.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any

import orjson

from elman.serve.record import Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from elman.serve.live import Live
    from elman.serve.service import Service

MEDIA_TYPE = "text/event-stream"
_OVERVIEW_SECONDS = 1.0
_ROWS_SECONDS = 0.2
_TICKS_PER_SUMMARY = 5
_TICKS_PER_HISTORY = 10
_MOST_ROWS = 300  # of one message
_SPARK_ROWS = 120
_SPARK_POINTS = 60
_STREAMS_AT_ONCE = 10
_SILENT_TICKS = 15
_NOT_KNOWN = dict.fromkeys(Record().summary())  # while a log is learned again


def message(event: str, content: Any) -> bytes:
    """Return an event as it is sent."""
    data: bytes = orjson.dumps(content)
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"


def summary(live: Live) -> dict[str, Any]:
    """Return what is worth knowing of a stream at a glance."""
    record = live.record
    return {
        "name": live.name,
        "model": live.setup.model,
        "ready": live.ready,
        "broken": live.broken,
        "rate": _short(live.rate.per_second()),
        "waiting": live.waiting_rows,
        **(_NOT_KNOWN if record is None else record.summary()),
    }


def spark(live: Live) -> list[float | None]:
    """Return the last targets, few enough for a small picture."""
    record = live.record
    if record is None:
        return []
    _, rows = record.recent(record.rows - _SPARK_ROWS)
    step = max(1, math.ceil(len(rows) / _SPARK_POINTS))
    return [_short(value) for value in rows[::-step, 1][::-1].tolist()]


class Overview:
    """All streams at a glance, made once for all who look at the same time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._made = -math.inf
        self._content: dict[str, dict[str, Any]] = {}
        self._making = asyncio.Lock()

    async def content(self) -> dict[str, dict[str, Any]]:
        """Return a line for each stream, by its name, no older than a second."""
        async with self._making:
            if time.monotonic() - self._made > 0.9 * _OVERVIEW_SECONDS:
                content = {}
                for i, live in enumerate(self._service):
                    content[live.name] = summary(live) | {"spark": spark(live)}
                    if i % _STREAMS_AT_ONCE == _STREAMS_AT_ONCE - 1:
                        await asyncio.sleep(0)  # others want to be answered too
                self._content, self._made = content, time.monotonic()
            return self._content

    async def events(self) -> AsyncIterator[bytes]:
        """Yield what is new, until the service stops or nobody listens."""
        former: dict[str, dict[str, Any]] = {}
        silent = 0
        while not self._service.stopping.is_set():
            content = await self.content()
            new = [line for name, line in content.items() if former.get(name) != line]
            gone = [name for name in former if name not in content]
            silent += 1
            if new or gone or not former or silent > _SILENT_TICKS:
                yield message("streams", {"streams": new, "gone": gone, "count": len(content)})
                silent = 0
            former = content
            await _pause(self._service, _OVERVIEW_SECONDS)


async def of_stream(service: Service, name: str, output: int) -> AsyncIterator[bytes]:
    """Yield a stream's new rows, and now and then how it does and how that went."""
    after, tick, seen, settled = 0, 0, -1, 1 << 62
    while not service.stopping.is_set():
        try:
            live = service[name]
        except Exception:  # noqa: BLE001 - it was removed
            yield message("gone", {})
            return
        record = live.record
        if record is not None:
            if record.rows < after:
                after = 0  # another state was uploaded
            if record.rows > after or tick == 0:
                after, content = _new_rows(record, after, output)
                yield message("rows", content)
            settled, late = record.settled(settled)
            if late:
                rows, truths = zip(*late, strict=True)
                yield message("settled", {"rows": rows, "truths": [_short(value) for value in truths]})
            if tick % _TICKS_PER_HISTORY == 0 and record.rows != seen:
                seen = record.rows
                yield message("history", _rounded_history(record.history(output)))
        if tick % _TICKS_PER_SUMMARY == 0:
            yield message("summary", summary(live))
        tick += 1
        await _pause(service, _ROWS_SECONDS)


def _new_rows(record: Any, after: int, output: int) -> tuple[int, dict[str, Any]]:
    first, rows = record.recent(after, output)
    last = first + len(rows) - 1
    step = max(1, math.ceil(len(rows) / _MOST_ROWS)) if after else 1
    kept = list(range(len(rows) - 1, -1, -step))[::-1]
    columns = [[first + i for i in kept]]
    columns.append([round(value, 3) for value in rows[kept, 0].tolist()])
    columns += [[_short(value) for value in rows[kept, j].tolist()] for j in range(1, 5)]
    return last, {"last": last, "thinned": step, "columns": columns}


def _rounded_history(history: dict[str, Any]) -> dict[str, Any]:
    return history | {"errors": [[_short(value) for value in line] for line in history["errors"]]}


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


async def _pause(service: Service, seconds: float) -> None:
    """Wait, but no longer than the service runs."""
    try:
        await asyncio.wait_for(service.stopping.wait(), seconds)
    except TimeoutError:
        return
