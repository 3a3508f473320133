"""How many rows a second `elman serve` answers, how quickly, and what bounds it.

``python benchmarks/serve.py`` starts a real server in a process of its own and sends rows over real
connections, each of which sends its next request when the last one was answered. ``--quick`` is shorter.
Rows per core are per second of the server's own processor time, so that neither the client nor other work on
the machine counts; latency is what the clients saw, on whatever else the machine had to do.
"""

import argparse
import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elman import streams
from elman.models import catalogue

Rows: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

MODELS: dict[str, dict[str, Any]] = {
    "SRNN-WOGD": {"model": "SRNN-WOGD", "options": {"lags": 0}},
    "Committee, small": {"model": "Committee", "options": {"size": "small"}},
    "Committee": {"model": "Committee"},
}
CONNECTIONS = (1, 8, 64)
BATCHES = (1, 100)
RESULTS = Path(__file__).parent / "results" / "serve.json"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--sync", nargs="*", default=["full", "normal"])
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seconds = 1.5 if options.quick else 5.0
    rows = streams.kinematics(seed=1).take(20_000)
    results = []
    for sync in options.sync:
        for model in options.models:
            alone = run_alone(MODELS[model], rows)
            print(f"{model}: run alone {alone:,.0f} rows/s", flush=True)
            for batch in BATCHES:
                for connections in CONNECTIONS:
                    about = {"sync": sync, "connections": connections, "batch": batch}
                    found = {"model": model} | about
                    found |= measured(MODELS[model], rows, seconds, **about)
                    found["run"] = alone
                    results.append(found)
                    print(line(found), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def line(found: dict[str, Any]) -> str:
    shares = [found[key] / found["run"] for key in ("rows_per_second", "rows_per_core")]
    return (
        f"{found['model']:18} {found['sync']:6} {found['connections']:3} conn. x {found['batch']:3}: "
        f"{found['rows_per_second']:9,.0f} rows/s, {found['rows_per_core']:9,.0f} per core, "
        f"median {found['median_ms']:6.2f} ms, 99 % {found['p99_ms']:6.2f} ms, "
        f"{shares[0]:.2f} of run, {shares[1]:.2f} per core"
    )


def run_alone(setup: dict[str, Any], rows: Rows) -> float:
    """Rows per second of processor time of `run` on arrays: what the service cannot exceed on one stream."""
    X, y = rows
    model = catalogue.make(setup["model"], **{"lags": 6, "seed": 0} | setup.get("options", {}))
    model.run(X[:500], y[:500])
    begin = time.process_time()
    done = 0
    while time.process_time() - begin < 1.0:
        part = slice(done % 15_000, done % 15_000 + 1000)
        model.run(X[part], y[part])
        done += 1000
    return done / (time.process_time() - begin)


def measured(
    setup: dict[str, Any], rows: Rows, seconds: float, *, sync: str, connections: int, batch: int
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", "0", "--store", f"{folder}/s.db", "--sync", sync]
        command = [sys.executable, "-m", "elman", "serve", *options]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().split(":")[2])
            request(port, "PUT", "/streams/s", json.dumps(setup).encode())
            bodies = requests_of(rows, batch)
            load(port, connections, bodies, min(1.0, seconds / 2))  # until it is warm
            before = cpu_seconds(server.pid)
            begin = time.perf_counter()
            times = load(port, connections, bodies, seconds)
            elapsed = time.perf_counter() - begin
            used = cpu_seconds(server.pid) - before
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    answered = len(times) * batch
    return {
        "rows_per_second": answered / elapsed,
        "rows_per_core": answered / used,
        "cores": used / elapsed,
        "median_ms": 1e3 * statistics.median(times),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
    }


def requests_of(rows: Rows, batch: int) -> list[bytes]:
    """Requests, ready to be sent, with different rows."""
    X, y = rows
    found = []
    for first in range(0, min(len(X), 200 * batch) - batch + 1, batch):
        part = slice(first, first + batch)
        content = {"X": X[part].tolist(), "y": y[part].tolist()}
        if batch == 1:
            content = {"x": X[first].tolist(), "y": float(y[first])}
        found.append(post("/streams/s/rows", json.dumps(content).encode()))
    return found


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body


def load(port: int, connections: int, bodies: list[bytes], seconds: float) -> list[float]:
    """Keep so many connections busy and return the time of every answer, in seconds."""
    waiting = select.epoll()
    sockets: dict[int, socket.socket] = {}
    sent: dict[int, float] = {}
    parts: dict[int, bytes] = {}
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[connection.fileno()] = connection
        waiting.register(connection.fileno(), select.EPOLLIN)
    times: list[float] = []
    count = 0
    end = time.perf_counter() + seconds
    for number, connection in sockets.items():
        sent[number], parts[number] = time.perf_counter(), b""
        connection.sendall(bodies[count % len(bodies)])
        count += 1
    while sent:
        for number, _ in waiting.poll():
            parts[number] += sockets[number].recv(1 << 18)
            if not whole(parts[number]):
                continue
            now = time.perf_counter()
            times.append(now - sent.pop(number))
            parts[number] = b""
            if now < end:
                sent[number] = now
                sockets[number].sendall(bodies[count % len(bodies)])
                count += 1
    for connection in sockets.values():
        connection.close()
    waiting.close()
    return times


def whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    assert head.startswith(b"HTTP/1.1 20"), answer
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return len(body) >= length


def request(port: int, method: str, path: str, body: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        connection.sendall(head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while not whole(answer):
            answer += connection.recv(1 << 16)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
