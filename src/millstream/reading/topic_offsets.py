"""Asks Kafka for the partitions of a table's topics, and where they begin and end."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from millstream.connectors.kafka.client_settings import client_settings
from millstream.librdkafka.error_codes import AWAY
from millstream.reading.reading_error import KafkaAwayError, KafkaRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.reading.read_request import ReadRequest

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 0.1
_SECONDS_BETWEEN_LOOKS: Final = 1.0
_UNKNOWN: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)


class TopicOffsets:
    def __init__(self, request: ReadRequest) -> None:
        self._client = AdminClient(client_settings(request.properties))
        self._topics = request.topics
        self._pattern = None if request.pattern is None else re.compile(request.pattern)
        self._isolation = IsolationLevel.READ_COMMITTED if request.reads_committed else IsolationLevel.READ_UNCOMMITTED
        self._partitions: list[TopicPartition] = []
        self._looked = -_SECONDS_BETWEEN_LOOKS

    def earliest(self) -> Offsets:
        return self._ask(OffsetSpec.earliest())

    def latest(self) -> Offsets:
        """The offsets behind the last messages that may be read."""
        return self._ask(OffsetSpec.latest())

    def _ask(self, spec: OffsetSpec) -> Offsets:
        """Of partitions that exist; one that has just been deleted is left out."""

        def ask() -> Offsets:
            request = dict.fromkeys(self._find_partitions(), spec)
            answers = (
                self._client.list_offsets(request, isolation_level=self._isolation, request_timeout=_TIMEOUT_SECONDS)
                if request
                else {}
            )
            try:
                found = {place: answer.result(_TIMEOUT_SECONDS).offset for place, answer in answers.items()}
            except KafkaException as error:
                if error.args[0].code() in _UNKNOWN:
                    self._looked = -_SECONDS_BETWEEN_LOOKS
                raise
            return {(place.topic, place.partition): offset for place, offset in found.items()}

        return _retry(ask)

    def _find_partitions(self) -> list[TopicPartition]:
        """Looks for new ones now and then: a request per batch would be one too many."""
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
            found = self._client.list_topics(timeout=_TIMEOUT_SECONDS).topics
            self._partitions = [
                TopicPartition(topic, partition)
                for topic, described in found.items()
                if self._reads(topic) and described.error is None
                for partition in described.partitions
            ]
            self._looked = time.monotonic()
        return self._partitions

    def _reads(self, topic: str) -> bool:
        return topic in self._topics if self._pattern is None else self._pattern.fullmatch(topic) is not None


def _retry(ask: Callable[[], T]) -> T:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except (KafkaException, TimeoutError) as error:
            failure = _to_reading_error(error)
            may_pass = isinstance(failure, KafkaAwayError)
            if not may_pass or time.monotonic() > deadline:
                raise failure from None
            time.sleep(_RETRY_SECONDS)


def _to_reading_error(error: KafkaException | TimeoutError) -> KafkaAwayError | KafkaRefusedError:
    if isinstance(error, TimeoutError):
        return KafkaAwayError("Local: Timed out")
    cause: Any = error.args[0]
    text = f"{cause.name()}: {cause.str()}"
    if cause.code() in AWAY or cause.code() in _UNKNOWN or cause.retriable():
        return KafkaAwayError(text)
    return KafkaRefusedError(text)
