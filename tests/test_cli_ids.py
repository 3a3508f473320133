"""`elman run - --id`: truths that come whenever they come, twice, or to questions that nobody asked."""

import random
import signal
import subprocess

import numpy as np
import pytest

import processes
from elman import OnlineRNN, runs
from test_cli_pipes import SMALL, _wait_until_it_saves, command, conversation

KILLS = 20


def lines_of(n, *, seed=0, most_late=40, lost=0.05):
    """Questions, and their truths as they come later, in any order, some never and some twice."""
    rng = random.Random(seed)
    due, lines = {}, []
    for i in range(n):
        x = np.sin(i / 7), rng.gauss(0, 1)
        lines.append(f"q{i},{x[0]:.4f},{x[1]:.4f},")
        if rng.random() > lost:
            due.setdefault(i + rng.randint(0, most_late), []).append(f"q{i},,,{x[0] + 0.3 * x[1]:.4f}")
        for truth in due.pop(i, []):
            lines += [truth] * (2 if rng.random() < 0.05 else 1)
    return lines


def said(*lines, arguments=()):
    """What a pipe writes and what it says besides."""
    text = "\n".join(["id,a,b,y", *lines]) + "\n"
    return subprocess.run(
        command("-", *SMALL, "--id", "id", *arguments), input=text, capture_output=True, text=True, check=True
    )


def test_answers_are_those_of_ask_and_tell():
    lines = lines_of(80)
    heard = said(*lines).stdout.splitlines()[1:]

    model = OnlineRNN.named("SRNN-SGD", n_hidden=4, lags=2, seed=0)
    tickets, expected = {}, []
    for line in lines:
        name, a, b, y = line.split(",")
        if not y:
            tickets[name] = model.ask([float(a), float(b)])
            expected.append(tickets[name])
        elif name in tickets:
            model.tell(tickets.pop(name), float(y))
    answers = [",".join(map(runs.cell, (each.prediction, each.low, each.high))) for each in expected]
    assert answers == heard


def test_a_truth_settles_the_question_of_its_id_and_its_line_says_which_row(tmp_path):
    out = tmp_path / "out.csv"
    said("a,1,2,", "b,3,4,", "c,5,6,", "b,,,7", "a,,,8", arguments=("--predictions", out))

    written = [line.split(",") for line in out.read_text().splitlines()[1:]]
    rows_and_truths = [(line[0], line[-1]) for line in written]
    assert rows_and_truths == [("2", "7.0"), ("1", "8.0"), ("3", "")]


def test_a_truth_sent_twice_is_learned_once_and_counted():
    once = said("a,1,2,", "a,,,3", "b,1,2,")
    twice = said("a,1,2,", "a,,,3", "a,,,3", "a,1,2,3", "b,1,2,")

    assert once.stdout == twice.stdout
    assert "2 truths came twice" in twice.stderr


def test_a_truth_nobody_asked_for_is_reported_and_never_learned():
    plain = said("a,1,2,", "a,,,3", "b,1,2,")
    other = said("z,,,9", "a,1,2,", "z,,,9", "a,,,3", "b,1,2,")

    assert plain.stdout == other.stdout
    assert other.stderr.count("passed over: nobody asked for the truth of z") == 2
    assert "2 truths came that nobody had asked for" in other.stderr


def test_without_ids_a_truth_nobody_asked_for_is_no_row_either():
    with conversation() as pipe:
        pipe.say("a,b,y", "1,2,3", ",,7", "1,2,")
        heard = [pipe.hear() for _ in range(3)]
        assert pipe.end() == 0
    with conversation() as pipe:
        pipe.say("a,b,y", "1,2,3", "1,2,")
        assert heard == [pipe.hear() for _ in range(3)]
        assert pipe.end() == 0


def test_a_question_that_is_asked_twice_is_answered_twice_and_is_one_row():
    once = said("a,1,2,", "a,,,3", "b,1,2,").stdout.splitlines()
    twice = said("a,1,2,", "a,1,2,", "a,,,3", "b,1,2,").stdout.splitlines()

    assert [*once[:2], once[1], *once[2:]] == twice


def test_rows_with_their_targets_need_no_question():
    named = said(*(f"n{i},{i % 5},1,{i % 3}" for i in range(30))).stdout
    text = "a,b,y\n" + "".join(f"{i % 5},1,{i % 3}\n" for i in range(30))
    plain = subprocess.run(command("-", *SMALL), input=text, capture_output=True, text=True, check=True)

    assert plain.stdout == named


@pytest.mark.parametrize("line", [",1,2,3", "a,1,2"])
def test_a_line_without_an_id_is_passed_over(line):
    text = f"id,a,b,y\na,1,2,\n{line}\n"
    finished = subprocess.run(
        command("-", *SMALL, "--id", "id"), input=text, capture_output=True, text=True, check=False
    )
    assert "line 3" in finished.stderr


def test_after_a_restart_truths_find_their_questions(tmp_path):
    lines, state = lines_of(120), tmp_path / "state"
    whole = said(*lines).stdout.splitlines()[1:]

    options = ("--save", state, "--resume", state, "--live")
    heard = said(*lines[:70], arguments=options).stdout.splitlines()[1:]
    heard += said(*lines[70:], arguments=options).stdout.splitlines()[1:]

    assert whole == heard


def test_killed_at_any_moment_it_goes_on_to_the_same_predictions(tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    lines = tmp_path / "lines.csv"
    lines.write_text("\n".join(["id,a,b,y", *lines_of(8000)]) + "\n")
    run = ("run", "-", *SMALL, "--id", "id")
    processes.start(*run, "--predictions", whole, standard_input=lines).join()
    durable = ("--predictions", parts, "--save", state, "--resume", state, "--every", 20)
    chance, waiting = random.Random(3), []
    for _ in range(KILLS):
        process = processes.start(*run, *durable, standard_input=lines)
        for _ in range(chance.randint(1, 4)):
            _wait_until_it_saves(process, state)
        process.join(chance.uniform(0, 0.02))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        waiting.append(len(runs.Run.from_bytes(state.read_bytes()).open))
    processes.start(*run, *durable, standard_input=lines).join()

    assert min(waiting) > 0
    assert whole.read_bytes() == parts.read_bytes()


def test_ids_belong_to_a_pipe(tmp_path):
    (tmp_path / "rows.csv").write_text("id,a,y\n1,2,3\n")
    finished = subprocess.run(
        command(tmp_path / "rows.csv", "--id", "id"), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert "--id belongs to a pipe" in finished.stderr


# A file whose targets are told late


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 2)).round(4)
    lines = [f"{a},{b},{np.tanh(a) + 0.3 * b:.4f}" for a, b in x]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def test_a_delay_is_that_of_a_run(file, tmp_path):
    out = tmp_path / "out.csv"
    subprocess.run(command(file, *SMALL, "--delay", 7, "--predictions", out), check=True, capture_output=True)

    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    model = OnlineRNN.named("SRNN-SGD", n_hidden=4, lags=2, seed=0)
    expected = model.run(rows[:, :2], rows[:, 2], delay=7)
    written = [float(line.split(",")[1]) for line in out.read_text().splitlines()[1:]]
    assert expected.tolist() == written


def test_a_delay_goes_on_with_a_state_and_cannot_change(file, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    subprocess.run(
        command(file, *SMALL, "--delay", 7, "--predictions", whole), check=True, capture_output=True
    )
    durable = ("--predictions", parts, "--save", state, "--resume", state)
    for more in (("--delay", 7, "--rows", 100), ()):
        subprocess.run(command(file, *SMALL, *durable, *more), check=True, capture_output=True)

    assert whole.read_bytes() == parts.read_bytes()
    other = subprocess.run(command(file, *SMALL, *durable, "--delay", 3), check=False, capture_output=True)
    assert other.returncode == 2
