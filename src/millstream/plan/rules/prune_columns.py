"""Decode only the columns that somebody above needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Node,
    Normalise,
    Project,
    Scan,
    Values,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import Root


def prune_columns(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return replace(plan, input=_prune(plan.input, {column.name for column in plan.columns}))


def _prune(node: Node, needed: set[str]) -> Node:
    match node:
        case Scan():
            return replace(node, columns=tuple(column for column in node.columns if column.name in needed))
        case Filter():
            return replace(node, input=_prune(node.input, needed | _named([node.condition])))
        case Project():
            kept = tuple(item for item in node.items if item.name in needed)
            below = _named(item.expression for item in kept)
            return replace(node, items=kept, input=_prune(node.input, below))
        case Aggregate():
            read = {name for call in node.calls for name in call.inputs}
            return replace(node, input=_prune(node.input, {*node.keys, *read}))
        case Expand():
            return replace(node, input=_prune(node.input, {*needed, *node.keys} - {node.number}))
        case Values():
            places = [at for at, column in enumerate(node.columns) if column.name in needed]
            rows = tuple(tuple(row[at] for at in places) for row in node.rows)
            return replace(node, rows=rows, columns=tuple(node.columns[at] for at in places))
        case Normalise() | Materialise():
            return replace(node, input=_prune(node.input, {*needed, *node.keys}))
        case Write() | Collect():
            return replace(node, input=_prune(node.input, {column.name for column in node.columns}))


def _named(expressions: Iterable[exp.Expr]) -> set[str]:
    return {column.name for expression in expressions for column in expression.find_all(exp.Column)}
