"""The messages of a range of offsets, as a worker reads them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.client_settings import consumer_settings
from millstream.librdkafka.error_codes import AWAY
from millstream.librdkafka.library import ClientError
from millstream.librdkafka.partition_consumer import OffsetNotThereError, PartitionConsumer, Range
from millstream.reading.reading_error import KafkaAwayError, KafkaRefusedError, LostMessagesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from millstream.reading.read_request import ReadRequest

_PATIENCE_SECONDS: Final = 60.0
"""How long a task waits for a broker before it fails, and the job starts again."""


def read_messages(request: ReadRequest, wanted: Range) -> Iterator[pa.RecordBatch]:
    """The columns of the request. Raises LostMessagesError, unless messages may be lost, and KafkaAwayError."""
    consumer = _consumer(tuple(sorted(request.properties.items())))
    try:
        yield from consumer.read(wanted, request.columns)
    except OffsetNotThereError as gone:
        if not request.may_lose:
            raise LostMessagesError(wanted) from None
        first = consumer.first_offset(wanted.topic, wanted.partition)
        if gone.offset < first < wanted.end:  # else it ends before
            yield from read_messages(request, Range(wanted.topic, wanted.partition, first, wanted.end))
    except ClientError as error:
        failure = KafkaAwayError if error.code in AWAY else KafkaRefusedError
        raise failure(str(error)) from None


@cache
def _consumer(properties: tuple[tuple[str, str], ...]) -> PartitionConsumer:
    """One for all tasks of a worker: a new one has to connect."""
    return PartitionConsumer(consumer_settings(dict(properties)), _PATIENCE_SECONDS)
