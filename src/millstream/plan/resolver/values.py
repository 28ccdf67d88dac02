"""VALUES: rows written in the script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.functions.results import common_type
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.values import Values
from millstream.sql.functions import MismatchError

if TYPE_CHECKING:
    from millstream.plan.resolver.scope import Scope
    from millstream.plan.typed import Typed


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
    columns = tuple(_column(position, bound, tree, scope) for position in range(width))
    return Values(bound, columns, scope.statement)


def _row(tree: exp.Expr, scope: Scope) -> tuple[Typed, ...]:
    written = _values_of(tree)
    problems = Problems()
    bound = [problems.of(partial(scope.resolve, value)) for value in written]
    problems.raise_all()
    return tuple(value for value in bound if value is not None)


def _column(position: int, rows: tuple[tuple[Typed, ...], ...], written: exp.Values, scope: Scope) -> OutputColumn:
    types = [row[position].type for row in rows]
    try:
        return OutputColumn(f"EXPR${position}", common_type(types))
    except MismatchError as error:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"the values of column {position + 1} have incompatible types: {error}",
                scope.place(_values_of(written.expressions[0])[position]),
                hint="CAST some of them.",
            )
        ) from None


def _values_of(row: exp.Expr) -> list[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row.unnest()]
