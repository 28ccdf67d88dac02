"""Why messages were not delivered, in a form that can be passed between processes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from confluent_kafka import KafkaError, KafkaException


class Failure(StrEnum):
    TAKEN_OVER = "taken-over"
    """Another start of the job has claimed its transactions."""
    ENDED_BY_BROKER = "ended-by-broker"
    """The broker ended a transaction that took too long."""
    OLDER_CHECKPOINT = "older-checkpoint"
    """What is written is newer than the checkpoint."""
    AWAY = "away"
    """Kafka did not respond, or another broker is taking over."""
    REFUSED = "refused"
    """Kafka rejected the request."""
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


_AWAY: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
    }
)


class DeliveryError(Exception):
    def __init__(self, failure: Failure, why: str) -> None:
        super().__init__(failure, why)
        self.failure = failure
        self.why = why


def refusal_error(error: KafkaException) -> DeliveryError:
    cause: KafkaError = error.args[0]
    return DeliveryError(Failure.AWAY if is_away(cause) else Failure.REFUSED, f"{cause.str().rstrip('.')}.")


def fenced_error(prefix: str) -> DeliveryError:
    return DeliveryError(Failure.TAKEN_OVER, f"Its transactions, '{prefix}-…', were claimed by a later start.")


def is_away(error: KafkaError) -> bool:
    """Whether it passes by itself."""
    return error.retriable() or error.code() in _AWAY


def is_fenced(error: KafkaException) -> bool:
    return error.args[0].code() in FENCED
