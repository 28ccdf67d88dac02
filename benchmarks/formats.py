"""How fast each format reads and writes, beside Spark's own functions: `python -m benchmarks formats [ROWS]`.

Messages of about 100 bytes with four typed fields lie in Spark's memory; both ways end in a sink that drops the rows.
Rounds alternate, and the best of each counts. Avro is not here: Millstream reads and writes it with Spark's functions.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness.page_views import COLUMNS, page_views
from millstream.catalog.job_settings import JobSettings
from millstream.changelog import KIND, RowKind
from millstream.formats.cdc_dialect import DEBEZIUM
from millstream.formats.cdc_format import CdcJsonFormat
from millstream.formats.codecs import decoder_of, encoder_of
from millstream.formats.csv_format import CsvFormat
from millstream.formats.json_format import JsonFormat
from millstream.formats.json_options import JsonOptions
from millstream.formats.message_rows import VALUE, MessageHalf, MessageRows
from millstream.spark.kafka_sink import encode_with
from millstream.spark.message_decoding import DecodeStep
from millstream.spark.session import STREAMING, OwnedSession
from millstream.spark.types import spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from millstream.formats.registry import Format

_ROUNDS: Final = 3
_CORES: Final = 2
_NAMES: Final = tuple(name for name, _ in COLUMNS)
_SCHEMA: Final = spark_schema(COLUMNS)
_CHANGED: Final = f"before STRUCT<{_SCHEMA}>, after STRUCT<{_SCHEMA}>, op STRING"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A format, and the equivalent written by hand with Spark's functions."""

    format: Format
    decode: Callable[[Column], Column]
    encode: Callable[[Column], Column]


def _row() -> Column:
    return F.struct(*_NAMES)


CONTESTANTS: Final = (
    Contestant(
        JsonFormat(JsonOptions()),
        lambda text: F.from_json(text, _SCHEMA),
        F.to_json,
    ),
    Contestant(
        CsvFormat(),
        lambda text: F.from_csv(text, _SCHEMA),
        F.to_csv,
    ),
    Contestant(
        CdcJsonFormat(DEBEZIUM),
        lambda text: F.from_json(text, _CHANGED)["after"],
        lambda row: F.to_json(F.struct(row.alias("after"), F.lit("c").alias("op"))),
    ),
)


def stored_messages(rows: DataFrame, format_: Format) -> DataFrame:
    """The messages as from Spark's Kafka source, cached."""
    messages = (
        _encode(rows, format_)
        .withColumn("__partition", F.lit(0))
        .withColumn("__offset", F.monotonically_increasing_id())
    ).cache()
    messages.count()
    return messages


def _encode(rows: DataFrame, format_: Format) -> DataFrame:
    tells_kinds = isinstance(format_, CdcJsonFormat)
    kind = [F.lit(int(RowKind.INSERT)).cast("tinyint").alias(KIND)] if tells_kinds else []
    packed = rows.select(F.struct(*_NAMES, *kind).alias(VALUE))
    return packed.mapInArrow(partial(encode_with, {VALUE: encoder_of(format_, COLUMNS)}), f"{VALUE} BINARY")


def _decode(messages: DataFrame, format_: Format) -> DataFrame:
    tells_kinds = isinstance(format_, CdcJsonFormat)
    half = MessageHalf(decoder_of(format_, COLUMNS, _NAMES), _NAMES)
    rows = MessageRows(_NAMES, half, with_kinds=tells_kinds)
    step = DecodeStep(rows, "pageviews", {"value": format_.name}, "pageviews")
    return messages.mapInArrow(step, _SCHEMA + (f", {KIND} TINYINT" if tells_kinds else ""))


def rates(number: int, *ways: DataFrame) -> list[float]:
    """Rows per second of each way, the best of several rounds, after a warm-up round."""
    best = [float("inf")] * len(ways)
    for turn in range(_ROUNDS + 1):
        for place, way in enumerate(ways):
            begin = perf_counter()
            way.write.format("noop").mode("overwrite").save()
            if turn:
                best[place] = min(best[place], perf_counter() - begin)
    return [number / seconds for seconds in best]


def compare(rows: DataFrame, number: int, contestant: Contestant) -> None:
    format_ = contestant.format
    messages = stored_messages(rows, format_)
    by_spark = messages.select(contestant.decode(F.col(VALUE).cast("string")).alias("row")).select("row.*")
    _report(format_.name, "decode", *rates(number, by_spark, _decode(messages, format_)))
    messages.unpersist()
    written = rows.select(contestant.encode(_row()).cast("binary").alias("value"))
    _report(format_.name, "encode", *rates(number, written, _encode(rows, format_)))


def _report(name: str, what: str, by_spark: float, here: float) -> None:
    print(
        f"{name:<14} {what}: Spark's function {by_spark:>10,.0f} rows/s, Millstream {here:>10,.0f} rows/s,"
        f" ratio {here / by_spark:.2f}",
        flush=True,
    )


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as name:
        owned = OwnedSession(JobSettings(), _CORES, None, Path(name) / "spark.log", print)
        try:
            for key, value in STREAMING.items():
                owned.spark.conf.set(key, value)
            rows = owned.spark.createDataFrame(page_views(number)).repartition(2 * _CORES).cache()
            rows.count()
            print(f"{number:,} rows of {len(COLUMNS)} columns, {_CORES} cores, best of {_ROUNDS} rounds")
            for contestant in CONTESTANTS:
                compare(rows, number, contestant)
        finally:
            owned.close()


if __name__ == "__main__":
    main()
