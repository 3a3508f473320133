"""Whether the live page moves without stutter: a hundred streams, and a thousand rows a second.

``python benchmarks/serve_page.py`` starts a service, sends it rows, looks at the list of streams and at one
stream in headless Chromium (Playwright drives it) and prints, for each: the times between frames, the share
of the time that the page's thread was busy, and how many of its tasks took more than 50 ms.
"""

import argparse
import http.client
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

from elman import streams

SMALL = {"model": "Committee", "options": {"size": "small"}}
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
WATCH = """() => {
  const frames = (window.frames_ = []);
  let last = performance.now();
  window.long_ = 0;
  const count = (list) => { window.long_ += list.getEntries().length; };
  new PerformanceObserver(count).observe({ type: "longtask" });
  const step = (now) => { frames.push(now - last); last = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
}"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="rows per second, of all streams together")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    results = {}
    for n_streams, path in ((3, ""), (100, ""), (1, "#/streams/s0"), (100, "#/streams/s0")):
        view = "a stream" if path else "the list"
        found = looked_at(n_streams, path, options)
        name = f"{view}, of {n_streams}"
        results[name] = found
        print(f"{name}: {found}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def looked_at(n_streams: int, path: str, options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/page.db", "--sync", "normal"]
        command = [sys.executable, "-m", "elman", "serve", "--port", "0", *store]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        stop = threading.Event()
        try:
            port = int(server.stderr.readline().split(":")[2])
            sending = threading.Thread(target=send, args=(port, n_streams, options.rate, stop))
            sending.start()
            found = frames(f"http://127.0.0.1:{port}/{path}", n_streams, options.seconds)
            stop.set()
            sending.join()
        finally:
            stop.set()
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    return found


def send(port: int, n_streams: int, rate: float, stop: threading.Event) -> None:
    """Send rows in turns to all streams, twenty times a second, until it is told to stop."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    X, y = streams.kinematics(seed=1).take(20_000)
    for i in range(n_streams):
        asked(client, "PUT", f"/streams/s{i}", SMALL)
        asked(client, "POST", f"/streams/s{i}/rows", {"X": X[:300].tolist(), "y": y[:300].tolist()})
    sent, turn, begin = 0, 0, time.perf_counter()
    while not stop.wait(0.05):
        due = int((time.perf_counter() - begin) * rate) - sent
        at_once = min(n_streams, 20)
        for _ in range(at_once):
            part = max(1, due // at_once)
            at = sent % 15_000
            body = {"X": X[at : at + part].tolist(), "y": y[at : at + part].tolist()}
            asked(client, "POST", f"/streams/s{turn % n_streams}/rows", body)
            sent, turn = sent + part, turn + 1


def asked(client: http.client.HTTPConnection, method: str, path: str, content: Any) -> None:
    client.request(method, path, json.dumps(content), {"content-type": "application/json"})
    response = client.getresponse()
    body = response.read()
    assert response.status in (200, 201), body


def frames(address: str, n_streams: int, seconds: float) -> dict[str, float]:
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        if "#" in address:
            page.wait_for_selector(".chart canvas")
        else:
            page.wait_for_function(f"() => document.querySelectorAll('.streams li').length === {n_streams}")
        page.wait_for_timeout(2000)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.evaluate(WATCH)
        before = busy(session)
        page.wait_for_timeout(1000 * seconds)
        used = busy(session) - before
        found = measured(page, used / seconds)
        browser.close()
    return found


def busy(session: CDPSession) -> float:
    listed = session.send("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in listed if each["name"] == "TaskDuration")


def measured(page: Page, share: float) -> dict[str, float]:
    times = np.array(page.evaluate("() => window.frames_"))[1:]
    return {
        "frames_per_second": round(1e3 / float(times.mean()), 1),
        "median_ms": round(float(np.median(times)), 1),
        "p99_ms": round(float(np.quantile(times, 0.99)), 1),
        "longest_ms": round(float(times.max()), 1),
        "busy": round(share, 3),
        "long_tasks": page.evaluate("() => window.long_"),
    }


if __name__ == "__main__":
    main()
