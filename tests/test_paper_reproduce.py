"""The whole reproduction, on few rows: what it writes, that it repeats itself, that it can be killed."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from elman.cli import app
from elman.cli.reproduce import Again
from elman.paper import checks, systems, tune
from elman.paper.journal import Journal
from elman.paper.reproduce import ITEMS, SECONDS, Order, reproduce, write_page
from elman.paper.trials import Trial, execute

ROWS = 80
TABLES = ("table1", "table2")  # without the figures, which take long to draw
TABLE_1_KEYS = (
    "dataset source model window lookback rate runs mse mse_sd seconds paper_mse paper_seconds".split()  # noqa: SIM905
)
TABLE_2_KEYS = "addends stream model steps seconds paper_steps paper_seconds".split()  # noqa: SIM905


class Silent:
    """Nobody watches."""

    def expect(self, seconds):
        pass

    def stage(self, text):
        pass

    def finished(self, seconds, last):
        pass


@pytest.fixture(scope="module", autouse=True)
def no_data(tmp_path_factory):
    """Without files the sets are simulated, on every machine alike."""
    empty = str(tmp_path_factory.mktemp("empty"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMAN_DATA", empty)
        patch.setenv("XDG_CACHE_HOME", empty)
        yield


def order(out, items=ITEMS, jobs=1):
    return Order(items, out, runs=2, jobs=jobs, quick=True, rows=ROWS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, no_data):  # noqa: ARG001 - to come after it
    out = tmp_path_factory.mktemp("whole")
    page = reproduce(order(out), Silent())
    write_page(page, out, out / "docs" / "paper.md")
    return out


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def without_seconds(rows):
    """Leave out what depends on the moment: the seconds, and how busy the machine was."""
    return [{name: value for name, value in row.items() if name not in {"seconds", "load"}} for row in rows]


def test_everything_is_written(whole):
    for name in (*ITEMS, "checks", "tune", "about"):
        assert read(whole, name)
    figures = [f"figure{i}.{kind}" for i in (1, 2, 3) for kind in ("svg", "png")]
    for name in (*figures, "report.html", "docs/paper.md"):
        assert (whole / name).stat().st_size > 1000


def test_table_1_has_flat_rows_for_every_system_lookback_and_set(whole):
    rows = read(whole, "table1")

    assert all(list(row)[: len(TABLE_1_KEYS)] == TABLE_1_KEYS for row in rows)
    assert all(not isinstance(value, dict | list) for row in rows for value in row.values())
    assert {row["dataset"] for row in rows} == {"puma8nh", "puma32fm", "kinematics"}
    assert {row["source"] for row in rows} == {"simulated"}
    paper = checks.find(rows, dataset="puma8nh", rates="paper")
    assert [row["window"] for row in checks.find(paper, model="SRNN-WOGD")] == [50, 100, 200]
    for model in systems.BASELINES:
        mine = checks.find(paper, model=model)
        assert {25, 200} <= {row["lookback"] for row in mine}
        assert sum(row["cheapest"] for row in mine) == 1


def test_the_cheapest_lookback_is_the_shortest_within_one_percent(whole):
    for row in checks.find(read(whole, "table1"), cheapest=True):
        mine = checks.find(read(whole, "table1"), dataset=row["dataset"], model=row["model"], rates="paper")
        limit = 1.01 * min(each["mse"] for each in mine)

        assert row["mse"] <= limit
        assert all(each["mse"] > limit for each in mine if each["lookback"] < row["lookback"])


def test_table_2_has_flat_rows_for_every_stream_and_model(whole):
    rows = read(whole, "table2")

    assert all(list(row)[: len(TABLE_2_KEYS)] == TABLE_2_KEYS for row in rows)
    assert len(rows) == 2 * 5 * 4
    assert all(row["steps"] is None for row in rows)  # so few steps are not enough


def test_figure_1_draws_the_best_training_of_each_cell(whole):
    table, curves = read(whole, "table1"), read(whole, "figure1")
    for dataset in ("puma8nh", "puma32fm", "kinematics"):
        drawn = {row["model"] for row in checks.find(curves, dataset=dataset)}
        shown = checks.find(table, dataset=dataset, rates="paper", lookback=25)
        best = {
            min((row for row in shown if row["model"].startswith(cell)), key=lambda row: row["mse"])["model"]
            for cell in ("SRNN", "CWRNN", "LSTM")
        }

        assert drawn == {"SRNN-WOGD"} | best


def test_the_last_point_of_a_curve_is_the_error_in_the_table(whole):
    table, curves = read(whole, "table1"), read(whole, "figure1")
    for row in checks.find(curves, step=ROWS):
        names = ("dataset", "model", "window", "lookback")
        [same] = checks.find(table, rates="paper", **{name: row[name] for name in names})

        assert row["mse"] == pytest.approx(same["mse"], rel=1e-12)


def test_the_certified_runs_stay_within_the_bound(whole):
    for row in checks.find(read(whole, "figure2"), panel="certified"):
        assert row["steps_within"] == row["steps_checked"] == 2 * ROWS
        assert row["high"] <= row["bound"]


def test_every_training_of_today_is_compared_on_every_set_and_addition(whole):
    rows = read(whole, "beyond")
    names = {"puma8nh", "puma32fm", "kinematics", "addition2", "addition3"}

    assert {row["dataset"] for row in rows} == names
    for name in names:
        mine = {row["model"] for row in checks.find(rows, dataset=name)}
        assert mine == {"SRNN-WOGD", "SRNN-HessianFree", "SRNN-EKF", "Committee"}
    assert all((row["mse"] is None) == row["dataset"].startswith("addition") for row in rows)


def test_both_clocks_of_a_clockwork_are_compared(whole):
    rows = read(whole, "clockwork")

    assert len(rows) == 3 * 3
    assert all(row["window_clock"] != row["stream_clock"] for row in rows)


def test_what_was_tried_with_adam_differs_from_what_it_is_usually(whole):
    rows = read(whole, "adam")
    for dataset in ("puma8nh", "puma32fm", "kinematics"):
        usual, *others = (row["mse"] for row in checks.find(rows, dataset=dataset))

        assert len(others) == len(set(others)) == 8
        assert usual not in others


def test_a_claim_that_fails_says_what_the_error_is_without_the_first_rows():
    curve = [
        {"dataset": "puma32fm", "model": "SRNN-WOGD", "step": s, "mse": m}
        for s, m in ((1000, 3), (4000, 1.5))
    ]
    systems_ = [
        {
            "dataset": "puma32fm",
            "model": "SRNN-WOGD",
            "window": 200,
            "rates": rates,
            "mse": 1.5,
            "paper_mse": 1.0,
        }
        for rates in ("paper", "tuned")
    ]

    check = checks._near_paper(systems_, curve, "puma32fm")

    assert not check["holds"]
    assert "1.000 at its rate from row 1,001 on" in check["evidence"]


def test_an_addition_is_watched_to_the_end_with_projection_and_without(whole):
    rows = read(whole, "figure3")

    assert {row["projection_threshold"] for row in rows} == {7.5, 100.0}
    assert all(0 <= row["low"] <= row["wrong"] <= row["high"] <= 1 for row in rows)
    assert max(row["step"] for row in rows) == ROWS


def test_the_report_is_one_file_that_says_simulated_and_needs_nothing_else(whole):
    report = (whole / "report.html").read_text()

    assert "Puma32fm (simulated)" in report
    assert report.count("<svg") == 3
    for outside in ("<img", "<link", "<script", "url(http", "@import"):
        assert outside not in report


def test_neither_report_nor_tables_name_this_machine(whole):
    texts = [path.read_text() for path in whole.iterdir() if path.suffix in {".html", ".json"}]

    assert not any(str(whole) in text or os.uname().nodename in text for text in texts)


def test_the_page_has_its_tables_and_drawings_beside_it(whole):
    page = (whole / "docs" / "paper.md").read_text()

    assert "](results/figure1.svg)" in page
    assert (whole / "docs" / "results" / "figure1.svg").exists()
    assert not (whole / "docs" / "results" / "journal.jsonl").exists()
    assert read(whole / "docs" / "results", "table1") == read(whole, "table1")


def test_a_second_call_makes_no_run_and_the_same_tables(whole, tmp_path, monkeypatch):
    shutil.copy(whole / "journal.jsonl", tmp_path)
    monkeypatch.setattr("elman.paper.pool.execute", lambda run: pytest.fail(f"{run} was made again"))

    reproduce(order(tmp_path, TABLES), Silent())

    assert [read(tmp_path, name) for name in TABLES] == [read(whole, name) for name in TABLES]


def test_what_is_wanted_again_is_made_again_and_nothing_else(whole, tmp_path, monkeypatch):
    shutil.copy(whole / "journal.jsonl", tmp_path)
    made = []
    monkeypatch.setattr("elman.paper.pool.execute", lambda run: made.append(run) or execute(run))

    reproduce(replace(order(tmp_path, (*TABLES, "adam")), again=("adam",)), Silent())

    assert {run.model for run in made} == {"SRNN-Adam"}
    assert len(made) == 2 * 3 * 9
    assert read(tmp_path, "adam") == read(whole, "adam")


def test_only_the_seconds_can_be_taken_again(whole, tmp_path, monkeypatch):
    shutil.copy(whole / "journal.jsonl", tmp_path)
    made = []
    monkeypatch.setattr(
        "elman.paper.pool.execute", lambda run: made.append(run) or {"seconds": 1.0, "load": 0.0}
    )

    reproduce(replace(order(tmp_path, TABLES), again=SECONDS), Silent())

    assert {run.measure for run in made} == {"seconds"}
    assert {row["seconds"] for row in read(tmp_path, "table1")} <= {1.0, None}
    assert without_seconds(read(tmp_path, "table1")) == without_seconds(read(whole, "table1"))


def test_what_can_be_made_again_are_the_items_and_the_seconds():
    assert {each.value for each in Again} == {*ITEMS, *SECONDS}


# Kills itself where the journal is written for the n-th time: before, in the middle of a line, or after.
KILLED = """
import os, signal, sys
from pathlib import Path
from elman.paper import journal, pool
from elman.paper.reproduce import reproduce
sys.path.insert(0, {tests!r})
from test_paper_reproduce import TABLES, Silent, order

pool._BATCH_SECONDS = 0.002
add, calls = journal.Journal.add, 0

def dying(self, results):
    global calls
    calls += 1
    if calls == {at} and {where!r} == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, results)
    if calls == {at}:
        if {where!r} == "within":
            os.truncate(self.path, self.path.stat().st_size - 30)
        os.kill(os.getpid(), signal.SIGKILL)

journal.Journal.add = dying
if __name__ == "__main__":
    reproduce(order(Path({out!r}), TABLES, jobs=2), Silent())
"""


@pytest.mark.parametrize(("at", "where"), [(3, "before"), (11, "within"), (27, "after")])
def test_killed_and_started_again_it_ends_with_the_same_tables(whole, tmp_path, at, where):
    code = KILLED.format(tests=os.path.dirname(__file__), at=at, where=where, out=str(tmp_path))  # noqa: PTH120
    # The pool's processes hold the pipe as well: this would wait for ever if they outlived their parent.
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert killed.returncode == -9, killed.stderr.decode()
    assert not (tmp_path / "table1.json").exists()

    reproduce(order(tmp_path, TABLES), Silent())

    for name in TABLES:
        assert without_seconds(read(tmp_path, name)) == without_seconds(read(whole, name))


def test_the_grid_holds_the_papers_rate_and_the_smallest_mean_wins(tmp_path):
    points = tune.grid("LSTM-SGD", "puma8nh")
    assert systems.paper_rate("LSTM-SGD", "puma8nh") in [point["rate"] for point in points]
    journal = Journal(tmp_path / "journal.jsonl")
    for point in points:
        best = point["rate"] == 0.05
        journal.add((trial, {"mse": 0.1 if best else 0.2}) for trial in tune.trials_of(point, 50))

    [winner] = tune.chosen(tune.scored(points, journal, 50))

    assert (winner["rate"], winner["runs"]) == (0.05, 10)


def test_tuning_uses_ten_seeds_that_the_tables_do_not():
    assert len(tune.SEEDS) == 10
    assert min(tune.SEEDS) > 30


def test_every_system_has_tuned_settings_with_the_package():
    kept = {(row["model"], row["dataset"]) for row in tune.shipped()}
    wanted = {(model, name) for model in systems.MODELS for name in systems.SETS}
    wanted |= {(model, f"addition{n}") for model in systems.ADDITION_MODELS for n in systems.ADDENDS}

    assert kept == wanted


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def one_line(result):
    """The line on standard error that says what is wrong."""
    [line] = [line for line in result.stderr.splitlines() if line.startswith("elman: ")]
    return line


def test_the_command_reproduces_one_item(tmp_path):
    result = invoke("reproduce", "table2", "--quick", "--jobs", "1", "--rows", "50", "--out", str(tmp_path))

    assert result.exit_code == 0
    assert "report.html" in result.output
    assert not (tmp_path / "table1.json").exists()
    assert len(read(tmp_path, "table2")) == 40


def test_without_matplotlib_it_says_at_once_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    result = invoke("reproduce", "--out", str(tmp_path / "new"))

    assert result.exit_code == 1
    assert "pip install 'elman[plot]'" in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", [("reproduce", "table2", "--quick"), ("tune", "SRNN-WOGD")])
def test_a_journal_that_is_none_is_one_line_and_exits_with_3(command, tmp_path):
    (tmp_path / "journal.jsonl").write_text("nonsense\n")

    result = invoke(*command, "--rows", "50", "--out", str(tmp_path))

    assert result.exit_code == 3
    assert "is not a result of elman" in one_line(result)


@pytest.mark.parametrize("command", [("reproduce", "table2", "--quick"), ("tune", "SRNN-WOGD")])
def test_interrupted_it_says_how_to_go_on_and_exits_with_130(command, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("elman.paper.reproduce.complete", interrupted)
    result = invoke(*command, "--rows", "50", "--out", str(tmp_path))

    assert result.exit_code == 130
    assert "interrupted; the same command goes on from here" in result.stderr


def test_tune_tunes_one_system_and_writes_what_it_tried(tmp_path):
    options = ("--dataset", "puma32fm", "--jobs", "1", "--rows", "50", "--out", str(tmp_path))
    result = invoke("tune", "SRNN-SGD", *options)

    assert result.exit_code == 0
    assert len(read(tmp_path, "tune")) >= 10
    [winner] = read(tmp_path, "tuned")
    assert winner["score"] == min(row["score"] for row in read(tmp_path, "tune"))


@pytest.mark.parametrize("wrong", [("tune", "nonsense"), ("tune", "--dataset", "nonsense")])
def test_tuning_what_does_not_exist_is_one_line_and_exits_with_2(wrong, tmp_path):
    result = invoke(*wrong, "--out", str(tmp_path))

    assert result.exit_code == 2
    assert "is called 'nonsense'; there are" in one_line(result)
    assert result.stdout == ""


def test_a_trial_says_what_it_is():
    trial = Trial("error", "puma8nh", "SRNN-SGD", 2, 5, 0, (("lookback", 2),))

    assert str(trial) == "error of SRNN-SGD on puma8nh"
