"""The counts that kernels make in a batch, as part of Spark's report. Can be read without loading Spark."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS: Final = "millstream-"
COUNTED: Final = "counted"
"""The column for what a kernel counts: ignored retractions, and late rows as a negative number."""
IGNORED: Final = "ignored"
"""What is observed of retractions without a matching row."""
LATE: Final = "late"
"""What is observed of rows that came too late, with the operator's id behind a colon."""
DELIVERED: Final = "delivered"
"""The column that counts messages written to Kafka."""
DELIVERED_TYPE: Final = f"{DELIVERED} LONG"


def fresh_name() -> str:
    """One for each operator: names must be unique within a query."""
    return _OURS + uuid.uuid4().hex


def ignored_retractions(report: Mapping[str, Any]) -> int:
    """The sum over all operators; the count of one without rows is NULL."""
    observed: Mapping[str, Mapping[str, Any]] = report.get("observedMetrics", {})
    return sum(counts.get(IGNORED) or 0 for name, counts in observed.items() if name.startswith(_OURS))


def late_rows(report: Mapping[str, Any]) -> dict[str, int]:
    """By the id of the operator that dropped them."""
    observed: Mapping[str, Mapping[str, Any]] = report.get("observedMetrics", {})
    prefix = late_name("")
    return {
        name.removeprefix(prefix): count
        for metric, counts in observed.items()
        if metric.startswith(_OURS)
        for name, count in counts.items()
        if name.startswith(prefix) and count
    }


def late_name(operator: str) -> str:
    return f"{LATE}:{operator}"


def delivered_messages(report: Mapping[str, Any]) -> int | None:
    """None if the sink is not Kafka."""
    observed: Mapping[str, Mapping[str, Any]] = report.get("observedMetrics", {})
    found = [counts[DELIVERED] for name, counts in observed.items() if name.startswith(_OURS) and DELIVERED in counts]
    return sum(count or 0 for count in found) if found else None
