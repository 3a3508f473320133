"""How many rows a second `elman serve` answers, how quickly, and what bounds it.

``python benchmarks/serve.py`` starts real servers in processes of their own and sends rows over real
connections, each of which sends its next request when the last one was answered: about four minutes, after
which ``python benchmarks/serving_page.py`` makes the table of the guide. Rows per core are per second of the
server's own processor time, so that neither the client nor other work on the machine counts; latency and rows
per second are what the clients saw, on whatever else the machine had to do.
"""

import argparse
import json
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
WAITING = 0.75  # of a core that it wants: below that the service waits, and not for the processor


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4.0, help="of each of the 36 measurements")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--sync", nargs="*", default=["full", "normal"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = streams.kinematics(seed=1).take(20_000)
    results = []
    for model in options.models:
        for sync in options.sync:
            alone = {f"{name}": run_alone(MODELS[model], rows, name) for name in ("run", "run_intervals")}
            print(f"{model}: run alone {alone['run']:,.0f} rows/s", flush=True)
            with served(MODELS[model], sync) as (port, pid):
                for batch in BATCHES:
                    bodies = requests_of(rows, batch)
                    for connections in CONNECTIONS:
                        found = {"model": model, "sync": sync, "connections": connections, "batch": batch}
                        found |= alone | measured(port, pid, bodies, connections, options.seconds)
                        found = judged(found)
                        results.append(found)
                        print(line(found), flush=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def line(found: dict[str, Any]) -> str:
    shares = [found[key] / found["run"] for key in ("rows_per_second", "rows_per_core")]
    return (
        f"{found['model']:16} {found['sync']:6} {found['connections']:3} x {found['batch']:3}: "
        f"{found['rows_per_second']:9,.0f} rows/s, {found['rows_per_core']:9,.0f} per core, "
        f"median {found['median_ms']:6.2f} ms, 99 % {found['p99_ms']:6.2f} ms, "
        f"{shares[0]:.2f} of run, {shares[1]:.2f} per core; {found['bound']}"
    )


def run_alone(setup: dict[str, Any], rows: Rows, method: str) -> float:
    """Rows per second of processor time of `run` on arrays: what the service cannot exceed on one stream.

    The best of three half seconds.
    """
    X, y = rows
    model = catalogue.make(setup["model"], **{"lags": 6, "seed": 0} | setup.get("options", {}))
    run = getattr(model, method)
    run(X[:500], y[:500])
    best, at = 0.0, 0
    for _ in range(3):
        begin, done = time.process_time(), 0
        while time.process_time() - begin < 0.5:
            part = slice(at % 15_000, at % 15_000 + 1000)
            run(X[part], y[part])
            at, done = at + 1000, done + 1000
        best = max(best, done / (time.process_time() - begin))
    return best


@contextmanager
def served(setup: dict[str, Any], sync: str) -> Iterator[tuple[int, int]]:
    """A service with one stream; its port and its process."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", "0", "--store", f"{folder}/s.db", "--sync", sync]
        command = [sys.executable, "-m", "elman", "serve", *options]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().split(":")[2])
            request(port, "PUT", "/streams/s", json.dumps(setup).encode())
            yield port, server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


def measured(
    port: int, pid: int, bodies: list[tuple[int, bytes]], connections: int, seconds: float
) -> dict[str, Any]:
    batch, ready = bodies[0][0], [body for _, body in bodies]
    load(port, connections, ready, 0.5)  # until it is warm
    before = spent(pid)
    begin = time.perf_counter()
    times = load(port, connections, ready, seconds)
    elapsed = time.perf_counter() - begin
    used, http, queued = spent(pid) - before
    answered = len(times) * batch
    return {
        "rows_per_second": answered / elapsed,
        "rows_per_core": answered / used,
        "cores": used / elapsed,
        "cores_wanted": (used + queued) / elapsed,
        "request_us": 1e6 * used / len(times),
        "http_us": 1e6 * http / len(times),
        "median_ms": 1e3 * statistics.median(times),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
    }


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """Say what bounds it: waiting, or the largest of what the processor does for a request."""
    learning = 1e6 * found["batch"] / found["run_intervals"]
    parts = {
        "learning": learning,
        "HTTP and JSON": found["http_us"],
        "storing": found["request_us"] - found["http_us"] - learning,
    }
    largest = max(parts, key=lambda name: parts[name])
    if found["cores_wanted"] < WAITING:
        largest = "the disk's turns" if found["sync"] == "full" else "turns of threads"
    return found | {"learning_us": learning, "bound": largest}


def requests_of(rows: Rows, batch: int) -> list[tuple[int, bytes]]:
    """Requests, ready to be sent, with different rows, and how many each has."""
    X, y = rows
    found = []
    for first in range(0, min(len(X), 200 * batch) - batch + 1, batch):
        part = slice(first, first + batch)
        content = {"X": X[part].tolist(), "y": y[part].tolist()}
        if batch == 1:
            content = {"x": X[first].tolist(), "y": float(y[first])}
        found.append((batch, post("/streams/s/rows", json.dumps(content).encode())))
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


def spent(pid: int) -> NDArray[np.float64]:
    """Seconds of the processor that a process had, those of its first thread, which speaks HTTP, and others
    that it stood in line for the processor."""
    found = np.zeros(3)
    for task in Path(f"/proc/{pid}/task").iterdir():
        ran, waited, _ = map(int, (task / "schedstat").read_text().split())
        found += [ran, ran if task.name == str(pid) else 0, waited]
    return found / 1e9


if __name__ == "__main__":
    main()
