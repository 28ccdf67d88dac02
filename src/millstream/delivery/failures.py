"""Why messages were not delivered, in words that travel from one process to the next."""

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
    REFUSED = "refused"
    """Kafka said no, or nothing."""
    NO_PROCESS = "no-process"
    """The process that delivers did not start, or it ended."""


FENCED: Final = frozenset(
    {
        KafkaError._FENCED,  # noqa: SLF001
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.PRODUCER_FENCED,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
    }
)


class DeliveryError(Exception):
    def __init__(self, failure: Failure, why: str) -> None:
        super().__init__(failure, why)
        self.failure = failure
        self.why = why


def refused(error: KafkaException) -> DeliveryError:
    said: KafkaError = error.args[0]
    return DeliveryError(Failure.REFUSED, f"{said.str().rstrip('.')}.")


def is_fenced(error: KafkaException) -> bool:
    return error.args[0].code() in FENCED
