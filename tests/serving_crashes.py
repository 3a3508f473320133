"""A service that is killed again and again under load, and whether anything was lost, doubled or changed.

``python tests/serving_crashes.py --kills 30`` does it as often as one likes; the tests do it a few times.
"""

import argparse
import http.client
import itertools
import json
import math
import random
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from elman.models import catalogue
from serving import Client, Process

STREAMS = {
    "learner": {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}},
    "committee": {"model": "Committee", "options": {"lags": 2}},
}
N_CLIENTS = 8


class Sender(threading.Thread):
    """A client that sends rows of its own, each until it is acknowledged, wherever the service is then."""

    def __init__(self, place, number):
        super().__init__()
        self.place, self.number = place, number
        self.rng = np.random.default_rng(number)
        self.acknowledged = []  # stream, number of the row, row, answer
        self.retries = 0

    def run(self):
        stream = list(STREAMS)[self.number % 2]
        for count in itertools.count():
            if self.place.over.is_set():
                return
            many = 1 if self.number < 4 else int(self.rng.integers(1, 6))
            X, y = self.rng.normal(size=(many, 3)), self.rng.normal(size=many)
            rows = [{"x": a, "y": b} for a, b in zip(X.tolist(), y.tolist(), strict=True)]
            headers = {}
            if self.number % 4 < 2:
                headers = {"Idempotency_Key": f"{self.number}-{count}"}
            else:
                rows = [row | {"id": f"{self.number}-{count}-{i}"} for i, row in enumerate(rows)]
            self.send(stream, rows, headers)

    def send(self, stream, rows, headers):
        while True:
            client = Client(self.place.port)
            try:
                answer = client.post(f"/streams/{stream}/rows", rows, timeout=20, **headers)
            except (OSError, http.client.HTTPException):
                self.retries += 1
                if self.place.given_up.wait(0.02):
                    return
                continue
            finally:
                client.close()
            if answer.status in (429, 503):
                continue
            assert answer.status == 200, answer.body
            content = answer.json
            for i, row in enumerate(rows):
                numbers = [content[name][i] for name in ("prediction", "low", "high")]
                self.acknowledged.append((stream, content["row"] + i, row, numbers))
            return


class Place:
    """Where the service is at present."""

    def __init__(self, store, sync):
        self.store, self.sync = store, sync
        self.over, self.given_up = threading.Event(), threading.Event()
        self.start()

    def start(self):
        self.process = Process(self.store, "--sync", self.sync)
        self.port = self.process.port


def crash(store, kills, seed=0, sync="full", at_most=1.5):
    """Kill a service at random moments under load; return the senders and the states of the streams."""
    chance = random.Random(seed)
    place = Place(store, sync)
    senders = [Sender(place, number) for number in range(N_CLIENTS)]
    try:
        client = Client(place.port)
        for name, setup in STREAMS.items():
            assert client.put(f"/streams/{name}", setup).status == 201
        client.close()
        for sender in senders:
            sender.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.05, at_most))
            place.process.kill()
            place.start()
        time.sleep(0.2)
        place.over.set()
        for sender in senders:
            sender.join(60)
        assert not any(sender.is_alive() for sender in senders)
        client = Client(place.port)
        states = {name: client.get(f"/streams/{name}/state").body for name in STREAMS}
        client.close()
        assert place.process.terminate() == 143
    finally:
        place.given_up.set()
        place.over.set()
        place.process.kill()
    return senders, states


def check(senders, states):
    """Compare with models that were never interrupted; return how many rows there were."""
    rows = [acknowledged for sender in senders for acknowledged in sender.acknowledged]
    for name, setup in STREAMS.items():
        own = sorted((number, row, answer) for stream, number, row, answer in rows if stream == name)
        numbers = [number for number, _, _ in own]
        assert numbers == list(range(1, len(own) + 1)), "every acknowledged row is learned exactly once"
        model = catalogue.make(setup["model"], **{"seed": 0} | setup["options"])
        X, y = [row["x"] for _, row, _ in own], [row["y"] for _, row, _ in own]
        expected = np.stack(model.run_intervals(X, y), axis=1)
        finite = [[value if math.isfinite(value) else None for value in line] for line in expected.tolist()]
        assert [answer for _, _, answer in own] == finite, "predictions are those of one model, to the bit"
        assert states[name] == model.to_bytes(), "and so is its state"
    return len(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sync", default="full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        senders, states = crash(Path(folder) / "store.db", options.kills, options.seed, options.sync)
        rows = check(senders, states)
    retries = sum(sender.retries for sender in senders)
    print(json.dumps({"kills": options.kills, "sync": options.sync, "rows": rows, "retries": retries}))  # noqa: T201


if __name__ == "__main__":
    main()
