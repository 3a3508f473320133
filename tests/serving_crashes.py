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
ASKERS = {
    "asked-learner": {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}},
    "asked-committee": {"model": "Committee", "options": {"lags": 2, "size": "small"}},
}


class Stubborn(threading.Thread):
    """A client that sends everything until it is acknowledged, wherever the service is then."""

    def __init__(self, place, number):
        super().__init__()
        self.place, self.number = place, number
        self.rng = np.random.default_rng(number)
        self.retries = 0

    def post(self, path, content, headers):
        """What is answered in the end, None if the service has been given up."""
        while True:
            client = Client(self.place.port)
            try:
                answer = client.post(path, content, timeout=20, **headers)
            except (OSError, http.client.HTTPException):
                self.retries += 1
                if self.place.given_up.wait(0.02):
                    return None
                continue
            finally:
                client.close()
            if answer.status in (429, 503):
                continue
            assert answer.status == 200, answer.body
            return answer.json


class Sender(Stubborn):
    """Sends rows of its own to a stream that others send to as well."""

    def __init__(self, place, number):
        super().__init__(place, number)
        self.acknowledged = []  # stream, number of the row, row, answer

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
        content = self.post(f"/streams/{stream}/rows", rows, headers)
        for i, row in enumerate(rows if content is not None else ()):
            numbers = [content[name][i] for name in ("prediction", "low", "high")]
            self.acknowledged.append((stream, content["row"] + i, row, numbers))


class Asker(Stubborn):
    """Asks rows of a stream of its own, and tells some of them later, in any order."""

    def __init__(self, place, number, stream):
        super().__init__(place, number)
        self.stream = stream
        self.done = []  # what was asked and answered, what was told, in order
        self.open = []  # ids

    def run(self):
        for count in itertools.count():
            if self.place.over.is_set():
                return
            key = {"Idempotency_Key": f"{self.number}-{count}"}
            asked = not self.open or self.rng.random() < 0.5
            acknowledged = self.ask(count, key) if asked else self.tell(key)
            if not acknowledged:
                return

    def ask(self, count, key):
        X = self.rng.normal(size=(int(self.rng.integers(1, 4)), 3)).tolist()
        content = {"X": X}
        if count % 2:
            content, key = content | {"ids": [f"{count}-{i}" for i in range(len(X))]}, {}
        answer = self.post(f"/streams/{self.stream}/ask", content, key)
        if answer is not None:
            self.done.append(("ask", X, answer))
            self.open += answer["id"]
        return answer is not None

    def tell(self, key):
        some = self.rng.permutation(self.open)[: int(self.rng.integers(1, 4))].tolist()
        told = [{"id": id_, "y": float(self.rng.normal())} for id_ in some]
        answer = self.post(f"/streams/{self.stream}/tell", told, key)
        if answer is not None:
            self.done.append(("tell", told, answer))
            self.open = [id_ for id_ in self.open if id_ not in some]
        return answer is not None


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
    senders += [Asker(place, N_CLIENTS + i, stream) for i, stream in enumerate(ASKERS)]
    try:
        client = Client(place.port)
        for name, setup in (STREAMS | ASKERS).items():
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
        states = {name: client.get(f"/streams/{name}/state").body for name in STREAMS | ASKERS}
        client.close()
        assert place.process.terminate() == 143
    finally:
        place.given_up.set()
        place.over.set()
        place.process.kill()
    return senders, states


def check(senders, states):
    """Compare with models that were never interrupted; return how many rows there were."""
    for asker in senders[N_CLIENTS:]:
        check_asked(asker, states[asker.stream])
    rows = [acknowledged for sender in senders[:N_CLIENTS] for acknowledged in sender.acknowledged]
    for name, setup in STREAMS.items():
        own = sorted((number, row, answer) for stream, number, row, answer in rows if stream == name)
        numbers = [number for number, _, _ in own]
        assert numbers == list(range(1, len(own) + 1)), "every acknowledged row is learned exactly once"
        model = catalogue.make(setup["model"], **{"seed": 0} | setup["options"])
        X, y = [row["x"] for _, row, _ in own], [row["y"] for _, row, _ in own]
        expected = np.stack(model.run_intervals(X, y), axis=1).tolist()
        assert [answer for _, _, answer in own] == [finite(line) for line in expected], (
            "predictions are those of one model, to the bit"
        )
        assert states[name] == model.to_bytes(), "and so is its state"
    return len(rows)


def check_asked(asker, state):
    """Compare with a model that was asked and told the same without interruption."""
    setup = ASKERS[asker.stream]
    model = catalogue.make(setup["model"], **{"seed": 0} | setup["options"])
    for kind, content, answer in asker.done:
        if kind == "ask":
            tickets = [model.ask(x) for x in content]
            expected = [[t.id for t in tickets]]
            expected += [
                finite([getattr(t, name) for t in tickets]) for name in ("prediction", "low", "high")
            ]
            assert [answer[name] for name in ("id", "prediction", "low", "high")] == expected
        else:
            for each in content:
                model.tell(each["id"], each["y"])
            assert answer == {"told": len(content), "pending": model.pending}
    assert model.to_bytes() == state, "every question is asked and told exactly once"


def finite(numbers):
    return [value if math.isfinite(value) else None for value in numbers]


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
    asked = sum(len(asker.done) for asker in senders[N_CLIENTS:])
    found = {"kills": options.kills, "sync": options.sync, "rows": rows, "asked or told": asked}
    print(json.dumps(found | {"retries": retries}))  # noqa: T201


if __name__ == "__main__":
    main()
