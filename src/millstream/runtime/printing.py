"""Where results and rows are printed by default."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from millstream.plan.operators.roots import Write
from millstream.plan.program import Listing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.plan.program import JobPlan, Text
    from millstream.runtime.job import Job


def no_op(*_: Any) -> None:
    pass


def print_answer(answer: Listing | Text) -> None:
    print(answer.render())


def print_rows(rows: list[str]) -> None:
    for row in rows:
        print(row)


def print_errors(rows: list[str]) -> None:
    print("\n".join(rows), file=sys.stderr, flush=True)


def goes_to_standard_error(plan: JobPlan) -> bool:
    return any(root.sink.prints_to_standard_error for root in plan.roots if isinstance(root, Write))


def list_jobs(jobs: Iterable[Job]) -> Listing:
    rows = ((job.name, "RUNNING" if job.is_running else "FINISHED") for job in jobs)
    return Listing(("job name", "status"), tuple(rows))
