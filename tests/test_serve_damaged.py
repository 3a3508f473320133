"""A store that is damaged, foreign, full or in use: that is said, and nothing is lost or wrongly learned."""

import random
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

import elman
from elman.serve.limits import Limits
from elman.serve.pupil import Pupil
from elman.serve.setups import Setup
from elman.serve.store import Store
from serving import Client, Process, served

SRNN = {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}}
KEYS = [f"request {i}" for i in range(40)]
N_MUTANTS = 300


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with two streams: the first has a snapshot, and both have a log."""
    folder = tmp_path_factory.mktemp("whole")
    for part in range(2):
        with served(folder / "store.db") as connect:
            client = connect()
            for name in ("pump", "load"):
                client.put(f"/streams/{name}", SRNN)
                for i in range(20 * part, 20 * part + 20):
                    row = {"x": [i % 5, i % 7], "y": i % 3}
                    client.post(f"/streams/{name}/rows", row, Idempotency_Key=str(i))
            with sqlite3.connect(folder / "store.db") as reading:
                copy = folder / f"copy{part}.db"
                reading.execute("VACUUM INTO ?", (str(copy),))
            reading.close()
    return copy


def read(path):
    """All that a service goes on from; a ValueError if the store cannot give it."""
    store = Store(path)
    try:
        found = []
        for kept in store.streams():
            pupil = Pupil(Setup.of(kept.setup), Limits(), store.snapshot(kept.id))
            for logged in store.behind(kept.id):
                pupil.replay(logged)
            found.append((kept, pupil.model.to_bytes(), store.answered(kept.id, KEYS)))
        return found
    finally:
        store.close()


def damage(content, chance):
    content, place = bytearray(content), chance.randrange(len(content))
    kind = chance.randrange(4)
    if kind == 0:
        del content[place:]
    elif kind == 1:
        content[place] ^= 1 << chance.randrange(8)
    elif kind == 2:
        content[place : place + 100] = chance.randbytes(len(content[place : place + 100]))
    else:
        start = place // 4096 * 4096
        content[start : start + 4096] = bytes(4096)
    return bytes(content)


def test_a_damaged_store_is_refused_or_gives_what_was_written(whole, tmp_path):
    chance, path = random.Random(0), tmp_path / "store.db"
    content, expected = whole.read_bytes(), read(whole)
    assert [len(answers) for _, _, answers in expected] == [40, 40]
    refused = 0
    for _ in range(N_MUTANTS):
        path.write_bytes(damage(content, chance))
        try:
            assert read(path) == expected
        except ValueError:
            refused += 1
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)

    assert N_MUTANTS / 2 < refused < N_MUTANTS


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE log SET body = zeroblob(length(body)) WHERE place = (1 << 40) + 22",
        "DELETE FROM log WHERE place = (1 << 40) + 22",
        "UPDATE snapshots SET model = zeroblob(length(model)) WHERE stream = 1",
        "UPDATE snapshots SET place = place + 1 WHERE stream = 1",
    ],
)
def test_a_damaged_stream_is_out_of_order_and_left_as_it_is(whole, tmp_path, harm):
    path = tmp_path / "store.db"
    shutil.copy(whole, path)
    with sqlite3.connect(path) as writing:
        assert writing.execute(harm).rowcount == 1
    writing.close()
    before = contents(path, 1)

    with served(path) as connect:
        client = connect()
        refused = client.post("/streams/pump/rows", {"x": [1, 2], "y": 1})
        other = client.post("/streams/load/rows", {"x": [1, 2], "y": 1})

    assert (refused.status, other.status, other.json["row"]) == (503, 200, 41)
    assert "the service's log says why" in refused.json["error"]
    assert contents(path, 1) == before


def contents(path, stream):
    with sqlite3.connect(path) as reading:
        log = reading.execute("SELECT * FROM log WHERE place >> 40 = ?", (stream,)).fetchall()
        snapshots = reading.execute("SELECT * FROM snapshots WHERE stream = ?", (stream,)).fetchall()
    reading.close()
    return log, snapshots


def test_a_damaged_answer_is_said_and_the_stream_goes_on(whole, tmp_path):
    path = tmp_path / "store.db"
    shutil.copy(whole, path)
    with sqlite3.connect(path) as writing:
        writing.execute("UPDATE answers SET answer = x'00' WHERE stream = 1 AND key = 'request 7'")
    writing.close()

    with served(path) as connect:
        client = connect()
        damaged = client.post("/streams/pump/rows", {"x": [2, 0], "y": 1}, Idempotency_Key="7")
        known = client.post("/streams/pump/rows", {"x": [3, 1], "y": 2}, Idempotency_Key="8")
        new = client.post("/streams/pump/rows", {"x": [3, 1], "y": 2}, Idempotency_Key="new")

    assert (damaged.status, known.status, known.json["row"], new.json["row"]) == (503, 200, 9, 41)


def command(path):
    words = [sys.executable, "-m", "elman", "serve", "--port", "0", "--store", str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_a_database_of_something_else_is_refused_in_a_sentence_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as writing:
        writing.execute("CREATE TABLE songs (name)")
    writing.close()
    before = path.read_bytes()

    ended = command(path)

    assert ended.returncode == 3
    assert "a database of something else" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert path.read_bytes() == before


def test_a_second_service_is_told_who_has_the_store(tmp_path):
    with served(tmp_path / "store.db") as connect:
        connect().put("/streams/pump", SRNN)
        ended = command(tmp_path / "store.db")
        after = connect().get("/streams/pump")

    assert ended.returncode == 1
    assert "store.db: in use by process" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert after.status == 200


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux")
def test_a_full_disk_loses_nothing_and_is_over_when_there_is_room(tmp_path):
    import resource  # noqa: PLC0415 - not everywhere

    path = tmp_path / "store.db"
    process = Process(path)
    client = Client(process.port)
    client.put("/streams/pump", SRNN)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 100, 3)), rng.normal(size=(60, 100))
    model = elman.OnlineRNN.named("SRNN-WOGD", lags=2, n_hidden=5, window=20, seed=0)
    expected = model.run(X.reshape(-1, 3), y.reshape(-1)).tolist()
    got, refused = [], 0
    for i in range(60):
        if i % 20 == 10:
            full = path.with_name("store.db-wal").stat().st_size + 2000
            resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
        body = {"X": X[i].tolist(), "y": y[i].tolist()}
        answer = client.post("/streams/pump/rows", body)
        if answer.status == 503:
            refused += 1
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, unlimited)
            answer = client.post("/streams/pump/rows", body)
        got += answer.json["prediction"]
    client.close()
    process.kill()
    with served(path) as connect:
        state = connect().get("/streams/pump/state").body

    assert refused == 3
    assert got == expected
    assert state == model.to_bytes()
