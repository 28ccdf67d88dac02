"""What is declared as data holds together: it is what help and reference are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from millstream.connectors.kafka import kafka_connector as kafka
from millstream.connectors.kafka import upsert_connector as upsert_kafka
from millstream.connectors.legacy import TODAY

if TYPE_CHECKING:
    from millstream.catalog.options import ConfigOption

DECLARATIONS = (kafka.DECLARATION, upsert_kafka.DECLARATION)
OPTIONS = {
    (declaration.identifier, option.key): option
    for declaration in DECLARATIONS
    for option in (*declaration.options, *declaration.legacy_options)
}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=[f"{a} {b}" for a, b in OPTIONS])
def test_option(option: ConfigOption[Any]) -> None:
    assert option.doc.endswith(".")
    assert option.type.name in {"STRING", "LIST", "INT", "LONG", "BOOLEAN", "DURATION", "ENUM", "REGEX", "OFFSETS"}
    if option.example is not None:
        option.parse(option.example)
    for value, _ in option.type.values:
        assert option.parse(value) == option.parse(value.upper())
        assert value in option.doc or option.type.values[0][1]


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda declaration: declaration.identifier)
def test_keys_are_declared_once(declaration: Any) -> None:
    keys = [option.key for option in (*declaration.options, *declaration.legacy_options)]
    assert sorted(keys) == sorted(set(keys))
    assert {key for key, _ in declaration.without_effect} <= set(keys)


def test_older_keys_have_one_meaning() -> None:
    assert TODAY["connector.topic"] == "topic"
    assert TODAY["connector.sink-partitioner"] == "sink.partitioner"
    assert len(set(TODAY.values())) == len(TODAY)
