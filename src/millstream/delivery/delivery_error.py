"""Why messages were not delivered, in a form that can be passed between processes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from millstream.librdkafka.error_codes import NO_RESPONSE, NOT_READY, UNKNOWN_TOPIC


class Failure(StrEnum):
    TAKEN_OVER = "taken-over"
    """Another start of the job has claimed its transactions."""
    ENDED_BY_BROKER = "ended-by-broker"
    """The broker ended a transaction that took too long."""
    OLDER_CHECKPOINT = "older-checkpoint"
    """What is written is newer than the checkpoint."""
    AWAY = "away"
    """Kafka did not respond."""
    NOT_READY = "not-ready"
    """Another broker is taking over."""
    NO_TOPIC = "no-topic"
    """The topic, or the partition, does not exist."""
    NOT_AUTHENTICATED = "not-authenticated"
    """Kafka rejected the credentials."""
    NOT_ALLOWED = "not-allowed"
    """The user lacks a permission."""
    TOO_LARGE = "too-large"
    """A message is larger than the client or the broker accepts."""
    BAD_PROPERTIES = "bad-properties"
    """Kafka's client rejected its settings."""
    REFUSED = "refused"
    """Kafka rejected the request for another reason."""
    NO_PROCESS = "no-process"
    """The process that delivers did not start, or has ended."""


FENCED: Final = frozenset(
    {
        KafkaError._FENCED,  # noqa: SLF001
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.PRODUCER_FENCED,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
    }
)


_FAILURES: Final = {
    Failure.AWAY: NO_RESPONSE,
    Failure.NOT_READY: NOT_READY,
    Failure.NO_TOPIC: UNKNOWN_TOPIC,
    Failure.NOT_AUTHENTICATED: (
        KafkaError._AUTHENTICATION,  # noqa: SLF001
        KafkaError.SASL_AUTHENTICATION_FAILED,
    ),
    Failure.NOT_ALLOWED: (
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    Failure.BAD_PROPERTIES: (KafkaError._INVALID_ARG,),  # noqa: SLF001
    Failure.TOO_LARGE: (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE),
}


class DeliveryError(Exception):
    def __init__(self, failure: Failure, why: str) -> None:
        super().__init__(failure, why)
        self.failure = failure
        self.why = why


def refusal_error(error: KafkaException) -> DeliveryError:
    cause: KafkaError = error.args[0]
    said = str(cause.str()).rstrip(".")
    return DeliveryError(_failure_of(cause), f"{said[:1].upper()}{said[1:]}.")


def fenced_error(prefix: str) -> DeliveryError:
    return DeliveryError(Failure.TAKEN_OVER, f"Its transactions, '{prefix}-…', were claimed by a later start.")


def _failure_of(error: KafkaError) -> Failure:
    named = (failure for failure, codes in _FAILURES.items() if error.code() in codes)
    return next(named, Failure.NOT_READY if error.retriable() else Failure.REFUSED)


def is_away(error: KafkaError) -> bool:
    """Whether it passes by itself."""
    return _failure_of(error) in (Failure.AWAY, Failure.NOT_READY)


def is_fenced(error: KafkaException) -> bool:
    return error.args[0].code() in FENCED
