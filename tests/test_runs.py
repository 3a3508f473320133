"""Runs that are saved and go on."""

import errno
import math
import os
import signal
from itertools import islice

import numpy as np
import pytest

from elman import OnlineRNN, runs
from elman.runs import Output, Position, Run, Session, Stopped, StopSignals
from elman.runs.lags import WithLags
from elman.runs.samples import rows
from elman.streams import kinematics
from lagged import lagged

NAN = math.nan


@pytest.fixture
def run():
    return runs.begin("SRNN-SGD", tuple("abcdefgh"), "y", lags=2, seed=1, options={"n_hidden": 3})


def samples(count, skipped=0):
    return list(islice(kinematics(), skipped, skipped + count))


# Lags


def test_a_model_with_lags_sees_what_a_lagged_stream_shows():
    X, y = kinematics().take(300)
    expected = OnlineRNN.named("SRNN-EKF", n_hidden=3, seed=1).run(*lagged(X, y, 3))
    model = WithLags(OnlineRNN.named("SRNN-EKF", n_hidden=3, seed=1), [NAN] * 3)
    answers = []
    for part in np.array_split(np.arange(200), 7):
        answers += model.run(X[part], y[part]).tolist()
    for x, target in zip(X[200:], y[200:].tolist(), strict=True):
        answers.append(model.predict_one(x))
        model.learn_one(x, target)

    np.testing.assert_array_equal(answers, expected)


def test_a_refused_row_leaves_the_lags_alone():
    model = WithLags(OnlineRNN(seed=1), [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        model.run(np.array([[math.inf]]), np.array([5.0]))

    np.testing.assert_array_equal(model.past, [1.0, 2.0])


# Rows out of samples


def test_a_truth_on_a_line_of_its_own_joins_its_row():
    question, truth = (np.array([1.0, 2.0]), NAN), (np.array([NAN, NAN]), 5.0)
    whole = (np.array([3.0, 4.0]), 6.0)

    found = list(rows(iter([question, truth, whole, question, whole, question])))

    assert [row.y for row in found][:2] == [5.0, 6.0]
    assert [math.isnan(row.y) for row in found] == [False, False, True, False, True]
    assert [len(row.samples) for row in found] == [2, 1, 1, 1, 1]
    assert [row.settled for row in found] == [True, True, True, True, False]


def test_a_row_without_inputs_before_which_nothing_is_open_is_a_row():
    found = list(rows(iter([(np.array([NAN]), 5.0), (np.array([NAN]), 6.0)])))

    assert [row.y for row in found] == [5.0, 6.0]


def test_a_series_without_inputs_has_no_truths_on_lines_of_their_own():
    empty = np.empty(0)

    assert len(list(rows(iter([(empty, NAN), (empty, 5.0)])))) == 2


# Runs


def test_asking_and_settling_is_the_same_as_learning(run):
    other = Run.from_bytes(run.to_bytes())
    X, y = kinematics().take(100)
    y[10:13] = NAN
    answers = []
    for x, target in zip(X, y.tolist(), strict=True):
        answers.append(run.ask(x))
        run.settle(target)

    np.testing.assert_array_equal(other.learn(X, y), answers)
    assert other.model.model.to_bytes() == run.model.model.to_bytes()
    assert (run.rows, run.score.rows) == (100, 97)
    np.testing.assert_allclose(other.score.totals, run.score.totals)


def test_bytes_hold_everything(run):
    run.learn(*kinematics().take(700))
    run.ask(np.arange(8.0))
    run.position.pass_over(np.arange(8.0), NAN)
    run.output_size, run.columns = 12, {"dates": ["a"]}
    again = Run.from_bytes(run.to_bytes())

    assert again.to_bytes() == run.to_bytes()
    assert (again.rows, again.output_size, again.position) == (700, 12, run.position)
    assert again.held is not None
    assert len(again.recent) == 400
    run.settle(1.0)
    again.settle(1.0)
    assert again.to_bytes() == run.to_bytes()


def test_a_model_is_no_run():
    with pytest.raises(ValueError, match="this is a saved OnlineRNN, not the state of a run"):
        Run.from_bytes(OnlineRNN(seed=1).to_bytes())


@pytest.mark.parametrize("place", range(0, 3000, 97))
def test_a_damaged_state_is_a_value_error(run, place):
    run.learn(*kinematics().take(10))
    content = bytearray(run.to_bytes())
    content[place % len(content)] ^= 0x10

    with pytest.raises(ValueError, match="saved"):
        Run.from_bytes(bytes(content))


# Sessions


@pytest.mark.parametrize("every", [None, 1, 64])
def test_a_session_saves_at_the_end_and_in_between(run, tmp_path, monkeypatch, every):
    saved = []
    monkeypatch.setattr("elman.runs.session.write_atomically", lambda _, blob: saved.append(blob))
    Session(run, tmp_path / "state", every=every).learn(iter(samples(130)))

    assert [Run.from_bytes(blob).rows for blob in saved] == {
        None: [0, 130],
        1: [*range(131), 130],
        64: [0, 64, 128, 130],
    }[every]


def test_a_session_stops_at_its_limit(run):
    replies = []
    Session(run, limit=5).learn(iter(samples(10)))
    Session(run, limit=8).converse(iter(samples(10, 5)), replies.append)

    assert run.rows == 8
    assert len(replies) == 3


def test_a_row_left_open_is_in_the_file_and_may_still_be_settled(run, tmp_path):
    out, state = tmp_path / "out.csv", tmp_path / "state"
    (x, y), truth = samples(1)[0], (np.full(8, NAN), 3.0)
    with Output(out, ["row", "prediction", "low", "high", "truth"]) as output:
        Session(run, state, output).learn(iter([(x, y), (x, NAN)]))
    assert out.read_text().splitlines()[2].startswith("2,")
    resumed = runs.load(state)
    with Output(out, ["row"], resumed.output_size) as output:
        Session(resumed, state, output).learn(iter([truth, (x, y)]))

    truths = [line.split(",")[-1] for line in out.read_text().splitlines()]
    assert truths == ["truth", repr(y), "3.0", repr(y)]


def test_a_signal_stops_between_rows_with_the_state_saved(run, tmp_path):
    def until_stopped():
        yield from samples(10)
        os.kill(os.getpid(), signal.SIGTERM)
        yield from samples(10)

    with pytest.raises(Stopped, match="SIGTERM"):
        Session(run, tmp_path / "state").converse(until_stopped(), lambda _: None)

    assert runs.load(tmp_path / "state").rows == 10


def test_a_signal_while_an_item_is_used_stops_before_the_next():
    used = []
    with pytest.raises(Stopped), StopSignals() as stop:  # noqa: PT012 - where it is raised is the point
        for item in stop.interruptible(iter(range(5))):
            if item == 2:
                os.kill(os.getpid(), signal.SIGINT)
            used.append(item)

    assert used == [0, 1, 2]


# Skipping


def test_skipping_goes_to_the_sample_after_the_position():
    position = Position()
    for sample in samples(7):
        position.pass_over(*sample)
    stream = iter(samples(10))
    runs.skip(stream, position)

    assert len(list(stream)) == 3


def test_another_or_a_shorter_stream_is_refused():
    position = Position()
    for sample in samples(7):
        position.pass_over(*sample)

    with pytest.raises(ValueError, match="has learned 7 samples of this stream, but it has only 5 now"):
        runs.skip(iter(samples(5)), position)
    with pytest.raises(ValueError, match="first 7 samples are not those"):
        runs.skip(iter(samples(9, skipped=1)), position)


# Files


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    runs.write_atomically(tmp_path / "state", b"old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="cannot save: No space left on device"):
        runs.write_atomically(tmp_path / "state", b"new")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"state": b"old"}


def test_saving_through_a_symbolic_link_keeps_the_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "state")
    runs.write_atomically(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "state").read_bytes() == b"new"


def test_the_output_is_cut_back_to_its_size(tmp_path):
    path = tmp_path / "out.csv"
    with Output(path, ["row", "prediction"]) as output:
        output.append(1, [[0.5]])
        size = output.sync()
        output.append(2, [[0.25], [NAN]])
    assert path.read_text() == "row,prediction\n1,0.5\n2,0.25\n3,\n"
    with Output(path, ["row", "prediction"], size) as output:
        output.append(2, [[0.75]])

    assert path.read_text() == "row,prediction\n1,0.5\n2,0.75\n"


def test_an_output_that_has_shrunk_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("row\n")

    with pytest.raises(ValueError, match="has 4 bytes, but 100 when the state was saved"):
        Output(tmp_path / "out.csv", ["row"], 100)
