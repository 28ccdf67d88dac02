"""What can be done with rows in the crossing to Python that made them, or else what only Spark can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.unnest import Unnest
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.project import ProjectItem

_NO_COLUMNS: Final = "rows without columns"
"""Arrow does not count them."""


def gives_rows_in_python(scan: Scan) -> bool:
    return scan.source.gives_rows_in_python([column.name for column in scan.columns])


def obstacle_in(node: Node) -> str | None:
    """What only Spark can do in a filter, a projection, a watermark, a union or an unnesting."""
    from millstream.plan.vectorised.forms import obstacle_of  # loads Arrow, which a check does not need

    def obstacle_in_item(item: ProjectItem) -> str | None:
        return None if item.is_selection else obstacle_of(item.expression, item.type)

    match node:
        case Filter():
            return obstacle_of(node.condition)
        case AssignWatermark():
            return obstacle_of(node.expression)
    if not node.columns:
        return _NO_COLUMNS
    return next(filter(None, map(obstacle_in_item, node.items)), None) if isinstance(node, Project) else None


def obstacle_to_pass(node: Node, *, drops_nulls: bool) -> str | None:
    """What only Spark can do in one operator of a pass, from the scan up to what packs or encodes the rows.

    `drops_nulls`: rows with NULL in a NOT NULL column are not written.
    """
    match node:
        case Scan():
            return None if gives_rows_in_python(node) else f"columns of {node.source.table.name}"
        case AssignWatermark() | AssignWindows() | Filter() | Project() | Unnest():
            return obstacle_in(node)
        case Write():
            return None if node.sink.encodes_in_python and not drops_nulls else f"messages of {node.sink.table.name}"
        case _:
            return _obstacle_to_kernel(node)


def _obstacle_to_kernel(node: Node) -> str | None:
    [below] = node.inputs
    [read] = node.prune(frozenset())[1]
    types = below.column_types()
    if any(types[name].root in NESTED for name in node.compared_columns):
        return f"nested values of {node.id}"
    return None if read else _NO_COLUMNS
