"""A corpus of ugly files: each is read rightly, value by value, or refused with what to do."""

import bz2
import gzip
import io
import json
import lzma
import math
from datetime import datetime

import duckdb
import numpy as np
import pytest

from elman.codes import level, seconds
from elman.tables import ReadingOptions, UnreadableError, open_pipe, open_table

NAN = math.nan


def at(text):
    """A date as it is coded."""
    return seconds(datetime.fromisoformat(text))


HOURS = [at(f"2024-01-{day:02} {hour:02}:00") for day, hour in ((30, 22), (30, 23), (31, 0), (31, 1))]
LOADS = [10.5, 11.25, 1234.5, 9.0]
GERMAN = ["30.01.2024 22:00", "30.01.2024 23:00", "31.01.2024 00:00", "31.01.2024 01:00"]
ISO = ["2024-01-30 22:00", "2024-01-30 23:00", "2024-01-31 00:00", "2024-01-31 01:00"]


def lines(times, loads=("10.5", "11.25", "1234.5", "9"), separator=",", header=("time", "load")):
    rows = [separator.join(pair) for pair in zip(times, loads, strict=True)]
    return "\n".join([separator.join(header), *rows, ""])


def gz_cut(text):
    packed = gzip.compress((text * 400).encode())
    return packed[: len(packed) // 2]


COMMAS = ("10,5", "11,25", "1234,5", "9")
PLAIN = lines(ISO)
# name: (bytes or text, options, columns that are expected by name)
READ = {
    "a unit behind the numbers": (
        lines(ISO, ("10.5 kWh", "11.25 kWh", "1234.5 kWh", "9 kWh")),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "euros": (
        lines(ISO, ("10,50 €", "11,25 €", "1.234,50 €", "9,00 €"), ";"),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "dollars": (
        lines(ISO, ("$10.50", "$11.25", '"$1,234.50"', "$9.00")),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "euros before them, and less than none": (
        lines(ISO, ("EUR 10.50", "-EUR 11.25", "EUR -1234.5", "n/a")),
        {},
        {"time": HOURS, "load": [10.5, -11.25, -1234.5, NAN]},
    ),
    "units with a slash and figures": (
        "x,load\n10.5 W/m2,1\n11 W/m2,2\n",
        {},
        {"x": [10.5, 11], "load": [1, 2]},
    ),
    "codes that look like units": (
        "x,load\n" + "".join(f"k{i % 5},{i}\n{i % 5}b,0\n{i % 5}c,0\n" for i in range(20)),
        {},
        {
            "x": [each for i in range(20) for each in (f"k{i % 5}", f"{i % 5}b", f"{i % 5}c")],
            "load": [each for i in range(20) for each in (i, 0, 0)],
        },
    ),
    "mornings are no unit": (
        "shift,load\n9 AM,1\n10 AM,2\n",
        {},
        {"shift": [at("1900-01-01 09:00"), at("1900-01-01 10:00")], "load": [1, 2]},
    ),
    "an index without a name, and words": (
        ",town,load\nx,Rome,n/a\ny,Bern,2\n",
        {},
        {"column1": ["x", "y"], "town": ["Rome", "Bern"], "load": [NAN, 2]},
    ),
    "a total that is a level": (
        "area,load\ntotal,5\nnorth,2\ntotal,6\nnorth,3\n",
        {},
        {"area": ["total", "north", "total", "north"], "load": [5, 2, 6, 3]},
    ),
    "percent": (lines(ISO, ("10.5%", "11.25%", "1234.5%", "9%")), {}, {"time": HOURS, "load": LOADS}),
    "titles of a spreadsheet, filled up": (
        "Report;\n;\n" + lines(ISO, separator=";"),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "dates as one number": (
        lines(["202401302200", "202401302300", "202401310000", "202401310100"]),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "two thousand columns": (
        "\n".join([",".join([*(f"c{i}" for i in range(1999)), "load"]), *[",".join(["1.5"] * 2000)] * 3, ""]),
        {},
        {**{f"c{i}": [1.5] * 3 for i in range(1999)}, "load": [1.5] * 3},
    ),
    "plain": (PLAIN, {}, {"time": HOURS, "load": LOADS}),
    "BOM": ("\ufeff" + PLAIN, {}, {"time": HOURS, "load": LOADS}),
    "CRLF": (PLAIN.replace("\n", "\r\n"), {}, {"time": HOURS, "load": LOADS}),
    "CR": (PLAIN.replace("\n", "\r"), {}, {"time": HOURS, "load": LOADS}),
    "UTF-16": (PLAIN.encode("utf-16"), {}, {"time": HOURS, "load": LOADS}),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), {}, {"time": HOURS, "load": LOADS}),
    "Latin-1": (
        "größe,load\nä,1\nö,2\nä,3\n".encode("latin-1"),
        {},
        {"größe": ["ä", "ö", "ä"], "load": [1, 2, 3]},
    ),
    "an encoding that is said": (
        "жщц,load\nжж,1\nщщ,2\n".encode("cp1251"),
        {"encoding": "cp1251"},
        {"жщц": ["жж", "щщ"], "load": [1, 2]},
    ),
    "gzip": (gzip.compress(PLAIN.encode()), {}, {"time": HOURS, "load": LOADS}),
    "semicolon": (lines(ISO, separator=";"), {}, {"time": HOURS, "load": LOADS}),
    "tab": (lines(ISO, separator="\t"), {}, {"time": HOURS, "load": LOADS}),
    "pipe": (lines(ISO, separator="|"), {}, {"time": HOURS, "load": LOADS}),
    "a separator that is said": (
        lines(ISO, separator="^"),
        {"separator": "^"},
        {"time": HOURS, "load": LOADS},
    ),
    "decimal comma": (lines(GERMAN, COMMAS, ";"), {}, {"time": HOURS, "load": LOADS}),
    "decimal comma and thousands": (
        lines(GERMAN, ("10,5", "11,25", "1.234,5", "9"), ";"),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "thousands with commas": (
        lines(ISO, ('"10.5"', '"11.25"', '"1,234.5"', '"9"')),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "thousands with spaces": (
        lines(ISO, ("10.5", "11.25", "1 234.5", "9")),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "thousands with apostrophes": (
        lines(ISO, ("10.5", "11.25", "1'234.5", "9")),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "quoted line breaks": (
        'note,load\n"two\nlines",1\n"one",2\n"two\nlines",3\n',
        {},
        {"note": ["two\nlines", "one", "two\nlines"], "load": [1, 2, 3]},
    ),
    "quotes in quotes": ('a,load\n"x ""y"", z",1\nw,2\n', {}, {"a": ['x "y", z', "w"], "load": [1, 2]}),
    "empty first cells": ("a,load\n,1\n,2\n3,4\n", {}, {"a": [NAN, NAN, 3], "load": [1, 2, 4]}),
    "n/a first": ("a,load\nn/a,1\n2,2\n3,4\n", {}, {"a": [NAN, 2, 3], "load": [1, 2, 4]}),
    "null": ("a,load\n1,null\nNULL,2\n3,4\n", {}, {"a": [1, NAN, 3], "load": [NAN, 2, 4]}),
    "dashes": ("a,load\n1,-\n-,2\n3,-4\n", {}, {"a": [1, NAN, 3], "load": [NAN, 2, -4]}),
    "question marks": ("a,load\n?,1\n2,?\n3,4\n", {}, {"a": [NAN, 2, 3], "load": [1, NAN, 4]}),
    "a missing value that is said": (
        "a,load\n-999,1\n2,2\n",
        {"na": ("-999",)},
        {"a": [NAN, 2], "load": [1, 2]},
    ),
    "blank lines": ("a,load\n\n1,2\n\n\n3,4\n\n", {}, {"a": [1, 3], "load": [2, 4]}),
    "a preamble": (
        "Station Berlin\nmade in 2024\n\na,b,load\n1,2,3\n4,5,6\n7,8,9\n",
        {},
        {"a": [1, 4, 7], "b": [2, 5, 8], "load": [3, 6, 9]},
    ),
    "a trailing comma": ("a,load,\n1,2,\n3,4,\n", {}, {"a": [1, 3], "load": [2, 4]}),
    "day first": (
        lines(["13/01/2024", "14/01/2024", "15/01/2024", "16/01/2024"]),
        {},
        {"time": [at(f"2024-01-{d}") for d in (13, 14, 15, 16)], "load": LOADS},
    ),
    "days and months that could be either": (
        lines(["01/02/2024", "02/02/2024", "03/02/2024", "04/02/2024"]),
        {},
        {"time": [at(f"2024-02-0{d}") for d in (1, 2, 3, 4)], "load": LOADS},
    ),
    "AM and PM": (
        lines(["1/30/24 10 PM", "1/30/24 11 PM", "1/31/24 12 AM", "1/31/24 1 AM"]),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "AM and PM with minutes": (
        lines(["01/30/2024 10:00 PM", "01/30/2024 11:00 PM", "01/31/2024 12:00 AM", "01/31/2024 01:00 AM"]),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "epochs": (lines([f"{t:.0f}" for t in HOURS]), {}, {"time": HOURS, "load": LOADS}),
    "epochs in milliseconds": (lines([f"{t * 1000:.0f}" for t in HOURS]), {}, {"time": HOURS, "load": LOADS}),
    "compact dates": (
        lines(["20240130", "20240131", "20240201", "20240202"], header=("date", "load")),
        {},
        {"date": [at(d) for d in ("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02")], "load": LOADS},
    ),
    "split dates": (
        (
            "year,month,day,hour,load\n2024,1,30,22,10.5\n2024,1,30,23,11.25\n2024,1,31,0,1234.5\n"
            "2024,1,31,1,9\n"
        ),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "a day and an hour": (
        "date,hour,load\n2024-01-30,22,10.5\n2024-01-30,23,11.25\n2024-01-31,0,1234.5\n2024-01-31,1,9\n",
        {},
        {"date": HOURS, "load": LOADS},
    ),
    "a day and a time": (
        (
            "date,time,load\n30.01.2024,22:00,10.5\n30.01.2024,23:00,11.25\n31.01.2024,00:00,1234.5\n"
            "31.01.2024,01:00,9\n"
        ),
        {},
        {"date": HOURS, "load": LOADS},
    ),
    "names of months": (
        lines(["30-Jan-2024 22:00", "30-Jan-2024 23:00", "31-Jan-2024 00:00", "31-Jan-2024 01:00"]),
        {},
        {"time": HOURS, "load": LOADS},
    ),
    "a date format that is said": (
        lines(["2024|30|01", "2024|31|01"], ("1", "2")),
        {"date_format": "%Y|%d|%m"},
        {"time": [at("2024-01-30"), at("2024-01-31")], "load": [1, 2]},
    ),
    "zones with a change of the clock": (
        lines(
            [
                "2024-10-27T01:30:00+02:00",
                "2024-10-27T02:30:00+02:00",
                "2024-10-27T02:30:00+01:00",
                "2024-10-27T03:30:00+01:00",
            ]
        ),
        {},
        {"time": [at(f"2024-10-27 {h}") for h in ("01:30", "02:30", "02:30", "03:30")], "load": LOADS},
    ),
    "UTC": (lines([f"{t.replace(' ', 'T')}:00Z" for t in ISO]), {}, {"time": HOURS, "load": LOADS}),
    "one column": ("load\n1.5\n2.5\n", {}, {"load": [1.5, 2.5]}),
    "no header, as is said": ("1,2\n3,4\n", {"header": False}, {"column1": [1, 3], "column2": [2, 4]}),
    "true and false": ("on,load\ntrue,1\nfalse,2\n", {}, {"on": [1, 0], "load": [1, 2]}),
    "words": (
        "weather,load\nrain,1\nsun,2\nrain,3\n",
        {},
        {"weather": ["rain", "sun", "rain"], "load": [1, 2, 3]},
    ),
    "numbers that are names": (
        "shop,load\n7,1\n8,2\n7,3\n",
        {"text": ("shop",)},
        {"shop": ["7", "8", "7"], "load": [1, 2, 3]},
    ),
    "an id": ("id,load\n" + "".join(f"k{i},{i}\n" for i in range(30)), {}, {"load": list(range(30))}),
    "an empty column": ("a,b,load\n1,,2\n3,,4\n", {}, {"a": [1, 3], "load": [2, 4]}),
    "commas in a field of semicolons": ("a;load\nx, y;1\nz;2\n", {}, {"a": ["x, y", "z"], "load": [1, 2]}),
    "signs and exponents": ("a,load\n+1,-2e3\n.5,5.\n", {}, {"a": [1, 0.5], "load": [-2000, 5]}),
    "JSON lines": ('{"a": 1, "load": 2.5}\n{"load": 3, "a": null}\n', {}, {"a": [1, NAN], "load": [2.5, 3]}),
    "nested JSON": (
        '{"a": {"b": 1, "c": "x"}, "l": [1], "load": 2}\n{"a": {"b": 3, "c": "y"}, "l": [], "load": 4}\n',
        {},
        {"a.b": [1, 3], "a.c": ["x", "y"], "load": [2, 4]},
    ),
    "a JSON array": (
        json.dumps([{"a": 1, "load": 2}, {"a": 3, "load": 4}]),
        {},
        {"a": [1, 3], "load": [2, 4]},
    ),
}


def written(tmp_path, content, name="file.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def columns_of(path, options=None, bad=None):
    """All columns by name, with the codes of texts, and why others are left out."""
    told = [] if bad is None else bad
    with open_table(path, options=ReadingOptions(**(options or {}))) as table:
        blocks = list(table.blocks(told.append))
        names = [each.name for each in table.inputs] + [table.target.name]
    values = np.concatenate([np.column_stack([each.X, each.y]) for each in blocks])
    return dict(zip(names, values.T, strict=True))


def expected_codes(values):
    return [level(each) if isinstance(each, str) else each for each in values]


@pytest.mark.parametrize(("content", "options", "expected"), READ.values(), ids=READ)
def test_it_is_read_rightly(tmp_path, content, options, expected):
    found = columns_of(written(tmp_path, content), options)

    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], expected_codes(values), err_msg=name)


SUM = "column 'x': 'sum' is not a finite number"
TOTAL_DATE = "column 'time': 'Total' is not a date"
# name: (lines that are bad among good ones, what is told of them with their lines)
BAD = {
    "a word among numbers": ("x,load\n1,2\nfew,3\n4,5\n", [(3, "column 'x': 'few' is not a finite number")]),
    "infinity": ("x,load\n1,2\n1,inf\n4,5\n", [(3, "column 'load': 'inf' is not a finite number")]),
    "too few cells": ("x,load\n1,2\n3\n4,5\n", [(3, "1 cells where 2 are expected")]),
    "too many cells": ("x,load\n1,2\n3,4,5\n4,5\n", [(3, "more than 2 cells where 2 are expected")]),
    "many too many cells": ("x,load\n1,2\n3,4,5,6,7\n4,5\n", [(3, "more than 2 cells where 2 are expected")]),
    "the header again": ("x,load\n1,2\nx,load\n4,5\n", [(3, "the header comes again")]),
    "a footer": ("x,load\n1,2\n4,5\nTotal: 2 rows\n", [(4, "1 cells where 2 are expected")]),
    "another unit": (
        "time_used,load\n" + "1 kWh,2\n" * 20 + "1 MWh,3\n7,3\n",
        [
            (22, "column 'time_used': '1 MWh' is not a finite number"),
            (23, "column 'time_used': '7' is not a finite number"),
        ],
    ),
    "a footer of sums": ("time,x,load\n" + "2024-01-01,1,2\n" * 20 + ",sum,sum\n", [(22, SUM)]),
    "a footer of a total": ("time;x;load\n" + "2024-01-01;1;2\n" * 20 + "Total;;\n", [(22, TOTAL_DATE)]),
    "a total of names": (
        "time_of;x;load\n" + "north;1;2\n" * 20 + "Total:;20;40\n",
        [(22, "a total at the end is no row")],
    ),
    "a broken cell among a hundred": (
        ",".join(["time", *(f"x{i}" for i in range(98)), "load"])
        + "\n"
        + ("2024-01-01," + "1," * 98 + "2\n") * 20
        + ("2024-01-01," + "n/a," * 97 + "few,2\n")
        + ("2024-01-01," + "nan," * 97 + "inf,2\n")
        + "2024-01-01,1,2\n",
        [
            (22, "column 'x97': 'few' is not a finite number"),
            (23, "column 'x97': 'inf' is not a finite number"),
            (24, "3 cells where 100 are expected"),
        ],
    ),
    "a broken date": (
        lines(["2024-01-30", "2024-13-77"] + [f"2024-02-{day:02}" for day in range(1, 21)], ["1"] * 22),
        [(3, "column 'time': '2024-13-77' is not a date")],
    ),
    "behind a quoted line break": (
        'x,load\n"1\n",2\nfew,3\n4,5\n',
        [(4, "column 'x': 'few' is not a finite number")],
    ),
}


@pytest.mark.parametrize(("content", "told"), BAD.values(), ids=BAD)
def test_a_bad_line_is_told_and_passed_over(tmp_path, content, told):
    many = content + "".join(f"{i},{i}\n" for i in range(20)) if "time" not in content else content
    bad = []
    found = columns_of(written(tmp_path, many), bad=bad)

    assert [(each.line, each.reason) for each in bad] == told
    assert not np.isnan(found["load"]).any()


REFUSED = {
    "empty": ("", "is empty: expected a line of names and rows"),
    "no rows": ("a,load\n", "has a header but no rows"),
    "no header": ("1,2\n3,4\n", "the first line has '1' where the name of a column is expected.*--no-header"),
    "no header but a date": (
        "2024-01-01,2,red\n2024-01-02,5,blue\n",
        "where the name of a column is expected",
    ),
    "names that come twice": ("a,a,load\n1,2,3\n", "column 'a' comes more than once: rename one of them"),
    "a target of text": (
        "x,load\n1,low\n2,high\n",
        "holds text and is no target: --target names the one.*x would do",
    ),
    "nothing but text": ("x,load\na,low\nb,high\n", "no column holds numbers"),
    "a gzip file that is cut off": (gz_cut(PLAIN), "damaged or cut off: get it again"),
    "a spreadsheet": (b"PK\x03\x04 and so on", "save its table as CSV or Parquet"),
    "bzip2": (bz2.compress(PLAIN.encode()), "compressed by bzip2: unpack it first, by bunzip2"),
    "xz": (lzma.compress(PLAIN.encode()), "compressed by xz: unpack it first, by unxz"),
    "7-Zip": (b"7z\xbc\xaf\x27\x1c and so on", "a 7-Zip archive: unpack it first"),
    "an old spreadsheet": (
        b"\xd0\xcf\x11\xe0\xa1 and so on",
        "an old spreadsheet: save its table as CSV",
    ),
    "a web page": ("\n<!DOCTYPE html>\n<html>", "a web page: get the file that it links to"),
    "a web page without a type": ("<HTML><body>", "a web page: get the file that it links to"),
    "no table": (bytes(range(256)) * 20, "no table that can be read"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_what_to_do(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        columns_of(written(tmp_path, content))


def parquet(path, query):
    duckdb.sql(f"copy ({query}) to '{path}' (format parquet)")
    return str(path)


def test_parquet_with_nulls_and_decimals_is_read_rightly(tmp_path):
    path = parquet(
        tmp_path / "file.parquet",
        "select * from (values (timestamp '2024-01-30 22:00', 1.50::decimal(5,2), 'a', 3), "
        "(null, null, null, 4)) t(time, price, word, load)",
    )
    found = columns_of(path)

    np.testing.assert_array_equal(found["time"], [HOURS[0], NAN])
    np.testing.assert_array_equal(found["price"], [1.5, NAN])
    np.testing.assert_array_equal(found["word"], [level("a"), NAN])
    np.testing.assert_array_equal(found["load"], [3, 4])


def test_zstandard_by_its_content(tmp_path):
    path = tmp_path / "file.csv"
    duckdb.sql(f"copy (select 1 as a, 2 as load) to '{path}' (format csv, compression zstd)")

    assert {name: values.tolist() for name, values in columns_of(str(path)).items()} == {
        "a": [1.0],
        "load": [2.0],
    }


def test_several_files_by_a_pattern_come_in_the_order_of_their_names(tmp_path):
    for i in (2, 1, 3):
        (tmp_path / f"part{i}.csv").write_text(f"a,load\n{i},{i}\n")

    assert columns_of(str(tmp_path / "part*.csv"))["load"].tolist() == [1, 2, 3]


def test_files_of_a_pattern_with_other_columns_are_refused(tmp_path):
    (tmp_path / "part1.csv").write_text("a,load\n1,1\n")
    (tmp_path / "part2.csv").write_text("load,a\n1,1\n")

    with pytest.raises(ValueError, match="say by a query how they belong together"):
        columns_of(str(tmp_path / "part*.csv"))


def test_a_query_is_read_in_its_order(tmp_path):
    path = parquet(tmp_path / "file.parquet", "select i as time_, 10 - i as load from range(5) t(i)")

    assert columns_of(f"from '{path}' order by load")["load"].tolist() == [6, 7, 8, 9, 10]


def test_a_query_that_writes_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"syntax error|Parser"):
        columns_of(f"select 1) from (copy (select 1) to '{tmp_path}/x.csv'")


def test_whoever_hears_of_a_bad_line_may_end_the_reading_there(tmp_path):
    path = written(tmp_path, "x,load\n" + "1,2\n" * 30 + "few,3\n" + "4,5\n" * 30)

    def stop(bad):
        raise UnreadableError(str(bad))

    with open_table(path) as table:
        blocks = table.blocks(stop)
        before = next(blocks)
        with pytest.raises(UnreadableError, match="line 32, column 'x'"):
            next(blocks)

    assert len(before) == 30


def test_memory_stays_and_order_too_in_a_file_of_many_blocks(tmp_path):
    n = 20_000
    path = written(tmp_path, "i,load\n" + "".join(f"{i},{i / 2}\n" for i in range(n)))

    np.testing.assert_array_equal(columns_of(path)["i"], np.arange(n))


@pytest.mark.parametrize(
    ("cells", "values"),
    [(["12.5 kWh", "-3 kWh", "n/a"], [12.5, -3, NAN]), (["$5", "-$1.5"], [5, -1.5]), (["7%", "8 %"], [7, 8])],
)
def test_a_pipe_reads_units_by_its_first_row(monkeypatch, cells, values):
    text = "x,load\n" + "".join(f"{cell},1\n" for cell in cells) + "5 MWh,1\n7,1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    table = open_pipe("-")
    bad = []

    np.testing.assert_array_equal([block.X[0, 0] for block in table.blocks(bad.append)], values)
    assert [each.line for each in bad] == [len(cells) + 2, len(cells) + 3]


def test_a_code_in_a_pipe_is_no_number_with_a_unit(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x,load\n7b,1\n8b,1\n")))
    table = open_pipe("-")

    assert [block.X[0, 0] for block in table.blocks(print)] == [level("7b"), level("8b")]
