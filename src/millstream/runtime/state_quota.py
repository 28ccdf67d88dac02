"""Ends a job whose state has grown larger than 'millstream.state.max-size', before its disk is full."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from millstream.catalog.memory_sizes import format_memory_size
from millstream.catalog.settings import MAX_STATE_SIZE
from millstream.catalog.settings_of_flink import STATE_TTL
from millstream.errors import Code, Diagnostic, JobError
from millstream.plan.physical.nodes import Execution
from millstream.state.job_state import OperatorSize, measure
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from millstream.plan.program import JobPlan
    from millstream.state.job_state import TableSize

_NAMED: Final = 3


def measure_operators(job: JobPlan, state: Path) -> tuple[OperatorSize, ...]:
    """What each operator of a job keeps, in the order in which rows reach them."""
    tables: dict[str, list[TableSize]] = {
        node.id: [] for node in job.physical.nodes if node.execution is Execution.KERNEL
    }
    for table in measure(open_storage(state)):
        tables.setdefault(table.operator, []).append(table)  # not in the plan, where a changed script has dropped it
    return tuple(OperatorSize(operator, tuple(found)) for operator, found in tables.items())


def find_excess(job: JobPlan, sizes: Sequence[OperatorSize]) -> JobError | None:
    """The error to end the job with; None if its state is as large as it may be, or smaller."""
    most, total = job.settings.max_state_size, sum(size.bytes for size in sizes)
    if most is None or total <= most:
        return None
    labels = {node.id: f"{node.id}, {node.operator.label}" for node in job.physical.nodes}
    largest = "; ".join(
        f"{format_memory_size(size.bytes)} in {labels.get(size.operator, size.operator)}"
        for size in sorted(sizes, key=attrgetter("bytes"), reverse=True)[:_NAMED]
        if size.bytes
    )
    return JobError(
        Diagnostic(
            Code.STATE_TOO_LARGE,
            f"the state of job \"{job.name}\" is larger than '{MAX_STATE_SIZE.key}' allows",
            job.roots[0].span,
            detail=f"It takes up {format_memory_size(total)}, and {format_memory_size(most)} are allowed. "
            f"Largest first: {largest}.",
            hint=f"Raise the setting if the disk has room; to keep less, let rows expire with '{STATE_TTL.key}', or "
            "filter rows and drop columns and keys before they reach these operators.",
        )
    )
