"""The conditions for an exactly-once job to redo an unfinished batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.delivery.committed import group
from millstream.errors import Code, Diagnostic, JobError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.delivery.request import Transactions
    from millstream.plan.program import JobPlan


def require_same_prefix(plan: JobPlan, sink: KafkaSink, batch: int, kept_prefix: str | None) -> None:
    """What was written of the batch can only be found under the prefix that it began with, by exactly-once tables."""
    prefix = sink.delivery.transactional_id_prefix
    if kept_prefix == prefix:
        return
    if kept_prefix is None:
        detail = "It was started without exactly-once, or by an earlier version: what is written of it is not known."
        hint = f"Run it again as it was, {_until_it_is_finished(plan)}. Then change it"
    else:
        detail = f"It was started with 'sink.transactional-id-prefix' = '{kept_prefix}'."
        hint = f"Run it again with that prefix, {_until_it_is_finished(plan)}. Then change it"
    raise JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f'table "{sink.table.name}" is written differently than when batch {batch} of job "{plan.name}" began',
            sink.table.span,
            detail=detail,
            hint=f"{hint}; or start over with --fresh.",
        )
    )


def require_unwritten(
    plan: JobPlan,
    sink: KafkaSink,
    batch: int,
    transactions: Transactions,
    ids: Iterable[str],
    *,
    is_of_other_version: bool = False,
) -> None:
    """Refuses a batch of which a writer has committed its part. Called after fencing, so no more can be committed."""
    written = [name for name in sorted(ids) if _has_written(sink, batch, transactions, name)]
    if not written:
        return
    if is_of_other_version:
        raise JobError(
            Diagnostic(
                Code.CHECKPOINT_MISMATCH,
                f'batch {batch} of job "{plan.name}" was begun by another version of Millstream and is not finished',
                plan.roots[0].span,
                detail=f'A part of it is in table "{sink.table.name}" already. Which rows are missing is known only '
                "to the version that began it.",
                hint=f"Run the job once more with that version, {_until_it_is_finished(plan)}, and then with this "
                "one. Or start over with --fresh.",
            )
        )
    raise JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f'job "{plan.name}" has changed while a batch of it is not finished',
            plan.roots[0].span,
            detail=f'A part of batch {batch} is in table "{sink.table.name}" already, and the rest would not match it.',
            hint="Undo what is changed before the last GROUP BY or key of the query, and run the job "
            f"{_until_it_is_finished(plan)}; what is done with unreadable messages and with results may stay "
            "changed. Or start over with --fresh.",
        )
    )


def _until_it_is_finished(plan: JobPlan) -> str:
    """A job that is drained ends event time, and cannot go on."""
    return "until the batch is finished" if plan.physical.needs_time else "with --drain, which finishes the batch"


def _has_written(sink: KafkaSink, batch: int, transactions: Transactions, transactional_id: str) -> bool:
    with group(sink.properties, transactional_id, transactions.progress_topic) as progress:
        found = progress.read()
    return found is not None and transactions.is_of_this_run(found[1]) and found[0] > batch
