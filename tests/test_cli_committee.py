"""The command line with a model that knows intervals and makes its own lags, as the committee does."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import elman
from elman import OnlineRNN, _state
from elman.cli import app


class Stub:
    """The surface of a committee around one small network, with intervals of a constant width."""

    def __init__(self, *, lags, seed, network=None):
        self.lags = lags
        self.network = network or OnlineRNN.named("SRNN-SGD", n_hidden=3, seed=seed)

    def predict_one(self, x):
        return self.network.predict_one(x)

    def interval_one(self, x, coverage=0.9):
        return self.predict_one(x) - coverage, self.predict_one(x) + coverage

    def learn_one(self, x, y):
        self.network.learn_one(x, y)

    def run_intervals(self, X, y, coverage=0.9):
        predictions = self.network.run(X, y)
        return predictions, predictions - coverage, predictions + coverage

    def explain(self):
        return "trusts its only member"

    def to_bytes(self):
        member = np.frombuffer(self.network.to_bytes(), dtype=np.uint8)
        return _state.dump({"kind": "Committee", "lags": self.lags}, {"member": member})

    @classmethod
    def from_bytes(cls, blob):
        header, arrays = _state.parse(blob)
        return cls(lags=header["lags"], seed=0, network=OnlineRNN.from_bytes(arrays["member"].tobytes()))


@pytest.fixture(autouse=True)
def committee(monkeypatch):
    monkeypatch.setattr(elman, "Committee", Stub, raising=False)


@pytest.fixture
def series(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("a,y\n" + "".join(f"{i % 5},{np.sin(i / 3):.5f}\n" for i in range(300)))
    return path


def invoke(*arguments, **options):
    arguments = [str(each) for each in arguments]
    return CliRunner().invoke(app, [*arguments, "--model", "committee"], catch_exceptions=False, **options)


def test_intervals_are_in_the_file_and_in_the_plot(series, tmp_path):
    result = invoke("run", series, "--predictions", tmp_path / "out.csv", "--plot", tmp_path / "run.svg")
    with (tmp_path / "out.csv").open() as file:
        lines = list(csv.DictReader(file))

    assert result.exit_code == 0
    assert "trusts its only member" in result.stdout
    np.testing.assert_allclose(
        [float(line["high"]) - float(line["low"]) for line in lines], 1.8, rtol=0, atol=1e-12
    )
    assert (tmp_path / "run.svg").stat().st_size > 10_000


def test_intervals_are_answered_in_a_pipe(series):
    result = invoke("run", "-", input=series.read_text())
    first, second, *_ = result.stdout.splitlines()

    assert (first, second) == ("prediction,low,high", "0.0,-0.9,0.9")


def test_it_makes_its_own_lags_and_goes_on_from_its_own_state(series, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    invoke("run", series, "--predictions", whole)
    for rows in (100, 300):
        invoke("run", series, "--predictions", parts, "--save", state, "--resume", state, "--rows", rows)
    found = json.loads(CliRunner().invoke(app, ["inspect", str(state), "--json"]).stdout)

    assert parts.read_bytes() == whole.read_bytes()
    assert found["arrays"]["past"]["shape"] == [0]
    assert found["parts"]["model"]["header"] == {"kind": "Committee", "lags": 6}
    assert found["parts"]["model"]["parts"]["member"]["header"]["kind"] == "OnlineRNN"


def test_there_is_nothing_to_tune(series):
    result = invoke("run", series, "--rate", "0.1")

    assert result.exit_code == 2
    assert "Committee has no option 'rate': there is nothing to tune" in result.stderr
