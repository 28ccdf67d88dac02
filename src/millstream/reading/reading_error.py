"""Why messages cannot be read. The texts reach the driver inside Spark's exceptions, and are recognised there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.librdkafka.partition_consumer import Range


class ReadingError(Exception):
    """The base of all."""


class LostMessagesError(ReadingError):
    """Messages were deleted before they were read."""

    def __init__(self, wanted: Range) -> None:
        place = f"{wanted.topic}-{wanted.partition}"
        super().__init__(f"Could not read records in offset [{wanted.start}, {wanted.end}) for topic partition {place}")


class RecreatedTopicError(ReadingError):
    def __init__(self, place: tuple[str, int], before: int, now: int) -> None:
        topic, partition = place
        super().__init__(f"Partition {topic}-{partition} offset was changed from {before} to {now}")


class DeletedPartitionsError(ReadingError):
    def __init__(self, places: Sequence[tuple[str, int]]) -> None:
        names = ", ".join(f"{topic}-{partition}" for topic, partition in places)
        super().__init__(f"Partitions {names} have been deleted")


class KafkaAwayError(ReadingError):
    """No broker responds, or another one is taking over."""


class KafkaRefusedError(ReadingError):
    """Kafka does not allow what is asked."""
