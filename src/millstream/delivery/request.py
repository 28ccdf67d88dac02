"""What to deliver, for whom and in whose name: everything that precedes the messages."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

CLAIM: Final = "claim"
"""The group in which the latest start of a job claims the right to write."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """How the transactions of a sink are named, and to whom they belong."""

    prefix: str
    progress_topic: str
    """A topic of the sink: progress is stored as an offset that a group has committed for its partition 0."""
    run: str
    """Identifies the checkpoint: a job that starts over is another run, and does not own earlier progress."""
    start: str
    """The start of the job's query: only the latest one may write."""
    replayed: int | None
    """The unfinished batch at the start of the job: only this one may already be written."""
    timeout_ms: int
    ids: str
    """A folder of the checkpoint in which every id is recorded before use, so that the next start can fence it."""

    def id_of(self, writer: str) -> str:
        """The transactional id, which is also the group that stores its progress."""
        return f"{self.prefix}-{writer}"

    @property
    def claim_group(self) -> str:
        return self.id_of(CLAIM)

    @property
    def claim(self) -> str:
        """The metadata of a claim and of progress.

        The length of the prefix tells to whom a group belongs: `orders-eu-0` may have prefix `orders` or `orders-eu`.
        """
        return f"{self.run} {self.start} {len(self.prefix)}"

    def is_of_this_run(self, metadata: str | None) -> bool:
        return _read_run(metadata) == self.run

    def is_progress(self, metadata: str | None, former: str) -> bool:
        """Whether it is metadata of progress under this prefix, in a group whose name begins with the prefix.

        Older progress has no length in its metadata: it counts if it belongs to the run that made the latest claim.
        """
        match (metadata or "").split(" "):
            case [_run, _start, length]:
                return length == str(len(self.prefix))
            case [run, _start]:
                return run == _read_run(former)
            case _:
                return False


def _read_run(metadata: str | None) -> str:
    return (metadata or "").partition(" ")[0]


@dataclass(frozen=True, slots=True)
class DeliveryRequest:
    """The messages of one task of one batch."""

    table: str
    topic: str | None
    """None if each message names its own."""
    properties: dict[str, str] = field(repr=False)
    writer: str
    """The number of the writer of a table; in a repeated batch, the same writer has the same rows."""
    batch: int
    transactions: Transactions

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        fields: dict[str, Any] = json.loads(text)
        transactions = fields.pop("transactions")
        return cls(**fields, transactions=Transactions(**transactions))
