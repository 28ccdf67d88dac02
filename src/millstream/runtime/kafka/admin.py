"""Requests to brokers that are made before Spark starts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from millstream.connectors.kafka.key_stores import UnreadableStoreError
from millstream.connectors.kafka.names import INTERNAL_TOPICS
from millstream.delivery.committed import fetch_committed_offsets
from millstream.errors import BrokerError, Code, Diagnostic, ScriptError
from millstream.runtime.kafka.broker_probe import Finding, probe
from millstream.runtime.kafka.client_errors import Question, broker_error, is_final, is_unclear
from millstream.runtime.kafka.clients import KafkaClients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from millstream.errors import MillstreamError
    from millstream.runtime.kafka.broker_probe import Probe
    from millstream.source import Span

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 10.0
_FIRST_LOOK_SECONDS: Final = 1.0
"""By then a broker has responded, or its client has reported what is wrong."""
_RETRY_SECONDS: Final = 0.1
_SOON_OVER: Final = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
"""Errors that pass: a new topic has no leader at first, or not all know its epoch; a first group has no coordinator."""
_DONE: Final = {AclOperation.READ: "read", AclOperation.WRITE: "written"}
_NO_ID: Final = str(Uuid(0, 0))


class KafkaAdmin:
    """Administrative requests to one cluster, as the tables of a script name it.

    `place` gives the position of a table's option in the script, and `topic_key` the option that names its topics.
    `clients` belong to the job that asks; without them this object opens a client of its own.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        place: Callable[[str], Span] | None = None,
        topic_key: str = "topic",
        *,
        clients: KafkaClients | None = None,
    ) -> None:
        self._properties = properties
        self._place = place
        self._topic_key = topic_key
        self._allows_creation = properties.get("allow.auto.create.topics", "true").lower() != "false"
        try:
            self._connection = (clients or KafkaClients()).connect(properties)
        except UnreadableStoreError as error:
            raise self._unreadable(error) from error
        except KafkaException as error:
            doing = "Kafka's client does not accept the table's properties"
            raise broker_error(error, Question(doing, Code.INVALID_OPTION_VALUE, properties, place)) from error
        self._client = self._connection.client

    def ping(self, seconds: float) -> MillstreamError | None:
        """Why no broker responds; None if one does, whatever its response."""
        try:
            self._client.describe_cluster(request_timeout=seconds).result(seconds)
        except (KafkaException, TimeoutError) as error:
            failure = self._failure(
                f"no Kafka broker answers at {self._properties['bootstrap.servers']}", error, Code.BROKER_UNREACHABLE
            )
            return failure if failure.code is Code.BROKER_UNREACHABLE else None
        self._connection.forget()
        return None

    def topics(self) -> list[str]:
        """All topics except Kafka's internal ones."""
        return sorted(topic for topic in self._metadata().topics if topic not in INTERNAL_TOPICS)

    def partitions(self, topic: str) -> list[int] | None:
        """The partitions of a topic; None when there is no such topic."""
        found = self._metadata().topics.get(topic)
        if found is None or (found.error and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART):
            return None
        return sorted(found.partitions)

    def require_readable(self, topic: str, table: str) -> None:
        """Raises if the topic exists and the user may not read it; one that the user may not describe is not listed."""
        self._require_access(topic, table, AclOperation.READ)

    def require_writable(self, topic: str, table: str) -> None:
        self._require_access(topic, table, AclOperation.WRITE)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids by which Kafka identifies topics; brokers older than 2.8 return none."""
        answers = self._client.describe_topics(TopicCollection(list(topics)), request_timeout=_TIMEOUT_SECONDS)
        try:
            found = {topic: answer.result(_TIMEOUT_SECONDS).topic_id for topic, answer in answers.items()}
        except (KafkaException, TimeoutError) as error:
            raise self._failure(f"topics {', '.join(topics)} cannot be described", error) from error
        return {topic: str(identity) for topic, identity in found.items() if str(identity) != _NO_ID}

    def require_topic(self, topic: str, table: str) -> None:
        if self.partitions(topic) is None:
            raise self._topic_missing_error(topic, table, "The job has read from it before.")

    def ensure_topic(self, topic: str, table: str, config: Mapping[str, str] | None = None) -> bool:
        """Returns whether the topic had to be created. If creating it is not allowed, a missing topic is an error.

        `config` is what the topic is created with, unless the brokers do not allow us to set it.
        """
        if self.partitions(topic) is not None:
            return False
        if not self._allows_creation:
            raise self._topic_missing_error(topic, table, "'properties.allow.auto.create.topics' is false.")
        if not self._broker_creates_topics():
            raise self._topic_missing_error(topic, table, "The broker does not create topics automatically.")
        wanted = NewTopic(topic, num_partitions=-1, replication_factor=-1, config=dict(config or {}))
        try:
            self._client.create_topics([wanted])[topic].result(_TIMEOUT_SECONDS)
        except KafkaException as error:
            if _is(error, KafkaError.TOPIC_ALREADY_EXISTS):
                return False  # another client created it first
            if config and _is(error, KafkaError.POLICY_VIOLATION, KafkaError.INVALID_CONFIG):
                return self.ensure_topic(topic, table)
            doing = f'topic "{topic}" of table "{table}" does not exist and was not created'
            raise self._failure(doing, error, Code.TOPIC_NOT_CREATED, at=self._topic_key) from error
        return True

    def broker_setting(self, name: str) -> int | None:
        """A numeric setting of the brokers; None if the user may not see it."""
        found = self._broker_settings().get(name)
        return int(found.value) if found is not None and found.value else None

    def topic_setting(self, topic: str, name: str) -> int | None:
        """A numeric setting of the topic, or the brokers' default; None if the user may not see it."""
        found = self._settings_of(ConfigResource(ResourceType.TOPIC, topic)).get(name)
        return int(found.value) if found is not None and found.value else None

    def topic_settings(self, topic: str) -> dict[str, str]:
        """Its settings, with the brokers' defaults; empty if the user may not see them."""
        found = self._settings_of(ConfigResource(ResourceType.TOPIC, topic))
        return {name: entry.value for name, entry in found.items() if entry.value is not None}

    def cluster(self) -> str | None:
        """The id of the cluster."""
        found: str | None = self._metadata().cluster_id
        return found

    def groups(self, prefix: str) -> set[str]:
        """The groups whose names have this prefix."""
        try:
            listed = self._client.list_consumer_groups().result(_TIMEOUT_SECONDS).valid
        except (KafkaException, TimeoutError) as error:
            raise self._failure("the consumer groups cannot be listed", error) from error
        return {entry.group_id for entry in listed if entry.group_id.startswith(prefix)}

    def offsets_of_groups(self, topic: str) -> dict[str, dict[int, int]]:
        """What each group has committed of the topic; groups that the user may not describe are left out."""
        found: dict[str, dict[int, int]] = {}
        for group in self.groups(""):
            request = [ConsumerGroupTopicPartitions(group)]
            try:
                answer = self._client.list_consumer_group_offsets(request)[group].result(_TIMEOUT_SECONDS)
            except (KafkaException, TimeoutError):
                continue
            offsets = {
                entry.partition: entry.offset
                for entry in answer.topic_partitions
                if entry.topic == topic and entry.offset >= 0
            }
            if offsets:
                found[group] = offsets
        return found

    def earliest(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        return self._offsets(topics, OffsetSpec.earliest())

    def latest(self, topics: Iterable[str], *, committed_only: bool = False) -> dict[TopicPartition, int]:
        return self._offsets(topics, OffsetSpec.latest(), committed_only=committed_only)

    def at_timestamp(
        self, topics: Iterable[str], timestamp: int, *, committed_only: bool = False
    ) -> dict[TopicPartition, int]:
        """The first offset at or after the time; the end of a partition that has none."""
        topics = tuple(topics)
        found = self._offsets(topics, OffsetSpec.for_timestamp(timestamp), committed_only=committed_only)
        ends = self.latest(topics, committed_only=committed_only)
        return {partition: offset if offset >= 0 else ends[partition] for partition, offset in found.items()}

    def committed(self, topics: Iterable[str], group: str) -> dict[TopicPartition, int]:
        """The offsets that the group has committed, without partitions that it has never read."""
        try:
            found = fetch_committed_offsets(self._properties, group, self._all_partitions(topics))
        except KafkaException as error:
            raise self._failure(f'the offsets of group "{group}" cannot be read', error) from error
        return {TopicPartition(entry.topic, entry.partition): entry.offset for entry in found}

    def commit(self, offsets: Iterable[TopicPartition], group: str) -> None:
        """Commits on behalf of a group that has no members."""
        request = [ConsumerGroupTopicPartitions(group, list(offsets))]

        def ask() -> None:
            answer = self._client.alter_consumer_group_offsets(request)[group].result(_TIMEOUT_SECONDS)
            refused = (entry.error for entry in answer.topic_partitions if entry.error is not None)
            if (error := next(refused, None)) is not None:
                raise KafkaException(error)

        try:
            _retry(ask)
        except (KafkaException, TimeoutError) as error:
            raise self._failure(f'the offsets of group "{group}" cannot be committed', error) from error

    def _require_access(self, topic: str, table: str, operation: AclOperation) -> None:
        self._metadata()  # reports a problem sooner if there is one
        request = TopicCollection([topic])
        try:
            described = self._client.describe_topics(
                request, include_authorized_operations=True, request_timeout=_TIMEOUT_SECONDS
            )[topic].result(_TIMEOUT_SECONDS)
        except (KafkaException, TimeoutError) as error:
            if not _is(error, KafkaError.TOPIC_AUTHORIZATION_FAILED):
                return  # reported by the requests that follow
            refused = error
        else:
            allowed = described.authorized_operations
            if not allowed or operation in allowed:
                return
            refused = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        doing = f'topic "{topic}" of table "{table}" cannot be {_DONE[operation]}'
        raise self._failure(doing, refused, at=self._topic_key) from refused

    def _offsets(
        self, topics: Iterable[str], spec: OffsetSpec, *, committed_only: bool = False
    ) -> dict[TopicPartition, int]:
        topics = tuple(topics)
        isolation = IsolationLevel.READ_COMMITTED if committed_only else IsolationLevel.READ_UNCOMMITTED

        def ask() -> dict[TopicPartition, int]:
            request = dict.fromkeys(self._all_partitions(topics), spec)
            answers = self._client.list_offsets(request, isolation_level=isolation, request_timeout=_TIMEOUT_SECONDS)
            return {partition: answer.result(_TIMEOUT_SECONDS).offset for partition, answer in answers.items()}

        try:
            return _retry(ask)
        except (KafkaException, TimeoutError) as error:
            raise self._failure(f"the offsets of {', '.join(topics)} cannot be read", error) from error

    def _all_partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        found = self._metadata().topics
        for topic in topics:
            if topic not in found:
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return [TopicPartition(topic, number) for topic in topics for number in sorted(found[topic].partitions)]

    def _metadata(self) -> Any:
        """Does not retry where that would be pointless."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while True:
            try:
                found = self._client.list_topics(timeout=min(_FIRST_LOOK_SECONDS, _TIMEOUT_SECONDS))
            except KafkaException as error:
                is_over = time.monotonic() > deadline or is_final(error, self._connection.reported, self._properties)
                probed = None if is_over else self._probe(error)
                if is_over or (probed is not None and probed.finding is not Finding.HANGS_UP):
                    raise self._failure("the topics cannot be listed", error, Code.BROKER_UNREACHABLE) from error
                time.sleep(_RETRY_SECONDS)
            else:
                self._connection.forget()
                return found

    def _broker_creates_topics(self) -> bool:
        found = self._broker_settings().get("auto.create.topics.enable")
        return found is not None and found.value == "true"

    def _broker_settings(self) -> dict[str, Any]:
        return self._settings_of(ConfigResource(ResourceType.BROKER, str(next(iter(self._metadata().brokers)))))

    def _settings_of(self, resource: ConfigResource) -> dict[str, Any]:
        """Empty if the user may not see them."""
        try:
            settings: dict[str, Any] = self._client.describe_configs([resource])[resource].result(_TIMEOUT_SECONDS)
        except (KafkaException, TimeoutError):
            return {}
        return settings

    def _failure(
        self,
        doing: str,
        error: KafkaException | TimeoutError,
        code: Code = Code.OFFSETS_UNAVAILABLE,
        at: str = "properties.bootstrap.servers",
    ) -> MillstreamError:
        question = Question(doing, code, self._properties, self._place, at)
        return broker_error(error, question, self._connection.reported, self._probe(error))

    def _probe(self, error: KafkaException | TimeoutError) -> Probe | None:
        if not is_unclear(error, self._connection.reported):
            return None
        return probe(self._properties["bootstrap.servers"], self._connection.settings)

    def _unreadable(self, error: UnreadableStoreError) -> ScriptError:
        return ScriptError(
            Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"the {error.kind} {error.file} cannot be read",
                self._place(f"properties.{error.key}") if self._place else None,
                detail=f"{error.why.rstrip('.')}.",
                hint=f"Correct the path, or 'properties.ssl.{error.kind}.password'; it may be a JKS or PKCS12 file, or "
                f"PEM with 'properties.ssl.{error.kind}.type' = 'PEM'.",
            )
        )

    def _topic_missing_error(self, topic: str, table: str, why: str) -> BrokerError:
        return BrokerError(
            Diagnostic(
                Code.TOPIC_MISSING,
                f'topic "{topic}" of table "{table}" does not exist',
                self._place(self._topic_key) if self._place else None,
                detail=why,
                hint=f"Create the topic, or correct '{self._topic_key}' in the table's WITH clause.",
            )
        )


def _retry(ask: Callable[[], T]) -> T:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            if not _is(error, *_SOON_OVER) or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _is(error: Exception, *codes: int) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in codes
