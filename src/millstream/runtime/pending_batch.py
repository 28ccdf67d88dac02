"""The batch that a job had begun and not finished, as Spark's logs in its checkpoint tell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class PendingBatch:
    number: int
    begun_at: float
    """In seconds since the epoch."""


def pending_batch(job: Path) -> PendingBatch | None:
    """`job` is the folder of Spark's checkpoint; what it has begun it does again when it starts."""
    begun, finished = _last(job / "offsets"), _last(job / "commits")
    if begun is None or (finished is not None and finished >= begun):
        return None
    _version, metadata, *_ = (job / "offsets" / str(begun)).read_text(encoding="utf-8").splitlines()
    return PendingBatch(begun, json.loads(metadata)["batchTimestampMs"] / 1000)


def _last(log: Path) -> int | None:
    names = (entry.name for entry in log.iterdir()) if log.is_dir() else ()
    return max((int(name) for name in names if name.isdigit()), default=None)
