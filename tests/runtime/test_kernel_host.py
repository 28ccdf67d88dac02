"""Kernels on Spark: what they keep survives restarts and changed settings."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.normalise import NormaliseOperator
from millstream.runtime.progress import Counted, progress_of
from millstream.spark.kernel_host import host
from millstream.spark.kernel_stage import KernelSettings
from millstream.spark.print_sink import show_rows
from millstream.state.job_state import measure
from millstream.state.storage import open_storage
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.kernels.operator import Operator
    from millstream.runtime.progress import JobProgress

KEYED = pa.schema([("key", pa.string()), (KIND, pa.int8())])
COUNTED = AggregateOperator(("key",), (Call("n", "COUNT(*)"),), KEYED)
_ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
DAY = 24 * 60 * 60 * 1000


class Stream:
    """Runs Parquet files as batches of an operator that is restarted for each; one folder per input."""

    def __init__(self, spark: SparkSession, folder: Path, operator: Operator) -> None:
        self.progress: JobProgress | None = None
        self.state = folder / "state"
        self._spark = spark
        self._folder = folder
        self._operator = operator
        self._files = 0

    def step(self, *inputs: pa.Table, buckets: int = 3, tasks: int = 2, ttl_ms: int = 0) -> pa.Table:
        """Takes the rows of each input, in the order of the inputs; gives the changes with their kinds."""
        streams = dict(zip(self._operator.inputs, map(self._add, self._operator.inputs, inputs), strict=True))
        self._files += 1
        found: list[pa.Table] = []
        changes = host(streams, self._operator, "operator-1", self._settings(buckets, tasks, ttl_ms)).to_frame()
        writer = show_rows(changes, lambda table, kinds: found.append(table.append_column(KIND, pa.array(kinds))))
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint")).outputMode("update")
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE)
        assert query.lastProgress is not None
        report = json.loads(query.lastProgress.json)
        self.progress = progress_of("job", report, self.progress, Counted())
        return pa.concat_tables(found)

    def _settings(self, buckets: int, tasks: int, ttl_ms: int) -> KernelSettings:
        return KernelSettings(buckets, self.state, tasks, ttl_ms)

    def _add(self, name: str, rows: pa.Table) -> DataFrame:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        pq.write_table(rows, folder / f"{self._files}.parquet")
        schema = self._spark.read.parquet(str(folder)).schema
        return self._spark.readStream.schema(schema).parquet(str(folder))


def keyed_table(*rows: tuple[RowKind, str]) -> pa.Table:
    return pa.table([[key for _, key in rows], pa.array([int(kind) for kind, _ in rows], pa.int8())], schema=KEYED)


def counts(changes: pa.Table) -> dict[str, tuple[str, int]]:
    return {row["key"]: (RowKind(row[KIND]).symbol, row["n"]) for row in changes.to_pylist()}


def test_state_expires_and_a_ttl_may_change_between_runs(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, COUNTED)
    row = keyed_table((RowKind.INSERT, "A"))
    assert counts(stream.step(row)) == {"A": ("+I", 1)}
    assert counts(stream.step(row, ttl_ms=DAY)) == {"A": ("+U", 2)}
    assert counts(stream.step(row, ttl_ms=1)) == {"A": ("+I", 1)}
    assert counts(stream.step(row)) == {"A": ("+U", 2)}


def test_retractions_of_what_is_not_there_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, COUNTED)
    missing = [(RowKind.DELETE, key) for key in "CDE"]
    stream.step(keyed_table((RowKind.INSERT, "A"), (RowKind.DELETE, "A"), (RowKind.INSERT, "B"), *missing))
    assert stream.progress is not None
    assert stream.progress.ignored_retractions == 3
    assert counts(stream.step(keyed_table((RowKind.DELETE, "C"), (RowKind.INSERT, "B")))) == {"B": ("+U", 2)}
    assert (stream.progress.ignored_retractions, stream.progress.total_ignored_retractions) == (1, 4)


def test_state_of_several_pieces_in_one_bucket(spark: SparkSession, tmp_path: Path) -> None:
    texts = [f"{number:010d}" * 100 for number in range(40_000)]
    rows = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": texts})
    stream = Stream(spark, tmp_path, NormaliseOperator(("id",), rows.schema))
    assert stream.step(rows, buckets=1).num_rows == rows.num_rows
    [size] = measure(open_storage(stream.state))
    assert (size.rows, size.pieces > 2) == (rows.num_rows, True)
    changed = rows.slice(39_990).set_column(1, "text", pa.array(["new"] * 10))
    changes = stream.step(pa.concat_tables([rows.slice(0, 39_990), changed]), buckets=1)
    assert sorted(changes.column("id").to_pylist()) == list(range(39_990, 40_000))
    assert set(changes.column(KIND).to_pylist()) == {RowKind.UPDATE_AFTER}


ORDERS = pa.schema(
    [("order", pa.int64()), ("customer", pa.string()), ("price", pa.decimal128(10, 2)), (KIND, pa.int8())]
)
CUSTOMERS = pa.schema([("name", pa.string()), ("city", pa.string())])
JOINED = JoinOperator(JoinSide(pa.schema(list(ORDERS)[:3]), ("customer",)), JoinSide(CUSTOMERS, ("name",)))


def orders(numbers: Iterable[int], kind: RowKind, *, price: int = 1) -> pa.Table:
    """Every tenth has no customer."""
    return pa.table(
        [
            list(numbers),
            [f"customer {number % 700}" if number % 10 else None for number in numbers],
            [Decimal(price * number) / 100 for number in numbers],
            pa.array([int(kind) for _ in numbers], pa.int8()),
        ],
        schema=ORDERS,
    )


def customers(numbers: Iterable[int], city: str) -> pa.Table:
    return pa.table([[f"customer {number}" for number in numbers], [city for _ in numbers]], schema=CUSTOMERS)


def joined_rows(changes: pa.Table) -> Counter[tuple[str, int, str, Decimal]]:
    return Counter((RowKind(row[KIND]).symbol, row["order"], row["city"], row["price"]) for row in changes.to_pylist())


def expected(
    symbol: str, numbers: Iterable[int], *cities: str, price: int = 1
) -> Counter[tuple[str, int, str, Decimal]]:
    return Counter(
        (symbol, number, city, Decimal(price * number) / 100) for number in numbers if number % 10 for city in cities
    )


@pytest.fixture
def small_batches(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(_ROWS_PER_BATCH)
    spark.conf.set(_ROWS_PER_BATCH, 4096)
    yield
    spark.conf.set(_ROWS_PER_BATCH, str(before))


@pytest.mark.usefixtures("small_batches")
def test_two_inputs_meet_in_one_kernel(spark: SparkSession, tmp_path: Path) -> None:
    """Several Arrow batches per task, several buckets, and a restart before each batch."""
    stream = Stream(spark, tmp_path, JOINED)
    many = range(25_000)
    known = [number for number in many if number % 700 < 400]
    changes = stream.step(orders(many, RowKind.INSERT), customers(range(400), "Oslo"))
    assert joined_rows(changes) == expected("+I", known, "Oslo")
    changes = stream.step(orders([], RowKind.INSERT), customers(range(300, 700), "Bergen"))
    second = [number for number in many if number % 700 >= 300]
    assert joined_rows(changes) == expected("+I", second, "Bergen")
    update = [orders(range(300, 500), RowKind.UPDATE_BEFORE), orders(range(300, 500), RowKind.UPDATE_AFTER, price=2)]
    changes = stream.step(pa.concat_tables(update), customers([], "Oslo"))
    both, one = range(300, 400), range(400, 500)
    assert joined_rows(changes) == (
        expected("-D", both, "Oslo", "Bergen")
        + expected("-D", one, "Bergen")
        + expected("+I", both, "Oslo", "Bergen", price=2)
        + expected("+I", one, "Bergen", price=2)
    )
    stream.step(orders([1, 2, 25_001], RowKind.DELETE), customers([], "Oslo"))
    assert stream.progress is not None
    assert stream.progress.ignored_retractions == 1
