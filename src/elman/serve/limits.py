"""How much a service takes from its clients. Beyond each of these is an answer that says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What clients may ask for.

    Attributes
    ----------
    body_bytes, state_bytes
        Of a request, and of one that uploads a state.
    rows, cells
        Rows of a request, and numbers that they stand for, missing ones and the answers included: what is
        short to write may be much to hold.
    features
        Names or places that the rows of one stream may have.
    outputs
        Targets of a row.
    name_length
        Characters in the name of a stream, a feature or an id.
    streams
        How many there may be.
    pending
        Questions of one stream that wait for their truth.
    model_bytes
        Memory that a model may need for its weights and what it keeps about them.
    waiting_rows, waiting_requests
        Of one stream, accepted and not answered yet; beyond them 429 is answered.
    remembered_rows
        How many rows back an id or an `Idempotency-Key` is recognised, at the least.
    body_seconds, header_seconds
        How long a client may take to send a request's body, and its first lines.
    connections, watchers
        Open at a time, and those of them to which events are sent.
    watcher_seconds
        How long a watcher may take nothing of what is sent.
    """

    body_bytes: int = 4_000_000
    state_bytes: int = 64_000_000
    rows: int = 100_000
    cells: int = 10_000_000
    features: int = 1_000
    outputs: int = 100
    name_length: int = 100
    streams: int = 1_000
    pending: int = 100_000
    model_bytes: int = 256_000_000
    waiting_rows: int = 20_000
    waiting_requests: int = 1_000
    remembered_rows: int = 100_000
    body_seconds: float = 30.0
    header_seconds: float = 10.0
    connections: int = 1_000
    watchers: int = 100
    watcher_seconds: float = 30.0
