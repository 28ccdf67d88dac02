"""Messages that a table's formats cannot decode, written to a topic of their own with additional headers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class DeadLetterHeader(StrEnum):
    """Added after the message's own headers; values are UTF-8 text."""

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
"""Longer error messages are truncated."""
HEADROOM_BYTES: Final = 4 * LONGEST_ERROR_BYTES
"""What the headers may add to a message: a dead-letter topic accepts messages that are larger by this much."""


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    """Where they go: a topic in the table's own Kafka cluster."""

    topic: str
    table: str
    properties: dict[str, str] = field(repr=False)
