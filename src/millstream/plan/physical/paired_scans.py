"""An operator of two inputs that read the same table reads it in one scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform, walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.passes import Pass
from millstream.plan.physical.python_steps import obstacle_to_pass
from millstream.plan.physical.shared_scans import over_scan, widen
from millstream.plan.typed import user_functions_in
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def pair_scans(roots: Sequence[Root]) -> tuple[tuple[Root, ...], frozenset[str]]:
    """The same plans, in which both inputs of an operator read one scan where they can, and the ids of these operators.

    Only in Python: Spark would run the scan once for each input.
    """
    pairing = _Pairing([])
    paired = [transform(root, pairing.pair) for root in roots]
    return tuple(root for root in paired if isinstance(root, Write | Collect)), frozenset(pairing.found)


def plan_pairs(ids: Collection[str], roots: Sequence[Root]) -> Iterator[Pass]:
    """The passes of these operators."""
    for node in (node for root in roots for node in walk(root) if node.id in ids):
        scan = _scan_of(node.inputs[0])
        assert scan is not None
        yield Pass(scan, (f"both inputs of {node.id}",), (node,), None)


@dataclass(frozen=True, slots=True)
class _Pairing:
    found: list[str]

    def pair(self, node: Node) -> Node:
        if not node.keeps_state or len(node.inputs) == 1:
            return node
        left, right = map(_scan_of, node.inputs)
        if left is None or right is None or left.source != right.source:
            return node
        wide = widen(left, right)
        paired = node.with_inputs(*(over_scan(below, wide) for below in node.inputs))
        if not all(_stays_in_python(below) for below in paired.inputs):
            return node
        self.found.append(node.id)
        return paired


def _scan_of(node: Node) -> Scan | None:
    while isinstance(node, Filter | Project):
        [node] = node.inputs
    return node if isinstance(node, Scan) else None


def _stays_in_python(side: Node) -> bool:
    """Up to the packets; to compare nested values takes functions of Spark's."""
    node: Node | None = side
    while node is not None:
        called = any(any(user_functions_in(expression)) for expression in node.expressions)
        if called or obstacle_to_pass(node, drops_nulls=False) is not None:
            return False
        node = next(iter(node.inputs), None)
    types = side.column_types().values()
    return bool(types) and not any(type_.root in NESTED for type_ in types)
