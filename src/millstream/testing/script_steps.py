"""The steps of a script test, each with the line it begins on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.source import SourceText
    from millstream.sql.types import DataType
    from millstream.testing.script_messages import Message

Columns = tuple[tuple[str, "DataType"], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `first` up to, not including, `end`, which recording may replace."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class CreateTopic:
    line: int
    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Produce:
    """Messages go to `partition`, or by the hash of their key; without a key to partition 0."""

    line: int
    topic: str
    partition: int | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """`> SQL`: must succeed. `sql` has the same line and column numbers as in the file."""

    line: int
    sql: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """`! SQL`: must fail with these codes, in this order."""

    line: int
    sql: str
    codes: tuple[str, ...]
    contains: tuple[str, ...]
    block: Block


@dataclass(frozen=True, slots=True)
class Answer:
    """`? SQL`: must succeed and show these lines: results, and rows of a SELECT or of a print table."""

    line: int
    sql: str
    expected: tuple[str, ...]
    block: Block


@dataclass(frozen=True, slots=True)
class AwaitCaughtUp:
    line: int
    timeout: float


@dataclass(frozen=True, slots=True)
class AwaitFailure:
    """`job` may be omitted if there is only one."""

    line: int
    job: str | None
    codes: tuple[str, ...]
    contains: tuple[str, ...]
    timeout: float
    block: Block


class View(StrEnum):
    MESSAGES = "messages"
    """The messages that this test has not read yet, including tombstones."""
    FOLDED = "folded"
    """The table in the whole topic: the last value of each key."""
    PARTITIONS = "partitions"
    """As messages, each with the number of its partition instead of its key."""
    HEADERS = "headers"
    """As messages, each with its headers instead of its key: `a=1;b=null => VALUE`."""


class Order(StrEnum):
    KEY = "key"
    """The messages of one key in order; the order between keys does not matter."""
    OFFSET = "offset"
    """By partition and offset."""
    ANY = "any"
    """The order does not matter."""


@dataclass(frozen=True, slots=True)
class Consume:
    line: int
    topic: str
    view: View
    order: Order
    key_columns: Columns | None
    """The columns of an Avro key; None to show its bytes."""
    value_columns: Columns | None
    expected: tuple[Message, ...]
    block: Block


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines that jobs have shown and this test has not read yet."""

    line: int
    order: Order
    expected: tuple[str, ...]
    block: Block


@dataclass(frozen=True, slots=True)
class Restart:
    """Stops all jobs and starts them again from their checkpoints."""

    line: int


Step = CreateTopic | Produce | Execute | Answer | Refuse | AwaitCaughtUp | AwaitFailure | Consume | Shown | Restart


@dataclass(frozen=True, slots=True)
class ScriptFile:
    source: SourceText
    purpose: str
    known_bug: str | None
    steps: tuple[Step, ...]
