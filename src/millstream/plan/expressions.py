"""Binding a query's expressions to the columns they speak of, and refusing what is not supported."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.typing import cast_target
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.source import Span
    from millstream.sql.script import Script
    from millstream.sql.types import DataType

AGGREGATES: Final = (exp.Count, exp.Sum)
_SUPPORTED: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg,
    exp.Is, exp.In, exp.Between, exp.Like, exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower, exp.Trim,
    exp.Cast, exp.DataType, exp.Concat, exp.DPipe, exp.Substring, exp.Length, exp.Abs,
)  # fmt: skip
_AGGREGATE_PARTS: Final = (*AGGREGATES, exp.Distinct, exp.Star, exp.Filter, exp.Where)


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns an expression can name: those of one table under one alias."""

    table: str
    columns: tuple[str, ...]
    script: Script
    statement: Span

    def bind(self, expression: exp.Expr, *, aggregates: bool = False) -> exp.Expr:
        """The expression with its columns resolved to bare, quoted names."""
        allowed = _SUPPORTED + (_AGGREGATE_PARTS if aggregates else ())
        problems = []
        bound = expression.copy()
        for node in list(bound.walk()):
            if isinstance(node, exp.Column):
                problems += self._column_problem(node)
            elif not isinstance(node, allowed) or (isinstance(node, exp.Cast) and cast_target(node) is None):
                problems.append(self._unsupported(node))
        if problems:
            raise ScriptError(problems)
        return bound.transform(_bare).unnest()

    def place(self, node: exp.Expr) -> Span:
        """The first and last place inside the expression that sqlglot remembers."""
        positions = [part.meta for part in node.walk() if "start" in part.meta]
        if not positions:
            return self.statement
        return self.script.span(
            min(position["start"] for position in positions),
            max(position["end"] for position in positions) + 1,
        )

    def require_boolean(self, condition: exp.Expr, type_: DataType | None, clause: str) -> None:
        if type_ is not None and type_.root is not TypeRoot.BOOLEAN:
            raise ScriptError(
                Diagnostic(
                    Code.TYPE_MISMATCH,
                    f"{clause} takes a condition, and this is {type_}",
                    self.place(condition),
                    hint="Compare it with something, e.g. `<> 0` or `IS NOT NULL`.",
                )
            )

    def wrong_table(self, column: exp.Column) -> Diagnostic:
        return Diagnostic(
            Code.UNDEFINED_TABLE,
            f'table "{column.table}" is not in the FROM clause',
            self.place(column),
            hint=f'The query reads "{self.table}".',
        )

    def _column_problem(self, column: exp.Column) -> list[Diagnostic]:
        if column.table and column.table != self.table:
            return [self.wrong_table(column)]
        if column.name in self.columns:
            return []
        near = difflib.get_close_matches(column.name, self.columns, n=1, cutoff=0.6)
        return [
            Diagnostic(
                Code.UNDEFINED_COLUMN,
                f'column "{column.name}" is not a column of "{self.table}"',
                self.place(column),
                detail=f"It has: {', '.join(self.columns)}.",
                hint=f'Did you mean "{near[0]}"?' if near else None,
            )
        ]

    def _unsupported(self, node: exp.Expr) -> Diagnostic:
        what = node.sql(dialect="flink") if isinstance(node, exp.Func | exp.Cast) else f"{node.key.upper()} expression"
        return Diagnostic(Code.UNSUPPORTED_EXPRESSION, f"{what} is not supported yet", self.place(node))


def _bare(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Column):
        return node
    bare = column_reference(node.name)
    bare.this.meta.update(node.this.meta)
    return bare


def output_names(items: Sequence[exp.Expr]) -> list[str]:
    """The columns of a SELECT list: aliases and column names, `EXPR$n` for the rest, no name twice (`a`, `a0`)."""
    names: list[str] = []
    for position, item in enumerate(items):
        name = item.alias or (item.name if isinstance(item, exp.Column) else f"EXPR${position}")
        candidates = chain([name], (f"{name}{number}" for number in count()))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names


def column_reference(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))
