"""Generated rows, files and printed lines on Spark: streams that end, continue and restart."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from millstream import Session
from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.spark.local_tables import read_local, write_local
from millstream.spark.once import one_row
from millstream.spark.print_sink import show_rows
from tests.declaring import declare_table
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.catalog.table import CatalogTable

EVERY_TYPE = """
  id BIGINT, flag BOOLEAN, tiny TINYINT, small SMALLINT, number INT, big BIGINT, `real` FLOAT, wide DOUBLE,
  price DECIMAL(10, 2), huge DECIMAL(38, 18), code CHAR(5), word VARCHAR(20), text STRING, `raw` BYTES,
  `day` DATE, `at` TIMESTAMP(3), moment TIMESTAMP_LTZ(3),
  buyer ROW<name STRING, age INT>, tags ARRAY<STRING>, scores MAP<INT, DOUBLE>, deep ARRAY<ROW<n ARRAY<INT>>>
"""


def read(spark: SparkSession, table: CatalogTable, folder: Path) -> DataFrame:
    source = resolve_source(table)
    assert not isinstance(source, KafkaSource)
    return read_local(spark, source, [column.name for column in table.physical_columns], folder)


def start_writing(rows: DataFrame, table: CatalogTable, folder: Path, lines: list[str]) -> DataStreamWriter:
    sink = resolve_sink(table)
    assert not isinstance(sink, KafkaSink)
    return write_local(rows, sink, folder, lines.extend)


def drain(writer: DataStreamWriter, checkpoint: Path) -> None:
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)


def collect(rows: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """All rows of a bounded stream, each batch in order."""
    found: list[dict[str, Any]] = []

    def keep(table: pa.Table, _: list[int] | None) -> None:
        found.extend(table.to_pylist(maps_as_pydicts="strict"))

    drain(show_rows(rows, keep), folder / "checkpoint")
    return found


def declare_datagen(columns: str, options: Mapping[str, str]) -> CatalogTable:
    return declare_table(columns, {"connector": "datagen", **options})


def sequence(column: str, start: int, end: int) -> dict[str, str]:
    under = f"fields.{column}."
    return {f"{under}kind": "sequence", f"{under}start": str(start), f"{under}end": str(end)}


def files(
    columns: str, path: Path, format_: str, options: Mapping[str, str] | None = None, partitioned_by: Iterable[str] = ()
) -> CatalogTable:
    with_options = {"connector": "filesystem", "path": str(path), "format": format_, **(options or {})}
    return declare_table(columns, with_options, tuple(partitioned_by))


def test_one_row_comes_once_for_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    assert collect(one_row(spark, tmp_path), tmp_path) == [{"value": "once"}]
    assert collect(one_row(spark, tmp_path), tmp_path) == []
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    shutil.move(tmp_path, moved)
    assert collect(one_row(spark, moved), moved) == []


def test_sequences_end_with_the_shortest(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen(
        "id BIGINT, name STRING, price DECIMAL(5, 1), `raw` BYTES",
        sequence("id", 10, 12) | sequence("name", -1, 99) | sequence("price", 7, 9) | sequence("raw", 1, 5),
    )
    rows = collect(read(spark, table, tmp_path), tmp_path)
    assert [(row["id"], row["name"], str(row["price"]), row["raw"]) for row in rows] == [
        (10, "-1", "7.0", b"\0\0\0\0\0\0\0\1"),
        (11, "0", "8.0", b"\0\0\0\0\0\0\0\2"),
        (12, "1", "9.0", b"\0\0\0\0\0\0\0\3"),
    ]


def test_every_type_is_made_up_alike_each_time(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen(
        EVERY_TYPE,
        {
            "number-of-rows": "50",
            "fields.number.min": "3",
            "fields.number.max": "5",
            "fields.big.min": "-9000000000000000000",
            "fields.big.max": "9000000000000000000",
            "fields.price.min": "1",
            "fields.price.max": "1.5",
            "fields.huge.min": "1",
            "fields.huge.max": "2",
            "fields.text.length": "40",
            "fields.word.var-len": "true",
            "fields.raw.length": "9",
            "fields.flag.null-rate": "0.5",
            "fields.buyer.age.max": "120",
            "fields.buyer.age.min": "0",
            "fields.tags.length": "2",
            "fields.tags.element.length": "4",
            "fields.scores.key.min": "1",
            "fields.scores.key.max": "2",
            "fields.scores.length": "9",
            "fields.at.max-past": "1 h",
        },
    )
    rows = collect(read(spark, table, tmp_path / "a"), tmp_path / "a")
    again = collect(read(spark, table, tmp_path / "b"), tmp_path / "b")
    times = {"day", "at", "moment"}
    assert [{k: v for k, v in row.items() if k not in times} for row in rows] == [
        {k: v for k, v in row.items() if k not in times} for row in again
    ]
    assert len(rows) == 50
    assert len({row["id"] for row in rows}) == 50
    assert {row["number"] for row in rows} == {3, 4, 5}
    assert {row["flag"] for row in rows} == {True, False, None}
    assert all(1 <= row["price"] <= 1.5 for row in rows)
    assert all(1 <= row["huge"] <= 2 for row in rows)
    assert all(abs(row["big"]) <= 9 * 10**18 for row in rows)
    assert all(0 <= row["buyer"]["age"] <= 120 for row in rows)
    assert {len(row["text"]) for row in rows} == {40}
    assert {len(row["code"]) for row in rows} == {5}
    assert {len(row["raw"]) for row in rows} == {9}
    lengths = {len(row["word"]) for row in rows}
    assert len(lengths) > 5
    assert lengths <= set(range(1, 20))
    assert all([len(tag) for tag in row["tags"]] == [4, 4] for row in rows)
    assert len({row["tags"][0] for row in rows} | {row["tags"][1] for row in rows}) == 100
    assert all(set(row["scores"]) <= {1, 2} for row in rows)
    assert all(len(row["deep"]) == 3 and len(row["deep"][0]["n"]) == 3 for row in rows)
    assert max(row["moment"].timestamp() - row["at"].timestamp() for row in rows) <= 3600


def test_many_rows_are_spread_and_none_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen("id BIGINT", sequence("id", 0, 50_000))
    rows = collect(read(spark, table, tmp_path), tmp_path)
    assert sorted(row["id"] for row in rows) == list(range(50_001))


def test_a_finite_generator_stays_silent_after_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen("id INT", {"number-of-rows": "4"})
    batches: list[int] = []
    writer = show_rows(read(spark, table, tmp_path), lambda rows, _: batches.append(rows.num_rows))
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(processingTime="0 seconds").start()
    try:
        query.processAllAvailable()
        query.processAllAvailable()
    finally:
        query.stop()
    assert batches == [4]


def test_an_endless_generator_gives_rows_by_the_second(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen("id BIGINT, `at` TIMESTAMP(3)", {"rows-per-second": "7"})
    found: list[dict[str, Any]] = []
    writer = show_rows(read(spark, table, tmp_path), lambda rows, _: found.extend(rows.to_pylist()))
    query = writer.option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        while not found:
            assert not query.awaitTermination(1)
    finally:
        query.stop()
    assert len(found) % 7 == 0
    assert len({row["id"] for row in found}) == len(found)


def test_printed_lines_keep_their_order(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen(
        "id INT, deep ROW<a INT, b ARRAY<BOOLEAN>>",
        sequence("id", 1, 3)
        | {
            "fields.deep.a.min": "4",
            "fields.deep.a.max": "4",
            "fields.deep.b.length": "1",
            "fields.deep.b.element.null-rate": "1",
        },
    )
    sink = declare_table("id INT, deep ROW<a INT, b ARRAY<BOOLEAN>>", {"connector": "print", "print-identifier": "out"})
    lines: list[str] = []
    drain(start_writing(read(spark, table, tmp_path), sink, tmp_path, lines), tmp_path / "c")
    assert lines == ["out> +I[1, +I[4, [null]]]", "out> +I[2, +I[4, [null]]]", "out> +I[3, +I[4, [null]]]"]


def test_a_blackhole_takes_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = declare_datagen("id INT", {"number-of-rows": "3"})
    writer = start_writing(
        read(spark, table, tmp_path), declare_table("id INT", {"connector": "blackhole"}), tmp_path, []
    )
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    assert sum(progress.numInputRows for progress in query.recentProgress) == 1


COLUMNS = "id INT, name STRING, `at` TIMESTAMP(3), moment TIMESTAMP_LTZ(3), `raw` BYTES, price DECIMAL(6, 2)"


def sample_rows(spark: SparkSession, folder: Path) -> DataFrame:
    return one_row(spark, folder).selectExpr(
        "inline(array("
        "named_struct('id', 1, 'name', 'a,\"b', 'at', TIMESTAMP_NTZ'2024-01-02 03:04:05.120',"
        " 'moment', TIMESTAMP_LTZ'2024-01-02 03:04:05Z', 'raw', X'01FF', 'price', CAST(1.5 AS DECIMAL(6, 2))),"
        "named_struct('id', 2, 'name', NULL, 'at', NULL, 'moment', NULL, 'raw', NULL, 'price', NULL)))"
    )


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_files_are_read_as_they_were_written(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    table = files(COLUMNS, tmp_path / "out {1} %20", format_)
    drain(start_writing(sample_rows(spark, tmp_path), table, tmp_path, []), tmp_path / "c")
    first, second = sorted(collect(read(spark, table, tmp_path / "r"), tmp_path / "r"), key=lambda row: row["id"])
    assert (first["name"], first["at"].isoformat(), first["moment"].timestamp(), first["raw"], str(first["price"])) == (
        'a,"b',
        "2024-01-02T03:04:05.120000",
        1704164645.0,
        b"\x01\xff",
        "1.50",
    )
    assert list(second.values()) == [2, None, None, None, None, None]


def test_text_files_hold_what_messages_would(spark: SparkSession, tmp_path: Path) -> None:
    nested = "`row` ROW<`at` TIMESTAMP(3)>, list ARRAY<TIMESTAMP(3)>"
    rows = sample_rows(spark, tmp_path / "j").selectExpr("moment", "named_struct('at', at) AS row", "array(at) AS list")
    table = files(f"moment TIMESTAMP_LTZ(3), {nested}", tmp_path / "json", "json")
    drain(start_writing(rows, table, tmp_path / "j", []), tmp_path / "j" / "c")
    assert texts(tmp_path / "json") == [
        '{"moment":"2024-01-02 03:04:05Z","row":{"at":"2024-01-02 03:04:05.12"},"list":["2024-01-02 03:04:05.12"]}',
        '{"moment":null,"row":{"at":null},"list":[null]}',
    ]
    table = files("`at` TIMESTAMP(3), name STRING", tmp_path / "csv", "csv", {"csv.field-delimiter": "|"})
    drain(start_writing(sample_rows(spark, tmp_path / "c"), table, tmp_path / "c", []), tmp_path / "c" / "c")
    assert texts(tmp_path / "csv") == ['2024-01-02 03:04:05.12|"a,""b"', "|"]


def test_partitions_are_folders(spark: SparkSession, tmp_path: Path) -> None:
    table = files("id INT, `day` DATE, n INT", tmp_path / "out {1} %20", "json", partitioned_by=("day", "n"))
    rows = (
        one_row(spark, tmp_path)
        .selectExpr("explode(array(1, 2, 3)) AS id")
        .selectExpr("id", "date_add(DATE'2024-01-01', id % 2) AS day", "id AS n")
    )
    drain(start_writing(rows, table, tmp_path, []), tmp_path / "c")
    assert sorted("/".join(file.parts[-3:-1]) for file in data_files(tmp_path / "out {1} %20")) == [
        "day=2024-01-01/n=2", "day=2024-01-02/n=1", "day=2024-01-02/n=3",
    ]  # fmt: skip
    read_back = collect(read(spark, table, tmp_path / "r"), tmp_path / "r")
    assert sorted((row["id"], str(row["day"]), row["n"]) for row in read_back) == [
        (1, "2024-01-02", 1),
        (2, "2024-01-01", 2),
        (3, "2024-01-02", 3),
    ]


def test_a_batch_that_is_run_again_replaces_its_files(spark: SparkSession, tmp_path: Path) -> None:
    table = files("id INT", tmp_path / "out {1} %20", "json")
    source = declare_datagen("id INT", sequence("id", 1, 3))
    drain(start_writing(read(spark, source, tmp_path / "j"), table, tmp_path / "j", []), tmp_path / "j" / "c")
    for name in ("0", ".0.crc"):
        (tmp_path / "j" / "c" / "commits" / name).unlink()
    drain(start_writing(read(spark, source, tmp_path / "j"), table, tmp_path / "j", []), tmp_path / "j" / "c")
    assert ids(tmp_path / "out {1} %20") == [1, 2, 3]
    drain(start_writing(read(spark, source, tmp_path / "k"), table, tmp_path / "k", []), tmp_path / "k" / "c")
    assert ids(tmp_path / "out {1} %20") == [1, 1, 2, 2, 3, 3]


def test_a_bounded_folder_is_read_as_it_first_was(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in [1]"
    (folder / "below").mkdir(parents=True)
    (folder / "one.csv").write_text("1\n")
    (folder / "below" / "two.csv").write_text("2\n")
    bounded = files("id INT", folder, "csv")
    watching = files("id INT", folder, "csv", {"source.monitor-interval": "1 s"})
    assert {row["id"] for row in collect(read(spark, bounded, tmp_path / "b"), tmp_path / "b")} == {1, 2}
    assert {row["id"] for row in collect(read(spark, watching, tmp_path / "w"), tmp_path / "w")} == {1, 2}
    (folder / "three.csv").write_text("3\n")
    assert collect(read(spark, bounded, tmp_path / "b"), tmp_path / "b") == []
    assert collect(read(spark, watching, tmp_path / "w"), tmp_path / "w") == [{"id": 3}]
    only = files("id INT", folder / "one.csv", "csv")
    assert collect(read(spark, only, tmp_path / "o"), tmp_path / "o") == [{"id": 1}]


@pytest.mark.parametrize(
    ("format_", "content", "expected"),
    [
        ("csv", "1,a\nx,b\n3,c\n", [(1, "a"), (None, "b"), (3, "c")]),
        ("json", '{"id":1,"name":"a"}\nnothing\n{"id":"x","name":"b"}\n', [(1, "a"), (None, "b")]),
    ],
)
def test_what_cannot_be_read_is_skipped_where_that_is_asked_for(
    spark: SparkSession, tmp_path: Path, format_: str, content: str, expected: list[tuple[int | None, str]]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_text(content)
    table = files("id INT, name STRING", tmp_path / "in", format_, {f"{format_}.ignore-parse-errors": "true"})
    rows = collect(read(spark, table, tmp_path / "r"), tmp_path / "r")
    assert [(row["id"], row["name"]) for row in rows] == expected


def data_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("part-*") if not file.name.startswith("."))


def texts(folder: Path) -> list[str]:
    return [line for file in data_files(folder) for line in file.read_text().splitlines()]


def ids(folder: Path) -> Iterable[int]:
    return sorted(json.loads(line)["id"] for line in texts(folder))


def test_rows_are_looked_up_in_files(spark: SparkSession, tmp_path: Path) -> None:
    """Read as by any query, when the job starts; what is computed from their columns, too."""
    (tmp_path / "places").mkdir()
    (tmp_path / "places" / "a.csv").write_text("1,oslo\n2,bern\n")
    (tmp_path / "places" / "b.csv").write_text("2,kiel\n,rome\n")
    script = """
        CREATE TABLE places (id INT, city STRING, name AS UPPER(city)) WITH (
          'connector' = 'filesystem', 'path' = '${folder}/places', 'format' = 'csv');
        CREATE TABLE visits (n BIGINT) WITH (
          'connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');
        CREATE TABLE named (n BIGINT, name STRING) WITH ('connector' = 'print');
        INSERT INTO named
        SELECT v.n, p.name FROM (SELECT n, PROCTIME() AS pt FROM visits) AS v
        LEFT JOIN places FOR SYSTEM_TIME AS OF v.pt AS p ON v.n = p.id;
    """
    found: list[str] = []
    with Session(spark, checkpoint=tmp_path / "jobs", on_rows=found.extend) as session:
        session.execute_sql(script, parameters={"folder": str(tmp_path)})
    assert sorted(found) == ["+I[1, OSLO]", "+I[2, BERN]", "+I[2, KIEL]", "+I[3, null]"]
