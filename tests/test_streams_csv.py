import csv
import gzip
import os
import re
import sys
import threading
import tracemalloc
from datetime import datetime, timedelta
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from elman.limits import LINE_CHARACTERS
from elman.streams import read_csv

CELLS = st.floats(width=64, allow_infinity=False)
TABLES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=CELLS)


@given(TABLES)
def test_numbers_come_back_as_they_were_written(table):
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow([f"column {place}" for place in range(table.shape[1])])
    writer.writerows([["" if np.isnan(value) else repr(float(value)) for value in row] for row in table])
    text.seek(0)
    X, y = read_csv(text).take()
    np.testing.assert_array_equal(X, table[:, :-1])
    np.testing.assert_array_equal(y, table[:, -1])


@pytest.mark.parametrize("missing", ["", "nan", "NaN", "NA", " na "])
def test_a_missing_cell_is_nan(missing):
    X, y = read_csv(StringIO(f"a,y\n{missing},1\n2,{missing}\n")).take()
    np.testing.assert_array_equal(X, [[np.nan], [2]])
    np.testing.assert_array_equal(y, [1, np.nan])


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_file_is_read_by_its_path(tmp_path, ending):
    path = tmp_path / f"load{ending}"
    opened = gzip.open if ending.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write("a,b\n1,2\n")
    for name in (path, str(path)):
        stream = read_csv(name)
        assert stream.name == "load"
        assert [y for _, y in stream] == [2.0]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8-sig")
    assert read_csv(path).names == ("a",)


def test_names_are_as_in_the_header_but_for_blanks_around_them():
    stream = read_csv(StringIO('a , "b c",,y\n1,2,3,4\n'))
    assert stream.names == ("a", "b c", "column3")


@pytest.mark.parametrize(("target", "expected"), [(None, 3), ("c", 3), ("a", 1), (0, 1), (-2, 2)])
def test_target_is_a_name_a_place_or_the_last_column(target, expected):
    stream = read_csv(StringIO("a,b,c\n1,2,3\n"), target)
    (x,), (y,) = stream.take()
    assert y == expected
    assert sorted([*x, y]) == [1, 2, 3]
    assert stream.target == "abc"[expected - 1]


def test_one_column_is_a_bare_series():
    X, y = read_csv(StringIO("y\n1\n2\n")).take()
    assert X.shape == (2, 0)
    np.testing.assert_array_equal(y, [1, 2])


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,y\n" + "0.125,0.375\n" * 50_000, encoding="utf-8")
    stream = read_csv(path)
    tracemalloc.start()
    rows = sum(1 for _ in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 50_000
    assert peak < path.stat().st_size / 2


def test_blank_lines_are_passed_over():
    assert len(read_csv(StringIO("\na,y\n\n1,2\n\n3,4\n\n")).take()[1]) == 2


class TestDates:
    def test_each_gives_six_named_inputs_in_its_place(self):
        stream = read_csv(StringIO("a,when,b,y\n7,2024-01-01,8,1\n"))
        assert stream.names == (
            "a",
            "when.hour.sin",
            "when.hour.cos",
            "when.weekday.sin",
            "when.weekday.cos",
            "when.yearday.sin",
            "when.yearday.cos",
            "b",
        )
        ((x, _),) = stream
        np.testing.assert_allclose(x, [7, 0, 1, 0, 1, 0, 1, 8], atol=1e-12)  # midnight, Monday, 1 January

    @pytest.mark.parametrize(
        ("moment", "day", "week", "year"),
        [
            ("2024-01-01 06:00:00", 1 / 4, 1 / 28, 1 / 4 / 366),
            ("2023-01-03T12:30", 12.5 / 24, (1 + 12.5 / 24) / 7, (2 + 12.5 / 24) / 365),
            ("2024-12-31 18:00:36+02:00", 18.01 / 24, (1 + 18.01 / 24) / 7, (365 + 18.01 / 24) / 366),
            ("2025-06-29", 0, 6 / 7, 179 / 365),
        ],
    )
    def test_phases_run_through_the_day_the_week_and_the_year(self, moment, day, week, year):
        ((x, _),) = read_csv(StringIO(f"date,y\n{moment},1\n"))
        angles = 2 * np.pi * np.array([day, week, year])
        np.testing.assert_allclose(x, np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel(), atol=1e-12)

    def test_phases_do_not_jump(self):
        hours = [datetime(2023, 1, 1) + timedelta(hours=hour) for hour in range(3 * 366 * 24)]  # noqa: DTZ001
        X, _ = read_csv(StringIO("date,y\n" + "".join(f"{hour},0\n" for hour in hours))).take()
        turned = 2 * np.arcsin(np.hypot(np.diff(X[:, 0::2], axis=0), np.diff(X[:, 1::2], axis=0)) / 2)
        expected = 2 * np.pi / np.array([24, 24 * 7, 24 * 365.5])
        np.testing.assert_allclose(turned, np.broadcast_to(expected, turned.shape), rtol=2e-3)

    def test_a_missing_date_is_six_times_nan(self):
        X, _ = read_csv(StringIO("date,a,y\n2024-01-01,1,1\n,2,1\n")).take()
        np.testing.assert_array_equal(X[1], [np.nan] * 6 + [2])

    def test_something_else_among_dates_is_refused(self):
        stream = read_csv(StringIO("date,y\n2024-01-01,1\ntomorrow,2\n"))
        with pytest.raises(ValueError, match="line 3, column 'date': 'tomorrow' is not an ISO date"):
            stream.take()


class TestOpenFiles:
    def test_an_open_file_is_read_from_where_it_stands_and_again(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("# a remark\na,y\n1,2\n3,4\n", encoding="utf-8")
        with path.open(encoding="utf-8") as file:
            file.readline()
            stream = read_csv(file)
            assert stream.name == "table"
            for _ in range(2):
                np.testing.assert_array_equal(stream.take()[1], [2, 4])
            assert not file.closed

    def test_a_dash_is_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", StringIO("a,y\n1,2\n"))
        stream = read_csv("-")
        assert (stream.name, [y for _, y in stream]) == ("standard input", [2.0])

    def test_a_pipe_gives_each_row_as_soon_as_its_line_is_written(self):
        reading, writing = os.pipe()
        with os.fdopen(reading) as source, os.fdopen(writing, "w", buffering=1) as sink:
            sink.write("a,y\n")
            sink.write("1,2\n")
            rows = iter(read_csv(source))
            assert next(rows)[1] == 2.0
            sink.write("3,4\n")
            assert next(rows)[1] == 4.0

    def test_a_pipe_can_be_read_only_once(self):
        reading, writing = os.pipe()
        with os.fdopen(reading) as source:
            with os.fdopen(writing, "w") as sink:
                sink.write("a,y\n1,2\n")
            stream = read_csv(source)
            assert len(stream.take()[1]) == 1
            with pytest.raises(RuntimeError, match="can be read only once; save it to a file"):
                stream.take()


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty: expected a header line and rows"),
            ("a,y\n", "has a header but no rows"),
            ("1,2\n3,4\n", "line 1: expected the names of the columns, got values: 1,2"),
            (
                "2024-01-01,2\n2024-01-02,4\n",
                "line 1: expected the names of the columns, got values: 2024-01-01,2",
            ),
            ("a,b,a\n1,2,3\n", "line 1: column 'a' comes more than once"),
            ("a,y\n1,2,3\n", "line 2: expected 2 cells as in the header, got 3"),
            ("town,y\nAnkara,1\n", "line 2, column 'town': 'Ankara' is neither a number nor an ISO date; "),
            ("code,y\n1_000,1\n", "line 2, column 'code': '1_000' is neither a number nor an ISO date; "),
            ("a,date\n1,2024-01-01\n", "the target must be a number, but column 'date' holds dates"),
        ],
    )
    def test_at_once(self, text, message):
        with pytest.raises(ValueError, match=f"^open file.*{re.escape(message)}"):
            read_csv(StringIO(text))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,y\n1,2\n3\n", "open file, line 3: expected 2 cells as in the header, got 1"),
            ("a,y\n1,2\n\n3,4,5\n", "open file, line 4: expected 2 cells as in the header, got 3"),
            ("a,y\n1,2\nwarm,4\n", "open file, line 3, column 'a': 'warm' is not a number"),
            ("a,y\n1,2\n3,dear\n", "open file, line 3, column 'y': 'dear' is not a number"),
        ],
    )
    def test_at_the_row_that_is_wrong(self, text, message):
        rows = iter(read_csv(StringIO(text)))
        assert next(rows)[1] == 2.0
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            next(rows)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"target": "z"}, "has no column 'z' to be the target; it has a, y"),
            ({"target": 2}, "has 2 columns: no target at place 2"),
            ({"target": -3}, "has 2 columns: no target at place -3"),
            ({"ignore": ["z"]}, "has no column 'z' to ignore; it has a, y"),
            ({"ignore": ["y"]}, "column 'y' is the target and cannot be ignored"),
        ],
    )
    def test_of_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            read_csv(StringIO("a,y\n1,2\n"), **arguments)

    def test_of_a_string_where_a_list_of_names_belongs(self):
        with pytest.raises(TypeError, match="ignore must be a list of column names, got the string 'a'"):
            read_csv(StringIO("a,y\n1,2\n"), ignore="a")

    def test_of_bytes_that_are_not_utf_8(self, tmp_path):
        path = tmp_path / "old.csv"
        path.write_bytes("größe,y\n1,2\n".encode("latin-1"))
        with pytest.raises(ValueError, match=r"old\.csv: not UTF-8 text near line 1"):
            read_csv(path)

    def test_of_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no\.csv"):
            read_csv(tmp_path / "no.csv")


def test_ignored_columns_may_hold_anything():
    stream = read_csv(StringIO("town,a,note,y\nAnkara,1,x,2\nBonn,3,,4\n"), ignore=["town", "note"])
    assert stream.names == ("a",)
    np.testing.assert_array_equal(stream.take()[0], [[1], [3]])


def test_a_quoted_line_break_does_not_confuse_line_numbers():
    stream = read_csv(StringIO('note,y\n"two\nlines",1\nx,wrong\n'), ignore=["note"])
    with pytest.raises(ValueError, match="line 4, column 'y'"):
        stream.take()


def test_text_columns_are_left_out_where_that_is_asked_for():
    stream = read_csv(
        StringIO("town,when,load\nAnkara,2024-01-01,1\nBerlin,2024-01-02,2\n"), ignore_text=True
    )

    assert (stream.left_out, stream.dates, stream.n_inputs) == (("town",), ("when",), 6)
    np.testing.assert_array_equal(stream.take()[1], [1, 2])


def test_a_target_of_text_is_refused_even_if_text_is_left_out():
    with pytest.raises(ValueError, match="'high' is neither a number"):
        read_csv(StringIO("a,load\n1,high\n"), ignore_text=True)


def test_a_column_said_to_hold_dates_may_begin_empty():
    X, _ = read_csv(StringIO("when,load\n,1\n2024-01-01 06:00,2\n"), dates=["when"]).take()

    assert np.isnan(X[0]).all()
    np.testing.assert_allclose(X[1, :2], [1, 0], atol=1e-12)


def test_a_named_pipe_is_opened_once_and_read_whole(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = "a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(20_000))
    writer = threading.Thread(target=lambda: pipe.write_text(lines))
    writer.start()
    stream = read_csv(pipe)
    X, y = stream.take()
    writer.join()
    stream._text._file.close()

    np.testing.assert_array_equal(X[:, 0], np.arange(20_000))
    np.testing.assert_array_equal(y, 2 * np.arange(20_000))


# What cannot be read, though it is a number, a line or a file


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400", "1" + "0" * 400])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("row", [0, 2])
def test_a_number_that_is_not_finite_is_refused_with_its_line_and_column(cell, place, row):
    lines = ["1,2"] * 3
    lines[row] = ",".join(cell if each == place else "1" for each in range(2))
    samples = iter(read_csv(StringIO("\n".join(["a,y", *lines])), ignore_text=True))
    for _ in range(row):
        next(samples)
    with pytest.raises(
        ValueError, match=rf"open file, line {row + 2}, column '{'ay'[place]}': .*is not a finite"
    ):
        next(samples)


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_line_of_the_limit_is_read_and_a_longer_one_refused(ending):
    most = LINE_CHARACTERS - len(ending)
    zeros = ",".join(["a"] + [f"b{i}" for i in range(100_000)])
    values = ",".join(["0"] * 100_000)
    padded = values + "," + " " * (most - len(values) - 2) + "0"
    assert len(padded) == most
    stream = read_csv(StringIO(f"{zeros}\n{padded}{ending}"))
    assert stream.take()[0].shape == (1, 100_000)
    with pytest.raises(ValueError, match=r"open file, line 2: longer than 1,000,000 characters, the limit"):
        read_csv(StringIO(f"{zeros}\n {padded}{ending}"))


def test_a_row_that_quotes_spread_over_many_lines_has_the_same_limit():
    quoted = '"' + "1\n" * 50_000 + '",'
    with pytest.raises(ValueError, match=r"line \d+: longer than 1,000,000 characters"):
        read_csv(StringIO("a,y\n" + quoted * 100))


class EndlessLine:
    """A file with a header and a line that never ends; it counts what is read of it."""

    def __init__(self):
        self.header, self.read = ["a,y\n", "1,2\n"], 0

    def seekable(self):
        return False

    def readline(self, size=-1):
        if self.header:
            return self.header.pop(0)
        assert size > 0
        self.read += size
        return "1" * size


def test_of_a_line_without_end_no_more_than_the_limit_is_read():
    file = EndlessLine()
    with pytest.raises(ValueError, match="line 3: longer than"):
        read_csv(file).take()

    assert file.read <= LINE_CHARACTERS + 1


def cut_off(packed):
    return packed[: len(packed) // 2]


def changed(packed):
    return packed[:100] + bytes(255 - each for each in packed[100:200]) + packed[200:]


def plain(packed):
    return gzip.decompress(packed)


@pytest.mark.parametrize("damage", [cut_off, changed, plain])
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path, damage):
    path = tmp_path / "rows.csv.gz"
    numbers = np.random.default_rng(0).normal(size=(5000, 2))
    text = "a,y\n" + "".join(f"{a},{y}\n" for a, y in numbers)
    path.write_bytes(damage(gzip.compress(text.encode())))
    with pytest.raises(ValueError, match=r"rows\.csv\.gz.*line \d+.*(damaged or cut off|not UTF-8|cells)"):
        read_csv(path).take()


def test_standard_input_that_is_closed_is_an_error_of_the_system(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OSError, match="it is closed: 'standard input'"):
        read_csv("-")
