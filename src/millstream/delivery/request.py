"""What is to be delivered, for whom, and in whose name: all that travels ahead of the messages."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

CLAIM: Final = "claim"
"""The group in which the last start of a job says that it is the one that writes."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """How the transactions of a sink are named, and whose they are."""

    prefix: str
    progress_topic: str
    """A topic of the sink: progress is kept as an offset that a group has committed for its partition 0."""
    run: str
    """Of the checkpoint: a job that starts over is another run, and the progress of the former is none of its own."""
    start: str
    """Of the job's query: the last one to start is the only one to write."""
    replayed: int | None
    """The batch that was begun and not finished when the job started: only this one may be there already."""
    timeout_ms: int
    ids: str
    """A folder of the checkpoint in which every id that is used leaves its name, for the next start to fence it."""

    def id_of(self, writer: str) -> str:
        """The transactional id, and the group that keeps its progress."""
        return f"{self.prefix}-{writer}"

    @property
    def claim_group(self) -> str:
        return self.id_of(CLAIM)

    @property
    def claim(self) -> str:
        """What stands beside a claim and beside progress.

        The length of the prefix tells whose a group is: `orders-eu-0` may be of prefix `orders` or of `orders-eu`.
        """
        return f"{self.run} {self.start} {len(self.prefix)}"

    def is_of_this_run(self, metadata: str | None) -> bool:
        return _read_run(metadata) == self.run

    def is_progress(self, metadata: str | None, former: str) -> bool:
        """Whether it stands beside progress under this prefix, in a group whose name begins with the prefix.

        Older progress has no length beside it: it counts if it is of the run that claimed last.
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
    """None where each message names its own."""
    properties: dict[str, str] = field(repr=False)
    writer: str
    """Numbers those who write a table; on replay, the same writer has the same rows."""
    batch: int
    transactions: Transactions | None = None
    """None for at-least-once."""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        fields: dict[str, Any] = json.loads(text)
        transactions = fields.pop("transactions")
        return cls(**fields, transactions=None if transactions is None else Transactions(**transactions))
