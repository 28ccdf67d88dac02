"""The values of the Kafka connectors' options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from millstream.catalog.options import OptionType, text


class StartupMode(StrEnum):
    EARLIEST = "earliest-offset"
    LATEST = "latest-offset"
    GROUP = "group-offsets"
    TIMESTAMP = "timestamp"
    SPECIFIC = "specific-offsets"


class BoundedMode(StrEnum):
    UNBOUNDED = "unbounded"
    LATEST = "latest-offset"
    GROUP = "group-offsets"
    TIMESTAMP = "timestamp"
    SPECIFIC = "specific-offsets"


class FieldsInclude(StrEnum):
    ALL = "ALL"
    EXCEPT_KEY = "EXCEPT_KEY"


class DeliveryGuarantee(StrEnum):
    NONE = "none"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class NamingStrategy(StrEnum):
    INCREMENTING = "INCREMENTING"
    POOLING = "POOLING"


class UpdateMode(StrEnum):
    APPEND = "append"
    RETRACT = "retract"
    UPSERT = "upsert"


class WatermarkEmit(StrEnum):
    PERIODIC = "on-periodic"
    EVENT = "on-event"


class Partitioning(StrEnum):
    DEFAULT = "default"
    FIXED = "fixed"
    ROUND_ROBIN = "round-robin"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class Partitioner:
    """How the partition of a row is chosen; `implementation` names the class of a custom partitioner."""

    kind: Partitioning = Partitioning.DEFAULT
    implementation: str | None = None

    @property
    def is_python(self) -> bool:
        """`module:Class`; a dotted name alone is a Java class, which cannot be loaded here."""
        return self.implementation is not None and ":" in self.implementation


DEFAULT_PARTITIONER: Final = Partitioner()
MISPRINT: Final = "at-lease-once"
"""A widely copied misspelling of at-least-once."""


def delivery_guarantee(value: str) -> DeliveryGuarantee:
    spelt = value.strip().lower().replace("_", "-")
    if spelt == MISPRINT:
        return DeliveryGuarantee.AT_LEAST_ONCE
    try:
        return DeliveryGuarantee(spelt)
    except ValueError:
        raise ValueError(f'"{value}" is not one of {", ".join(DeliveryGuarantee)}') from None


def _offsets(value: str) -> tuple[tuple[int, int], ...]:
    pairs = {}
    for part in value.split(";"):
        match = re.fullmatch(r"\s*partition:\s*([0-9]{1,9})\s*,\s*offset:\s*([0-9]{1,18})\s*", part)
        if match is None:
            raise ValueError(f'"{value}" does not follow the form partition:0,offset:42;partition:1,offset:300')
        partition, offset = int(match[1]), int(match[2])
        if partition in pairs:
            raise ValueError(f"partition {partition} is named twice")
        pairs[partition] = offset
    return tuple(pairs.items())


_LONGEST_PREFIX: Final = 64_000
_CLASS_NAME: Final = re.compile(r"([^\W\d]\w*\.)*[^\W\d]\w*:[^\W\d]\w*|([^\W\d][\w$]*\.)+[^\W\d][\w$]*")


def _partitioner(value: str) -> Partitioner:
    if not value.strip():
        raise ValueError("the value is empty")
    for kind in (Partitioning.DEFAULT, Partitioning.FIXED, Partitioning.ROUND_ROBIN):
        if value.strip().lower() == kind:
            return Partitioner(kind)
    if not _CLASS_NAME.fullmatch(value.strip()):
        raise ValueError(f'"{value}" is neither default, fixed, round-robin nor the name of a class')
    return Partitioner(Partitioning.CUSTOM, value.strip())


def _transactional_id_prefix(value: str) -> str:
    if len(text.parse(value).encode()) > _LONGEST_PREFIX:
        raise ValueError(f"it is longer than {_LONGEST_PREFIX} bytes")
    return value


offsets: Final = OptionType("OFFSETS", _offsets)
partitioner: Final = OptionType("STRING", _partitioner)
transactional_id_prefix: Final = OptionType("STRING", _transactional_id_prefix)
