"""Scans that several INSERTs of a set share: each is read and decoded once, up to where its readers part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from millstream.connectors.kafka.tables import KafkaSink
from millstream.plan.nodes import (
    Aggregate,
    Filter,
    Materialise,
    Node,
    Normalise,
    Operator,
    Project,
    Scan,
    Values,
    Write,
    scans,
)
from millstream.plan.typing import typed
from millstream.spark.crossing import Crossing, Rows
from millstream.spark.one_pass import pack_in_one_pass, write_in_one_pass
from millstream.spark.translate import kept, passed, rows_of
from millstream.spark.user_functions import functions_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from millstream.plan.nodes import Root
    from millstream.spark.branch import Branch
    from millstream.spark.translate import TranslationContext

Encoded: TypeAlias = Callable[[Rows, Write], Crossing]
"""The messages of the rows that an INSERT writes."""


def read_together(roots: Sequence[Root], around: TranslationContext, encoded: Encoded) -> dict[int, DataFrame]:
    """What leaves the nodes up to which scans are shared, by their `id`."""
    shared: dict[int, DataFrame] = {}
    for scan in {id(scan): scan for root in roots for scan in scans(root) if scan.shared_by}.values():
        reading = [root for root in roots if any(scan is read for read in scans(root))]
        ends = list({id(end): end for end, _ in map(_end_of_pass, reading)}.values())
        readers = [partial(_crossing, end, around, encoded) for end in ends]
        rows = rows_of(scan, around)
        if all(isinstance(end, Write) for end in ends):
            messages = write_in_one_pass(rows, readers)
            shared |= {id(end): messages for end in ends}
        else:
            made = pack_in_one_pass(rows, readers)
            shared |= {id(end): frame for end, frame in zip(ends, made, strict=True)}
    return shared


def _end_of_pass(node: Node) -> tuple[Node, bool]:
    """The last node, going up, that one pass with other readers can do; and whether a row-wise one may follow it.

    A user's function may fail on rows that an INSERT has dropped, and Spark gives it all that are there.
    """
    if isinstance(node, Scan | Values):
        return node, True
    last, goes_on = _end_of_pass(node.input)
    match node:
        case _ if not goes_on:
            return last, False
        case Filter() | Project() if not _calls_user(node):
            return node, True
        case Aggregate(operator=Operator.KERNEL) | Normalise() | Materialise():
            return node, False
        case Write(sink=KafkaSink(parallelism=None)):
            return node, False
        case _:
            return last, False


def _calls_user(node: Filter | Project) -> bool:
    types = {column.name: column.type for column in node.input.columns}
    expressions = [node.condition] if isinstance(node, Filter) else [item.expression for item in node.items]
    return any(any(functions_in(typed(expression, types.get))) for expression in expressions)


def _crossing(end: Node, around: TranslationContext, encoded: Encoded, branch: Branch) -> Crossing:
    match end:
        case Write():
            return encoded(_rows(end.input, branch, around), end)
        case Aggregate() | Normalise() | Materialise():
            return kept(_rows(end.input, branch, around), end, around)
        case _:
            rows = _rows(end, branch, around)
            return Crossing(rows, rows.schema)


def _rows(node: Node, branch: Branch, around: TranslationContext) -> Branch:
    if isinstance(node, Scan):
        return branch
    assert isinstance(node, Filter | Project)
    return passed(_rows(node.input, branch, around), node, around)
