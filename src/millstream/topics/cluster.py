"""A Kafka cluster as the command line names it, and the topics in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from millstream.errors import BrokerError, Code, Diagnostic
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEW: Final = 10


@dataclass(frozen=True)
class Cluster:
    """`properties` are those of Kafka's clients, as a table would have them after `properties.`."""

    properties: dict[str, str] = field(repr=False)

    @cached_property
    def admin(self) -> KafkaAdmin:
        return KafkaAdmin(self.properties)

    @property
    def servers(self) -> str:
        return self.properties["bootstrap.servers"]

    def require(self, topic: str) -> list[int]:
        """The partitions of the topic."""
        found = self.admin.partitions(topic)
        if found is None:
            raise self._missing(topic, self.admin.topics())
        return found

    def _missing(self, topic: str, topics: Iterable[str]) -> BrokerError:
        near = nearest(topic, topics := list(topics))
        if near is not None:
            hint = f'Did you mean "{near}"?'
        elif len(topics) <= _FEW:
            hint = f"It has {', '.join(topics)}." if topics else "It has no topics."
        else:
            hint = "`millstream topics` lists those that exist."
        return BrokerError(
            Diagnostic(Code.TOPIC_MISSING, f'topic "{topic}" does not exist at {self.servers}', hint=hint)
        )
