"""The rules every plan passes through, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.rules.check_sink import check_sink
from millstream.plan.rules.merge_projections import merge_projections
from millstream.plan.rules.prune_columns import prune_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.nodes import Root

RULES: Final[tuple[Callable[[Root], Root], ...]] = (
    prune_columns,
    merge_projections,
    check_sink,
)
