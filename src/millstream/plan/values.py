"""VALUES: rows written in the script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.functions.results import common_type
from millstream.plan.nodes import OutputColumn, Values
from millstream.plan.typing import infer
from millstream.sql.functions import MismatchError

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
    problems = Problems()
    bound = [problems.of(partial(scope.bind, value)) for value in written]
    problems.raise_all()
    return tuple(value for value in bound if value is not None)


def _column(position: int, rows: tuple[tuple[exp.Expr, ...], ...], scope: Scope) -> OutputColumn:
    types = [infer(row[position], lambda _: None) for row in rows]
    try:
        return OutputColumn(f"EXPR${position}", common_type(types))
    except MismatchError as error:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"the values of column {position + 1} do not fit together: {error}",
                scope.place(rows[0][position]),
                hint="CAST some of them.",
            )
        ) from None
