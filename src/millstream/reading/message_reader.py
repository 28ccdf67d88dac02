"""The messages of a range of offsets, as a worker reads them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.connectors.kafka.consumer_settings import consumer_settings
from millstream.librdkafka.error_codes import AWAY
from millstream.librdkafka.library import ClientError
from millstream.librdkafka.partition_consumer import OffsetNotThereError, PartitionConsumer, Range
from millstream.reading.reading_error import KafkaAwayError, KafkaRefusedError, LostMessagesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from millstream.reading.read_request import ReadRequest

_FEW_MESSAGES: Final = 8192
_LARGE_BYTES: Final = 1 << 20
_PATIENCE_SECONDS: Final = 60.0
"""How long a task waits for a broker before it fails, and the job starts again."""


def read_messages(request: ReadRequest, ranges: Sequence[Range]) -> Iterator[pa.RecordBatch]:
    """The columns of the request, in batches that may have messages of several ranges unless these are told apart.

    Raises LostMessagesError, unless messages may be lost, and KafkaAwayError.
    """
    consumer = _consumer(tuple(sorted(request.properties.items())))
    try:
        started = consumer.start_in_turn(ranges)
        groups = ([each] for each in started) if request.tells_partitions else [started]
        for group in groups:
            yield from _join_small(_read_all(request, consumer, group))
    except ClientError as error:
        failure = KafkaAwayError if error.code in AWAY else KafkaRefusedError
        raise failure(str(error)) from None


def _read_all(request: ReadRequest, consumer: PartitionConsumer, ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
    for wanted in ranges:
        try:
            yield from consumer.read(wanted, request.columns)
        except OffsetNotThereError as gone:
            if not request.may_lose:
                raise LostMessagesError(wanted) from None
            first = consumer.first_offset(wanted.topic, wanted.partition)
            if gone.offset < first < wanted.end:  # else it ends before
                rest = Range(wanted.topic, wanted.partition, first, wanted.end)
                consumer.start_again(rest)
                yield from _read_all(request, consumer, [rest])


def _join_small(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Steps have a cost per batch, and a range may have few messages. These may be large, and come one by one."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FEW_MESSAGES or size >= _LARGE_BYTES:
            yield _join(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


@cache
def _consumer(properties: tuple[tuple[str, str], ...]) -> PartitionConsumer:
    """One for all tasks of a worker: a new one has to connect."""
    return PartitionConsumer(consumer_settings(dict(properties)), _PATIENCE_SECONDS)
