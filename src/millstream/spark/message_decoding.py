"""The decode step of a Kafka source, as it runs in Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.failpoints import reach
from millstream.formats.decoded import DecodeError
from millstream.formats.message_rows import KEY, VALUE
from millstream.spark.job_errors import TableHalf, UndecodableMessageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from millstream.connectors.kafka.dead_letters import DeadLetterTopic
    from millstream.connectors.kafka.read_range import MessageCounters
    from millstream.formats.decoded import Unreadable
    from millstream.formats.message_rows import MessageRows
    from millstream.spark.dead_letters import DeadLetter

TOPIC: Final = "__topic"
PARTITION: Final = "__partition"
OFFSET: Final = "__offset"
TIMESTAMP: Final = "__timestamp"
HEADERS: Final = "__headers"


@dataclass(frozen=True, slots=True)
class DecodeStep:
    """Decodes messages. They have TOPIC if a table has several, and TIMESTAMP and HEADERS for dead letters."""

    rows: MessageRows
    table: str
    formats: dict[str, str]
    """The format of each half."""
    only_topic: str | None = None
    dead_letters: DeadLetterTopic | None = None
    counters: MessageCounters | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reach("before-read")
        for batch in batches:
            try:
                read = self.rows.read(batch)
            except DecodeError as error:
                raise self._failure(batch, error) from None
            if read.unreadable:
                self._set_aside(batch, read.unreadable)
            if read.skipped and self.counters is not None:
                self.counters.skipped.add(read.skipped)
            reach("after-read")
            for piece in read.pieces:
                yield from piece.to_batches()

    def _failure(self, batch: pa.RecordBatch, error: DecodeError) -> UndecodableMessageError:
        place = batch.slice(error.index, 1).select([PARTITION, OFFSET]).to_pylist()[0]
        half = TableHalf(self.table, error.half, self.formats[error.half])
        topic = self._topic(batch, error.index)
        return UndecodableMessageError(half, topic, place[PARTITION], place[OFFSET], error.text)

    def _set_aside(self, batch: pa.RecordBatch, unreadable: tuple[Unreadable, ...]) -> None:
        """A later reader may stop the task before its last batch, so each batch waits for its own letters."""
        from millstream.spark.dead_letters import write_dead_letters  # few workers ever need Kafka's client

        assert self.dead_letters is not None, "else the first would have raised"
        write_dead_letters(self.dead_letters, (self._letter(batch, found) for found in unreadable))
        if self.counters is not None:
            self.counters.dead_letters.add(len(unreadable))

    def _letter(self, batch: pa.RecordBatch, found: Unreadable) -> DeadLetter:
        from millstream.spark.dead_letters import DeadLetter

        def at(name: str) -> Any:
            return batch.column(name)[found.index]

        return DeadLetter(
            key=at(KEY).as_py(),
            value=at(VALUE).as_py(),
            headers=[(header["key"], header["value"]) for header in at(HEADERS).as_py() or ()],
            topic=self._topic(batch, found.index),
            partition=at(PARTITION).as_py(),
            offset=at(OFFSET).as_py(),
            timestamp=at(TIMESTAMP).as_py(),
            error=found.text,
        )

    def _topic(self, batch: pa.RecordBatch, index: int) -> str:
        return self.only_topic or str(batch.column(TOPIC)[index])
