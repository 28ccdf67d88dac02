"""INSERTs of a set that read the same table read it in one scan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


@dataclass(frozen=True, slots=True)
class WideScan:
    """A scan of all the columns that one of its readers needs."""

    scan: Scan
    readers: tuple[str, ...]
    """The tables that these INSERTs write."""


def share_scans(roots: Sequence[Root]) -> tuple[tuple[Root, ...], tuple[WideScan, ...]]:
    """The same plans, in which equal tables are one scan, and these scans.

    A scan below an operator of several inputs is not shared: one pass ends where its reader keeps state or writes.
    """
    wide = tuple(found for found in _widen(roots) if len(found.readers) > 1)
    return tuple(_reading(root, wide) for root in roots), wide


def scan_of(root: Node) -> Scan | None:
    """What a plan reads that is a chain of operators down to one table."""
    node = root
    while len(node.inputs) == 1:
        [node] = node.inputs
    return node if isinstance(node, Scan) else None


def _widen(roots: Sequence[Root]) -> list[WideScan]:
    found: list[WideScan] = []
    for root in roots:
        scan = scan_of(root)
        if scan is None or not isinstance(root, Write):
            continue
        reader = root.sink.table.name
        place = next((at for at, other in enumerate(found) if other.scan.source == scan.source), None)
        if place is None:
            found.append(WideScan(scan, (reader,)))
        else:
            found[place] = WideScan(widen(found[place].scan, scan), (*found[place].readers, reader))
    return found


def widen(scan: Scan, other: Scan) -> Scan:
    """A scan of the columns of both."""
    needed = {column.name: column for column in (*scan.columns, *other.columns)}
    columns = (needed[name] for name in scan.source.table.column_names if name in needed)
    return replace(scan, output=tuple(columns))


def over_scan(node: Node, wide: Scan) -> Node:
    """The same rows, from a scan of more columns."""
    return _over(node, wide, narrows=True)


def _reading(root: Root, wide: Sequence[WideScan]) -> Root:
    own = scan_of(root)
    shared = next((found.scan for found in wide if own is not None and found.scan.source == own.source), None)
    return root if shared is None else root.with_inputs(*(over_scan(below, shared) for below in root.inputs))


def _over(node: Node, wide: Scan, *, narrows: bool) -> Node:
    """`narrows`: whoever is above takes all columns there are, and so must not see those of the others."""
    match node:
        case Scan():
            if not narrows or {column.name for column in wide.columns} == {column.name for column in node.columns}:
                return wide
            return Project.of_columns(wide, node.columns, node.span)
        case Project():
            narrows = False
        case Filter() | AssignWatermark():
            pass
        case _:
            narrows = True
    return node.with_inputs(*(_over(below, wide, narrows=narrows) for below in node.inputs))
