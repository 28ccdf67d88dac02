"""VALUES: rows written in the script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.nodes import OutputColumn, Values
from millstream.plan.typing import common_type, infer

if TYPE_CHECKING:
    from millstream.plan.expressions import Scope


def values_node(tree: exp.Values, scope: Scope) -> Values:
    """All rows have as many values as the first, and each column a type that takes all of its values."""
    problems = Problems()
    rows = [problems.of(partial(_row, row, scope)) for row in tree.expressions]
    problems.raise_all()
    bound = tuple(row for row in rows if row is not None)
    width = len(bound[0])
    for written, row in zip(tree.expressions, bound, strict=True):
        if len(row) != width:
            raise ScriptError(
                Diagnostic(
                    Code.SINK_SCHEMA_MISMATCH,
                    f"a row of VALUES has {len(row)} values, and the first has {width}",
                    scope.place(written),
                )
            )
    columns = tuple(_column(position, bound, scope) for position in range(width))
    return Values(bound, columns, scope.statement)


def _row(tree: exp.Expr, scope: Scope) -> tuple[exp.Expr, ...]:
    written = tree.expressions if isinstance(tree, exp.Tuple) else [tree.unnest()]
    return tuple(scope.bind(value) for value in written)


def _column(position: int, rows: tuple[tuple[exp.Expr, ...], ...], scope: Scope) -> OutputColumn:
    types = [infer(row[position], lambda _: None) for row in rows]
    type_ = types[0]
    for row, other in zip(rows, types, strict=True):
        if type_ is None or other is None:
            continue
        together = common_type(type_, other)
        if together is None:
            raise ScriptError(
                Diagnostic(
                    Code.TYPE_MISMATCH,
                    f"column {position + 1} of VALUES holds {type_} and {other}, which have no type together",
                    scope.place(row[position]),
                    hint="CAST one of them.",
                )
            )
        type_ = together
    return OutputColumn(f"EXPR${position}", type_)
