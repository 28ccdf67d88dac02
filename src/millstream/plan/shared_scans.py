"""INSERTs of a set that read the same table read it in one scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.plan.nodes import Filter, Node, Project, ProjectItem, Scan, Values, Write, scans
from millstream.plan.own_producers import has_own_producers
from millstream.plan.resolver.scope import column_reference
from millstream.plan.rules.choose_operators import on_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.nodes import Root


def share_scans(roots: Sequence[Root]) -> tuple[Root, ...]:
    """The same plans, in which equal tables are one scan of all the columns that somebody needs.

    What reads a shared scan runs on the kernel: its rows are packed in the same pass, which Spark's operator is not in.
    Our own producers take all that a task writes to a table at once, so their INSERTs have no pass in common.
    """
    if has_own_producers(roots):
        return tuple(roots)
    shared = [scan for scan in _merged(roots) if len(scan.shared_by) > 1]
    return tuple(_reading(root, shared) for root in roots)


def _merged(roots: Sequence[Root]) -> list[Scan]:
    found: list[Scan] = []
    for root in roots:
        reader = root.sink.table.name if isinstance(root, Write) else ""
        for scan in scans(root):
            place = next((at for at, other in enumerate(found) if other.source == scan.source), None)
            if place is None:
                found.append(replace(scan, shared_by=(reader,)))
            else:
                found[place] = _wider(found[place], scan, reader)
    return found


def _wider(scan: Scan, other: Scan, reader: str) -> Scan:
    needed = {column.name: column for column in (*scan.columns, *other.columns)}
    columns = (needed[name] for name in scan.source.table.column_names if name in needed)
    return replace(scan, columns=tuple(columns), shared_by=(*scan.shared_by, reader))


def _reading(root: Root, shared: Sequence[Scan]) -> Root:
    if not any(scan.source == of_set.source for scan in scans(root) for of_set in shared):
        return root
    return on_kernel(replace(root, input=_over(root.input, shared, narrows=True)))


def _over(node: Node, shared: Sequence[Scan], *, narrows: bool) -> Node:
    """`narrows`: whoever is above takes all columns there are, and so must not see those of the others."""
    match node:
        case Scan():
            wide = next((scan for scan in shared if scan.source == node.source), node)
            if not narrows or {column.name for column in wide.columns} == {column.name for column in node.columns}:
                return wide
            items = (ProjectItem(column.name, column_reference(column.name), column.type) for column in node.columns)
            return Project(wide, tuple(items), node.span)
        case Values():
            return node
        case Project():
            return replace(node, input=_over(node.input, shared, narrows=False))
        case Filter():
            return replace(node, input=_over(node.input, shared, narrows=narrows))
        case _:
            return replace(node, input=_over(node.input, shared, narrows=True))
