"""Streams of a Forecaster: rows teach it, the rows ahead are asked for, and all of it survives."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

import elman
from elman.serve.limits import Limits
from serving import Client, Process, served

SETUP = {"model": "Forecaster", "options": {"horizon": 3, "size": "small"}}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def client(store):
    with served(store) as connect:
        client = connect()
        assert client.put("/streams/load", SETUP).status == 201
        yield client


def rows(n):
    rng = np.random.default_rng(0)
    return [{"warm": float(x)} for x in rng.normal(size=n)], rng.normal(size=n).tolist()


def as_answered(forecast):
    return {
        name: [float(each) if np.isfinite(each) else None for each in getattr(forecast, name)]
        for name in ("mean", "low", "high")
    }


def test_rows_and_forecasts_are_those_of_the_model_alone_though_it_is_killed(store):
    X, y = rows(30)
    model = elman.Forecaster(3, size="small", seed=0)
    expected, first_steps = [], []
    for i in range(30):
        first_steps.append(float(model.forecast().mean[0]))
        model.learn_one(y[i], X[i])
        if i % 10 == 9:
            expected.append(as_answered(model.forecast([{"warm": 0.5}, {"warm": -1.0}])))
            expected.append(as_answered(model.forecast()))

    got, predictions = [], []
    for part in range(3):
        process = Process(store)
        client = Client(process.port)
        client.put("/streams/load", SETUP)
        body = {"X": X[10 * part : 10 * part + 10], "y": y[10 * part : 10 * part + 10]}
        predictions += client.post("/streams/load/rows", body).json["prediction"]
        got.append(client.post("/streams/load/forecast", [{"x": {"warm": 0.5}}, {"x": {"warm": -1.0}}]).json)
        got.append(client.get("/streams/load/forecast").json)
        state = client.get("/streams/load/state").body
        client.close()
        process.kill()

    assert predictions == first_steps
    assert [{name: each[name] for name in ("mean", "low", "high")} for each in got] == expected
    assert [each["row"] for each in got] == [10, 10, 20, 20, 30, 30]
    assert state == model.to_bytes()


def test_a_time_stamp_is_taken_out_of_the_inputs_and_the_rows_ahead_have_theirs(store):
    with served(store) as connect:
        client = connect()
        client.put("/streams/load", SETUP | {"time": "at"})
        lines = [f"2024-05-{day:02d}T{hour:02d}:00,{hour}" for day in range(1, 4) for hour in range(24)]
        answer = client.post("/streams/load/rows", "\n".join(["at,y", *lines]).encode())
        found = client.get("/streams/load/forecast").json

    assert answer.status == 200, answer.body
    assert found["times"] == ["2024-05-04T00:00:00", "2024-05-04T01:00:00", "2024-05-04T02:00:00"]


def test_a_request_is_learned_whole_or_not_at_all(client):
    client.post("/streams/load/rows", {"X": [{"a": 1.0}], "y": [1.0]})
    before = client.get("/streams/load/state").body

    refused = client.post("/streams/load/rows", {"X": [{"a": 1.0}, {"a": "warm"}], "y": [1.0, 2.0]})

    assert refused.status == 422
    assert client.get("/streams/load/state").body == before


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("POST", "ask", {"x": {"a": 1}}),
        ("GET", "importance", None),
        ("POST", "forecast", {"x": {"a": 1}, "y": 1}),
        ("POST", "forecast", {"X": [{"a": 1}] * 4}),
    ],
)
def test_what_a_forecaster_cannot_do_is_said(client, method, path, content):
    client.post("/streams/load/rows", {"x": {"a": 1.0}, "y": 1.0})

    answer = client(method, f"/streams/load/{path}", content)

    assert answer.status == 422
    assert answer.json["error"]


def test_other_streams_do_not_forecast(client):
    client.put("/streams/pump", {"model": "SRNN-WOGD"})

    assert client.get("/streams/pump/forecast").status == 422
    assert client.post("/streams/pump/forecast", {"x": [1]}).status == 422


def test_a_forecaster_is_downloaded_and_goes_on_elsewhere(client):
    X, y = rows(20)
    client.post("/streams/load/rows", {"X": X, "y": y})
    blob = client.get("/streams/load/state").body
    client.put("/streams/copy")

    assert client.put("/streams/copy/state", blob).status == 204
    found, copied = (client.get(f"/streams/{name}/forecast").json for name in ("load", "copy"))
    assert found["mean"] == copied["mean"]
    assert client.get("/streams/copy").json["model"] == "Forecaster"


@pytest.mark.parametrize(
    "setup",
    [
        {"model": "Forecaster", "options": {"horizon": 0}},
        {"model": "Forecaster", "options": {"horizon": 1000}},
        {"model": "Forecaster", "options": {"horizons": 3}},
        {"model": "Committee", "time": "at"},
    ],
)
def test_a_forecaster_that_cannot_be_made_is_refused(client, setup):
    assert client.put("/streams/other", setup).status == 422


def test_covariates_that_would_take_too_much_memory_are_refused(store):
    with served(store, limits=Limits(model_bytes=20_000_000)) as connect:
        client = connect()
        client.put("/streams/load", SETUP)
        answer = client.post("/streams/load/rows", {"x": [1.0] * 500, "y": 1.0})

    assert answer.status == 422
    assert "would take about" in answer.json["error"]
