"""Jobs whose event time has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, JobError
from millstream.runtime.batch_log import BatchLog
from millstream.spark.tick_numbers import ends_time

if TYPE_CHECKING:
    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import JobFolder


def refuse_to_go_on(plan: JobPlan, folder: JobFolder, *, drain: bool) -> None:
    """A job that was drained cannot have any more rows: all of them would be late."""
    if plan.is_bounded or not plan.physical.needs_time:
        return
    log = BatchLog(folder.path)
    if not ends_time(log.tick_of(log.last_begun)):
        return
    is_unfinished = not ends_time(log.tick_of(log.last_finished))
    if is_unfinished and drain:
        return
    again = "Run it with --drain once more, which finishes its last batch. Then" if is_unfinished else "To read more,"
    raise JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f'job "{plan.name}" was drained, and with that its event time has ended',
            plan.roots[0].span,
            detail="Its last windows have closed, whatever their end is, so all further rows would be late.",
            hint=f"{again} start over with --fresh or in another checkpoint. A job that is to go on is stopped with "
            "Ctrl-C, or with stop() in Python.",
        )
    )
