"""Plans as text: the logical one with the changes and the key of each operator, the physical one as stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import letters
from millstream.plan.physical.stages import stages_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.physical.nodes import PhysicalPlan
    from millstream.plan.physical.stages import Stage


def explain_logical(roots: Sequence[Node]) -> str:
    plans = "\n\n".join("\n".join(_lines(root, 0)) for root in roots)
    return f"== Logical Plan ==\n{plans}"


def explain_physical(plan: PhysicalPlan) -> str:
    stages = "\n".join(line for stage in stages_of(plan) for line in _stage_lines(stage))
    return f"== Physical Plan ==\n{stages}"


def _lines(node: Node, depth: int) -> Iterator[str]:
    prefix = "" if depth == 0 else "   " * (depth - 1) + "+- "
    yield f"{prefix}{node.label} {describe_changes(node)}"
    for below in node.inputs:
        yield from _lines(below, depth + 1)


def describe_changes(node: Node) -> str:
    """`changelog=[I,UA] key=[user_region]`."""
    key = node.upsert_key
    return f"changelog=[{letters(node.changelog)}]" + (f" key=[{','.join(key)}]" if key is not None else "")


def _stage_lines(stage: Stage) -> Iterator[str]:
    given = f", exchange by {stage.exchange}" if stage.exchange is not None else ""
    source = f" (from {' and '.join(f'stage {number}' for number in stage.reads)}{given})" if stage.reads else ""
    yield f"Stage {stage.number}{source}"
    yield from (f"   {step}" for step in stage.steps)
