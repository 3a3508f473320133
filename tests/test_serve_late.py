"""Truths that come late, over HTTP: asked, told, told again, in any order, across restarts."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

import elman
from serving import served

SRNN = {"model": "SRNN-WOGD", "options": {"lags": 2, "n_hidden": 5, "window": 20}}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def client(store):
    with served(store) as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        yield client


def test_questions_are_answered_and_told_as_the_model_alone_would(store):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = elman.OnlineRNN.named("SRNN-WOGD", lags=2, n_hidden=5, window=20, seed=0)
    tickets = [model.ask(x) for x in X[:20]]
    for i in (3, 1, 17):
        model.tell(tickets[i], float(y[i]))
    expected = [model.ask(x).prediction for x in X[20:]]

    got = []
    for part in ("ask", "tell", "ask again"):
        with served(store) as connect:
            client = connect()
            client.put("/streams/pump", SRNN)
            if part == "ask":
                answers = [client.post("/streams/pump/ask", {"x": x.tolist()}).json for x in X[:10]]
                many = client.post("/streams/pump/ask", {"X": X[10:20].tolist()}).json
                ids = [answer["id"] for answer in answers] + many["id"]
            elif part == "tell":
                told = [{"id": ids[i], "y": float(y[i])} for i in (3, 1, 17)]
                assert client.post("/streams/pump/tell", told[0]).status == 200
                assert client.post("/streams/pump/tell", told[1:]).json == {"told": 2, "pending": 17}
            else:
                got = [client.post("/streams/pump/ask", {"x": x.tolist()}).json["prediction"] for x in X[20:]]
                said = client.get("/streams/pump").json

    assert ids == [ticket.id for ticket in tickets]
    assert got == expected
    assert (said["rows"], said["learned"], said["pending"]) == (30, 3, 27)


def test_rows_can_be_told_by_ids_of_their_own(client):
    first = client.post("/streams/pump/ask", {"x": [1, 2], "id": "a"})
    again = client.post("/streams/pump/ask", [{"x": [1, 2], "id": "a"}, {"x": [2, 3], "id": "b"}])

    assert again.json["id"] == [first.json["id"], first.json["id"] + 1]
    assert client.post("/streams/pump/tell", [{"id": "b", "y": 1.0}, {"id": "a", "y": 2.0}]).status == 200
    assert client.post("/streams/pump/tell", {"id": "c", "y": 1.0}).status == 404


def test_what_is_told_twice_is_learned_once(client):
    question = client.post("/streams/pump/ask", {"x": [1, 2]}).json["id"]
    told = {"id": question, "y": 1.0}

    first = client.post("/streams/pump/tell", told, Idempotency_Key="t")

    assert client.post("/streams/pump/tell", told, Idempotency_Key="t").body == first.body
    assert client.post("/streams/pump/tell", told).status == 404
    assert client.get("/streams/pump").json["learned"] == 1


def test_of_several_truths_all_are_learned_or_none(client):
    ids = client.post("/streams/pump/ask", {"X": [[1, 2], [3, 4]]}).json["id"]
    before = client.get("/streams/pump/state").body

    for wrong in ({"id": 99, "y": 1.0}, {"id": ids[1], "y": "high"}, {"id": ids[0], "y": 2.0}):
        assert client.post("/streams/pump/tell", [{"id": ids[0], "y": 1.0}, wrong]).status in (404, 422)

    assert client.get("/streams/pump/state").body == before
    assert client.post("/streams/pump/tell", [{"id": i, "y": 1.0} for i in ids]).status == 200


def test_a_question_with_a_target_is_refused(client):
    assert client.post("/streams/pump/ask", {"x": [1, 2], "y": 1}).status == 422


def test_csv_can_be_asked_and_told(client):
    asked = client.post("/streams/pump/ask", b"a,b\n1,2\n3,4\n", Content_Type="text/csv").body.decode()
    lines = [line.split(",") for line in asked.splitlines()]

    assert lines[0] == ["id", "prediction", "low", "high"]
    told = "id,y\n" + "".join(f"{line[0]},1.5\n" for line in lines[1:])
    assert client.post("/streams/pump/tell", told.encode(), Content_Type="text/csv").json["told"] == 2
