"""What Spark costs beside the models: a stream learned, and a stream with an empty state function.

    python benchmarks/spark.py [--keys 200] [--rows 30]

Needs ``pip install elman[spark]`` and Java 17. A local Spark with two cores takes the same three
micro-batches three times: with `learn_stream`, with a state function that keeps one byte and answers a
constant, and as a table with `learn_table`. The first query, which starts Python's workers, does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from elman import Committee, Fleet
from elman.integrations.spark import learn_stream, learn_table

FEATURES = [f"x{i}" for i in range(8)]
COLUMNS: dict[str, Any] = {"key": "meter", "target": "kwh", "features": FEATURES, "time": "at"}
SCHEMA = "meter string, at long, " + ", ".join(f"{name} double" for name in [*FEATURES, "kwh"])
ANSWERS = "meter string, at long, prediction double, low double, high double"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BATCHES = 3


class Empty(StatefulProcessor):
    """Keeps one byte for a key and answers 0."""

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("model", "model binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
        del key, timerValues
        for each in rows:
            answers = each[["meter", "at"]].copy()
            answers["prediction"] = answers["low"] = answers["high"] = 0.0
            yield answers
        self._state.update((b"0",))

    def close(self) -> None:
        pass


def table(keys: int, rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(keys * rows, 8)), columns=FEATURES)
    frame.insert(0, "meter", [f"m{i % keys}" for i in range(len(frame))])
    frame.insert(1, "at", np.arange(len(frame)))
    frame["kwh"] = frame["x0"] + 0.3 * rng.normal(size=len(frame))
    return frame


def seconds(spark: SparkSession, source: Path, answered: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
        start = time.perf_counter()
        query = (
            answered(stream)
            .writeStream.format("noop")
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--rows", type=int, default=30, help="of a key")
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    pattern, frame = Committee(size="small"), table(options.keys, options.rows)
    with tempfile.TemporaryDirectory() as folder:
        for i, part in enumerate(np.array_split(np.arange(len(frame)), BATCHES)):
            frame.iloc[part].to_parquet(Path(folder) / f"{i}.parquet", index=False)

        def ours(stream: Any) -> Any:
            return learn_stream(stream, pattern, **COLUMNS)

        def empty(stream: Any) -> Any:
            return stream.groupBy("meter").transformWithStateInPandas(Empty(), ANSWERS, "Append", "None")

        seconds(spark, Path(folder), empty)
        spent = {
            "learn_stream": seconds(spark, Path(folder), ours),
            "empty": seconds(spark, Path(folder), empty),
        }
        start = time.perf_counter()
        learn_table(spark.read.schema(SCHEMA).parquet(folder), pattern, **COLUMNS).write.format("noop").mode(
            "overwrite"
        ).save()
        spent["learn_table"] = time.perf_counter() - start
    start = time.perf_counter()
    fleet = Fleet(pattern, threads=2)
    fleet.run("meter", frame[["meter", *FEATURES]], frame["kwh"])
    spent["Fleet"] = time.perf_counter() - start
    n = len(frame)
    found = {name: {"seconds": each, "rows_per_second": n / each} for name, each in spent.items()}
    found["share of Spark"] = {"empty / learn_stream": spent["empty"] / spent["learn_stream"]}
    found["state"] = {"bytes_per_key": len(fleet["m0"].to_bytes()), "keys": options.keys, "rows": n}
    print(json.dumps(found, indent=1))
    spark.stop()


if __name__ == "__main__":
    main()
