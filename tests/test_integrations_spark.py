"""Spark's answers are those of a fleet, to the bit. A real local Spark; skipped where there is none."""

import math
import os
import shutil
import sys

import numpy as np
import pytest

from elman import EKF, SRNN, Fleet, OnlineRNN

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)
pytest.importorskip("pyspark", minversion="4.0", reason="Spark's answers need pyspark 4")
pd = pytest.importorskip("pandas")
if int(pd.__version__.split(".")[0]) > 2:
    pytest.skip("pyspark 4 needs pandas below 3", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402

from elman.integrations.spark import learn_stream, learn_table  # noqa: E402

PATTERN = OnlineRNN(SRNN(4), EKF(lookback=3), lags=2, seed=1)
FEATURES = ["b", "a"]
COLUMNS = {"key": "meter", "target": "kwh", "features": FEATURES, "time": "at"}
ANSWERS = ["prediction", "low", "high"]
SCHEMA = "meter string, at long, a double, b double, kwh double"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def table(n=300, n_keys=8, seed=0):
    """Rows of several keys, sorted by time; some features are missing, some targets unknown."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(2, 3, (n, 2)), columns=["a", "b"])
    rows.insert(0, "meter", [f"m{i}" for i in rng.integers(n_keys, size=n)])
    rows.insert(1, "at", np.arange(n))
    rows["kwh"] = np.sin(rows["a"]) + 0.1 * rng.normal(size=n)
    rows.loc[rng.random(n) < 0.05, "a"] = math.nan
    rows.loc[rng.random(n) < 0.1, "kwh"] = math.nan
    return rows


def expected(rows, coverage=0.9):
    answers = Fleet(PATTERN).run_intervals("meter", rows[["meter", *FEATURES]], rows["kwh"], coverage)
    return pd.DataFrame({"meter": rows["meter"], "at": rows["at"]} | dict(zip(ANSWERS, answers, strict=True)))


def same(wanted, found):
    wanted, found = (each.sort_values("at").reset_index(drop=True) for each in (wanted, found))
    assert list(wanted.columns) == list(found.columns)
    assert wanted["meter"].tolist() == found["meter"].tolist()
    for name in ANSWERS:
        assert wanted[name].to_numpy().tobytes() == found[name].to_numpy().tobytes()


def test_a_table_is_answered_as_by_a_fleet(spark):
    rows = table()
    shuffled = rows.sample(frac=1, random_state=1)

    found = learn_table(spark.createDataFrame(shuffled, SCHEMA), PATTERN, coverage=0.8, **COLUMNS).toPandas()

    same(expected(rows, 0.8), found)


def test_a_stream_is_answered_as_by_a_fleet_with_late_files_and_a_restart(spark, tmp_path):
    rows, source, answers = table(), tmp_path / "in", tmp_path / "out"
    source.mkdir()
    parts = [rows.iloc[:100], rows.iloc[100:180], rows.iloc[180:]]

    def send(number, part):
        # Two files, the later rows in the one that is read first.
        for half, own in enumerate((part.iloc[len(part) // 2 :], part.iloc[: len(part) // 2])):
            own.to_parquet(source / f"{number}{half}.parquet", index=False)

    def learn():
        stream = spark.readStream.schema(SCHEMA).parquet(str(source))
        query = (
            learn_stream(stream, PATTERN, **COLUMNS)
            .writeStream.format("parquet")
            .option("path", str(answers))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [batch["numInputRows"] for batch in query.recentProgress]

    batches = []
    for number, part in enumerate(parts):  # each in a query of its own, which goes on from the checkpoint
        send(number, part)
        batches += learn()

    assert [n for n in batches if n] == [100, 80, 120]
    same(expected(rows), spark.read.parquet(str(answers)).toPandas())


def test_a_row_that_cannot_be_learned(spark):
    rows = table(60, 3)
    rows.loc[30, "a"] = math.inf
    frame = spark.createDataFrame(rows, SCHEMA)
    bad = rows.loc[30, "meter"]

    with pytest.raises(Exception, match=f"key '{bad}': .*inf"):
        learn_table(frame, PATTERN, **COLUMNS).collect()
    found = learn_table(frame, PATTERN, errors="null", **COLUMNS).toPandas()

    assert found.loc[found["meter"] == bad, "prediction"].isna().all()
    others = rows[rows["meter"] != bad]
    same(expected(others), found[found["meter"] != bad])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"key": "shop"}, ValueError, "no column 'shop'"),
        ({"features": ["a", "c"]}, ValueError, "no column 'c'"),
        ({"features": ["a", "meter"]}, ValueError, "different columns"),
        (
            {"features": ["a"], "target": "meter", "key": "b"},
            TypeError,
            "'meter' must hold numbers, it holds string",
        ),
        ({"coverage": 1.5}, ValueError, "coverage"),
        ({"errors": "ignore"}, ValueError, "errors must be"),
        ({"pattern": "Committee"}, TypeError, "pattern must be a model"),
    ],
)
def test_what_is_wrong_is_said_before_the_job_starts(spark, changed, error, message):
    frame = spark.createDataFrame(table(5), SCHEMA)
    options = {"pattern": PATTERN} | COLUMNS | changed

    with pytest.raises(error, match=message):
        learn_table(frame, **options)


def test_a_table_is_no_stream(spark):
    with pytest.raises(ValueError, match="learn_table"):
        learn_stream(spark.createDataFrame(table(5), SCHEMA), PATTERN, **COLUMNS)
