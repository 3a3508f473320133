"""`elman run --key`: a model for every key of a file or a pipe."""

import csv
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import processes
from elman import Committee, Fleet
from elman.cli import app

KEY = ("--key", "meter", "--target", "kwh")
N_ROWS = 600


def elman(*arguments, **options):
    return CliRunner().invoke(app, ["run", *map(str, arguments)], catch_exceptions=False, **options)


def rows_of(n=N_ROWS, n_keys=12):
    rng = np.random.default_rng(0)
    keys, X = [f"m{i}" for i in rng.integers(n_keys, size=n)], rng.normal(size=(n, 2)).round(4)
    y = (X[:, 0] + 0.1 * rng.normal(size=n)).round(4)
    y[rng.random(n) < 0.05] = np.nan
    return keys, X, y


def lines_of(keys, X, y):
    cells = [
        ["" if np.isnan(value) else repr(float(value)) for value in row] for row in np.column_stack([X, y])
    ]
    return ["meter,a,b,kwh", *(",".join([key, *row]) for key, row in zip(keys, cells, strict=True))]


@pytest.fixture
def readings(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("\n".join(lines_of(*rows_of())) + "\n")
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def expected():
    keys, X, y = rows_of()
    fleet = Fleet(Committee(size="small"))
    return fleet, fleet.run_intervals(keys, X, y)


def test_predictions_are_those_of_a_fleet_of_small_committees(readings, tmp_path):
    out, state = tmp_path / "out.csv", tmp_path / "meters.elman"
    said = elman(readings, *KEY, "--predictions", out, "--save", state, "--threads", 2)
    fleet, (predictions, low, high) = expected()

    lines = read(out)
    for name, numbers in (("prediction", predictions), ("low", low), ("high", high)):
        assert [float(line[name]) for line in lines] == numbers.tolist()
    assert [line["meter"] for line in lines] == rows_of()[0]
    assert "all 12 keys" in said.stdout
    with Fleet.open(state) as saved:
        assert {key: fleet[key].to_bytes() for key in saved} == {key: saved[key].to_bytes() for key in fleet}


def test_it_goes_on_where_it_was_stopped(readings, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "meters.elman"
    elman(readings, *KEY, "--predictions", whole)
    elman(readings, *KEY, "--predictions", parts, "--save", state, "--rows", 250)

    assert "there is a fleet already" in _error(readings, *KEY, "--save", state)
    elman(readings, *KEY, "--predictions", parts, "--resume", state)

    assert whole.read_bytes() == parts.read_bytes()
    assert "does not begin where it began" in _error(_changed(readings), *KEY, "--resume", state)


def _changed(readings):
    header, first, *others = readings.read_text().splitlines()
    readings.write_text("\n".join([header, "m0,9,9,9", *others]) + "\n")
    assert first != "m0,9,9,9"
    return readings


def _error(*arguments):
    result = elman(*arguments)
    assert result.exit_code != 0
    return result.stderr.replace("\n", " ")


def test_killed_while_learning_it_predicts_as_if_it_had_not_been(readings, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "meters.elman"
    elman(readings, *KEY, "--predictions", whole)
    durable = ("--predictions", parts, "--save", state, "--resume", state, "--every", 50)
    for size in (2_000, 9_000, 20_000):
        process = processes.start("run", "-", *KEY, *durable, standard_input=readings)
        while process.is_alive() and not (parts.exists() and parts.stat().st_size > size):
            process.join(0.002)
        process.kill()
        process.join()
    processes.start("run", "-", *KEY, *durable, standard_input=readings).join()

    assert len(read(parts)) == len(read(whole)) == N_ROWS
    known = [i for i, line in enumerate(read(whole)) if line["truth"]]
    assert [read(whole)[i] for i in known] == [read(parts)[i] for i in known]


def test_a_pipe_answers_each_row_and_takes_truths_that_follow():
    sent = ["meter,a,b,kwh", "m1,1,2,", "m2,1,2,3", "m1,,,4", "m1,2,3,5", "m2,0,0,", "m2,1,1,1"]
    said = elman("-", *KEY, input="\n".join(sent) + "\n")
    fleet = Fleet(Committee(size="small"))
    rows = [
        ("m1", [1.0, 2.0], 4.0),
        ("m2", [1.0, 2.0], 3.0),
        ("m1", [2.0, 3.0], 5.0),
        ("m2", [0.0, 0.0], None),
    ]
    answers = []
    for key, x, y in rows:
        answers.append((key, fleet.predict_one(key, x)))
        fleet.learn_one(key, x, y)
    answers.append(("m2", fleet.predict_one("m2", [1.0, 1.0])))

    lines = said.stdout.splitlines()
    assert lines[0] == "meter,prediction,low,high"
    assert [(line.split(",")[0], float(line.split(",")[1])) for line in lines[1:6]] == answers


def test_json_says_all_keys(readings):
    found = json.loads(elman(readings, *KEY, "--json", "--model", "linear").stdout)

    assert found["rows"] == N_ROWS
    assert len(found["keys"]) == 12
    assert found["setup"]["model"] == "linear"
    assert 0 < found["mse"] < 1


def test_rows_without_a_key_are_passed_over(readings):
    text = readings.read_text().splitlines()
    readings.write_text("\n".join([*text[:100], "," + text[100].partition(",")[2], *text[101:]]) + "\n")
    result = elman(readings, *KEY, "--json")

    assert json.loads(result.stdout)["rows"] == N_ROWS - 1
    assert "says nothing" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--key", "shop", "--target", "kwh"), "shop"),
        (("--key", "kwh", "--target", "kwh"), "kwh"),
        ((*KEY, "--size", "tiny"), "size must be"),
        ((*KEY, "--size", "small", "--model", "linear"), "--size is that of a Committee"),
        ((*KEY, "--surprise"), "--surprise is of one model"),
    ],
)
def test_what_does_not_go_together_is_refused(readings, options, message):
    assert message in _error(readings, *options)


def test_a_key_needs_a_file():
    assert "--key belongs to a FILE" in _error("--key", "meter")


def test_a_fleet_of_another_key_is_refused(readings, tmp_path):
    elman(readings, *KEY, "--save", tmp_path / "f")

    assert "a model for each meter" in _error(
        readings, "--key", "a", "--target", "kwh", "--resume", tmp_path / "f"
    )
    assert not os.path.exists(tmp_path / ".f.lock")  # noqa: PTH110


def test_the_best_and_the_worst_keys_are_told_apart(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"m{i % 12},{x:.4f},{x + 0.1 * (i % 12) * noise:.4f}"
        for i, (x, noise) in enumerate(rng.normal(size=(1200, 2)))
    ]
    (tmp_path / "many.csv").write_text("\n".join(["meter,a,kwh", *lines]) + "\n")
    shown = elman(tmp_path / "many.csv", *KEY).stdout.split()

    best, worst = shown.index("best"), shown.index("worst")
    assert best < shown.index("m0") < worst < shown.index("m11")
