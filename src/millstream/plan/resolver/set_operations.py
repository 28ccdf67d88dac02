"""UNION, INTERSECT and EXCEPT: the columns of queries by position, in types that take the values of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.functions.results import common_type
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.set_operation import Except, Intersect
from millstream.plan.operators.union import Union
from millstream.plan.resolver.aggregation import distinct_rows
from millstream.plan.typed import InputColumn
from millstream.sql.functions import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span


def sides_of(tree: exp.SetOperation) -> list[exp.Expr]:
    """The queries that are combined. Of `a UNION ALL b UNION ALL c`, sqlglot's tree has the first two as one side."""
    sides: list[exp.Expr] = [tree.expression]
    first = tree.this
    while isinstance(tree, exp.Union) and isinstance(first, exp.Union) and is_distinct(first) is is_distinct(tree):
        sides.append(first.expression)
        first = first.this
    return [first, *reversed(sides)]


def is_distinct(tree: exp.SetOperation) -> bool:
    return bool(tree.args.get("distinct"))


def combine_sides(tree: exp.SetOperation, queries: Sequence[Node], place: Callable[[int], Span], scope: Scope) -> Node:
    """`place` tells where a query stands. The columns are called as those of the first."""
    word, span = tree.key.upper(), scope.statement
    _require_as_many_columns(word, queries, place)
    output = tuple(_column(word, at, queries, place) for at in range(len(queries[0].columns)))
    sides = tuple(_as_output(query, output, span) for query in queries)
    match tree:
        case exp.Intersect():
            left, right = sides
            return Intersect(left, right, is_distinct(tree), output, span)
        case exp.Except():
            left, right = sides
            return Except(left, right, is_distinct(tree), output, span)
        case _:
            union = Union(sides, output, span)
            return distinct_rows(union, scope) if is_distinct(tree) else union


def _require_as_many_columns(word: str, queries: Sequence[Node], place: Callable[[int], Span]) -> None:
    first = queries[0]
    for number, query in enumerate(queries):
        if len(query.columns) != len(first.columns):
            raise ScriptError(
                Diagnostic(
                    Code.SINK_SCHEMA_MISMATCH,
                    f"a query of {word} has {len(query.columns)} columns, and the first has {len(first.columns)}",
                    place(number),
                    detail=f"First: [{_enumerate_columns(first)}]. This one: [{_enumerate_columns(query)}].",
                    hint="Select the same columns in each, in the same order; use NULL for one that is missing.",
                )
            )


def _column(word: str, at: int, queries: Sequence[Node], place: Callable[[int], Span]) -> OutputColumn:
    name, found = queries[0].columns[at].name, queries[0].columns[at].type
    for number, query in enumerate(queries):
        try:
            found = common_type([found, query.columns[at].type])
        except MismatchError as error:
            raise ScriptError(
                Diagnostic(
                    Code.TYPE_MISMATCH,
                    f'column "{name}" of {word} has incompatible types: {error}',
                    place(number),
                    hint="CAST it to the same type in each query.",
                )
            ) from None
    return OutputColumn(name, found)


def _as_output(query: Node, output: Sequence[OutputColumn], span: Span) -> Node:
    pairs = zip(output, query.columns, strict=True)
    items = (ProjectItem(wanted.name, InputColumn(found.name, found.type), wanted.type) for wanted, found in pairs)
    return Project(query, tuple(items), span)


def _enumerate_columns(query: Node) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in query.columns)
