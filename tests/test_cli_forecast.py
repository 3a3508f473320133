"""`elman forecast`: files, covariates ahead, paths, pictures, states and pipes."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from elman.cli import app

H = 6


@pytest.fixture
def load(tmp_path):
    """A file of hourly values with a day, whose covariate adds to them, and two weeks of its future."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-03-01", periods=500, freq="h")
    wind = rng.normal(size=500).round(3)
    day = np.sin(times.hour.to_numpy() / 24 * 2 * np.pi)
    values = (50 + 10 * day + 3 * wind + 0.1 * rng.normal(size=500)).round(3)
    table = pd.DataFrame({"time": times, "wind": wind, "load": values})
    table[:400].to_csv(tmp_path / "load.csv", index=False)
    table[400:][["time", "wind"]].to_csv(tmp_path / "weather.csv", index=False)
    table.assign(load=values.astype(object)).assign(
        load=[value if i < 400 else "" for i, value in enumerate(values)]
    ).to_csv(tmp_path / "appended.csv", index=False)
    return tmp_path, values


def call(*arguments, text=None):
    result = CliRunner().invoke(app, ["forecast", *map(str, arguments)], input=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments):
    return json.loads(call(*arguments, "--json", "--horizon", H))


def test_the_next_rows_come_with_their_times_and_a_backtest(load):
    folder, _ = load
    said = call(folder / "load.csv", "--target", "load", "--horizon", H)
    assert "2024-03-17 16:00" in said
    assert "last value" in said
    assert "24 rows" in said


def test_covariates_of_a_future_file_make_it_better(load):
    folder, values = load
    without = as_json(folder / "load.csv")
    with_them = as_json(folder / "load.csv", "--future", folder / "weather.csv")
    errors = [np.abs(np.array(each["mean"]) - values[400 : 400 + H]).mean() for each in (without, with_them)]
    assert errors[1] < 0.5 * errors[0]
    assert with_them["backtest"]["forecast"][0] < 0.5 * without["backtest"]["forecast"][0]


def test_rows_without_a_target_at_the_end_are_the_next_rows(load):
    folder, _ = load
    assert as_json(folder / "appended.csv") == as_json(
        folder / "load.csv", "--future", folder / "weather.csv"
    ) | {"target": "load"}


def test_paths_and_rows_are_written(load):
    folder, _ = load
    call(folder / "load.csv", "--horizon", H, "--sample", 7, "--predictions", folder / "out.csv")
    written = pd.read_csv(folder / "out.csv")
    assert len(written) == H
    assert list(written.columns[:5]) == ["step", "time", "forecast", "low", "high"]
    assert len(written.columns) == 5 + 7


def test_a_state_goes_on_with_the_rows_that_are_new(load):
    folder, _ = load
    table = pd.read_csv(folder / "load.csv")
    table[:300].to_csv(folder / "first.csv", index=False)
    call(folder / "first.csv", "--horizon", H, "--save", folder / "state")
    resumed = as_json(folder / "load.csv", "--resume", folder / "state")
    straight = as_json(folder / "load.csv")
    assert resumed["rows"] == straight["rows"] == 400
    assert resumed["mean"] == straight["mean"]


def test_a_plot_is_drawn(load):
    pytest.importorskip("matplotlib")
    folder, _ = load
    call(folder / "load.csv", "--horizon", H, "--plot", folder / "fan.png")
    assert (folder / "fan.png").stat().st_size > 10_000


def test_of_a_series_that_was_never_below_zero_the_bound_is_told(load, tmp_path):
    values = np.maximum(np.random.default_rng(0).normal(size=300), 0)
    pd.DataFrame({"sales": values}).to_csv(tmp_path / "sales.csv", index=False)
    arguments = tmp_path / "sales.csv", "--target", "sales", "--horizon", H
    hint = "--lowest 0 keeps"
    assert hint in " ".join(call(*arguments).split())
    assert hint not in call(*arguments, "--lowest", 0)
    assert hint not in call(load[0] / "load.csv", "--target", "load", "--horizon", H)


def test_a_bad_horizon_is_refused(load):
    folder, _ = load
    result = CliRunner().invoke(app, ["forecast", str(folder / "load.csv"), "--horizon", "5000"])
    assert result.exit_code == 2
