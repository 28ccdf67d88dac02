"""Messages that a table's formats cannot read, kept in a topic of their own: what each has beside its own content."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class DeadLetterHeader(StrEnum):
    """Behind the message's own headers; values are UTF-8 text."""

    TOPIC = "millstream.dead-letter.source-topic"
    PARTITION = "millstream.dead-letter.source-partition"
    OFFSET = "millstream.dead-letter.source-offset"
    TIMESTAMP = "millstream.dead-letter.source-timestamp"
    TABLE = "millstream.dead-letter.table"
    ERROR = "millstream.dead-letter.error"


HEADERS: Final = {
    DeadLetterHeader.TOPIC: "The topic it was read from.",
    DeadLetterHeader.PARTITION: "Its partition there.",
    DeadLetterHeader.OFFSET: "Its offset there.",
    DeadLetterHeader.TIMESTAMP: "Its time there, in epoch milliseconds.",
    DeadLetterHeader.TABLE: "The table whose formats could not read it.",
    DeadLetterHeader.ERROR: "What they said.",
}


LONGEST_ERROR_BYTES: Final = 4096
"""More of what the formats said is cut off."""
HEADROOM_BYTES: Final = 4 * LONGEST_ERROR_BYTES
"""What the headers may add to a message: a topic for dead letters takes messages longer by this than those read."""


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    """Where they go: a topic of the table's own Kafka."""

    topic: str
    table: str
    properties: dict[str, str] = field(repr=False)
