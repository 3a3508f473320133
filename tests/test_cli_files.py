"""`elman run`, `elman compare` and `elman inspect` on files."""

import csv
import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from elman import OnlineRNN, runs
from elman.cli import app
from elman.streams import read_csv
from lagged import lagged

SMALL = ("--model", "SRNN-SGD", "--hidden", "4")


def invoke(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)


@pytest.fixture
def series(tmp_path):
    """A noisy wave with its time and a column of text."""
    path = tmp_path / "wave.csv"
    noise = np.random.default_rng(0).normal(0, 0.1, 500)
    lines = [
        f"2024-01-{1 + i // 24:02} {i % 24:02}:00,town,{i % 7},{np.sin(i / 4) + noise[i]:.6f}\n"
        for i in range(500)
    ]
    path.write_text("time,place,shift,load\n" + "".join(lines))
    return path


def read(path):
    with Path(path).open() as file:
        return list(csv.DictReader(file))


def test_predictions_are_those_of_the_library(series, tmp_path):
    result = invoke("run", series, "--predictions", tmp_path / "out.csv", "--seed", 3, *SMALL)
    table = pd.read_csv(series, parse_dates=["time"])
    rows = table[["time", "place", "shift"]].to_numpy(dtype=object)
    y = table["load"].to_numpy()
    expected = OnlineRNN.named("SRNN-SGD", n_hidden=4, lags=6, seed=3).run(rows, y)

    assert result.exit_code == 0
    lines = read(tmp_path / "out.csv")
    assert [int(line["row"]) for line in lines] == list(range(1, 501))
    np.testing.assert_array_equal([float(line["prediction"]) for line in lines], expected)
    np.testing.assert_array_equal([float(line["truth"]) for line in lines], y)


def test_the_output_says_how_columns_were_read(series):
    output = " ".join(invoke("run", series, *SMALL).stdout.split())

    assert "time: dates, as sine and cosine of hour, weekday and day of year" in output
    assert "place: names" in output
    assert "3 inputs and 6 lags → load" in output


def test_a_compressed_file_gives_the_same(series, tmp_path):
    compressed = tmp_path / "wave.csv.gz"
    compressed.write_bytes(gzip.compress(series.read_bytes()))
    plain, unpacked = (
        json.loads(invoke("run", file, "--json", *SMALL).stdout) for file in (series, compressed)
    )

    assert plain["mse"] == unpacked["mse"]


def test_json_is_one_object_and_nothing_else_on_standard_output(series):
    found = json.loads(invoke("run", series, "--json", "--rows", 100, "--lags", 2, *SMALL).stdout)

    assert found["rows"] == 100
    assert found["setup"] == {"model": "SRNN-SGD", "lags": 2, "seed": 0, "n_hidden": 4}
    assert found["mse_of_last_value"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "{}", "--target", "lode"], 3, "has no column 'lode'; it has time, place, shift, load"),
        (["run", "{}", "--model", "SRNN"], 2, "--model SRNN: name must be a cell and a training"),
        (["run", "{}", "--model", "SRNN-SGD", "--window", "5"], 2, "SRNN-SGD has no option 'window'"),
        (["run", "{}", "--plot", "out.docx"], 2, "--plot out.docx: a plot's name must end in one of"),
        (["run", "{}.gone"], 1, ".gone: No such file or directory"),
        (["run", "{}", "--predictions", "/gone/out.csv"], 1, "/gone/out.csv: No such file or directory"),
        (["run", "{}", "--save", "/gone/state"], 1, "/gone/state: cannot save: No such file or directory"),
        (["run", "{}", "--predictions", "/dev/full"], 1, "/dev/full: cannot write: No space left on device"),
        (["run", "--target", "y"], 2, "--target belongs to a FILE, and none was given"),
        (["compare", "{}", "--models", "SRNN-SGD,none"], 2, "--models: name must be a cell and a training"),
        (["inspect", "{}"], 3, "not a saved elman model"),
        (["run", "{}", "--resume", "{}"], 3, "not a saved elman model"),
        (["run", "{}", "--resume", "{}.gone"], 1, ".gone: No such file or directory"),
        (["run", "{}", "--save", "{}"], 2, "there is a state already; --resume goes on with it"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_an_exit_code(series, arguments, code, message):
    result = invoke(*(each.replace("{}", str(series)) for each in arguments))

    assert result.exit_code == code
    assert message in result.stderr
    assert [line.startswith("elman: ") for line in result.stderr.splitlines()] == [True]


def test_a_row_that_cannot_be_read_stops_with_its_line_and_the_state_saved(series, tmp_path):
    series.write_text(series.read_text() + "2024-02-01,town,many,1\n")
    result = invoke("run", series, "--save", tmp_path / "state", "--every", 100, "--on-error", "stop", *SMALL)

    assert result.exit_code == 3
    assert "line 502, column 'shift': 'many' is not a finite number" in result.stderr
    assert json.loads(invoke("inspect", tmp_path / "state", "--json").stdout)["header"]["rows"] == 500


def test_resuming_after_a_limit_gives_the_predictions_of_one_run(series, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    invoke("run", series, "--predictions", whole, *SMALL)
    for rows in (130, 131, 400, 500):
        result = invoke(
            "run", series, "--predictions", parts, "--save", state, "--resume", state, "--rows", rows, *SMALL
        )
        assert result.exit_code == 0

    assert parts.read_bytes() == whole.read_bytes()


def test_resuming_with_another_setup_or_stream_is_refused(series, tmp_path):
    state = tmp_path / "state"
    invoke("run", series, "--save", state, "--rows", 50, *SMALL)
    other = tmp_path / "other.csv"
    other.write_text(series.read_text().replace("\n2024-01-01 01:00,town,1,", "\n2024-01-01 01:00,town,2,"))

    lags = invoke("run", series, "--resume", state, "--lags", 3)
    rows = invoke("run", other, "--resume", state)
    short = invoke("run", "--resume", state)

    assert "the state was saved with lags 6, not 3" in lags.stderr
    assert "the first 50 samples are not those that the state has learned" in rows.stderr
    assert "the state was saved with inputs time, place, shift" in short.stderr
    assert lags.exit_code == rows.exit_code == short.exit_code == 3


def test_a_damaged_state_is_refused(series, tmp_path):
    state = tmp_path / "state"
    invoke("run", series, "--save", state, *SMALL)
    content = bytearray(state.read_bytes())
    content[-40] ^= 1
    state.write_bytes(content)

    for command in (("inspect", state), ("run", series, "--resume", state)):
        result = invoke(*command)
        assert result.exit_code == 3
        assert "damaged or truncated" in result.stderr


def test_a_full_disk_is_one_line_and_keeps_the_state_before(series, tmp_path):
    state = tmp_path / "state"
    invoke("run", series, "--save", state, "--rows", 100, *SMALL)
    before = state.read_bytes()
    finished = subprocess.run(
        [sys.executable, "-m", "elman", "run", series, "--resume", state],
        capture_output=True,
        text=True,
        check=False,
        # No file may grow beyond half a state, as on a disk that has no more room.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2,) * 2),
    )

    assert finished.returncode == 1
    assert finished.stderr == f"elman: {state}: cannot save: File too large\n"
    assert state.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []


def test_inspect_shows_the_run_and_its_model(series, tmp_path):
    invoke("run", series, "--save", tmp_path / "state", *SMALL)
    output = " ".join(invoke("inspect", tmp_path / "state").stdout.split())

    for expected in (
        "checksum right",
        "rows 500",
        "targets load",
        "SRNN(n_hidden=4)",
        "SGD(rate",
        "steps 500",
    ):
        assert expected in output


def test_inspect_shows_a_model_saved_in_python(tmp_path):
    (tmp_path / "model").write_bytes(OnlineRNN.named("LSTM-Adam", seed=1).to_bytes())

    assert "LSTM(" in invoke("inspect", tmp_path / "model").stdout


def test_compare_ranks_the_models_beside_the_naive_forecasts(series, tmp_path):
    arguments = ("compare", series, "--models", "SRNN-SGD,SRNN-EKF", "--rows", 300)
    table = invoke(*arguments, "--plot", tmp_path / "curves.png").stdout
    found = json.loads(invoke(*arguments, "--json").stdout)

    ranked = sorted(found, key=lambda name: found[name]["mse"])
    named = [
        line for line in table.splitlines() if line.lstrip().startswith(("SRNN", "last value", "mean so"))
    ]
    assert [line.split("  ")[0].strip() for line in named] == [*ranked, "last value", "mean so far"]
    assert found["SRNN-SGD"]["rows"] == 300
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_is_drawn(series, tmp_path):
    result = invoke("run", series, "--plot", tmp_path / "run.svg", *SMALL)

    assert result.exit_code == 0
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_without_matplotlib_a_plot_says_what_to_install(series, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = invoke("run", series, "--plot", "out.png")

    assert result.exit_code == 1
    assert "pip install 'elman[plot]'" in result.stderr


def recursive_least_squares(X, y, forgetting=0.9995):
    """The squared errors of a linear model that learns every row exactly."""
    X = np.column_stack([np.nan_to_num(X), np.ones(len(X))])
    covariance, weights = 1e3 * np.eye(X.shape[1]), np.zeros(X.shape[1])
    errors = []
    for x, target in zip(X, y, strict=True):
        errors.append(target - weights @ x)
        gain = covariance @ x / (forgetting + x @ covariance @ x)
        weights += gain * errors[-1]
        covariance = (covariance - np.outer(gain, x @ covariance)) / forgetting
    return np.square(errors)


@pytest.mark.skipif("ELMAN_DATA" not in os.environ, reason="ELMAN_DATA names no folder with data")
def test_bike_rentals_are_forecast_better_than_by_a_linear_model():
    file = Path(os.environ["ELMAN_DATA"]) / "bike_sharing_hourly.csv.gz"
    found = json.loads(invoke("run", file, "--target", "cnt", "--json").stdout)
    linear = recursive_least_squares(*lagged(*read_csv(file, "cnt").take(), 6))

    assert found["rows"] == 17379
    assert found["mse"] < linear.mean()


# Files that are not to be destroyed


@pytest.mark.parametrize("way", ["{}", "link", "hard", "folder/../wave.csv"])
@pytest.mark.parametrize("option", ["--predictions", "--plot"])
def test_an_output_is_not_the_input_by_whatever_name(series, monkeypatch, way, option):
    monkeypatch.chdir(series.parent)
    if option == "--plot":
        series = series.rename("wave.svg")
        way = way.replace("wave.csv", "wave.svg")
    (series.parent / "folder").mkdir()
    link, hard = series.parent / f"link{series.suffix}", series.parent / f"hard{series.suffix}"
    link.symlink_to(series)
    hard.hardlink_to(series)
    path = {"link": link, "hard": hard}.get(way, way.format(series))
    before = series.read_bytes()
    result = invoke("run", series, option, path, *SMALL)

    assert result.exit_code == 2
    assert f"{option} {path} is the same file as the input; name another one" in result.stderr
    assert series.read_bytes() == before


@pytest.mark.parametrize(
    ("first", "second"), [("--predictions", "--save"), ("--plot", "--save"), ("--predictions", "--plot")]
)
def test_two_outputs_are_not_the_same_file_even_before_it_exists(series, tmp_path, first, second):
    result = invoke("run", series, first, tmp_path / "out.svg", second, tmp_path / "out.svg", *SMALL)

    assert result.exit_code == 2
    assert "is the same file as --" in result.stderr
    assert not (tmp_path / "out.svg").exists()


def test_redirected_standard_input_is_the_input_too(series):
    before = series.read_bytes()
    with series.open() as file:
        finished = subprocess.run(
            [sys.executable, "-m", "elman", "run", "-", "--predictions", series, *SMALL],
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )

    assert finished.returncode == 2
    assert "is the same file as the input" in finished.stderr
    assert series.read_bytes() == before


@pytest.mark.parametrize("resumed", [False, True])
def test_predictions_do_not_replace_a_file_that_elman_did_not_write(series, tmp_path, resumed):
    thesis, state = tmp_path / "thesis.txt", tmp_path / "state"
    thesis.write_text("precious\n" * 100_000)
    if resumed:
        invoke("run", series, "--predictions", tmp_path / "out.csv", "--save", state, "--rows", 100, *SMALL)
    option = ("--resume", state) if resumed else ()
    result = invoke("run", series, "--predictions", thesis, *option, *SMALL)

    assert result.exit_code == 1
    assert "thesis.txt: elman did not write what is there; name another file" in result.stderr
    assert thesis.read_text() == "precious\n" * 100_000


def test_predictions_of_another_run_are_not_cut_to_go_on(series, tmp_path):
    state, other = tmp_path / "state", tmp_path / "other.csv"
    invoke("run", series, "--predictions", tmp_path / "out.csv", "--save", state, "--rows", 100, *SMALL)
    invoke("run", series, "--predictions", other, "--seed", 9, *SMALL)
    before = other.read_bytes()
    result = invoke("run", series, "--predictions", other, "--resume", state)

    assert result.exit_code == 3
    assert "other.csv are not those that were there when the state was saved" in result.stderr
    assert other.read_bytes() == before


def test_predictions_of_the_same_command_before_are_begun_anew(series, tmp_path):
    for _ in range(2):
        assert invoke("run", series, "--predictions", tmp_path / "out.csv", *SMALL).exit_code == 0

    assert len(read(tmp_path / "out.csv")) == 500


def test_going_on_without_predictions_is_said_and_leaves_no_gap_in_their_file(series, tmp_path):
    out, state = tmp_path / "out.csv", tmp_path / "state"
    invoke("run", series, "--predictions", out, "--save", state, "--rows", 100, *SMALL)
    without = invoke("run", series, "--resume", state, "--rows", 200)
    before = out.read_bytes()
    again = invoke("run", series, "--predictions", out, "--resume", state)
    elsewhere = invoke("run", series, "--predictions", tmp_path / "new.csv", "--resume", state)

    assert without.exit_code == elsewhere.exit_code == 0
    assert "no --predictions: those of row 101 and after are not written" in without.stderr
    assert again.exit_code == 3
    assert "holds predictions that this state does not go on with" in again.stderr
    assert out.read_bytes() == before
    assert [read(tmp_path / "new.csv")[place]["row"] for place in (0, -1)] == ["201", "500"]


def test_predictions_may_go_to_a_device_or_a_pipe(series):
    code = (
        f'elman() {{ {sys.executable} -m elman "$@"; }}; elman run {series} {" ".join(SMALL)} --predictions '
    )
    for place, lines in (("/dev/null", 0), (">(cat >&2)", 501)):
        finished = subprocess.run(["bash", "-c", code + place], capture_output=True, text=True, check=False)
        assert finished.returncode == 0
        assert finished.stderr.count("\n") == lines


def test_a_file_of_predictions_has_one_writer(series, tmp_path):
    with runs.Output(tmp_path / "out.csv", ["load"]):
        result = invoke("run", series, "--predictions", tmp_path / "out.csv", *SMALL)

    assert result.exit_code == 1
    assert "another process writes its predictions there" in result.stderr


def test_saving_elsewhere_does_not_replace_a_file(series, tmp_path):
    state, thesis = tmp_path / "state", tmp_path / "thesis.txt"
    thesis.write_text("precious")
    invoke("run", series, "--save", state, "--rows", 50, *SMALL)
    result = invoke("run", series, "--resume", state, "--save", thesis)

    assert result.exit_code == 2
    assert thesis.read_text() == "precious"


def test_saving_elsewhere_leaves_the_state_that_was_gone_on_with(series, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    invoke("run", series, "--save", first, "--rows", 50, *SMALL)
    before = first.read_bytes()
    with runs.StateFile(first):  # in use by another process, and yet whole to read
        result = invoke("run", series, "--resume", first, "--save", second)

    assert result.exit_code == 0
    assert first.read_bytes() == before
    assert runs.Run.from_bytes(second.read_bytes()).rows == 500


# Rows that cannot be used, in the middle


@pytest.mark.parametrize(
    ("line", "column"), [("2024-01-09 08:00,town,3,inf", "load"), ("x,town,3,1", "time")]
)
def test_rows_before_a_bad_one_are_learned_answered_and_saved(series, tmp_path, line, column):
    lines = series.read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:201], line, *lines[202:]]))
    out, state = tmp_path / "out.csv", tmp_path / "state"
    stop = "--on-error", "stop"
    result = invoke("run", tmp_path / "bad.csv", "--predictions", out, "--save", state, *stop, *SMALL)
    corrected = invoke("run", series, "--predictions", out, "--resume", state)
    invoke("run", series, "--predictions", tmp_path / "whole.csv", *SMALL)

    assert result.exit_code == 3
    assert f"bad.csv, line 202, column '{column}'" in result.stderr
    assert corrected.exit_code == 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_without_memory_what_was_learned_is_saved(series, tmp_path, monkeypatch):
    state = tmp_path / "state"
    learn = runs.Run.learn

    def with_little_memory(self, rows):
        if self.rows >= 300:
            raise MemoryError
        return learn(self, rows)

    monkeypatch.setattr(runs.Run, "learn", with_little_memory)
    monkeypatch.setattr("elman.runs.session._CHUNK", 100)
    result = invoke("run", series, "--save", state, *SMALL)

    assert result.exit_code == 1
    assert result.stderr == "elman: there is not enough memory\n"
    assert runs.Run.from_bytes(state.read_bytes()).rows == 300
