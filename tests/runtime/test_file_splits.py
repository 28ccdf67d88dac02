"""Rows of files are in the same order for a kernel, and in the same task for a sink, however Spark splits the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.kafka.tables import KafkaSink
from millstream.connectors.local.tables import DatagenSource, FilesystemSource
from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.kernels.operator import ORDER
from millstream.spark.kernel_host import read_in_order
from millstream.spark.local_tables import read_local
from millstream.spark.print_sink import show_rows
from millstream.spark.sink_rows import repartition
from millstream.spark.splits import SPLIT, file_of
from tests.declaring import KAFKA, declare_table
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    "csv": lambda rows, path: pc.write_csv(rows, path, pc.WriteOptions(include_header=False)),
    "parquet": lambda rows, path: pq.write_table(rows, path, row_group_size=100, compression="none"),
}
CUT_FINELY = {"spark.sql.files.maxPartitionBytes": "600", "spark.sql.files.openCostInBytes": "0"}
UNCUT = {"spark.sql.files.maxPartitionBytes": "128m", "spark.sql.files.minPartitionNum": "1"}


def session_with(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    sibling = spark.newSession()
    for key, value in settings.items():
        sibling.conf.set(key, value)
    return sibling


def collect(rows: DataFrame, checkpoint: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    writer = show_rows(rows, lambda table, _: found.extend(table.to_pylist()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    return found


def number_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in read_in_order(batches):
        yield from table.select(["id", ORDER]).rename_columns(["id", "place"]).to_batches()


@pytest.mark.parametrize("format_", WRITERS)
def test_order_does_not_depend_on_how_files_are_cut(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    (tmp_path / "files").mkdir()
    for number in range(4):
        ids = pa.array(range(number * 1000, number * 1000 + 300 + 50 * number), pa.int32())
        WRITERS[format_](pa.table({"id": ids}), tmp_path / "files" / f"{number}.{format_}")
    options = {"connector": "filesystem", "path": str(tmp_path / "files"), "format": format_}
    source = resolve_source(declare_table("id INT", options))
    assert isinstance(source, FilesystemSource)

    def in_order(name: str, settings: dict[str, str]) -> tuple[list[int], int]:
        rows = read_local(session_with(spark, settings), source, ["id"], tmp_path / name, pinned_tasks=3)
        # Three of four rows are dropped, as by a WHERE, and each occurs twice, as for two grouping sets.
        twice = rows.where("id % 4 = 0").withColumn("set", F.explode(F.array(F.lit(0), F.lit(1))))
        tasks = {
            row["task"] for row in collect(rows.select(F.spark_partition_id().alias("task")), tmp_path / f"{name}-t")
        }
        found = collect(twice.mapInArrow(number_rows, "id INT, place LONG"), tmp_path / f"{name}-c")
        assert len({row["place"] for row in found}) == len(found)
        return [row["id"] for row in sorted(found, key=lambda row: row["place"])], len(tasks)

    (uncut, few), (cut, many) = in_order("uncut", UNCUT), in_order("cut", CUT_FINELY)
    assert few < many
    assert uncut == cut
    for number in range(4):  # and it is the order of each file
        of_file = [id_ for id_ in uncut if id_ // 1000 == number]
        assert of_file == sorted(of_file)


def test_rows_of_a_file_have_one_number_in_common(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for number in range(5):
        (tmp_path / "files" / f"{number}.csv").write_text("".join(f"{number}\n" for _ in range(500)))
    options = {"connector": "filesystem", "path": str(tmp_path / "files"), "format": "csv"}
    source = resolve_source(declare_table("id INT", options))
    assert isinstance(source, FilesystemSource)
    rows = read_local(session_with(spark, CUT_FINELY), source, ["id"], tmp_path, pinned_tasks=3)
    found = collect(rows.select("id", file_of(F.col(SPLIT)).alias("file")), tmp_path / "checkpoint")
    assert len(found) == 2500
    assert len({(row["id"], row["file"]) for row in found}) == len({row["id"] for row in found}) == 5


def test_endless_rows_are_made_in_as_many_tasks_as_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    source = resolve_source(declare_table("id BIGINT", {"connector": "datagen", "rows-per-second": "700"}))
    assert isinstance(source, DatagenSource)
    rows = read_local(spark, source, ["id"], tmp_path, pinned_tasks=7)
    seen: set[int] = set()
    tasks = rows.select(F.spark_partition_id().alias("task"))
    writer = show_rows(tasks, lambda table, _: seen.update(table.column("task").to_pylist()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        while not seen:
            assert not query.awaitTermination(1)
    finally:
        query.stop()
    assert seen == set(range(7))


def test_rows_of_maps_alone_have_one_writer(spark: SparkSession) -> None:
    """Spark cannot hash maps, and round-robin would depend on the number of the task."""
    once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "x", "sink.parallelism": "3"}
    sink = resolve_sink(declare_table("m MAP<STRING, INT>", {**KAFKA, **once}))
    assert isinstance(sink, KafkaSink)
    rows = spark.range(100).select(F.create_map(F.col("id").cast("string"), F.col("id").cast("int")).alias("m"))
    assert repartition(rows, sink, 2).rdd.getNumPartitions() == 1
