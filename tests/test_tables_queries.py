"""A query reads, and does nothing else, however it is written."""

import pytest

from elman.tables import open_table

ESCAPES = [
    "from 'v.csv') ; COPY (select 1) TO 'precious.txt'; --",
    "select * from 'v.csv'); COPY (select 1) TO 'precious.txt'; select * from (select 1 ",
    "select * from 'v.csv' where true; COPY (select 1) TO 'precious.txt'",
    "with t as (copy (select 1) to 'precious.txt') select * from t ",
    "with t as (select 1) insert into x select * from t ",
    "with x as (select 1) select * from 'v.csv' ) ; ATTACH 'new.db'; CREATE TABLE new.t AS (select 1",
    "select * from 'v.csv') t; INSTALL httpfs; select (1",
    "select * from query('copy (select 1) to ''precious.txt''') ",
    "select 1 as a; select 2 as a",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    (tmp_path / "precious.txt").write_text("precious")
    return tmp_path


@pytest.mark.parametrize("query", ESCAPES)
def test_a_query_that_would_do_more_than_read_is_refused(query, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    with pytest.raises(ValueError, match=r"a query must be one question|Error"):
        open_table(query, "a")

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "query",
    [
        "select * from 'v.csv' order by a desc",
        "from 'v.csv'; ",
        "with t as (from 'v.csv') from t -- all of it",
        "select ')' as b, a from 'v.csv'",
    ],
)
def test_a_question_is_answered(query, folder):
    assert folder.is_dir()
    with open_table(query, "a") as rows:
        assert sum(len(block.y) for block in rows.blocks()) == 3
