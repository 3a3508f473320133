"""`elman run -`: a conversation line by line, and what survives of it when the process does not."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager

import duckdb
import numpy as np
import pytest

import processes
from elman import runs
from elman.cli.signals import StopSignals

SMALL_MODEL = ("--model", "SRNN-SGD", "--hidden", "4", "--lags", "2")
SMALL = (*SMALL_MODEL, "--target", "y")
KILLS = 20
ROWS = 20_000


def command(*arguments):
    return [sys.executable, "-m", "elman", "run", *map(str, arguments)]


class Conversation:
    """A running `elman run -` that is spoken to line by line."""

    def __init__(self, process):
        self.process = process

    def say(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()

    def hear(self):
        """The next line; waits for it, so that a test hangs unless it has been flushed."""
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)


@contextmanager
def conversation(*arguments):
    with subprocess.Popen(
        command("-", *SMALL, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Conversation(process)
        finally:
            process.kill()


@pytest.fixture
def rows(tmp_path):
    """A file of rows, some of them without a target."""
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 2))
    y = np.tanh(x[:, 0]) + 0.3 * np.roll(x[:, 1], 1)
    lines = [
        f"{a:.5f},{b:.5f},{'' if i % 50 == 7 else format(target, '.5f')}\n"
        for i, ((a, b), target) in enumerate(zip(x, y, strict=True))
    ]
    path.write_text("a,b,y\n" + "".join(lines))
    return path


def answers_of(file):
    finished = subprocess.run(
        command("-", *SMALL), input=file.read_text(), capture_output=True, text=True, check=True
    )
    return finished.stdout.splitlines()


def test_every_row_is_answered_before_the_next_is_sent(rows, tmp_path):
    lines = rows.read_text().splitlines()[:30]
    heard = []
    with conversation() as pipe:
        pipe.say(lines[0])
        for line in lines[1:]:
            pipe.say(line)
            if not heard:
                heard.append(pipe.hear())
            heard.append(pipe.hear())
        assert pipe.end() == 0
    (tmp_path / "short.csv").write_text("".join(line + "\n" for line in lines))

    assert heard[0] == "prediction,low,high"
    assert heard == answers_of(tmp_path / "short.csv")


def test_the_truth_may_follow_its_answer(tmp_path):
    with conversation("--predictions", tmp_path / "late.csv") as pipe:
        pipe.say("a,b,y", "0.1,0.2,")
        late = [pipe.hear(), pipe.hear()]
        for i in range(20):
            pipe.say(f",,{i % 3}", f"{i / 10},0.5,")
            late.append(pipe.hear())
        pipe.say(",,1")
        assert pipe.end() == 0
    with conversation("--predictions", tmp_path / "at_once.csv") as pipe:
        pipe.say("a,b,y", "0.1,0.2,0", *(f"{i / 10},0.5,{(i + 1) % 3}" for i in range(19)), "1.9,0.5,1")
        at_once = [pipe.hear() for _ in range(22)]
        assert pipe.end() == 0

    assert late == at_once
    assert len(set(late)) > 10
    assert (tmp_path / "late.csv").read_bytes() == (tmp_path / "at_once.csv").read_bytes()


def test_a_truth_that_never_comes_is_not_learned(tmp_path):
    with conversation("--predictions", tmp_path / "out.csv") as pipe:
        pipe.say("a,b,y", "1,2,", "3,4,5")
        assert pipe.end() == 0

    assert [line.split(",")[-1] for line in (tmp_path / "out.csv").read_text().splitlines()] == [
        "truth",
        "",
        "5.0",
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_the_state_and_even_an_open_question(tmp_path, number, code):
    state = tmp_path / "state"
    with conversation("--save", state, "--every", 1000) as pipe:
        pipe.say("a,b,y", "1,2,3", "2,3,4", "3,4,")
        answers = [pipe.hear() for _ in range(4)]
        pipe.process.send_signal(number)
        assert pipe.process.wait(timeout=30) == code
    with conversation("--resume", state, "--live") as pipe:
        pipe.say("a,b,y", ",,5", "4,5,6")
        answers += [pipe.hear(), pipe.hear()]
        assert pipe.end() == 0
    with conversation() as pipe:
        pipe.say("a,b,y", "1,2,3", "2,3,4", "3,4,5", "4,5,6")
        expected = [pipe.hear() for _ in range(5)]

    assert answers[:4] + answers[5:] == expected


def test_a_signal_while_an_item_is_used_stops_before_the_next():
    used = []
    with pytest.raises(runs.Stopped), StopSignals() as stop:  # noqa: PT012 - where it is raised is the point
        for item in stop.interruptible(iter(range(5))):
            if item == 2:
                os.kill(os.getpid(), signal.SIGINT)
            used.append(item)

    assert used == [0, 1, 2]


def test_a_second_process_on_a_state_ends_at_once_and_names_the_holder(rows, tmp_path):
    state = tmp_path / "state"
    (tmp_path / "link").symlink_to(state)
    with conversation("--save", state) as pipe:
        pipe.say("a,b,y", "1,2,3")
        pipe.hear()
        for option, path in (("--save", state), ("--resume", state), ("--resume", tmp_path / "link")):
            second = subprocess.run(
                command(rows, *SMALL, option, path), capture_output=True, text=True, check=False
            )
            assert second.returncode == 1
            assert second.stderr == f"elman: {path}: in use by process {pipe.process.pid}\n"
        pipe.say("2,3,4")
        assert pipe.end() == 0

    assert runs.Run.from_bytes(state.read_bytes()).rows == 2


def test_after_a_kill_of_the_holder_the_next_start_works(tmp_path):
    state = tmp_path / "state"
    with conversation("--save", state, "--every", 1) as pipe:
        pipe.say("a,b,y", "1,2,3", "2,3,4")
        for _ in range(3):
            pipe.hear()
        pipe.process.kill()
        pipe.process.wait(timeout=30)
    left = {path.name for path in tmp_path.iterdir()}
    with conversation("--resume", state, "--live") as pipe:
        pipe.say("a,b,y", "3,4,5")
        assert pipe.end() == 0

    assert left >= {"state", ".state.lock"}
    assert runs.Run.from_bytes(state.read_bytes()).rows >= 2
    assert {path.name for path in tmp_path.iterdir()} == {"state"}


def test_nobody_listening_ends_it_with_141_and_the_state_saved(rows, tmp_path):
    with (
        rows.open() as file,
        subprocess.Popen(
            command("-", *SMALL, "--save", tmp_path / "state"),
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=30) == 141

    assert "Traceback" not in said
    assert "BrokenPipe" not in said
    assert (tmp_path / "state").exists()


def test_killed_at_random_moments_it_predicts_as_if_it_had_not_been(rows, tmp_path):
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state"
    processes.start("run", rows, *SMALL, "--predictions", whole, standard_input=os.devnull).join()
    durable = ("--predictions", parts, "--save", state, "--resume", state)
    chance = random.Random(3)
    sizes = []
    for attempt in range(KILLS):
        file = rows if attempt % 4 == 0 else "-"  # a file or a pipe, whatever went before
        process = processes.start("run", file, *SMALL, *durable, "--every", 20, standard_input=rows)
        for _ in range(chance.randint(1, 4)):
            _wait_until_it_saves(process, state)
        process.join(chance.uniform(0, 0.02))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        sizes.append(parts.stat().st_size)
    processes.start("run", rows, *SMALL, *durable, standard_input=rows).join()

    assert len(set(sizes)) > KILLS // 2  # they were killed while learning, most of them
    assert parts.read_bytes() == whole.read_bytes()
    assert len(whole.read_text().splitlines()) == 1 + ROWS


def test_killed_and_resumed_parquet_and_csv_give_what_one_run_gives(tmp_path):
    """Rows with dates and words; in the CSV file some lines are bad."""
    query = (
        "select timestamp '2024-01-01' + to_hours(i) as time, ['rain', 'sun', 'fog'][1 + i % 3] as weather, "
        "sin(i / 7) as wave, cos(i / 5) + i % 3 as load from range(1500) t(i)"
    )
    duckdb.sql(f"copy ({query}) to '{tmp_path}/rows.parquet' (format parquet)")
    duckdb.sql(f"copy ({query}) to '{tmp_path}/rows.csv' (format csv)")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "rows.csv").write_text(
        "\n".join(line + "\n1,2" * (i % 100 == 9) for i, line in enumerate(lines))
    )
    chance = random.Random(5)
    outcomes = []
    for file in (tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        whole, parts, state = (tmp_path / f"{file.suffix}{name}" for name in (".whole", ".parts", ".state"))
        processes.start("run", file, *SMALL_MODEL, "--predictions", whole, standard_input=os.devnull).join()
        durable = ("--predictions", parts, "--save", state, "--resume", state, "--every", 20)
        for _ in range(4):
            process = processes.start("run", file, *SMALL_MODEL, *durable, standard_input=os.devnull)
            for _ in range(chance.randint(2, 6)):
                _wait_until_it_saves(process, state)
            process.kill()
            process.join()
        processes.start("run", file, *SMALL_MODEL, *durable, standard_input=os.devnull).join()
        assert parts.read_bytes() == whole.read_bytes()
        outcomes.append(whole.read_text())

    assert len(outcomes[0].splitlines()) == 1501
    assert outcomes[0] == outcomes[1]  # and a bad line is as if it were not there


def _wait_until_it_saves(process, state):
    before = state.stat().st_mtime_ns if state.exists() else None
    while process.is_alive() and (not state.exists() or state.stat().st_mtime_ns == before):
        process.join(0.001)


def test_a_bad_line_does_not_count_as_read_and_may_be_sent_again(tmp_path):
    good, bad = ["1,2,3", "2,3,4", "3,4,5"], "4,5,inf"
    whole = tmp_path / "whole.csv"
    whole.write_text("\n".join(["a,b,y", *good, "4,5,6", "5,6,7"]))
    expected = answers_of(whole)
    state = tmp_path / "state"
    first = subprocess.run(
        command("-", *SMALL, "--save", state, "--on-error", "stop"),
        input="\n".join(["a,b,y", *good, bad, "5,6,7"]),
        capture_output=True,
        text=True,
        check=False,
    )
    samples = runs.Run.from_bytes(state.read_bytes()).position.samples
    copy = tmp_path / "copy"
    copy.write_bytes(state.read_bytes())
    live = subprocess.run(
        command("-", *SMALL, "--resume", state, "--live"),
        input="a,b,y\n4,5,6\n5,6,7\n",
        capture_output=True,
        text=True,
        check=True,
    )
    again = subprocess.run(
        command("-", *SMALL, "--resume", copy),
        input=whole.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert first.returncode == 3
    assert "standard input, line 5, column 'y': 'inf' is not a finite number" in first.stderr
    assert samples == 3
    assert first.stdout.splitlines() == expected[:4]
    assert live.stdout.splitlines()[1:] == again.stdout.splitlines()[1:] == expected[4:]


def test_a_row_whose_answer_nobody_took_does_not_count_as_read(tmp_path):
    run = runs.begin("SRNN-SGD", ["a"], ["y"], lags=1, seed=1, options={})

    def gone(answer):
        if answer.id == 3:
            raise runs.Stopped(signal.SIGPIPE)

    samples = [(np.array([float(i)]), float(i)) for i in range(5)]
    with runs.StateFile(tmp_path / "state") as state, pytest.raises(runs.Stopped):
        runs.Session(run, state).converse(runs.as_blocks(samples, 1), gone)
    saved = runs.Run.from_bytes((tmp_path / "state").read_bytes())

    assert (saved.rows, saved.position.samples, saved.open) == (2, 2, {})


# Lines that cannot be read


def damaged(lines, every=100):
    """The lines of a pipe with others among them that cannot be read, one in a hundred."""
    kinds = ["", "1", "a,b,c,d,e", "x,y,z", '"1,2', "1,2,inf", "\x00\x01", "1;2;3"]
    out = [lines[0]]
    for i, line in enumerate(lines[1:]):
        out.append(line)
        if i % every == every // 2:
            out.append(kinds[1 + (i // every) % (len(kinds) - 1)])
    return out


def test_a_pipe_with_damaged_lines_runs_to_its_end_as_if_they_were_not_there(rows, tmp_path):
    lines = rows.read_text().splitlines()[:400]
    (tmp_path / "good.csv").write_text("\n".join(lines))
    expected = answers_of(tmp_path / "good.csv")
    broken = b"\n".join(line.encode() for line in damaged(lines)) + b"\n\xff\xfe,1,2\n"
    finished = subprocess.run(
        command("-", *SMALL, "--rejects", tmp_path / "bad.csv"), input=broken, capture_output=True, check=True
    )
    answered = finished.stdout.decode().splitlines()

    assert [line for line in answered if line != ",,"] == expected
    assert answered.count(",,") == 5
    assert len((tmp_path / "bad.csv").read_text().splitlines()) >= 6
    assert " ".join(finished.stderr.decode().split()).count("passed over, as others like it will be") == 1


def test_json_in_a_pipe_is_an_object_a_line(rows):
    lines = rows.read_text().splitlines()[:20]
    finished = subprocess.run(
        command("-", *SMALL, "--json"), input="\n".join(lines), capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in finished.stdout.splitlines()]

    assert len(answers) == 19
    assert all(set(answer) == {"prediction", "low", "high"} for answer in answers)
