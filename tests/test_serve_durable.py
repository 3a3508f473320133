"""What was acknowledged survives: kill -9, a disk that fails, SIGTERM, and what is sent twice."""

import signal
import sqlite3
import threading

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

import elman
import serving_crashes
from elman.serve import live
from elman.serve.app import Settings
from elman.serve.limits import Limits
from elman.serve.server import Server
from elman.serve.store import Answered, Logged, Snapshot, Store
from serving import Client, Process, served

SRNN = {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def test_every_acknowledged_row_is_learned_once_however_often_the_service_is_killed(path):
    senders, states = serving_crashes.crash(path, kills=3, seed=5, at_most=0.4)

    assert serving_crashes.check(senders, states) > 100
    assert all(asker.done for asker in senders[serving_crashes.N_CLIENTS :])


def test_sigterm_finishes_what_was_accepted(path):
    process = Process(path)
    client = Client(process.port)
    client.put("/streams/pump")
    body = {"X": np.random.default_rng(0).normal(size=(3000, 5)).tolist(), "y": [0.5] * 3000}
    answers = []
    thread = threading.Thread(target=lambda: answers.append(client.post("/streams/pump/rows", body)))
    watching = Client(process.port)
    thread.start()
    while not any(stream["waiting"] or stream["rows"] for stream in watching.get("/streams").json["streams"]):
        pass
    watching.close()

    assert process.terminate() == 143
    thread.join()
    client.close()
    with served(path) as connect:
        rows = connect().get("/streams/pump/explain").json["samples"]

    assert answers[0].status == 200
    assert rows == 3000


def test_ctrl_c_pressed_twice_finishes_what_was_accepted_all_the_same(path):
    store = Store(path)
    server = Server(Settings(store))
    for _ in range(2):
        server.handle_exit(signal.SIGINT, None)
    store.close()

    assert server.signal == signal.SIGINT
    assert server.should_exit
    assert not server.force_exit


def test_a_store_has_one_process_at_a_time(path):
    store = Store(path)

    with pytest.raises(BlockingIOError, match="in use by process"):
        Store(path)
    store.close()
    Store(path).close()


def test_a_file_that_is_no_store_is_refused_and_left_alone(path):
    path.write_bytes(b"a,b\n1,2\n" * 1000)

    with pytest.raises(ValueError, match="not a store of elman"):
        Store(path)
    assert path.read_bytes() == b"a,b\n1,2\n" * 1000


def test_rows_that_could_not_be_written_are_not_learned(path, monkeypatch):
    failing = threading.Event()
    append = Store.append

    def full_disk(self, *arguments):
        append(self, *arguments)
        if failing.is_set():
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "append", full_disk)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)).tolist(), rng.normal(size=30).tolist()
    expected = elman.OnlineRNN.named("SRNN-WOGD", lags=2, n_hidden=5, window=20, seed=0).run(X, y).tolist()
    got = []
    with served(path) as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        for i, (x, t) in enumerate(zip(X, y, strict=True)):
            if i % 10 == 5:
                failing.set()
                refused = client.post("/streams/pump/rows", {"x": x, "y": t}, Idempotency_Key=str(i))
                assert (refused.status, refused.headers["retry-after"]) == (503, "1")
                failing.clear()
            answer = client.post("/streams/pump/rows", {"x": x, "y": t}, Idempotency_Key=str(i))
            got.append(answer.json["prediction"])
        rows = client.get("/streams/pump").json["rows"]

    assert got == expected
    assert rows == 30


def test_the_log_is_trimmed_behind_snapshots(path, monkeypatch):
    monkeypatch.setattr(live, "_ENTRIES_BEHIND", 10)
    with served(path, limits=Limits(remembered_rows=20)) as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        for i in range(95):
            client.post("/streams/pump/rows", {"x": [i, 1], "y": i}, Idempotency_Key=str(i))
        with sqlite3.connect(path) as reading:
            logged, remembered = (
                reading.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("log", "answers")
            )
        reading.close()
        again = client.post("/streams/pump/rows", {"x": [94, 1], "y": 94}, Idempotency_Key="94")

    assert logged <= 11
    assert 20 <= remembered <= 40
    assert again.json["row"] == 95


def test_what_was_accepted_is_replayed_under_lower_limits(path):
    with served(path) as connect:
        connect().put("/streams/pump", SRNN)
    store = Store(path)
    with store.transaction():
        store.append(1, [Logged(0.0, "rows", '["json", null, null]', b'{"x": [1, 2, 3], "y": 1}')], [])
    store.close()

    with served(path, limits=Limits(features=1)) as connect:
        assert connect().get("/streams/pump/explain").json["samples"] == 1


def test_a_stream_that_the_store_cannot_give_back_does_not_stop_the_others(path):
    with served(path) as connect:
        client = connect()
        for name in ("broken", "whole"):
            client.put(f"/streams/{name}", SRNN)
            client.post(f"/streams/{name}/rows", {"x": [1.0], "y": 1.0})
    store = Store(path)
    with store.transaction():
        store.keep(1, Snapshot(b"nonsense", b"nonsense"), 0)
    store.close()

    with served(path) as connect:
        client = connect()
        assert client.post("/streams/broken/rows", {"x": [1.0]}).status == 503
        assert client.get("/streams/broken").json["rows"] is None
        assert client.post("/streams/whole/rows", {"x": [1.0]}).json["row"] == 2
        assert client.delete("/streams/broken").status == 204


def test_a_transaction_is_written_whole_or_not_at_all(path):
    store = Store(path)
    with store.transaction():
        number = store.add_stream("pump", {}, 0.0)

    def half_written():
        with store.transaction():
            store.append(number, [Logged(0.0, "rows", "[]", b"")], [Answered("k", 1, b"", b"")])
            raise RuntimeError("no power")

    with pytest.raises(RuntimeError, match="no power"):
        half_written()

    assert list(store.behind(number)) == []
    assert store.answered(number, ["k"]) == {}
    store.close()
