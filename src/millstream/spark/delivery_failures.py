"""Explains to the user why messages were not delivered."""

from __future__ import annotations

from typing import Final

from millstream.delivery.delivery_error import Failure
from millstream.errors import Code, Diagnostic

_GO_ON: Final = "Start it again to continue from its last finished batch; nothing is lost or written twice."
_TOLD: Final = {
    Failure.TAKEN_OVER: (
        Code.TAKEN_OVER,
        'another run of job "{job}" has taken over',
        "Let the other run continue. If they are two jobs, give each its own 'sink.transactional-id-prefix'.",
    ),
    Failure.ENDED_BY_BROKER: (
        Code.JOB_FAILED,
        'Kafka ended a transaction of job "{job}"',
        "Raise 'properties.transaction.timeout.ms', or lower 'millstream.batch.max-rows'. " + _GO_ON,
    ),
    Failure.OLDER_CHECKPOINT: (
        Code.DELIVERY_UNCERTAIN,
        'the checkpoint of job "{job}" is older than what it has written to table "{table}"',
        "Put back the newest copy of the checkpoint, or start over with --fresh.",
    ),
    Failure.AWAY: (Code.JOB_FAILED, 'job "{job}" could not write to table "{table}"', _GO_ON),
    Failure.REFUSED: (Code.JOB_FAILED, 'job "{job}" could not write to table "{table}"', _GO_ON),
    Failure.NO_PROCESS: (Code.JOB_FAILED, 'job "{job}" could not write to table "{table}"', _GO_ON),
}
CODES: Final = {failure: code for failure, (code, _, _) in _TOLD.items()}


def undelivered_error(job: str, table: str, failure: Failure, why: str) -> Diagnostic:
    code, primary, hint = _TOLD[failure]
    return Diagnostic(code, primary.format(job=job, table=table), detail=why, hint=hint)
