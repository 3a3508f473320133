"""Fleets on Spark 4, where one machine is not enough; installed by ``pip install elman[spark]``.

A key's rows meet in one task, and its model learns them there as a `Fleet` would, to the bit. In a streaming
query the model is one value in Spark's state store, so that Spark's checkpoint makes every row count once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark.sql import types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from elman.arguments import number, one_of
from elman.fleets import Fleet
from elman.models.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from elman.models.together import Model

__all__ = ["learn_stream", "learn_table"]

_STATE = types.StructType([types.StructField("model", types.BinaryType())])
_ANSWERS = ("prediction", "low", "high")


def learn_table(
    df: DataFrame,
    pattern: Model,
    *,
    key: str,
    target: str,
    features: Sequence[str],
    time: str,
    coverage: float = 0.9,
    errors: str = "raise",
) -> DataFrame:
    """Predict every row of a table by the model of its key, then learn from it.

    Parameters
    ----------
    df
        The table.
    pattern
        What every key's model is made from, as for `Fleet`.
    key, target, features, time
        Names of columns: who the rows belong to, what is predicted, what from, and in what order; times of a
        key must differ. Features and target are numbers; null where missing or not known.
    coverage
        Probability that a target lies between low and high.
    errors
        What to do with keys that have a row which cannot be learned, such as an infinite number: ``"raise"``
        ends the job, ``"null"`` answers null to all rows of the key and learns none of them.

    Returns
    -------
    DataFrame
        Columns of key, time, prediction, low and high; a row for each row.
    """
    plan = _Plan(key, target, tuple(features), time, coverage, errors)
    rows, blob = plan.checked(df, pattern), pattern.to_bytes()

    def learn(own: pd.DataFrame) -> pd.DataFrame:
        return plan.learned(load(blob), own)

    return rows.groupBy(key).applyInPandas(learn, schema=plan.answers(rows))


def learn_stream(
    df: DataFrame,
    pattern: Model,
    *,
    key: str,
    target: str,
    features: Sequence[str],
    time: str,
    coverage: float = 0.9,
    errors: str = "raise",
) -> DataFrame:
    """Return a streaming table of predictions, made while the rows of a streaming table are learned.

    The parameters are those of `learn_table`. Rows of a key that come in one micro-batch are learned in the
    order of their times; ``"null"`` concerns the rows of a key in one micro-batch. The query needs RocksDB:
    ``spark.sql.streaming.stateStore.providerClass`` set to
    ``org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider``.
    """
    plan = _Plan(key, target, tuple(features), time, coverage, errors)
    rows = plan.checked(df, pattern)
    if not df.isStreaming:
        raise ValueError("df is a table and no stream: learn_table learns it")
    return rows.groupBy(key).transformWithStateInPandas(
        statefulProcessor=_Learning(plan, pattern.to_bytes()),
        outputStructType=plan.answers(rows),
        outputMode="Append",
        timeMode="None",
    )


@dataclass(frozen=True)
class _Plan:
    """What to do with the rows of a key."""

    key: str
    target: str
    features: tuple[str, ...]
    time: str
    coverage: float
    errors: str

    def checked(self, df: DataFrame, pattern: Model) -> DataFrame:
        """Return the columns that matter, numbers as double; errors now and not in the middle of a job."""
        Fleet(pattern)  # which refuses what is no pattern
        number("coverage", self.coverage, above=0, below=1)
        one_of("errors", self.errors, ("raise", "null"))
        if isinstance(self.features, str) or not all(isinstance(name, str) for name in self.features):
            raise TypeError(f"features must be names of columns, got {self.features!r}")
        named = [self.key, self.time, self.target, *self.features]
        if len(set(named)) < len(named):
            raise ValueError(f"key, time, target and features must be different columns, got {named}")
        fields = {field.name: field.dataType for field in df.schema.fields}
        for name in named:
            if name not in fields:
                raise ValueError(f"there is no column {name!r}; there are {', '.join(fields)}")
        for name in (self.target, *self.features):
            if not isinstance(fields[name], (types.NumericType, types.BooleanType)):
                raise TypeError(f"column {name!r} must hold numbers, it holds {fields[name].simpleString()}")
        doubles = [df[name].cast("double").alias(name) for name in (self.target, *self.features)]
        return df.select(df[self.key], df[self.time], *doubles)

    def answers(self, rows: DataFrame) -> types.StructType:
        """Return the columns of the answers."""
        numbers = [types.StructField(name, types.DoubleType()) for name in _ANSWERS]
        return types.StructType([rows.schema[self.key], rows.schema[self.time], *numbers])

    def learned(self, model: Model, rows: pd.DataFrame) -> pd.DataFrame:
        """Let the model of a key learn its rows, and return the answers."""
        rows = rows.sort_values(self.time, kind="stable")
        answers: Any = [np.full(len(rows), np.nan)] * len(_ANSWERS)
        try:
            answers = model.run_intervals(rows[list(self.features)], rows[self.target], self.coverage)
        except ValueError as error:
            if self.errors == "raise":
                raise ValueError(f"key {rows[self.key].iloc[0]!r}: {error}") from error
        known = {self.key: rows[self.key], self.time: rows[self.time]}
        return pd.DataFrame(known | dict(zip(_ANSWERS, answers, strict=True)))


class _Learning(StatefulProcessor):
    """Learns the rows of a key in a micro-batch; its model is the state."""

    def __init__(self, plan: _Plan, pattern: bytes) -> None:
        self._plan, self._pattern = plan, pattern

    def init(self, handle: Any) -> None:
        self._model = handle.getValueState("model", _STATE)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        del key, timerValues
        model = load(bytes(self._model.get()[0]) if self._model.exists() else self._pattern)
        yield self._plan.learned(model, pd.concat(list(rows)))
        self._model.update((model.to_bytes(),))

    def close(self) -> None:
        pass
