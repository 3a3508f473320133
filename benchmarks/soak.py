"""A long run of `elman serve` under a steady load: whether memory and latency stay flat.

``python benchmarks/soak.py --minutes 60 --rate 200`` sends so many rows a second, in turns to an SRNN-WOGD,
a Committee and twenty further small streams, with a watcher of the page's events, and prints a line for each
tenth of the time: rows, median and 99th percentile of the latency, the service's processor time of a request
(which other work on the machine changes least), resident memory, bytes of the store.
"""

import argparse
import http.client
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from elman import streams
from serve import spent

SMALL = {"model": "SRNN-WOGD", "options": {"lags": 0, "n_hidden": 4, "window": 20}}
STREAMS = {"srnn": {"model": "SRNN-WOGD", "options": {"lags": 0}}, "committee": {"options": {"lags": 0}}}
STREAMS |= {f"small{i}": SMALL for i in range(20)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "soak.db"
        command = [sys.executable, "-m", "elman", "serve", "--port", "0", "--store", str(store)]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().split(":")[2])
            results = soaked(port, server.pid, store, options)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    if options.out is not None:
        about = {"minutes": options.minutes, "rate": options.rate, "parts": results}
        options.out.write_text(json.dumps(about, indent=1) + "\n")


def soaked(port: int, pid: int, store: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    client = http.client.HTTPConnection("127.0.0.1", port)
    for name, setup in STREAMS.items():
        asked(client, "PUT", f"/streams/{name}", setup)
    threading.Thread(target=watch, args=(port,), daemon=True).start()
    X, y = streams.kinematics(seed=1).take(50_000)
    names, results, sent = list(STREAMS), [], 0
    begin, used = time.perf_counter(), float(spent(pid)[0])
    for part in range(1, options.parts + 1):
        times: list[float] = []
        end = begin + 60 * options.minutes * part / options.parts
        while (now := time.perf_counter()) < end:
            due = begin + sent / options.rate
            if now < due:
                time.sleep(due - now)
            row = {"x": X[sent % 50_000].tolist(), "y": float(y[sent % 50_000])}
            before = time.perf_counter()
            asked(client, "POST", f"/streams/{names[sent % len(names)]}/rows", row, key=str(sent))
            times.append(time.perf_counter() - before)
            sent += 1
        former, used = used, float(spent(pid)[0])
        results.append(
            line(sent, times, pid, store) | {"cpu_ms": round(1e3 * (used - former) / len(times), 3)}
        )
        print(results[-1], flush=True)
    return results


def line(sent: int, times: list[float], pid: int, store: Path) -> dict[str, Any]:
    status = Path(f"/proc/{pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    return {
        "rows": sent,
        "median_ms": round(1e3 * statistics.median(times), 3),
        "p99_ms": round(1e3 * float(np.quantile(times, 0.99)), 3),
        "resident_mb": round(resident, 1),
        "store_mb": round(sum(file.stat().st_size for file in store.parent.iterdir()) / 1e6, 2),
        "threads": int(status.partition("Threads:")[2].split()[0]),
    }


def asked(client: http.client.HTTPConnection, method: str, path: str, content: Any, key: str = "") -> None:
    headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
    client.request(method, path, json.dumps(content), headers)
    response = client.getresponse()
    body = response.read()
    assert response.status in (200, 201), body


def watch(port: int) -> None:
    """Look at a stream as the page does."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    client.request("GET", "/streams/committee/events")
    response = client.getresponse()
    while response.read1(1 << 16):
        pass


if __name__ == "__main__":
    main()
