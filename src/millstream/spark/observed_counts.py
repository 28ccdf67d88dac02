"""What kernels count in a batch, on its way through Spark's report of it. Read without loading Spark."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS: Final = "millstream-"
IGNORED: Final = "ignored"
"""The column that counts retractions of what was not there."""

DELIVERED: Final = "delivered"
"""The column that counts messages which our own producers have written."""


def fresh_name() -> str:
    """One per operator: a query has each name once."""
    return _OURS + uuid.uuid4().hex


def ignored_retractions(report: Mapping[str, Any]) -> int:
    """Over all operators; one that had no rows counted NULL."""
    observed: Mapping[str, Mapping[str, Any]] = report.get("observedMetrics", {})
    return sum(counts.get(IGNORED) or 0 for name, counts in observed.items() if name.startswith(_OURS))


def delivered_messages(report: Mapping[str, Any]) -> int | None:
    """None where Spark itself has written."""
    observed: Mapping[str, Mapping[str, Any]] = report.get("observedMetrics", {})
    found = [counts[DELIVERED] for name, counts in observed.items() if name.startswith(_OURS) and DELIVERED in counts]
    return sum(count or 0 for count in found) if found else None
