"""Asks Kafka for the partitions of a table's topics, and where they begin and end."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from millstream.connectors.kafka.client_settings import client_settings
from millstream.connectors.kafka.names import INTERNAL_TOPICS
from millstream.librdkafka.error_codes import AWAY, UNKNOWN_TOPIC
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
_OF_LOGIN: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001


class TopicOffsets:
    def __init__(self, request: ReadRequest) -> None:
        self._reported: KafkaError | None = None
        settings: dict[str, Any] = {**client_settings(request.properties), "error_cb": self._note_error}
        self._client = AdminClient(settings)
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
                if error.args[0].code() in UNKNOWN_TOPIC:
                    self._looked = -_SECONDS_BETWEEN_LOOKS
                raise
            return {(place.topic, place.partition): offset for place, offset in found.items()}

        return self._retry(ask)

    def _retry(self, ask: Callable[[], T]) -> T:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return ask()
            except (KafkaException, TimeoutError) as error:
                self._client.poll(0)  # a client that cannot log in only says that no broker is there
                failure = _to_reading_error(error if self._reported is None else KafkaException(self._reported))
                may_pass = isinstance(failure, KafkaAwayError)
                if not may_pass or time.monotonic() > deadline:
                    raise failure from None
                time.sleep(_RETRY_SECONDS)

    def _find_partitions(self) -> list[TopicPartition]:
        """Looks for new ones now and then: a request per batch would be one too many."""
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
            found = self._client.list_topics(timeout=_TIMEOUT_SECONDS).topics
            self._require_access(set(self._topics) - found.keys())
            self._partitions = [
                TopicPartition(topic, partition)
                for topic, described in found.items()
                if self.reads(topic) and described.error is None
                for partition in described.partitions
            ]
            self._looked = time.monotonic()
        return self._partitions

    def reads(self, topic: str) -> bool:
        if self._pattern is None:
            return topic in self._topics
        return topic not in INTERNAL_TOPICS and self._pattern.fullmatch(topic) is not None

    def _require_access(self, missing: set[str]) -> None:
        """Brokers do not list topics that the user may not see; those are not deleted."""
        for topic in missing:
            try:
                self._client.describe_topics(TopicCollection([topic]))[topic].result(_TIMEOUT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise

    def _note_error(self, error: KafkaError) -> None:
        if error.code() in _OF_LOGIN:
            self._reported = error


def _to_reading_error(error: KafkaException | TimeoutError) -> KafkaAwayError | KafkaRefusedError:
    if isinstance(error, TimeoutError):
        return KafkaAwayError("Local: Timed out")
    cause: Any = error.args[0]
    text = f"{cause.name()}: {cause.str()}"
    if cause.code() in AWAY or cause.code() in UNKNOWN_TOPIC or cause.retriable():
        return KafkaAwayError(text)
    return KafkaRefusedError(text)
