"""A fleet in a file is the same fleet, whatever is in memory and whatever happens to its process."""

import gc
import json
import os
import random
import sqlite3
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from elman import SRNN, WOGD, Committee, Fleet, OnlineRNN
from elman.cli import app
from elman.fleets import Refused, contents
from learning_fleet import BATCH, N_ROWS, long_stream, small_filter, start
from test_fleets import FILTER, LINEAR, PATTERNS, rows_of, states, stream


@pytest.fixture
def path(tmp_path):
    return tmp_path / "meters.elman"


@pytest.fixture(params=PATTERNS)
def pattern(request):
    return PATTERNS[request.param]


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_same_bits_as_in_memory_however_few_models_are_kept_there(pattern, path, most):
    keys, X, y = stream()
    memory = Fleet(pattern())
    expected = memory.run_intervals(keys, X, y)
    cuts = [0, 1, 40, 200, 201, 400]

    parts = []
    for begin, end in pairwise(cuts):
        with Fleet.open(path, pattern(), threads=2, max_in_memory=most, every=30) as fleet:
            parts.append(np.array(fleet.run_intervals(keys[begin:end], X[begin:end], y[begin:end])))

    assert np.array(expected).tobytes() == np.concatenate(parts, axis=1).tobytes()
    with Fleet.open(path, max_in_memory=most) as fleet:
        assert set(memory) == set(fleet)
        assert len(fleet) == 7
        assert {key: memory[key].to_bytes() for key in fleet} == states(fleet)


def test_row_by_row_with_one_model_in_memory(path):
    keys, X, y = stream(150)
    memory = Fleet(PATTERNS["Committee"]())
    expected = memory.run(keys, X, y)

    with Fleet.open(path, PATTERNS["Committee"](), max_in_memory=1) as fleet:
        answers = []
        for key, x, target in zip(keys, X, y, strict=True):
            answers.append(fleet.predict_one(key, x))
            fleet.learn_one(key, x, target)

    assert expected.tobytes() == np.array(answers).tobytes()


def test_no_more_models_than_allowed_stay_in_memory(path):
    keys, X, y = stream()
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=2) as fleet:
        fleet.run(keys, X, y)
        assert len(fleet._home._models) == 2
        for key in fleet:
            fleet.learn_one(key, X[0], y[1])
            assert len(fleet._home._models) <= 2


def test_a_model_that_is_held_stays_the_one_of_its_key(path):
    keys, X, y = stream()
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=1) as fleet:
        fleet.run(keys, X, y)
        held = fleet["key1"]
        fleet.run(keys, X, y)  # which moves it out of memory, and in again
        held.learn_one(X[0], 1.0)
        assert held is fleet["key1"]
        fleet.learn_one("key2", X[0], 1.0)
        held.learn_one(X[0], 1.0)
        n_samples, state = held.n_samples, held.to_bytes()
        del held
        gc.collect()

    with Fleet.open(path) as fleet:
        assert n_samples == fleet["key1"].n_samples == 2 * keys.count("key1") + 2
        assert state == fleet["key1"].to_bytes()


def test_features_that_were_added_are_kept(path):
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=1) as fleet:
        fleet.learn_one("x", {"a": 1.0}, 1.0)
        fleet.learn_one("y", {"a": 1.0}, 1.0)
        fleet.learn_one("x", {"a": 1.0, "b": 2.0}, 1.0)

    with Fleet.open(path) as fleet:
        assert (fleet["x"].feature_names, fleet["y"].feature_names) == (["a", "b"], ["a"])
        fleet.run(["x", "y"], pd.DataFrame({"b": [1.0, 2.0]}), [1.0, 2.0])
        assert fleet["y"].feature_names == ["a", "b"]


def test_keys_keep_their_type(path):
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=1) as fleet:
        fleet.run([1, "1", -(2**63)], np.zeros((3, 1)), np.zeros(3))

    with Fleet.open(path) as fleet:
        assert list(fleet) == [1, "1", -(2**63)]
        assert "2" not in fleet
        assert None not in fleet


def test_a_forgotten_key_is_gone_from_the_file(path):
    keys, X, y = stream()
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=2) as fleet:
        fleet.run(keys, X, y)
        for key in ("key1", "key3"):
            del fleet[key]
            with pytest.raises(KeyError):
                del fleet[key]

    with Fleet.open(path) as fleet:
        assert {f"key{i}" for i in (0, 2, 4, 5, 6)} == set(fleet)
        assert len(fleet) == 5


def test_another_pattern_is_refused_and_another_seed_is_not(path):
    with Fleet.open(path, OnlineRNN(SRNN(4), seed=1)) as fleet:
        fleet.learn_one("a", [1.0], 1.0)

    with pytest.raises(ValueError, match=r"holds a fleet of OnlineRNN\(SRNN\(n_hidden=4\).* not of"):
        Fleet.open(path, OnlineRNN(SRNN(5), seed=1))
    with pytest.raises(ValueError, match="holds a fleet"):
        Fleet.open(path, Committee([LINEAR, FILTER]))
    with Fleet.open(path, OnlineRNN(SRNN(4))) as fleet:
        assert fleet.pattern.seed == 1


def test_a_wrong_row_leaves_all_others_learned_in_the_file(path):
    keys, X, y = stream()
    X[123, 0] = np.inf
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=2) as fleet, pytest.raises(Refused):
        fleet.run(keys, X, y)

    with Fleet.open(path) as fleet:
        assert {key: fleet[key].n_samples for key in fleet} == {
            key: keys.count(key) for key in set(keys) if key != keys[123]
        }


# One process at a time, and what it leaves


def test_the_file_belongs_to_one_process_and_others_may_look(path):
    with Fleet.open(path, OnlineRNN(seed=1)) as fleet:
        fleet.run(*stream())
        fleet.save()
        with pytest.raises(BlockingIOError, match=f"process {os.getpid()}"):
            Fleet.open(path)
        assert len(contents(path).entries) == 7

    assert [entry.name for entry in path.parent.iterdir()] == ["meters.elman"]
    Fleet.open(path).close()


def test_a_child_of_the_process_cannot_write(path):
    with Fleet.open(path, OnlineRNN(seed=1), max_in_memory=1) as fleet:
        fleet.run(*stream())
        child = os.fork()
        if child == 0:
            try:
                fleet.save()
            except RuntimeError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize(
    "content", [b"", b"some text that is long enough to be one", b"SQLite format 3\0" + b"x" * 5000]
)
def test_what_is_no_fleet_is_refused_and_left_alone(path, content):
    path.write_bytes(content)

    with pytest.raises((ValueError, OSError), match=r"meters\.elman"):
        Fleet.open(path)
    assert content == path.read_bytes()
    assert [entry.name for entry in path.parent.iterdir()] == ["meters.elman"]


def test_a_file_that_is_not_there_needs_a_pattern(path):
    with pytest.raises(FileNotFoundError):
        Fleet.open(path)
    assert not path.exists()


def test_a_database_of_something_else_is_refused(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t(x)")
    before = path.read_bytes()

    with pytest.raises(ValueError, match="a database of something else"):
        Fleet.open(path, OnlineRNN())
    assert before[100:] == path.read_bytes()[100:]


def test_a_state_that_is_damaged_is_refused_with_its_key(path):
    with Fleet.open(path, OnlineRNN(seed=1)) as fleet:
        fleet.run(["a", "b"], np.zeros((2, 1)), np.zeros(2))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE states SET state = zeroblob(200) WHERE id = 2")
    database.close()

    with Fleet.open(path) as fleet:
        assert fleet["a"].n_samples == 1
        with pytest.raises(ValueError, match=r"key 'b'.*not a saved elman model"):
            fleet["b"]


# Killed at any moment

KILLS = 20


def _wait_for(file, process, size):
    """Wait until the process has written so many bytes to the file, or is done."""
    while process.is_alive() and not (file.exists() and file.stat().st_size >= size):
        process.join(0.002)


def test_killed_at_random_moments_it_predicts_as_if_it_had_not_been(path, tmp_path):
    keys, X, y = long_stream()
    expected = Fleet(small_filter()).run(keys, X, y)
    chance, given, learned = random.Random(1), np.full(N_ROWS, np.nan), []

    for attempt in range(KILLS + 1):
        answers = tmp_path / f"answers{attempt}"
        process = start(path, answers)
        if attempt < KILLS:
            _wait_for(answers, process, 8 * (max(learned, default=0) + chance.randint(0, 3 * BATCH)))
            process.join(chance.uniform(0, 0.02))
            process.kill()
        process.join()
        found = np.frombuffer(answers.read_bytes()) if answers.exists() else np.empty(0)
        new = ~np.isnan(found)
        assert expected[: len(found)][new].tobytes() == found[new].tobytes()
        given[: len(found)][new] = found[new]
        learned.append(sum(entry.rows for entry in contents(path).entries) if path.exists() else 0)

    assert learned == sorted(learned)
    assert len(set(learned)) > KILLS // 2  # most were killed while learning
    assert not np.isnan(given[learned[-2] :]).any()
    with Fleet.open(path) as fleet:
        memory = Fleet(small_filter())
        memory.run(keys, X, y)
        assert states(memory) == {key: fleet[key].to_bytes() for key in memory}


def test_a_replayed_stream_passes_over_what_was_learned_and_refused(path):
    keys, X, y = stream()
    X[150, 0] = np.inf
    parts = [slice(i, i + 50) for i in range(0, 400, 50)]
    memory = Fleet(OnlineRNN(SRNN(3), WOGD(window=5), seed=1))

    def run(fleet, parts):
        for part in parts:
            try:
                yield fleet.run(keys[part], X[part], y[part])
            except Refused as refused:
                yield refused.answers[0]

    expected = np.concatenate(list(run(memory, parts)))
    with Fleet.open(path, OnlineRNN(SRNN(3), WOGD(window=5), seed=1)) as fleet:
        list(run(fleet, parts[:5]))
    with Fleet.open(path, replay=True) as fleet:
        answers = np.concatenate(list(run(fleet, parts)))

    assert np.isnan(answers[:250]).all()
    assert expected[250:].tobytes() == answers[250:].tobytes()
    assert states(memory).keys() == set(keys)


def test_a_replay_row_by_row(path):
    keys, X, y = stream(100)
    rows = [dict(zip("abc", x, strict=True)) for x in X]
    memory = Fleet(OnlineRNN(SRNN(3), seed=1))
    expected = memory.run(keys, rows, y)
    with Fleet.open(path, OnlineRNN(SRNN(3), seed=1)) as fleet:
        fleet.run(keys[:60], rows[:60], y[:60])

    with Fleet.open(path, replay=True) as fleet:
        for key, x, target in zip(keys[:30], rows[:30], y[:30], strict=True):
            fleet.learn_one(key, x, target)
        answers = fleet.run(keys[30:], rows[30:], y[30:])

    assert np.isnan(answers[:30]).all()
    assert expected[60:].tobytes() == answers[30:].tobytes()
    assert rows_of(keys, "key0").size > 0


def test_a_full_disk_leaves_the_last_save_and_nothing_goes_on_without_it(path):
    keys, X, y = long_stream()
    parts = [slice(i, i + 200) for i in range(0, 2000, 200)]
    memory = Fleet(small_filter())
    expected = np.concatenate([memory.run(keys[part], X[part], y[part]) for part in parts])

    def learn(fleet):
        return np.concatenate([fleet.run(keys[part], X[part], y[part]) for part in parts])

    def fill_the_disk():
        with Fleet.open(path, small_filter(), max_in_memory=20) as fleet:
            fleet.run(keys[:200], X[:200], y[:200])
            fleet.save()
            database = fleet._home._file._database
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            database.execute(f"PRAGMA max_page_count = {pages + 3}")
            learn(fleet)

    with pytest.raises(OSError, match="disk is full; what was learned since the last save is not kept"):
        fill_the_disk()
    assert sum(entry.rows for entry in contents(path).entries) == 200

    with Fleet.open(path, small_filter(), max_in_memory=20) as fleet:
        fleet._home._file._database.execute("PRAGMA max_page_count = 1")  # no more than there are
        for _ in range(2):  # the second time for what has left memory and is lost
            with pytest.raises(OSError, match="open the fleet again"):
                fleet.run(keys, X, y)
        with pytest.raises(OSError, match="open the fleet again"):
            fleet.close()

    with Fleet.open(path, replay=True) as fleet:
        answers = learn(fleet)
    assert expected[200:].tobytes() == answers[200:].tobytes()


def test_inspect_shows_keys_rows_errors_and_the_worst_ten(path):
    keys, X, y = stream(900, 15)
    with Fleet.open(path, OnlineRNN(SRNN(3), seed=1)) as fleet:
        fleet.run(keys, X, y)
        errors = {key: fleet[key].mean_error for key in fleet}
    worst = sorted(errors, key=lambda key: -errors[key])[:10]

    said = CliRunner().invoke(app, ["inspect", str(path)]).stdout
    found = json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout)

    assert "a fleet of OnlineRNN, 15 keys, 900 rows" in " ".join(said.split())  # a long path breaks the line
    assert worst == [line.split()[0] for line in said.splitlines() if line.lstrip().startswith("key")]
    assert {key: keys.count(key) for key in errors} == {each["key"]: each["rows"] for each in found["keys"]}
    assert worst == [each["key"] for each in found["worst"]]


def test_inspect_says_what_is_wrong_with_a_file(path):
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    result = CliRunner().invoke(app, ["inspect", str(path)])

    assert result.exit_code != 0
    assert not isinstance(result.exception, sqlite3.Error)
