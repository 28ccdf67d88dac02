"""JOIN t FOR SYSTEM_TIME AS OF a processing time: the rows that a table has when a row arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.changelog import INSERT_ONLY
from millstream.connectors.registry import LOOKUP_CONNECTORS
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.typed import Call, InputColumn

if TYPE_CHECKING:
    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed
    from millstream.source import Span

_PROCESSING_TIME: Final = "PROCTIME"
_REGULAR: Final = "Leave FOR SYSTEM_TIME AS OF out: a regular join also follows later changes of the table."


def require_processing_time(moment: Typed, node: Node, place: Span) -> None:
    """`moment` is what FOR SYSTEM_TIME AS OF names, over the columns of `node`."""
    if not is_processing_time(moment, node):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "a temporal join on event time is not supported yet",
                place,
                detail="Rows are looked up as of their processing time only.",
                hint="Declare a column `proc_time AS PROCTIME()` in the table on the left, and write "
                "FOR SYSTEM_TIME AS OF t.proc_time; or use a regular join.",
            )
        )


def is_processing_time(expression: Typed, node: Node) -> bool:
    """Whether it is PROCTIME(), or a column of `node` that has been computed by it."""
    if isinstance(expression, Call):
        return expression.function.name == _PROCESSING_TIME
    if not isinstance(expression, InputColumn):
        return False
    if isinstance(node, Project):
        items = (item for item in node.items if item.name == expression.name)
        return any(is_processing_time(item.expression, node.input) for item in items)
    sides = [below for below in node.inputs if expression.name in below.column_types()]
    return bool(sides) and all(is_processing_time(expression, side) for side in sides)


def require_lookup_table(node: Node, name: str, place: Span) -> None:
    """It is a table, with its computed columns, of a connector that can say what its rows are now."""
    below = node
    while isinstance(below, Project):
        below = below.input
    if isinstance(below, Scan) and below.source.is_lookup_table:
        return
    connectors = " or ".join(f"'{connector}'" for connector in LOOKUP_CONNECTORS)
    what = f"Its connector is '{below.source.connector}'." if isinstance(below, Scan) else "It is a query."
    raise ScriptError(
        Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            f'rows cannot be looked up in "{name}"',
            place,
            detail=f"{what} FOR SYSTEM_TIME AS OF needs a table of connector {connectors}.",
            hint=_REGULAR,
        )
    )


def require_inserts(node: Node, name: str, place: Span) -> None:
    """A row that is retracted later would be looked up again, and another row be retracted than was given."""
    if node.changelog != INSERT_ONLY:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f'rows that are updated or deleted cannot be looked up in "{name}"',
                place,
                detail="By the time of an update, the table may have another row than the one that was joined.",
                hint=_REGULAR,
            )
        )
