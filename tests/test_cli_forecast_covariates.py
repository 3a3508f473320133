"""`elman forecast` with columns of words and dates, in files and pipes, and with all kinds of stamps."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from elman import Forecaster
from elman.cli import app

H, ROWS = 6, 500


def table(n=ROWS):
    """Hourly values that depend on the sky, in words, and on whether a day of service is a Sunday."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-03-01", periods=n, freq="h")
    sky = rng.choice(["clear", "cloudy", "rain"], size=n)
    service = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) // 3 % 7, unit="D")
    day = np.sin(times.hour.to_numpy() / 24 * 2 * np.pi)
    effect = pd.Series(sky).map({"clear": 0, "cloudy": 8, "rain": -8}).to_numpy()
    sunday = (service.day_of_week == 6).astype(float)
    values = (50 + 5 * day + effect + 6 * sunday + 0.1 * rng.normal(size=n)).round(3)
    columns = {"time": times, "service": service.strftime("%d.%m.%Y"), "sky": sky, "load": values}
    return pd.DataFrame(columns)


@pytest.fixture
def folder(tmp_path):
    whole = table()
    whole[:400].to_csv(tmp_path / "load.csv", index=False)
    whole[400:].drop(columns="load").to_csv(tmp_path / "future.csv", index=False)
    whole.assign(load=whole.load.where(whole.index < 400)).to_csv(tmp_path / "appended.csv", index=False)
    return tmp_path


def invoke(*arguments, text=None):
    return CliRunner().invoke(app, ["forecast", *map(str, arguments)], input=text)


def as_json(*arguments, text=None):
    result = invoke(*arguments, "--target", "load", "--json", "--horizon", H, text=text)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def error(said):
    return np.abs(np.array(said["mean"]) - table().load[400 : 400 + H]).mean()


def test_words_and_dates_that_are_known_ahead_make_it_better(folder):
    (bare,) = as_json(folder / "load.csv", "--ignore", "sky", "--ignore", "service")
    (said,) = as_json(folder / "load.csv", "--future", folder / "future.csv")
    assert said["covariates"] == ["service", "sky"]
    assert error(said) < 0.4 * error(bare)
    assert said["backtest"]["forecast"][0] < 0.4 * bare["backtest"]["forecast"][0]


def test_the_command_line_says_what_python_says(folder):
    whole = table()
    model = Forecaster(H)
    rows = whole[["service", "sky"]].assign(service=pd.to_datetime(whole.service, format="%d.%m.%Y"))
    rows["service"] = [each.date() for each in rows["service"]]
    model.run(whole.load[:400].to_numpy(), rows[:400], whole.time[:400].to_numpy())
    ahead = model.forecast(rows[400 : 400 + H], whole.time[400 : 400 + H].to_numpy())
    (said,) = as_json(folder / "load.csv", "--future", folder / "future.csv")
    np.testing.assert_array_equal(said["mean"], ahead.mean)


def test_rows_without_a_target_at_the_end_are_the_next_rows(folder):
    assert as_json(folder / "appended.csv") == as_json(folder / "load.csv", "--future", folder / "future.csv")


def test_files_may_be_packed_and_written_in_another_way(folder):
    plain = as_json(folder / "load.csv", "--future", folder / "future.csv")
    text = pd.read_csv(folder / "load.csv").to_csv(index=False, sep=";", decimal=",")
    (folder / "odd.csv.gz").write_bytes(gzip.compress(("\ufeff" + text + "\n\n").encode()))
    assert as_json(folder / "odd.csv.gz", "--future", folder / "future.csv") == plain


def test_a_pipe_is_answered_as_the_model_is_in_python():
    whole = table(60)
    model = Forecaster(H)
    answers = as_json("-", text=whole.to_csv(index=False))
    assert len(answers) == 60
    for said, row in zip(answers, whole.itertuples(), strict=True):
        x = {"service": pd.to_datetime(row.service, format="%d.%m.%Y").date(), "sky": row.sky}
        model.learn_one(row.load, x, time=row.time)
        np.testing.assert_array_equal(said["mean"], model.forecast().mean)
        assert said["time"] == str(np.datetime64(row.time, "s"))


def test_a_pipe_is_told_of_the_rows_ahead_by_their_times(folder):
    text = (folder / "load.csv").read_text()
    arguments = "-", "--future", folder / "future.csv", "--every", 400
    (answer,) = as_json(*arguments, text=text)
    assert error(answer) < 2


def test_a_state_goes_on_in_a_file_and_in_a_pipe(folder):
    text = (folder / "load.csv").read_text()
    first = "".join(text.splitlines(keepends=True)[:301])
    (folder / "first.csv").write_text(first)
    as_json(folder / "first.csv", "--save", folder / "state")
    (straight,) = as_json(folder / "load.csv")
    copied = (folder / "state").read_bytes()
    (resumed,) = as_json(folder / "load.csv", "--resume", folder / "state")
    assert resumed["mean"] == straight["mean"]
    (folder / "state").write_bytes(copied)
    answers = as_json("-", "--resume", folder / "state", text=text)
    assert len(answers) == 100  # the others were learned
    assert answers[-1]["mean"] == straight["mean"]


def test_words_stay_words_where_they_look_like_numbers_later(folder):
    whole = table(300).assign(sky=lambda rows: rows.sky.map({"clear": "a1", "cloudy": "b2", "rain": "7"}))
    whole[:200].to_csv(folder / "words.csv", index=False)
    as_json(folder / "words.csv", "--save", folder / "state")
    whole[200:].assign(sky="7").to_csv(folder / "later.csv", index=False)
    (said,) = as_json(folder / "later.csv", "--resume", folder / "state")
    assert said["rows"] == 300


def test_a_column_that_holds_something_else_than_before_is_refused(folder):
    as_json(folder / "load.csv", "--save", folder / "state")
    other = table()[400:].assign(service=3.5)
    other.to_csv(folder / "other.csv", index=False)
    result = invoke(folder / "other.csv", "--target", "load", "--resume", folder / "state")
    assert result.exit_code == 3
    assert "'service' has held dates so far, got numbers" in " ".join(result.stderr.split())


def test_a_future_without_any_of_the_columns_is_refused(folder):
    pd.DataFrame({"time": ["2024-04-01"], "wind": [1.0]}).to_csv(folder / "wind.csv", index=False)
    result = invoke(folder / "load.csv", "--target", "load", "--future", folder / "wind.csv")
    assert result.exit_code == 3
    assert "none of the covariates service, sky; it has wind" in " ".join(result.stderr.split())


def test_what_only_a_file_can_have_is_refused_in_a_pipe():
    result = invoke("-", "--target", "load", "--sample", 3, text="load\n1\n")
    assert result.exit_code == 2
    assert "--sample belongs to a file" in result.stderr


STAMPS = {
    "%Y-%m-%dT%H": None,
    "%Y-%m-%d %H": None,
    "%Y-%m-%dT%HZ": None,
    "%Y-%m-%dT%H:%M:%S+02:00": None,
    "%Y-%m-%d %H:%M:%S UTC": None,
    "%Y%m%dT%H%M%SZ": None,
    "%Y%m%d%H": None,
    "%d.%m.%Y %H:%M": None,
    "%m/%d/%Y %I:%M %p": None,
    "seconds": 1,
    "milliseconds": 1000,
}


@pytest.mark.parametrize("form", STAMPS)
def test_stamps_are_times_in_a_file_and_in_a_pipe(tmp_path, form):
    times = pd.date_range("2024-07-15", periods=30, freq="h")
    count = (times - pd.Timestamp("1970-01-01")) // pd.Timedelta("1s")
    written = times.strftime(form) if STAMPS[form] is None else count * STAMPS[form]
    text = pd.DataFrame({"time": written, "load": np.arange(30.0)}).to_csv(index=False)
    (tmp_path / "a.csv").write_text(text)
    (said,) = as_json(tmp_path / "a.csv")
    assert said["times"][0] == "2024-07-16T06:00:00"
    assert as_json("-", "--every", 30, text=text)[0]["time"] == "2024-07-16T05:00:00"


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (
            [f"2024-Q{i % 4 + 1}, {i}" for i in range(30)],
            "when: left out, text that is different in every row",
        ),
        (
            [f"{i % 24:02}:00" for i in range(30)],
            "when: a time of day without a date does not say when a row was",
        ),
    ],
)
def test_what_is_no_stamp_is_told(tmp_path, cells, note):
    pd.DataFrame({"when": cells, "load": np.arange(30.0)}).to_csv(tmp_path / "a.csv", index=False)
    result = invoke(tmp_path / "a.csv", "--horizon", 2)
    assert result.exit_code == 0, result.output
    assert note in " ".join(result.stdout.split())
