"""The rows of a result in the order that the query asks for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import SortColumn

    Rows = list[tuple[Any, ...]]


def sort_rows(rows: Rows, names: Sequence[str], order: Sequence[SortColumn]) -> Rows:
    """Rows that are equal in the order stay as they are."""
    for column in reversed(order):
        at = names.index(column.name)
        nulls = [row for row in rows if row[at] is None]
        others = [row for row in rows if row[at] is not None]
        others.sort(key=lambda row, at=at: _sortable(row[at]), reverse=column.descending)  # type: ignore[misc]
        rows = others + nulls if column.nulls_last else nulls + others
    return rows


def _sortable(value: Any) -> tuple[bool, Any]:
    """NaN is greater than all numbers."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value
