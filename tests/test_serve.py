"""What a service does with rows, streams and states; real server, real connections."""

import asyncio
import http.client
import json
import math
import threading

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

import elman
from elman.serve.demo import SOURCES
from elman.serve.limits import Limits
from elman.serve.pupil import Pupil
from elman.serve.server import Joined
from serving import served

SRNN = {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X @ [1.0, 0.5, -1.0]) + 0.1 * rng.normal(size=n)


def alone():
    return elman.OnlineRNN.named("SRNN-WOGD", lags=2, n_hidden=5, window=20, seed=0)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def client(store):
    with served(store) as connect:
        yield connect()


@pytest.fixture
def stream(client):
    assert client.put("/streams/pump", SRNN).status == 201
    return client


def test_rows_are_answered_as_the_model_alone_would(stream):
    X, y = rows(60)
    expected = alone().run_intervals(X, y)

    answers = [
        stream.post("/streams/pump/rows", {"x": x.tolist(), "y": float(t)}).json
        for x, t in zip(X[:20], y[:20], strict=True)
    ]
    many = stream.post("/streams/pump/rows", {"X": X[20:].tolist(), "y": y[20:].tolist()}).json

    assert [each["row"] for each in answers] == list(range(1, 21))
    assert many["row"] == 21
    for name, column in zip(("prediction", "low", "high"), expected, strict=True):
        got = [each[name] for each in answers] + many[name]
        assert got == [value if math.isfinite(value) else None for value in column.tolist()]


def test_csv_ndjson_and_json_give_the_same(client):
    X, y = rows(10)
    names = ["a", "b", "c"]
    flat = [dict(zip(names, x, strict=True)) | {"y": t} for x, t in zip(X.tolist(), y.tolist(), strict=True)]
    bodies = {
        "json": json.dumps(
            [{"x": {k: v for k, v in row.items() if k != "y"}, "y": row["y"]} for row in flat]
        ),
        "flat": json.dumps(flat),
        "ndjson": "\n".join(json.dumps(row) for row in flat),
        "csv": "a,b,c,y\n" + "\n".join(",".join(repr(v) for v in row.values()) for row in flat),
    }
    predictions = {}
    for form, body in bodies.items():
        client.put(f"/streams/{form}", SRNN)
        query = "?target=y" if form in ("flat", "ndjson") else ""
        # As curl --data-binary sends it: the body has to show what it is.
        answer = client.post(
            f"/streams/{form}/rows{query}", body.encode(), Content_Type="application/x-www-form-urlencoded"
        )
        assert answer.status == 200, answer.body
        predictions[form] = answer.body.decode()

    from_json = json.loads(predictions["json"])
    assert json.loads(predictions["flat"]) == from_json
    lines = [json.loads(line) for line in predictions["ndjson"].splitlines()]
    assert [line["prediction"] for line in lines] == from_json["prediction"]
    cells = [line.split(",") for line in predictions["csv"].splitlines()]
    assert cells[0] == ["prediction", "low", "high"]
    assert [float(line[0]) for line in cells[1:]] == from_json["prediction"]


def test_a_row_without_a_target_is_answered_and_advances_the_state(stream):
    X, y = rows(5)
    model = alone()
    model.run(X, y)
    stream.post("/streams/pump/rows", {"X": X.tolist(), "y": y.tolist()})

    answer = stream.post("/streams/pump/rows", {"x": [1, 2, 3]}).json

    assert answer["prediction"] == model.run([[1, 2, 3]], None)[0]
    assert stream.get("/streams/pump").json["rows"] == 6
    assert stream.get("/streams/pump").json["learned"] == 5


def test_several_targets_are_answered_each(client):
    client.put("/streams/two", SRNN)

    client.post("/streams/two/rows", {"x": [1.0], "y": [1.0, 2.0]})
    answer = client.post("/streams/two/rows", [{"x": [2.0], "y": [None, 3.0]}, {"x": [2.0]}]).json

    assert np.shape(answer["prediction"]) == (2, 2)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b'{"x": [NaN, 1, 2]}', 400),
        (b'{"x": [1e999, 1, 2]}', 400),
        (b'{"x": {"\\ud800": 1}}', 400),
        (b'{"x": [1, 2]}', 422),
        (b'{"x": [1, 2, "3"]}', 422),
        (b'{"x": {"a": 1}}', 422),
        (b'{"x": [1, 2, 3], "z": 1}', 422),
        (b'{"x": [1, 2, 3], "y": "high"}', 422),
        (b'{"x": [1, 2, 3], "y": [1, 2]}', 422),
        (b'[{"x": [1, 2, 3], "y": 1}, {"x": [1, 2, 3], "y": 1e400}]', 400),
        (b'{"X": [[1, 2, 3]], "y": [1, 2]}', 422),
        (b"\xff\xfe", 400),
        (b"a,b\n1,2\n", 422),
        (b"a,a,y\n1,2,3\n", 422),
        (b"a,y\n1,2,3\n", 422),
        (b'a,y\n"1,2\n', 400),
        (b"[" * 100_000, 400),
        (b'{"x": [' + b"1" * 5000 + b", 1, 2]}", 400),
        (b'{"x": [1, 2, 3], "id": {}}', 422),
    ],
)
def test_a_wrong_body_is_said_and_nothing_of_it_is_learned(stream, body, status):
    X, y = rows(5)
    stream.post("/streams/pump/rows", {"X": X.tolist(), "y": y.tolist()})
    before = stream.get("/streams/pump/state").body

    answer = stream.post("/streams/pump/rows", body)

    assert answer.status == status, answer.body
    assert answer.json["error"]
    assert stream.get("/streams/pump/state").body == before


def test_a_request_sent_twice_is_learned_once_and_answered_the_same(stream):
    first = stream.post("/streams/pump/rows", {"x": [1, 2, 3], "y": 4}, Idempotency_Key="one")
    again = stream.post("/streams/pump/rows", {"x": [1, 2, 3], "y": 4}, Idempotency_Key="one")
    other = stream.post("/streams/pump/rows", {"x": [1, 2, 3], "y": 5}, Idempotency_Key="one")

    assert again.body == first.body
    assert other.status == 409
    assert stream.get("/streams/pump").json["rows"] == 1


def test_rows_with_ids_are_learned_once_each(stream):
    X, y = rows(6)
    listed = [
        {"x": x, "y": t, "id": f"r{i}"} for i, (x, t) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    expected = alone().run(X, y).tolist()

    stream.post("/streams/pump/rows", listed[:4])
    answer = stream.post("/streams/pump/rows", listed[2:] + listed[2:3]).json

    assert answer["prediction"] == [*expected[2:], expected[2]]
    assert stream.get("/streams/pump").json["rows"] == 6
    assert stream.post("/streams/pump/rows", listed[0] | {"y": 100.0}).status == 409


def test_a_service_goes_on_where_it_was_left(store):
    X, y = rows(90)
    model = alone()
    expected = model.run(X, y).tolist()
    got = []
    for part in np.split(np.arange(90), 3):
        with served(store) as connect:
            client = connect()
            client.put("/streams/pump", SRNN)
            got += client.post("/streams/pump/rows", {"X": X[part].tolist(), "y": y[part].tolist()}).json[
                "prediction"
            ]
            state = client.get("/streams/pump/state").body

    assert got == expected
    assert state == model.to_bytes()


def test_a_state_can_be_carried_to_another_stream(stream):
    X, y = rows(50)
    stream.post("/streams/pump/rows", {"X": X[:40].tolist(), "y": y[:40].tolist()})
    state = stream.get("/streams/pump/state").body

    stream.put("/streams/other")
    assert stream.put("/streams/other/state", state).status == 204
    rest = {"X": X[40:].tolist(), "y": y[40:].tolist()}
    one, other = (stream.post(f"/streams/{name}/rows", rest).json for name in ("pump", "other"))

    assert one["prediction"] == other["prediction"]
    assert stream.put("/streams/other/state", state[:-1]).status == 422
    assert stream.put("/streams/other/state", b"pickle").status == 422
    assert stream.get("/streams/other").json["model"] == "SRNN-WOGD"


def test_a_stream_is_made_once_and_can_be_removed(client):
    assert client.put("/streams/pump", SRNN).status == 201
    assert client.put("/streams/pump", SRNN).status == 200
    assert client.put("/streams/pump", {"model": "Committee"}).status == 409
    assert [each["name"] for each in client.get("/streams").json["streams"]] == ["pump"]
    client.post("/streams/pump/rows", {"x": [1], "y": 1})

    assert client.delete("/streams/pump").status == 204
    assert client.delete("/streams/pump").status == 404
    assert client.post("/streams/pump/rows", {"x": [1]}).status == 404
    assert client.put("/streams/pump", {"model": "Committee"}).status == 201
    assert client.get("/streams/pump").json["rows"] == 0


def test_a_committee_has_the_size_that_was_asked_for(client):
    X, y = rows(40)
    client.put("/streams/small", {"options": {"size": "small", "lags": 0}})

    got = client.post("/streams/small/rows", {"X": X.tolist(), "y": y.tolist()}).json["prediction"]

    assert got == elman.Committee(size="small", lags=0).run(X, y).tolist()


@pytest.mark.parametrize(
    "setup",
    [
        {"model": "Oracle"},
        {"options": {"size": "vast"}},
        {"options": {"max_pending": 10**9}},
        {"options": {"colour": "red"}},
        {"model": "SRNN-WOGD", "options": {"n_hidden": 10**7}},
        {"model": "SRNN-EKF", "options": {"n_hidden": 300}},
        {"model": "SRNN-WOGD", "options": {"n_hidden": 1e400}},
        {"coverage": 1.5},
        {"unknown": 1},
        [],
    ],
)
def test_a_stream_that_cannot_be_made_is_refused(client, setup):
    answer = client.put("/streams/pump", setup)

    assert answer.status in (400, 422), answer.body
    assert client.get("/streams").json == {"streams": []}


def test_too_many_rows_that_wait_are_answered_with_when_to_come_again(store, monkeypatch):
    begun, go_on, learn = threading.Event(), threading.Event(), Pupil.learn

    def slow(self, rows, time):
        if len(rows.x[0]) == 2:
            begun.set()
            assert go_on.wait(60)
        return learn(self, rows, time)

    monkeypatch.setattr(Pupil, "learn", slow)
    with served(store, limits=Limits(waiting_rows=10)) as connect:
        client = connect()
        client.put("/streams/slow", SRNN)
        client.put("/streams/quick", SRNN)
        body = {"X": [[1.0, 2.0]] * 10}
        first = threading.Thread(target=connect().post, args=("/streams/slow/rows", body))
        first.start()
        assert begun.wait(60)

        refused = client.post("/streams/slow/rows", {"x": [1.0, 2.0]})
        other = client.post("/streams/quick/rows", {"x": [1.0], "y": 1.0})
        go_on.set()
        first.join()
        later = client.post("/streams/slow/rows", {"x": [1.0, 2.0]})

    assert refused.status == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert other.status == 200
    assert (later.status, later.json["row"]) == (200, 11)


def test_limits_of_width_names_and_streams_are_kept(store):
    limits = Limits(features=4, name_length=10, streams=1, body_bytes=1000)
    with served(store, limits=limits) as connect:
        client = connect()
        assert client.put("/streams/" + "a" * 11).status == 422
        assert client.put("/streams/one", SRNN).status == 201
        assert client.put("/streams/two", SRNN).status == 429
        assert client.post("/streams/one/rows", {"x": [1] * 5}).status == 422
        assert client.post("/streams/one/rows", {"x": {"a" * 11: 1}}).status == 422
        assert client.post("/streams/one/rows", {"x": {"a": 1, "b": 2, "c": 3}}).status == 200
        assert client.post("/streams/one/rows", {"x": {"d": 1, "e": 2}}).status == 422
        assert client.post("/streams/one/rows", b" " * 1001).status == 413
        assert client.post("/streams/one/rows", {"x": {"d": 1}}).status == 200


def test_what_is_said_of_a_stream_is_so(client):
    X, y = rows(300)
    client.put("/streams/pump", {"options": {"lags": 0}})
    client.post("/streams/pump/rows", {"X": X.tolist(), "y": y.tolist()})

    said = client.get("/streams/pump").json
    explained = client.get("/streams/pump/explain").json
    metrics = client.get("/metrics").body.decode()

    assert said["rows"] == said["learned"] == 300
    assert 0.7 < said["covered"] <= 1
    assert said["mse"] < said["mse_of_last"]
    assert sum(explained["weights"].values()) == pytest.approx(1, abs=1e-3)
    assert explained["text"].startswith("Committee after 300 samples")
    assert 'elman_rows_total{stream="pump"} 300' in metrics
    assert 'elman_requests_total{method="POST",path="/streams/{name}/rows",status="200"} 1' in metrics
    assert client.get("/streams/pump/changes").json["changes"] == []


def test_what_matters_is_what_the_target_is_made_of(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    client.put("/streams/pump", {"options": {"lags": 0, "size": "small"}})
    rows = [{"x": {"much": a, "little": b}, "y": 3 * a + 0.3 * b} for a, b in X.tolist()]
    assert client.get("/streams/pump/importance").json == {"importance": {}}
    client.post("/streams/pump/rows", rows)
    before = client.get("/streams/pump/state").body

    found = client.get("/streams/pump/importance").json["importance"]

    assert list(found) == ["much", "little"]
    assert 2.5 < found["much"] < 3.5  # by one deviation of the input, in units of the target
    assert 0.2 < found["little"] < 0.4
    assert client.get("/streams/pump/state").body == before


def test_what_matters_to_several_targets_is_their_mean(client):
    X = np.random.default_rng(0).normal(size=(300, 2))
    client.put("/streams/pump", {"model": "linear", "options": {"lags": 0}})
    client.post("/streams/pump/rows", {"X": X.tolist(), "y": (X[:, [0, 0]] * [2.0, 4.0]).tolist()})

    found = client.get("/streams/pump/importance").json["importance"]

    assert list(found) == ["x0", "x1"]
    assert 2.5 < found["x0"] < 3.5


def test_a_change_of_the_law_is_listed_where_it_was_noticed(client):
    X, y = SOURCES["arm"].rows(0, 1700)  # whose law changes at row 1,500
    client.put("/streams/arm", {"options": {"lags": 0}})
    for part in range(0, 1700, 100):
        body = {"X": X[part : part + 100].tolist(), "y": y[part : part + 100].tolist()}
        client.post("/streams/arm/rows", body)

    found = client.get("/streams/arm/changes").json

    assert found["count"] == len(found["changes"]) == 1
    assert 1500 < found["changes"][0]["row"] < 1700
    assert found["changes"][0]["size"] > 1


def test_an_uploaded_model_brings_no_changes_from_before(client):
    X, y = SOURCES["arm"].rows(0, 1700)
    model = elman.OnlineRNN.named("linear", seed=0)
    model.run(X, y)
    client.put("/streams/arm", SRNN)
    client.put("/streams/arm/state", model.to_bytes())
    client.post("/streams/arm/rows", {"X": X[:30].tolist()})

    assert model.changes
    assert client.get("/streams/arm/changes").json == {"count": 0, "changes": []}


def test_rows_are_seen_as_server_sent_events(client):
    client.put("/streams/pump", SRNN)
    client.post("/streams/pump/rows", {"X": [[1.0], [2.0]], "y": [1.0, None]})
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    connection.request("GET", "/streams/pump/events")
    response = connection.getresponse()
    lines = [response.readline().decode().strip() for _ in range(2)]
    connection.close()

    assert response.getheader("content-type").startswith("text/event-stream")
    assert lines[0] == "event: rows"
    columns = json.loads(lines[1].removeprefix("data: "))["columns"]
    assert columns[0] == [1, 2]
    assert columns[2] == [1.0, None]


def test_what_is_written_in_one_turn_is_sent_together_and_before_the_end():
    class Transport:
        def __init__(self):
            self.done = []

        def write(self, data):
            self.done.append(data)

        def close(self):
            self.done.append("closed")

    async def turns():
        transport = Transport()
        joined = Joined(transport, asyncio.get_running_loop())
        joined.write(b"head ")
        joined.write(b"body")
        await asyncio.sleep(0)
        joined.write(b"last")
        joined.close()
        return transport.done

    assert asyncio.run(turns()) == [b"head body", b"last", "closed"]
