"""Which jobs write by producers of ours: Spark's Kafka sink knows no transactions, and no time of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.nodes import Write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.plan.nodes import Root


def has_own_producers(roots: Iterable[Root]) -> bool:
    """Of a set, all INSERTs write the same way."""
    return any(root.sink.needs_own_producer for root in roots if isinstance(root, Write))
