"""Three streams that run by themselves, so that the page shows something at once.

An arm whose law changes now and then, the load of a town with its days and weeks, and a count with bursts.
Each is made block by block from its own random generator, so that a demonstration goes on where its store
was left.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elman import streams
from elman.serve.bodies import How, read_rows
from elman.serve.problems import Problem
from elman.serve.setups import Setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from elman.arrays import Float64
    from elman.serve.service import Service

_ROWS_AT_FIRST = 1_200
_ROWS_AT_ONCE = 40
_ARM_CHANGES_EVERY = 1_500
_BLOCK = 300
_TICK_SECONDS = 0.1


class Source(NamedTuple):
    """A stream of the demonstration: its setup, the names of its inputs, and its rows by their numbers."""

    setup: Setup
    names: tuple[str, ...]
    rows: Callable[[int, int], tuple[Float64, Float64]]


def demonstration(rate: float) -> Callable[[Service], Any]:
    """Return what runs beside a service: three streams at so many rows per second each."""

    async def run(service: Service) -> None:
        await asyncio.gather(*(_feed(service, name, source, rate) for name, source in SOURCES.items()))

    return run


async def _feed(service: Service, name: str, source: Source, rate: float) -> None:
    try:
        await service.add(name, source.setup)
    except Problem:
        return  # a stream of this name is somebody's own
    done = await service.call(name, lambda pupil: pupil.record.rows)
    while done < _ROWS_AT_FIRST:
        done = await _send(service, name, source, done, done + _ROWS_AT_ONCE)
    owed = 0.0
    while not service.stopping.is_set():
        owed += rate * _TICK_SECONDS
        if owed >= 1:
            done = await _send(service, name, source, done, done + int(owed))
            owed -= int(owed)
        await asyncio.sleep(_TICK_SECONDS)


async def _send(service: Service, name: str, source: Source, first: int, last: int) -> int:
    """Send rows as any client would; return how many have been sent now."""
    X, y = await asyncio.to_thread(source.rows, first, last)
    inputs = [dict(zip(source.names, line, strict=True)) for line in X.tolist()]
    body = json.dumps({"X": inputs, "y": y.tolist()}).encode()
    way = How("json")
    try:
        await service.learn(name, read_rows(body, way, service.limits), way, body)
    except Problem as problem:
        if problem.status == 404:  # it was removed; a page may do that
            raise asyncio.CancelledError from None
        return first
    return last


def _in_blocks(
    block: Callable[[np.random.Generator, Float64], tuple[Float64, Float64]],
) -> Callable[[int, int], tuple[Float64, Float64]]:
    """Return the rows of a stream that is made block by block."""

    def rows(first: int, last: int) -> tuple[Float64, Float64]:
        numbers = range(first // _BLOCK, -(-last // _BLOCK))
        made = [
            block(np.random.default_rng((7, k)), np.arange(k * _BLOCK, (k + 1) * _BLOCK, dtype=np.float64))
            for k in numbers
        ]
        begin = first - numbers[0] * _BLOCK
        X, y = (np.concatenate(each)[begin : begin + last - first] for each in zip(*made, strict=True))
        return X, y

    return rows


def _arm(first: int, last: int) -> tuple[Float64, Float64]:
    """Return rows of an arm whose target jumps there and back: every change is a new law."""
    before, after = (
        streams.kinematics(seed=3, drift=drift).take(last)
        for drift in (None, streams.Drift(at=0, amount=0.6))
    )
    moved = np.arange(last) // _ARM_CHANGES_EVERY % 2 == 1
    return before[0][first:], np.where(moved, after[1], before[1])[first:]


def _load(rng: np.random.Generator, t: Float64) -> tuple[Float64, Float64]:
    """Return a load in megawatts, a row every quarter of an hour: days, weeks, and the weather."""
    hour, day = t / 4 % 24, t / 96
    temperature = (
        12 + 8 * np.sin(day / 30) + 5 * np.sin((hour - 9) / 24 * 2 * np.pi) + rng.normal(0, 0.4, t.size)
    )
    weekend = day % 7 >= 5
    morning, evening = np.exp(-(((hour - 8) / 2) ** 2)), np.exp(-(((hour - 19) / 2.5) ** 2))
    load = 42 + (14 - 6 * weekend) * morning + 18 * evening + 0.9 * np.maximum(temperature - 18, 0)
    load += 1.1 * np.maximum(14 - temperature, 0) + rng.normal(0, 0.7, t.size)
    return np.stack([hour, weekend.astype(np.float64), temperature], axis=1), load


def _count(rng: np.random.Generator, t: Float64) -> tuple[Float64, Float64]:
    """Return how many requests came in a minute: a calm day, and bursts that rise at once and fade."""
    expected = 20 + 8 * np.sin(t / 60)
    for start in rng.choice(t.size, size=2, replace=False):
        expected[start:] += rng.uniform(60, 160) * np.exp(-np.arange(t.size - start) / 9)
    hour = t / 60 % 24
    return hour[:, np.newaxis], rng.poisson(expected).astype(np.float64)


SOURCES = {
    "arm": Source(Setup(options={"lags": 0}), tuple(f"theta{joint}" for joint in range(1, 9)), _arm),
    "load": Source(Setup(), ("hour", "weekend", "temperature"), _in_blocks(_load)),
    "requests": Source(Setup(), ("hour",), _in_blocks(_count)),
}
