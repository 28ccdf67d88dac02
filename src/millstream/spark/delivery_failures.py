"""Explains to the user why messages were not delivered."""

from __future__ import annotations

from typing import Final

from millstream.delivery.delivery_error import Failure
from millstream.errors import Code, Diagnostic

_RESUME: Final = "Start it again to continue from its last finished batch."
_GO_ON: Final = f"{_RESUME[:-1]}; nothing is lost or written twice."
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
    Failure.AWAY: (
        Code.BROKER_UNREACHABLE,
        'no Kafka broker answers job "{job}" any more',
        f"Check that the brokers run. {_RESUME}",
    ),
    Failure.NO_TOPIC: (
        Code.TOPIC_MISSING,
        'a topic of table "{table}", which job "{job}" writes, was deleted',
        f"Create the topic again. {_RESUME}",
    ),
    Failure.NOT_AUTHENTICATED: (
        Code.BROKER_REFUSED,
        'Kafka did not accept the credentials of job "{job}"',
        "Correct 'properties.sasl.mechanism', 'properties.sasl.jaas.config' or the certificates in 'properties.ssl.*'.",
    ),
    Failure.NOT_ALLOWED: (
        Code.BROKER_REFUSED,
        'Kafka does not allow what job "{job}" does',
        "Allow the user to write the topics of the sink.",
    ),
    Failure.TOO_LARGE: (
        Code.JOB_FAILED,
        'a message of job "{job}" is larger than Kafka accepts',
        "Raise 'properties.max.request.size' of the sink and max.message.bytes of its topic.",
    ),
    Failure.BAD_PROPERTIES: (
        Code.JOB_FAILED,
        'the Kafka client of job "{job}" does not accept its properties',
        "Check the options under 'properties.': those of SASL and SSL come in groups.",
    ),
    **dict.fromkeys(
        (Failure.NOT_READY, Failure.REFUSED, Failure.NO_PROCESS),
        (Code.JOB_FAILED, 'job "{job}" could not write to table "{table}"', _RESUME),
    ),
}
CODES: Final = {failure: code for failure, (code, _, _) in _TOLD.items()}


def undelivered_error(job: str, table: str, failure: Failure, why: str) -> Diagnostic:
    code, primary, hint = _TOLD[failure]
    return Diagnostic(code, primary.format(job=job, table=table), detail=why, hint=hint)
