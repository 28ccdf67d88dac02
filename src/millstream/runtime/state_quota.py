"""Ends a job whose state has grown larger than 'millstream.state.max-size', before its disk is full."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from millstream.catalog.memory_sizes import format_memory_size
from millstream.catalog.settings import MAX_STATE_SIZE
from millstream.catalog.settings_of_flink import STATE_TTL
from millstream.errors import Code, Diagnostic, JobError
from millstream.state.job_state import measure
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.program import JobPlan

_NAMED: Final = 3


def measure_operators(state: Path) -> Counter[str]:
    """The bytes that each operator keeps, by its id."""
    sizes: Counter[str] = Counter()
    for table in measure(open_storage(state)):
        sizes[table.operator] += table.bytes
    return sizes


def find_excess(job: JobPlan, sizes: Counter[str]) -> JobError | None:
    """The error to end the job with; None if its state is as large as it may be, or smaller."""
    most = job.settings.max_state_size
    if most is None or sizes.total() <= most:
        return None
    labels = {node.id: f"{node.id}, {node.operator.label}" for node in job.physical.nodes}
    largest = "; ".join(
        f"{format_memory_size(size)} in {labels.get(operator, operator)}"
        for operator, size in sizes.most_common(_NAMED)
        if size
    )
    return JobError(
        Diagnostic(
            Code.STATE_TOO_LARGE,
            f"the state of job \"{job.name}\" is larger than '{MAX_STATE_SIZE.key}' allows",
            job.roots[0].span,
            detail=f"It takes up {format_memory_size(sizes.total())}, and {format_memory_size(most)} are allowed. "
            f"Largest first: {largest}.",
            hint=f"Raise the setting if the disk has room; to keep less, let rows expire with '{STATE_TTL.key}', or "
            "filter rows and drop columns and keys before they reach these operators.",
        )
    )
