"""The command line with a committee: a model that knows intervals and makes its own lags."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from elman.cli import app


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
    assert "Committee after 300 samples, 300 with a target" in result.stdout
    assert all(float(line["low"]) <= float(line["prediction"]) <= float(line["high"]) for line in lines[50:])
    assert np.mean([float(line["high"]) - float(line["low"]) for line in lines[200:]]) < 0.5
    assert (tmp_path / "run.svg").stat().st_size > 10_000


def test_intervals_are_answered_in_a_pipe(series):
    result = invoke("run", "-", input=series.read_text())
    first, second, *_ = result.stdout.splitlines()

    assert (first, second) == ("prediction,low,high", "0.0,-inf,inf")


def test_it_makes_its_own_lags_and_goes_on_from_its_own_state(series, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    invoke("run", series, "--predictions", whole)
    for rows in (100, 300):
        invoke("run", series, "--predictions", parts, "--save", state, "--resume", state, "--rows", rows)
    found = json.loads(CliRunner().invoke(app, ["inspect", str(state), "--json"]).stdout)

    assert parts.read_bytes() == whole.read_bytes()
    assert found["parts"]["model"]["header"]["kind"] == "Committee"
    assert found["parts"]["model"]["header"]["configuration"]["lags"] == 6


def test_there_is_nothing_to_tune(series):
    result = invoke("run", series, "--rate", "0.1")

    assert result.exit_code == 2
    assert "Committee has no option 'rate': there is nothing to tune" in result.stderr


def test_answers_stay_within_bounds(series, tmp_path):
    invoke("run", series, "--lowest", -1, "--highest", 1, "--predictions", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        lines = list(csv.DictReader(file))
    numbers = np.array([[float(line[name]) for name in ("prediction", "low", "high")] for line in lines])

    assert (numbers.min(), numbers.max()) == (-1, 1)


def test_a_target_beyond_the_bounds_is_an_error(series):
    result = invoke("run", series, "--highest", 0.5)

    assert result.exit_code != 0
    assert "with lowest=None and highest=0.5 no target lies beyond" in result.stderr


def test_json_says_the_error_of_each_member_in_the_units_of_the_table(series):
    found = json.loads(invoke("run", series, "--json").stdout)
    alone = json.loads(invoke("run", series, "--json", "--lags", 0).stdout)
    errors = {member["name"]: member["mse"] for member in found["members"]}

    assert sum(member["weight"] for member in found["members"]) == pytest.approx(1)
    # The first two rows are judged by nobody: nothing had varied before them.
    assert errors["last value"] == pytest.approx(found["mse_of_last_value"], rel=0.05)
    assert min(errors.values()) < 3 * found["mse"]
    assert "last value" not in {member["name"] for member in alone["members"]}
