"""The key a user most likely meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from millstream.catalog.kafka_properties import is_of_kafka

if TYPE_CHECKING:
    from collections.abc import Collection

_NEAR_ENOUGH: Final = 0.6
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
    near = difflib.get_close_matches(lowered, known, n=1, cutoff=_NEAR_ENOUGH)
    return near[0] if near else None
