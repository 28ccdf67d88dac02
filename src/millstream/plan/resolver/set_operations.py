"""UNION ALL and UNION: the columns of several queries by position, in types that take the values of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.functions.results import common_type
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.union import Union
from millstream.plan.typed import InputColumn
from millstream.sql.functions import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.plan.operators.node import Node
    from millstream.source import Span


def union_of(queries: Sequence[Node], place: Callable[[int], Span], span: Span) -> Union:
    """`place` tells where a query stands. The columns are called as those of the first."""
    first = queries[0]
    for number, query in enumerate(queries):
        if len(query.columns) != len(first.columns):
            raise ScriptError(
                Diagnostic(
                    Code.SINK_SCHEMA_MISMATCH,
                    f"a query of UNION has {len(query.columns)} columns, and the first has {len(first.columns)}",
                    place(number),
                    detail=f"First: [{_enumerate_columns(first)}]. This one: [{_enumerate_columns(query)}].",
                    hint="Select the same columns in each, in the same order; use NULL for one that is missing.",
                )
            )
    output = tuple(_column(at, queries, place) for at in range(len(first.columns)))
    return Union(tuple(_as_output(query, output, span) for query in queries), output, span)


def _column(at: int, queries: Sequence[Node], place: Callable[[int], Span]) -> OutputColumn:
    name, found = queries[0].columns[at].name, queries[0].columns[at].type
    for number, query in enumerate(queries):
        try:
            found = common_type([found, query.columns[at].type])
        except MismatchError as error:
            raise ScriptError(
                Diagnostic(
                    Code.TYPE_MISMATCH,
                    f'column "{name}" of UNION has incompatible types: {error}',
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
