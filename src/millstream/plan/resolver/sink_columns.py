"""The last step of a plan: the query's columns become the sink's, by position, with safe casts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.casts import fits
from millstream.plan.functions.results import NULL
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.values import Values
from millstream.plan.typed import Constant, InputColumn
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.table import CatalogTable
    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.typed import Typed
    from millstream.sql.statements import InsertInto, MetadataColumn, PhysicalColumn

    TargetColumn = PhysicalColumn | MetadataColumn

_CAST: Final = "Columns are matched by position; use CAST where a type differs."
_NUMBER: Final = "Give the sink's columns in its order, or name those that are given: INSERT INTO t (a, b)."


def project_to_sink(query: Node, sink: CatalogTable, statement: InsertInto) -> Node:
    targets = _targets(sink, statement)
    if len(targets) != len(query.columns):
        raise ScriptError(_mismatch(query, sink, statement, "They differ in the number of columns.", _NUMBER))
    _refuse_nulls(query, targets, statement)
    for found, wanted in zip(query.columns, targets, strict=True):
        if not fits(found.type, wanted.type):
            raise ScriptError(
                _mismatch(
                    query,
                    sink,
                    statement,
                    f'Column "{wanted.name}" is {wanted.type} and is given {found.type}.',
                )
            )
    given: dict[str, OutputColumn] = dict(zip((t.name for t in targets), query.columns, strict=True))
    items = tuple(
        ProjectItem(
            column.name,
            _reference(given[column.name]) if column.name in given else Constant(None, NULL),
            column.type,
        )
        for column in sink.written_columns
    )
    return Project(query, items, statement.span)


def _refuse_nulls(query: Node, targets: tuple[TargetColumn, ...], statement: InsertInto) -> None:
    """NULLs that are written in the statement; others show when the job runs."""
    problems = [
        Diagnostic(
            Code.SINK_SCHEMA_MISMATCH,
            f'column "{wanted.name}" is NOT NULL but is given NULL',
            statement.span,
            hint="Give it a value, or declare it without NOT NULL.",
        )
        for found, wanted in zip(query.columns, targets, strict=True)
        if not wanted.type.nullable and any(map(_is_null, _expressions_of(query, found.name)))
    ]
    if problems:
        raise ScriptError(problems)


def _reference(column: OutputColumn) -> Typed:
    return InputColumn(column.name, column.type)


def _is_null(expression: Typed) -> bool:
    return isinstance(expression, Constant) and expression.value is None and expression.type.root is TypeRoot.NULL


def _expressions_of(node: Node, name: str) -> Iterator[Typed]:
    """The expressions that a column is given, as far down as it is only handed on."""
    at = next(at for at, column in enumerate(node.columns) if column.name == name)
    match node:
        case Values():
            yield from (row[at] for row in node.rows)
        case Project():
            expression = node.items[at].expression
            [below] = node.inputs
            yield from _expressions_of(below, expression.name) if isinstance(expression, InputColumn) else [expression]


def _targets(sink: CatalogTable, statement: InsertInto) -> tuple[TargetColumn, ...]:
    if not statement.columns:
        return sink.written_columns
    columns = {column.name: column for column in sink.written_columns}
    given = Counter(name.text for name in statement.columns)
    problems = [
        Diagnostic(
            Code.UNDEFINED_COLUMN,
            f'column "{name.text}" is not a column of "{sink.name}" that can be written',
            name.span,
            detail=f"It has: {', '.join(columns)}.",
        )
        for name in statement.columns
        if name.text not in columns
    ]
    problems += [
        Diagnostic(
            Code.SINK_SCHEMA_MISMATCH, f'column "{column.name}" is NOT NULL but is not given a value', statement.span
        )
        for column in columns.values()
        if not column.type.nullable and column.name not in given
    ]
    problems += [
        Diagnostic(Code.DUPLICATE_COLUMN, f'column "{name}" appears twice in the INSERT', statement.span)
        for name, times in given.items()
        if times > 1
    ]
    if problems:
        raise ScriptError(problems)
    return tuple(columns[name.text] for name in statement.columns)


def _mismatch(query: Node, sink: CatalogTable, statement: InsertInto, why: str, hint: str = _CAST) -> Diagnostic:
    given = ", ".join(f"{column.name} {column.type}" for column in query.columns)
    wanted = ", ".join(f"{column.name} {column.type}" for column in _targets(sink, statement))
    return Diagnostic(
        Code.SINK_SCHEMA_MISMATCH,
        f'columns of the query and of sink "{sink.name}" do not match',
        statement.span,
        detail=f"{why} Query: [{given}]. Sink: [{wanted}].",
        hint=hint,
    )
