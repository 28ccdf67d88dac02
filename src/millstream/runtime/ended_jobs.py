"""Jobs whose event time has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, JobError
from millstream.runtime.batch_log import BatchLog
from millstream.spark.tick_numbers import ends_time

if TYPE_CHECKING:
    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import JobFolder


def refuse_to_go_on(plan: JobPlan, folder: JobFolder, *, drain: bool) -> str | None:
    """A job that was drained cannot have any more rows: all of them would be late.

    Drained again, it finishes its last batch if that was killed, and reads nothing: a notice says so.
    """
    if plan.is_bounded or not plan.physical.needs_time:
        return None
    log = BatchLog(folder.path)
    if not ends_time(log.tick_of(log.last_begun)):
        return None
    if drain:
        return f'job "{plan.name}" was drained before: what has come since is not read, as all of it would be late'
    raise JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f'job "{plan.name}" was drained, and with that its event time has ended',
            plan.roots[0].span,
            detail="Its last windows have closed, whatever their end is, so all further rows would be late.",
            hint="To read more, start over with --fresh or in another checkpoint. A job that is to go on is stopped "
            "with Ctrl-C, or with stop() in Python.",
        )
    )
