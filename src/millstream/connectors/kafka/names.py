"""Names of topics and addresses of brokers: what Kafka accepts, and placeholders from documentation."""

from __future__ import annotations

import re
from typing import Final

from millstream.catalog.options import OptionType, text, text_list

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Kafka's own, which no pattern means."""
_LONGEST_TOPIC: Final = 249
_GREATEST_PORT: Final = 65_535
_SCHEMES: Final = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_PLACEHOLDER: Final = re.compile(r"<[^<>]*>|\.{3}|…")


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder to be replaced: `<yourTopicName>` or `...`."""
    return _PLACEHOLDER.search(value) is not None


def _topics(value: str) -> tuple[str, ...]:
    names = text_list(value)
    for name in names:
        if is_placeholder(name):
            continue
        if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
            several = "; several topics are separated by ';'" if "," in name else ""
            raise ValueError(f'"{name}" contains characters other than letters, digits, ".", "_" and "-"{several}')
        if name in (".", "..") or len(name) > _LONGEST_TOPIC:
            raise ValueError(f'"{name}" cannot be the name of a topic: it is ".", ".." or above {_LONGEST_TOPIC} long')
    return names


def _brokers(value: str) -> str:
    if is_placeholder(text(value)):
        return value
    if ";" in value:
        raise ValueError(f'"{value}" has a ";", and addresses are separated by ","')
    addresses = [address.strip() for address in value.split(",") if address.strip()]
    if not addresses:
        raise ValueError(f'"{value}" contains no address')
    for address in addresses:
        _check(address)
    return value


def _check(address: str) -> None:
    scheme, separator, place = address.rpartition("://")
    if separator and scheme.lower() not in _SCHEMES:
        host = place.rpartition("@")[2].rstrip("/")
        raise ValueError(f'"{address}" begins with "{scheme}://"; write {_with_port(host)}')
    if re.fullmatch(r"[\w.%-]+|\[[0-9A-Fa-f:.%]+\]", place):
        raise ValueError(f'"{address}" has no port; write {_with_port(place)}')
    match = re.fullmatch(r"(?:[\w.%-]+|\[[0-9A-Fa-f:.%]+\]):([0-9]{1,9})", place)
    if match is None:
        raise ValueError(f'"{address}" does not follow the form host:port')
    if not 1 <= int(match[1]) <= _GREATEST_PORT:
        raise ValueError(f"port {match[1]} is not between 1 and {_GREATEST_PORT}")


def _with_port(place: str) -> str:
    return place if re.search(r":[0-9]+$", place) else f"{place}:9092"


def _topic(value: str) -> str:
    names = _topics(value)
    if len(names) != 1:
        raise ValueError(f'"{value}" is not the name of a single topic')
    return names[0]


topic: Final = OptionType("STRING", _topic)
topics: Final = OptionType("LIST", _topics)
brokers: Final = OptionType("STRING", _brokers)
