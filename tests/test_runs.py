"""Runs that are saved and go on."""

import math
import queue
import threading
from itertools import islice

import numpy as np
import pytest

from elman import SGD, SRNN, Committee, Gradient, Member, OnlineRNN, runs
from elman.runs import Output, Position, Run, Session, StateFile, Stopped, as_blocks
from elman.runs.samples import joined
from elman.streams import kinematics
from elman.tables import Block

NAN = math.nan


@pytest.fixture
def run():
    return runs.begin("SRNN-SGD", tuple("abcdefgh"), ["y"], lags=2, seed=1, options={"n_hidden": 3})


@pytest.fixture
def run_of_two():
    """Two targets."""
    model = Committee([Member("one", SRNN(3), SGD(), Gradient())], seed=1)
    return Run(model, {"model": "Committee"}, tuple("abcdefgh"), ["u", "v"])


def samples(count, skipped=0):
    return list(islice(kinematics(), skipped, skipped + count))


def one_by_one(samples):
    """Samples as they come through a pipe."""
    return as_blocks(samples, 1)


def block(samples):
    """Samples in one block."""
    return next(as_blocks(samples))


def rows(count, outputs=1):
    """Rows of `kinematics` with its target and multiples of it."""
    X, y = kinematics().take(count)
    return X, y[:, np.newaxis] * np.arange(1, outputs + 1)


# Rows out of samples


def test_a_truth_on_a_line_of_its_own_joins_its_row():
    question, truth = ([1.0, 2.0], NAN), ([NAN, NAN], 5.0)
    whole = ([3.0, 4.0], 6.0)

    whole_rows = joined(block([question, truth, whole, question, whole, question]))

    np.testing.assert_array_equal(whole_rows.y.ravel(), [5.0, 6.0, NAN, 6.0, NAN])
    np.testing.assert_array_equal(whole_rows.X[:, 0], [1.0, 3.0, 1.0, 3.0, 1.0])


def test_a_truth_may_know_some_of_the_targets():
    y = joined(block([([1.0], [NAN, NAN]), ([NAN], [NAN, 5.0])])).y

    np.testing.assert_array_equal(y, [[NAN, 5.0]])


def test_a_row_without_inputs_before_which_nothing_is_open_is_a_row():
    y = joined(block([([NAN], 5.0), ([NAN], 6.0)])).y

    assert y.ravel().tolist() == [5.0, 6.0]


def test_a_series_without_inputs_has_no_truths_on_lines_of_their_own():
    assert len(joined(block([([], NAN), ([], 5.0)]))) == 2


# Runs


@pytest.mark.parametrize("outputs", [1, 2])
def test_asking_and_settling_is_the_same_as_learning(request, outputs):
    run = request.getfixturevalue("run" if outputs == 1 else "run_of_two")
    other = Run.from_bytes(run.to_bytes())
    X, y = rows(100, outputs)
    y[10:13] = NAN
    y[20, 0] = NAN
    settled = [run.settle(run.ask(x).id, target).lines()[0] for x, target in zip(X, y, strict=True)]
    outcome = other.learn(Block(X, y))

    np.testing.assert_array_equal(outcome.lines(), settled)
    assert outcome.prediction.shape == outcome.low.shape == outcome.high.shape == (100, outputs)
    assert other.model.to_bytes() == run.model.to_bytes()
    np.testing.assert_array_equal(run.score.rows, [96, 97] if outputs == 2 else 96)
    np.testing.assert_allclose(other.score.totals, run.score.totals)


def test_bytes_hold_everything(run_of_two):
    run = run_of_two
    X, y = rows(700, 2)
    run.learn(Block(X, y))
    first, second = run.ask(X[0]).id, run.ask(X[1]).id
    run.position = run.position.after(Block(X, y))
    run.output_size, run.columns = 12, {"dates": ["a"]}
    again = Run.from_bytes(run.to_bytes())

    assert again.to_bytes() == run.to_bytes()
    assert (again.rows, again.output_size, again.position) == (700, 12, run.position)
    assert len(again.recent) == 400
    for each in (run, again):
        each.settle(second, y[1])
        each.settle(first, y[0])
    assert again.to_bytes() == run.to_bytes()


def test_every_open_question_has_an_id_of_its_own(run):
    x = np.zeros(8)
    first, second = run.ask(x).id, run.ask(x).id
    run.settle(second, 1.0)

    assert [first, second, run.ask(x).id] == [1, 2, 3]
    assert list(run.open) == [1, 3]


def test_what_is_not_open_cannot_be_settled(run):
    with pytest.raises(ValueError, match="question 7 is not open"):
        run.settle(7, 1.0)


def test_a_refused_target_leaves_its_question_open(run):
    question = run.ask(np.zeros(8)).id
    with pytest.raises(ValueError, match="finite"):
        run.settle(question, math.inf)

    assert list(run.open) == [question]


def test_a_model_is_no_run():
    with pytest.raises(ValueError, match="this is a saved OnlineRNN, not the state of a run"):
        Run.from_bytes(OnlineRNN(seed=1).to_bytes())


@pytest.mark.parametrize("place", range(0, 3000, 97))
def test_a_damaged_state_is_a_value_error(run, place):
    run.learn(Block(*rows(10)))
    content = bytearray(run.to_bytes())
    content[place % len(content)] ^= 0x10

    with pytest.raises(ValueError, match="saved"):
        Run.from_bytes(bytes(content))


# Sessions


class Saved(list):
    """A state file that keeps all that was written."""

    write = list.append


@pytest.mark.parametrize("every", [None, 1, 64])
def test_a_session_saves_at_the_end_and_in_between(run, every):
    saved = Saved()
    Session(run, saved, every=every).learn(as_blocks(samples(130)))

    assert [Run.from_bytes(blob).rows for blob in saved] == {
        None: [0, 130],
        1: [*range(131), 130],
        64: [0, 64, 128, 130],
    }[every]


def test_a_session_stops_at_its_limit(run):
    replies = []
    Session(run, limit=5).learn(as_blocks(samples(10)))
    Session(run, limit=8).converse(one_by_one(samples(10, 5)), replies.append)

    assert run.rows == 8
    assert len(replies) == 3


def test_a_row_left_open_is_in_the_file_and_may_still_be_settled(run, tmp_path):
    out, saved = tmp_path / "out.csv", Saved()
    (x, y), truth = samples(1)[0], (np.full(8, NAN), 3.0)
    with Output(out, ["y"]) as output:
        Session(run, saved, output).learn(as_blocks([(x, y), (x, NAN)]))
    assert out.read_text().splitlines()[2].startswith("2,")
    resumed = Run.from_bytes(saved[-1])
    with Output(out, ["y"], resumed.output_size) as output:
        Session(resumed, None, output).learn(as_blocks([truth, (x, y)]))

    truths = [line.split(",")[-1] for line in out.read_text().splitlines()]
    assert truths == ["truth", repr(y), "3.0", repr(y)]


@pytest.mark.parametrize("limit", [4, 5])
def test_a_limit_counts_rows_whose_truth_never_came(run, limit):
    x = np.zeros(8)
    Session(run, limit=limit).converse(one_by_one([(x, NAN)] * 4 + [(x, 1.0)] * 4), lambda _: None)

    assert run.rows == limit


def test_learning_and_conversing_leave_the_same_model(run):
    other = Run.from_bytes(run.to_bytes())
    stream = [(x, NAN if i % 3 else y) for i, (x, y) in enumerate(samples(40))]
    stream[10] = np.full(8, NAN), 3.0
    Session(run, every=7).learn(as_blocks(stream))
    Session(other).converse(one_by_one(stream), lambda _: None)

    assert (run.rows, run.position, list(run.open)) == (other.rows, other.position, list(other.open))
    assert run.model.to_bytes() == other.model.to_bytes()


def test_a_session_of_several_targets_writes_them_side_by_side(run_of_two, tmp_path):
    X, y = rows(20, 2)
    y[5, 0] = NAN
    with Output(tmp_path / "out.csv", run_of_two.targets) as output:
        Session(run_of_two, None, output).learn(as_blocks(zip(X, y, strict=True)))
    header, *lines = (line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines())

    assert header == "row u.prediction u.low u.high u.truth v.prediction v.low v.high v.truth".split()  # noqa: SIM905
    assert [line[4] for line in lines] == [runs.cell(each) for each in y[:, 0]]
    assert [line[8] for line in lines] == [runs.cell(each) for each in y[:, 1]]


def test_a_session_works_in_a_thread_and_is_stopped_with_the_state_saved(run, tmp_path):
    sent, answered = queue.SimpleQueue(), queue.SimpleQueue()

    def coming():
        while (sample := sent.get()) is not None:
            yield sample
        raise Stopped

    def drive():
        with StateFile(tmp_path / "state") as state, pytest.raises(Stopped):
            Session(run, state).converse(one_by_one(coming()), answered.put)

    thread = threading.Thread(target=drive)
    thread.start()
    for sample in samples(10):
        sent.put(sample)
    ids = [answered.get(timeout=30).id for _ in range(10)]
    sent.put(None)
    thread.join(timeout=30)

    assert ids == list(range(1, 11))
    assert Run.from_bytes((tmp_path / "state").read_bytes()).rows == 10


# Skipping


def test_skipping_goes_to_the_sample_after_the_position():
    position = Position().after(block(samples(7)))
    rest = runs.skip(as_blocks(samples(10), 4), position)

    assert [len(each) for each in rest] == [1, 2]


def test_another_or_a_shorter_stream_is_refused():
    position = Position().after(block(samples(7)))

    with pytest.raises(ValueError, match="has learned 7 samples of this stream, but it has only 5 now"):
        runs.skip(as_blocks(samples(5)), position)
    with pytest.raises(ValueError, match="first 7 samples are not those"):
        runs.skip(as_blocks(samples(9, skipped=1)), position)


# Files


def test_the_output_is_cut_back_to_its_size(tmp_path):
    path = tmp_path / "out.csv"
    line = np.array([[[0.5, 0.25, 0.75, NAN]]])
    with Output(path, ["y"]) as output:
        output.append(1, line)
        size = output.sync()
        output.append(2, 2 * line)
    with Output(path, ["y"], size) as output:
        output.append(2, 3 * line)

    assert path.read_text() == "row,prediction,low,high,truth\n1,0.5,0.25,0.75,\n2,1.5,0.75,2.25,\n"


def test_an_output_that_has_shrunk_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("row\n")

    with pytest.raises(ValueError, match="has 4 bytes, but 100 when the state was saved"):
        Output(tmp_path / "out.csv", ["y"], 100)


# What is saved when something fails


@pytest.mark.parametrize("conversing", [False, True])
def test_rows_that_could_not_be_written_down_are_not_saved_as_learned(run, tmp_path, monkeypatch, conversing):
    append = Output.append

    def failing(self, first_row, lines, when):
        if first_row > 40:
            raise MemoryError
        append(self, first_row, lines, when)

    monkeypatch.setattr(Output, "append", failing)
    monkeypatch.setattr("elman.runs.session._CHUNK", 20)
    out, state = tmp_path / "out.csv", tmp_path / "state"

    def go(run, count, mark=(0, None)):
        with StateFile(state) as file, Output(out, run.targets, *mark) as output:
            session = Session(run, file, output, every=20)
            source = samples(count)[run.position.samples :]
            if conversing:
                session.converse(one_by_one(source), lambda _: None)
            else:
                session.learn(as_blocks(source))

    with pytest.raises(MemoryError):
        go(run, 100)
    saved = Run.from_bytes(state.read_bytes())
    assert (saved.rows, saved.position.samples) == (40, 40)
    monkeypatch.setattr(Output, "append", append)
    go(saved, 100, (saved.output_size, saved.output_checksum))

    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == [*map(str, range(1, 101))]


def test_rows_before_one_that_the_model_refuses_are_learned():
    model = OnlineRNN(SRNN(3), SGD(), loss="logistic", seed=1)
    run = Run(model, {"model": "probability"}, ["a"], ["y"])
    rows = [(np.array([float(i)]), i % 2 if i != 30 else 5.0) for i in range(50)]
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        Session(run).learn(as_blocks(rows))

    assert (run.rows, run.position.samples, model.n_samples) == (30, 30, 30)


def test_rows_read_before_the_stream_was_stopped_are_learned(run):
    def stopped():
        yield from samples(7)
        raise Stopped

    with pytest.raises(Stopped):
        Session(run).learn(as_blocks(stopped()))

    assert run.rows == 7


def test_a_model_that_had_learned_before_is_saved_when_it_is_stopped(tmp_path):
    model = OnlineRNN(SRNN(3), SGD(), seed=1)
    model.run(*kinematics().take(10))
    run = Run(model, {"model": "taught"}, tuple("abcdefgh"), ["y"])

    def stopped():
        yield from samples(7)
        raise Stopped

    with StateFile(tmp_path / "state") as file, pytest.raises(Stopped):
        Session(run, file).learn(as_blocks(stopped()))

    assert Run.from_bytes((tmp_path / "state").read_bytes()).rows == 7
