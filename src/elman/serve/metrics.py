"""What Prometheus is told: requests with their latency, and of each stream rows, errors and coverage."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from elman.serve.service import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_STREAMS = 200
"""That are listed by name; the rest is summed up as the stream ""."""
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_TOTALS = {
    "rows": "Rows answered.",
    "learned": "Rows with a target, which were learned.",
    "squared_errors": "Sum of squared errors of the predictions.",
    "squared_errors_of_last": "Sum of squared errors of predicting the last value.",
    "intervals": "Intervals whose target is known.",
    "covered": "Intervals that held their target.",
    "changes": "Changes of the stream that the model has noticed.",
    "answers": "Requests answered.",
    "answer_seconds": "Time that these requests took, from being read to being on the disk.",
    "refused": "Requests refused because too many waited.",
}


class Metrics:
    """Counts of requests; what concerns streams is read from them when it is asked for."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = {}

    def note_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Take in a request that was answered."""
        if path == "other":
            method = "other"  # anything may be written there
        self._requests[method, path, status] += 1
        counts = self._seconds.setdefault((method, path), [0.0] * (len(_BUCKETS) + 2))
        counts[bisect_left(_BUCKETS, seconds)] += 1
        counts[-1] += seconds

    def text(self, service: Service) -> str:
        """Return everything in the format of Prometheus."""
        lines = [*self._of_requests(), *_of_latency(self._seconds), *_of_streams(service)]
        return "\n".join(lines) + "\n"

    def _of_requests(self) -> Iterator[str]:
        yield from _about("elman_requests_total", "Requests by route and status.", "counter")
        for (method, path, status), count in sorted(self._requests.items()):
            yield f'elman_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}'


def _of_latency(seconds: dict[tuple[str, str], list[float]]) -> Iterator[str]:
    name = "elman_request_seconds"
    yield from _about(name, "Time to answer a request.", "histogram")
    for (method, path), counts in sorted(seconds.items()):
        labels = f'method="{method}",path="{path}"'
        below = 0.0
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), counts[:-1], strict=True):
            below += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {below:g}'
        yield f"{name}_sum{{{labels}}} {counts[-1]:.9g}"
        yield f"{name}_count{{{labels}}} {below:g}"


def _of_streams(service: Service) -> Iterator[str]:
    streams = list(service)
    totals = {
        live.name: {
            "refused": live.refused,
            "answers": live.answered,
            "answer_seconds": live.answer_seconds,
            **({} if live.record is None else live.record.totals()),
        }
        for live in streams
    }
    waiting = {live.name: live.waiting_rows for live in streams}
    yield from _about("elman_streams", "How many streams there are.", "gauge")
    yield f"elman_streams {len(streams)}"
    yield from _about("elman_waiting_rows", "Rows accepted and not answered yet.", "gauge")
    yield from _by_stream("elman_waiting_rows", waiting.items())
    for key, text in _TOTALS.items():
        name = f"elman_{key}_total"
        yield from _about(name, text, "counter")
        yield from _by_stream(name, ((stream, of.get(key, 0.0)) for stream, of in totals.items()))


def _by_stream(name: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    rest, others = 0.0, False
    for i, (stream, value) in enumerate(values):
        if i < MOST_STREAMS:
            yield f'{name}{{stream="{stream}"}} {value:.12g}'
        else:
            rest, others = rest + value, True
    if others:
        yield f'{name}{{stream=""}} {rest:.12g}'


def _about(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
