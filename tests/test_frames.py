"""Tables of pandas, polars and pyarrow as rows: the same bits as dicts, column by column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from elman import SRNN, WOGD, OnlineRNN
from integration_stream import dict_rows, stream

every_table = pytest.mark.parametrize(
    "table",
    [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict],
    ids=["pandas", "polars", "Table", "RecordBatch"],
)
every_column = pytest.mark.parametrize(
    "column",
    [pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array([y[:9], y[9:]])],
    ids=["pandas", "polars", "Array", "ChunkedArray"],
)


def new():
    return OnlineRNN(SRNN(4), WOGD(window=5), seed=1)


def columns_of(X, names="abc"):
    return {name: X[:, i].tolist() for i, name in enumerate(names)}


@every_table
def test_a_table_is_learned_like_its_rows_as_dicts(table):
    X, y = stream(50)
    by_table, by_dicts = new(), new()

    predictions = by_table.run(table(columns_of(X)), y)

    assert np.array_equal(by_dicts.run(dict_rows(X), y), predictions)
    assert by_dicts.to_bytes() == by_table.to_bytes()
    assert type(predictions) is np.ndarray
    assert by_table.feature_names == ["a", "b", "c"]


@every_table
def test_columns_may_appear_and_disappear_between_tables(table):
    X, y = stream(60)
    by_table, by_dicts = new(), new()
    parts = [("ab", slice(0, 20)), ("abc", slice(20, 40)), ("c", slice(40, 60))]

    for names, at in parts:
        columns = {name: column[at] for name, column in columns_of(X).items() if name in names}
        rows = [{name: x[name] for name in names} for x in dict_rows(X)[at]]
        assert np.array_equal(by_dicts.run(rows, y[at]), by_table.run(table(columns), y[at]))


@every_table
def test_nulls_are_missing_features_and_unknown_targets(table):
    expected = new().run(np.array([[1, 1.5, 1], [np.nan, np.nan, np.nan], [3, 3.5, 0]]), [1.0, np.nan, 3.0])
    nullable = {"a": [1, None, 3], "b": [1.5, None, 3.5], "c": [True, None, False]}

    predictions = new().run(table(nullable), table({"y": [1.0, None, 3.0]}))

    assert np.array_equal(expected, predictions[:, 0])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "int64[pyarrow]", "double[pyarrow]"])
def test_nullable_columns_of_pandas(kind):
    values = pd.Series([1, None, 0], dtype=kind)

    predictions = new().run(pd.DataFrame({"a": values}), values)

    expected = np.array([1, np.nan, 0])
    assert np.array_equal(new().run(expected[:, None], expected), predictions)


@every_column
def test_a_column_of_targets(column):
    X, y = stream(20)

    assert np.array_equal(new().run(X, y), new().run(X, column(y)))


@every_table
def test_a_table_of_targets_has_an_output_for_each_column(table):
    X, y = stream(20)
    targets = np.column_stack([y, -y])

    assert np.array_equal(new().run(X, targets), new().run(X, table(columns_of(targets, ["one", "other"]))))


def test_a_frame_without_names_is_an_array():
    X, y = stream(20)
    model = new()

    assert np.array_equal(new().run(X, y), model.run(pd.DataFrame(X), y))
    assert model.feature_names is None


@every_table
def test_an_empty_table_is_no_rows(table):
    model = new()

    assert model.run(table({"a": [], "b": []}), []).shape == (0,)
    assert model.n_samples == 0


@every_table
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1", "2"], "is the text '1': pass a number"),
        ([1.0, np.inf], r"X\['a'\]\[1\] is inf: a feature must be a finite number"),
    ],
    ids=["numbers as text", "infinity"],
)
def test_a_bad_column_is_refused_by_name_and_nothing_is_learned(table, column, message):
    model = new()

    with pytest.raises((TypeError, ValueError), match=r"X\['a'\]") as caught:
        model.run(table({"b": [1.0, 2.0], "a": column}), [1.0, 2.0])

    caught.match(message)
    assert model.n_samples == 0


def test_odd_names_are_refused():
    with pytest.raises(TypeError, match="a feature's name must be a str, got 1 of type int"):
        new().run(pd.DataFrame({"a": [1.0], 1: [2.0]}), [1.0])
    with pytest.raises(ValueError, match="the columns of X must have different names, got 'a' twice"):
        new().run(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), [1.0])
