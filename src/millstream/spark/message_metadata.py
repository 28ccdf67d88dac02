"""Metadata columns of a table that is written: the topic, the timestamp and the headers of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.kafka.metadata import HEADERS
from millstream.spark.job_errors import unwritable_row

if TYPE_CHECKING:
    from pyspark.sql import Column

    from millstream.connectors.kafka.tables import KafkaSink

HEADERS_TYPE: Final = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


def topic_of(value: Column, sink: KafkaSink) -> Column:
    """The topic that a row names. If it does not belong to the table, the job fails with Flink's message."""
    if sink.topic_pattern is None:
        fits = value.isin(list(sink.topics))
        expected = f"to be in: [{', '.join(sink.topics)}]"
    else:
        fits = value.rlike(rf"\A(?:{sink.topic_pattern})\z")
        expected = f"to match: {sink.topic_pattern}"
    reason = f"The topic of the sink record is not valid. Expected topic {expected} but was: "
    why = F.concat(F.lit(reason), F.coalesce(value, F.lit("null")))
    return F.when(fits, value).otherwise(unwritable_row(sink.table.name, why))


def timestamp_of(value: Column, sink: KafkaSink) -> Column:
    """In milliseconds. Before 1970, the job fails with the message of Kafka's client for Java, which Flink uses."""
    millis = F.unix_millis(value)
    why = F.concat(
        F.lit("Invalid timestamp: "), millis.cast("string"), F.lit(". Timestamp should always be non-negative or null.")
    )
    return F.when(millis < 0, unwritable_row(sink.table.name, why)).otherwise(millis)


def headers_of(value: Column, key: str) -> Column:
    """The headers in order, without those that have no key."""
    headers = F.map_entries(value) if key == HEADERS.key else value
    return F.filter(headers, lambda header: header.isNotNull() & header["key"].isNotNull())
