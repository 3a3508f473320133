"""Files of fleets that no fleet has written, and keys that want to break one."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import mutants
from elman import SRNN, Committee, Fleet, Forecaster, OnlineRNN
from elman.fleets import Refused
from elman.fleets._contents import contents
from elman.fleets.run import FleetRun

X = np.random.default_rng(0).normal(size=(60, 2))
KEYS = ["a", "b", 3] * 20


def made(path):
    with Fleet.open(path, OnlineRNN(SRNN(3), seed=1)) as fleet:
        fleet.run(KEYS, X, X[:, 0])
    return path


def change(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(*statement) if isinstance(statement, tuple) else database.execute(statement)
        database.commit()


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE states"],
        ["DROP TABLE notes"],
        ["UPDATE notes SET content = 'text'"],
        ["UPDATE notes SET content = 3000000000"],
        ["CREATE TRIGGER t AFTER UPDATE ON keys BEGIN DELETE FROM keys; END"],
        ["ALTER TABLE states RENAME TO s", "CREATE VIEW states AS SELECT * FROM s"],
        ["PRAGMA user_version = 2"],
        ["PRAGMA application_id = 0"],
    ],
    ids=str,
)
def test_a_database_that_is_no_fleet_is_refused_by_name(statements, tmp_path):
    path = made(tmp_path / "fleet")
    change(path, *statements)

    with pytest.raises(ValueError, match="fleet"):
        Fleet.open(path)
    with pytest.raises(ValueError, match="fleet"):
        contents(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE keys SET rows = -1",
        "UPDATE keys SET rows = 'many'",
        "UPDATE keys SET error = 'none'",
        "UPDATE keys SET key = x'01' WHERE id = 1",
        "UPDATE keys SET key = 1.5 WHERE id = 1",
    ],
)
def test_what_is_said_of_a_key_must_be_possible(statement, tmp_path):
    path = made(tmp_path / "fleet")
    change(path, statement)

    with Fleet.open(path) as fleet, pytest.raises(ValueError, match="damaged: its key"):
        list(fleet)
    with pytest.raises(ValueError, match="damaged: its key"):
        contents(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM states WHERE id = 1",
        "UPDATE states SET state = 'text' WHERE id = 1",
        "UPDATE states SET state = 5000000000 WHERE id = 1",
        "UPDATE states SET state = x'00' WHERE id = 1",
        ("UPDATE states SET state = ? WHERE id = 1", (Forecaster(2, size="small").to_bytes(),)),
    ],
    ids=lambda statement: str(statement)[:50],
)
def test_one_damaged_model_is_refused_and_the_others_go_on(statement, tmp_path):
    path = made(tmp_path / "fleet")
    change(path, statement)

    with Fleet.open(path) as fleet:
        with pytest.raises(Refused) as refused:
            fleet.run(KEYS, X, X[:, 0])
        assert [row.key for row in refused.value.rows] == ["a"]
        assert fleet["b"].n_samples == 40
        with pytest.raises(ValueError, match="the model of key 'a' cannot be read"):
            fleet.predict_one("a", X[0])


def test_mutants_of_a_key_and_of_the_pattern_are_refused_or_used(tmp_path):
    path = made(tmp_path / "fleet")
    with closing(sqlite3.connect(path)) as database:
        (one,) = database.execute("SELECT state FROM states WHERE id = 1").fetchone()
        (pattern,) = database.execute("SELECT content FROM notes WHERE name = 'pattern'").fetchone()
    fates = set()
    for i in range(60):
        rng = np.random.default_rng(i)
        change(
            path,
            ("UPDATE states SET state = ? WHERE id = 1", (mutants.mutate(one, rng) if i % 2 else one,)),
            ("UPDATE notes SET content = ?", (pattern if i % 2 else mutants.mutate(pattern, rng),)),
        )
        try:
            with Fleet.open(path) as fleet:
                assert np.isfinite(fleet.run(KEYS[:6], X[:6], X[:6, 0])).all()
            fates.add("used")
        except ValueError:
            fates.add("refused")
    assert fates == {"used", "refused"}


def test_a_file_with_damaged_or_missing_pages_is_refused_or_used(tmp_path):
    whole = made(tmp_path / "fleet").read_bytes()
    for i in range(60):
        rng = np.random.default_rng(i)
        damaged = bytearray(whole[: rng.integers(len(whole))] if i % 3 == 0 else whole)
        for _ in range(rng.integers(1, 200) if i % 3 and damaged else 0):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        path = tmp_path / f"fleet{i}"
        path.write_bytes(damaged)
        for use in (learned, contents):
            try:
                use(path)
            except (ValueError, OSError):
                continue


def learned(path):
    with Fleet.open(path) as fleet:
        fleet.run(KEYS, X, X[:, 0])


@pytest.mark.parametrize("content", [b"x", b"a letter to somebody", b"SQLite format 2\x00" * 100])
def test_a_file_of_something_else_is_refused_and_stays(content, tmp_path):
    path = tmp_path / "letter"
    path.write_bytes(content)

    with pytest.raises(ValueError, match="not a fleet, or damaged"):
        Fleet.open(path, Committee())
    assert path.read_bytes() == content


# Keys


@pytest.mark.parametrize("key", ["\ud800", "a\udfff", "x" * 1001])
def test_a_key_that_is_no_text_is_refused_before_it_can_spoil_the_file(key, tmp_path):
    with Fleet.open(tmp_path / "fleet", OnlineRNN(SRNN(3), seed=1)) as fleet:
        with pytest.raises(TypeError, match="a key must be text of at most 1,000 characters"):
            fleet.learn_one(key, X[0], 1.0)
        with pytest.raises(Refused) as refused:
            fleet.run(["a", key], X[:2], X[:2, 0])
        assert [row.row for row in refused.value.rows] == [1]
    with Fleet.open(tmp_path / "fleet") as fleet:
        assert list(fleet) == ["a"]


@pytest.mark.parametrize("key", ["", "\0", "'; DROP TABLE keys;--", "x" * 1000, -(2**63), 2**63 - 1])
def test_any_other_key_is_a_key(key, tmp_path):
    with Fleet.open(tmp_path / "fleet", OnlineRNN(SRNN(3), seed=1)) as fleet:
        fleet.learn_one(key, X[0], 1.0)
    with Fleet.open(tmp_path / "fleet") as fleet:
        assert (list(fleet), fleet[key].n_samples) == ([key], 1)


@pytest.mark.parametrize("key", [np.int64(3), np.str_("b")])
def test_keys_of_numpy_are_those_of_python(key, tmp_path):
    with Fleet.open(made(tmp_path / "fleet")) as fleet:
        assert key in fleet
        assert fleet[key].n_samples == 20
        del fleet[key]
        assert key not in fleet


# Runs


def test_a_run_that_contradicts_itself_is_refused(tmp_path):
    with Fleet.open(tmp_path / "fleet", OnlineRNN(SRNN(3), seed=1)) as fleet:
        run = FleetRun(fleet, {}, ["a", "b"], "y", {})
        run.open["a"] = np.array([1.0, np.nan])
        run.save()
        good = json.loads(fleet.noted("run"))
        assert FleetRun.noted(fleet) is not None
        for edit in (
            {"rows": -1},
            {"rows": "many"},
            {"names": ["a", "a"]},
            {"names": [1, 2]},
            {"open": {"a": [1.0]}},
            {"scores": {"a": [5.0] + [0.0] * 8}},
            {"scores": {"a": [5.0]}},
            {"setup": 1},
            {"checksum": None},
        ):
            fleet.note("run", json.dumps(good | edit).encode())
            with pytest.raises(ValueError, match="contradicts itself"):
                FleetRun.noted(fleet)
        fleet.note("run", b"[" * 100_000)
        with pytest.raises(ValueError, match="contradicts itself"):
            FleetRun.noted(fleet)


def test_errors_beyond_floating_point_are_saved_and_read(tmp_path):
    with Fleet.open(tmp_path / "fleet", OnlineRNN(SRNN(3), seed=1)) as fleet:
        run = FleetRun(fleet, {}, ["a"], "y", {})
        run.rows = 2
        with np.errstate(over="ignore"):
            run._evaluate(["a", "a"], np.array([1e200, -1e200]), np.zeros(2))
        run.save()
        assert FleetRun.noted(fleet).scores["a"].mse == np.inf
