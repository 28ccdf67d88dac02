"""Kernels on Spark's state: what they keep survives restarts, lost caches and changed settings."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.normalise import NormaliseOperator
from millstream.runtime.progress import Counted, progress_of
from millstream.spark.kernel_host import Hosting, hash_columns, host
from millstream.spark.print_sink import show_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.kernels.operator import Operator
    from millstream.runtime.progress import JobProgress

KEYED = pa.schema([("key", pa.string()), (KIND, pa.int8())])
COUNTED = AggregateOperator(("key",), (Call("n", "COUNT(*)"),), KEYED)
DAY = 24 * 60 * 60 * 1000


class Stream:
    """Parquet files as batches of an operator that is started anew for each."""

    def __init__(self, spark: SparkSession, folder: Path, operator: Operator) -> None:
        self.progress: JobProgress | None = None
        self.cache = folder / "cache"
        self._spark = spark
        self._folder = folder
        self._operator = operator
        self._files = 0
        (folder / "in").mkdir()

    def step(
        self, rows: pa.Table, *, buckets: int = 3, cache_bytes: int | None = None, lifetime_ms: int = 0
    ) -> pa.Table:
        """The changes, with their kinds."""
        shutil.rmtree(self.cache, ignore_errors=True)
        pq.write_table(rows, self._folder / "in" / f"{self._files}.parquet")
        self._files += 1
        found: list[pa.Table] = []
        stream = self._spark.readStream.schema(self._schema).parquet(str(self._folder / "in"))
        hosting = Hosting(buckets, self.cache, cache_bytes, lifetime_ms)
        hashed = stream.withColumns(hash_columns(self._operator, stream.schema))
        changes = host(hashed, self._operator, hosting).alone()
        writer = show_rows(changes, lambda table, kinds: found.append(table.append_column(KIND, pa.array(kinds))))
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint")).outputMode("update")
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.lastProgress is not None
        report = json.loads(query.lastProgress.json)
        self.progress = progress_of("job", report, self.progress, Counted(0))
        return pa.concat_tables(found)

    @property
    def _schema(self) -> Any:
        return self._spark.read.parquet(str(self._folder / "in")).schema


def keyed(*rows: tuple[RowKind, str]) -> pa.Table:
    return pa.table([[key for _, key in rows], pa.array([int(kind) for kind, _ in rows], pa.int8())], schema=KEYED)


def counts(changes: pa.Table) -> dict[str, tuple[str, int]]:
    return {row["key"]: (RowKind(row[KIND]).symbol, row["n"]) for row in changes.to_pylist()}


def test_state_expires_and_a_lifetime_may_change_between_runs(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, COUNTED)
    row = keyed((RowKind.INSERT, "A"))
    assert counts(stream.step(row)) == {"A": ("+I", 1)}
    assert counts(stream.step(row, lifetime_ms=DAY)) == {"A": ("+U", 2)}
    assert counts(stream.step(row, lifetime_ms=1)) == {"A": ("+I", 1)}
    assert counts(stream.step(row)) == {"A": ("+U", 2)}


def test_retractions_of_what_is_not_there_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, COUNTED)
    missing = [(RowKind.DELETE, key) for key in "CDE"]
    stream.step(keyed((RowKind.INSERT, "A"), (RowKind.DELETE, "A"), (RowKind.INSERT, "B"), *missing))
    assert stream.progress is not None
    assert stream.progress.ignored_retractions == 3
    assert counts(stream.step(keyed((RowKind.DELETE, "C"), (RowKind.INSERT, "B")))) == {"B": ("+U", 2)}
    assert (stream.progress.ignored_retractions, stream.progress.total_ignored_retractions) == (1, 4)


@pytest.mark.parametrize("cache_bytes", [None, 1])
def test_state_of_more_than_64_mb_in_one_bucket(spark: SparkSession, tmp_path: Path, cache_bytes: int | None) -> None:
    texts = [f"{number:010d}" * 100 for number in range(70_000)]
    rows = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": texts})
    stream = Stream(spark, tmp_path, NormaliseOperator(("id",), rows.schema))
    assert stream.step(rows, buckets=1, cache_bytes=cache_bytes).num_rows == rows.num_rows
    assert sum(file.stat().st_size for file in stream.cache.iterdir()) > (64 << 20 if cache_bytes is None else -1)
    changed = rows.slice(69_990).set_column(1, "text", pa.array(["new"] * 10))
    changes = stream.step(pa.concat_tables([rows.slice(0, 69_990), changed]), buckets=1, cache_bytes=cache_bytes)
    assert sorted(changes.column("id").to_pylist()) == list(range(69_990, 70_000))
    assert set(changes.column(KIND).to_pylist()) == {RowKind.UPDATE_AFTER}
