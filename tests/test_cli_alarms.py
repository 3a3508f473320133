"""What a live pipe says for alarms: how surprising each truth was, and that the stream has changed."""

import json
import subprocess
import sys

import numpy as np
import pytest

from elman.evaluate import surprise

MODEL = ("--model", "Linear-EKF", "--lags", "2", "--target", "y")
CHANGE, ROWS = 900, 1000


@pytest.fixture(scope="module")
def rows():
    """Rows of a line whose slopes change."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, 2))
    slopes = np.where(np.arange(ROWS)[:, np.newaxis] < CHANGE, [1.0, 2.0], [-8.0, 5.0])
    return np.column_stack([x, (x * slopes).sum(axis=1) + 0.1 * rng.normal(size=ROWS)]).round(4)


def told(text, *arguments):
    command = [sys.executable, "-m", "elman", "run", "-", *MODEL, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def numbers(lines):
    return np.array([[float(cell or "nan") for cell in line.split(",")] for line in lines])


def test_surprise_stands_beside_every_answer_of_a_pipe(rows):
    text = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)
    header, *lines = told(text, "--surprise").stdout.splitlines()
    prediction, low, high, bits = numbers(lines).T

    assert header == "prediction,low,high,surprise"
    np.testing.assert_array_equal(bits, surprise(rows[:, 2], prediction, low, high))
    assert np.nanmax(bits[400:CHANGE]) < 20
    assert bits[CHANGE] > 100


def test_surprise_in_json_lines_is_that_of_csv(rows):
    text = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows[:100]) + "few,1,2\n"
    _, *lines = told(text, "--surprise").stdout.splitlines()
    *objects, bad = map(json.loads, told(text, "--surprise", "--json").stdout.splitlines())

    assert [each["surprise"] for each in objects] == [
        None if np.isnan(bits) else bits for bits in numbers(lines)[:-1, 3].tolist()
    ]
    assert (lines[-1], bad) == (",,,", {})


@pytest.mark.parametrize("named", [False, True])
def test_a_truth_that_comes_later_is_told_with_the_next_answer(rows, named):
    at_once = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows[:100])
    identity = "{i}," if named else ""
    later = identity.format(i="id") + "a,b,y\n"
    for i, (a, b, y) in enumerate(rows[:100]):
        name = identity.format(i=i)
        later += f"{name}{a},{b},\n{name},,{y}\n"
    expected = numbers(told(at_once, "--surprise").stdout.splitlines()[1:])
    found = numbers(told(later, "--surprise", *(["--id", "id"] if named else [])).stdout.splitlines()[1:])

    np.testing.assert_array_equal(found[:, :3], expected[:, :3])
    np.testing.assert_array_equal(found[1:, 3], expected[:-1, 3])
    assert np.isnan(found[0, 3])


def test_a_change_of_the_stream_is_told_once_while_it_happens(rows):
    text = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)
    changes = [line for line in told(text).stderr.splitlines() if "the stream has changed" in line]

    assert len(changes) == 1
    assert CHANGE < int(changes[0].split(":")[0].removeprefix("row ")) < CHANGE + 30


def test_surprise_of_a_file_without_predictions_is_refused(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("a,y\n1,2\n")
    command = [sys.executable, "-m", "elman", "run", str(path), "--surprise"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)

    assert finished.returncode == 2
    assert "say --predictions OUT.csv as well" in " ".join(finished.stderr.split())
