"""How far one pass over a shared scan goes for each of its readers, and whether it stays in Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.unnest import Unnest
from millstream.plan.physical.python_steps import obstacle_to_pass
from millstream.plan.physical.shared_scans import scan_of
from millstream.plan.typed import user_functions_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.physical.shared_scans import WideScan


_IN_PYTHON: Final = (AssignWatermark, AssignWindows, Unnest)


@dataclass(frozen=True, slots=True)
class Pass:
    scan: Scan
    readers: tuple[str, ...]
    """The tables that these INSERTs write, or the inputs of an operator, in words."""
    ends: tuple[Node, ...]
    """Per reader the last operator, going up, that the pass does for it."""
    obstacle: str | None
    """What only Spark can do for one of them."""


def plan_pass(found: WideScan, roots: Sequence[Root], *, drops_nulls: bool) -> Pass:
    """All readers part in Python, or all in Spark: their rows come out of one step.

    Only in Python can it make several rows of one, and take a watermark from rows.
    """
    chains = [_chain(root) for root in roots if _reads(root, found.scan)]
    parts = [_without_time(list(_in_pass(chain, in_python=True))) for chain in chains]
    obstacles = (obstacle_to_pass(node, drops_nulls=drops_nulls) for part in parts for node in part)
    obstacle = next(filter(None, obstacles), None)
    if obstacle is not None:
        parts = [list(_in_pass(chain, in_python=False)) for chain in chains]
    scan = chains[0][0]
    assert isinstance(scan, Scan)
    return Pass(scan, found.readers, tuple(part[-1] for part in parts), obstacle)


def _reads(root: Root, scan: Scan) -> bool:
    own = scan_of(root)
    return own is not None and own.id == scan.id


def _chain(root: Root) -> list[Node]:
    """From the scan upwards."""
    nodes: list[Node] = [root]
    while nodes[-1].inputs:
        nodes += nodes[-1].inputs
    return nodes[::-1]


def _in_pass(chain: Sequence[Node], *, in_python: bool) -> Iterator[Node]:
    """A user's function comes behind the pass: it may fail on rows that an INSERT has dropped."""
    scan, *above = chain
    yield scan
    for node in above:
        is_simple = isinstance(node, Filter | Project) or (in_python and isinstance(node, _IN_PYTHON))
        if is_simple and not _calls_user(node):
            yield node
            continue
        if node.keeps_state or (isinstance(node, Write) and node.sink.is_kafka and node.sink.parallelism is None):
            yield node
        return


def _without_time(part: list[Node]) -> list[Node]:
    """What is posted to the other side of an exchange leaves behind what a step has noted of time."""
    if part[-1].keeps_state:
        return part
    return list(takewhile(lambda node: not isinstance(node, AssignWatermark), part))


def _calls_user(node: Node) -> bool:
    return any(any(user_functions_in(expression)) for expression in node.expressions)
