"""The key that a user most likely meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.kafka_properties import is_of_kafka
from millstream.spelling import closest, is_alike

if TYPE_CHECKING:
    from collections.abc import Collection

_LOOKED_AT: Final = 5
_HANDED_OVER: Final = "properties."


def nearest_key(key: str, keys: Collection[str]) -> str | None:
    """One of `keys` that resembles `key`, or what it is called under the prefix of Kafka's properties.

    >>> nearest_key("group.id", ["topic", "properties.bootstrap.servers"])
    'properties.group.id'
    """
    known = sorted(keys)
    lowered = key.lower().replace("_", "-")
    if lowered in known:
        return lowered
    prefix = next((k.partition(_HANDED_OVER)[0] + _HANDED_OVER for k in known if _HANDED_OVER in k), None)
    bare = lowered.removeprefix("kafka.").removeprefix("connector.")
    if prefix is not None and is_of_kafka(bare):
        return prefix + bare
    by_ending = [k for k in known if k.endswith(f".{lowered}")]
    if by_ending:
        return min(by_ending, key=len)
    near = (k for k in closest(lowered, known, _LOOKED_AT) if is_alike(k, lowered))
    return next((k for k in near if _differ_little(lowered, k)), None)


def _differ_little(key: str, other: str) -> bool:
    """Words that two keys begin with in common do not make the rest of them alike.

    >>> _differ_little("table.exec.async-lookup.timeout", "table.exec.source.idle-timeout")
    False
    """
    words, others = key.split("."), other.split(".")
    common = next((at for at, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), len(words))
    rest, of_other = ".".join(words[common:]), ".".join(others[common:])
    return is_alike(rest, of_other)
