from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from millstream.errors import ScriptError
from millstream.topics.conditions import Condition
from millstream.topics.messages import TopicMessage
from millstream.topics.payloads import PayloadReader
from millstream.topics.rows import TOMBSTONE, read_messages, table_of

if TYPE_CHECKING:
    from millstream.topics.rows import ReadMessage

NOON = 1_769_860_800_120


def messages(*values: bytes | None, key: bytes | None = None) -> list[ReadMessage]:
    return read_messages((TopicMessage(0, at, NOON, key, value) for at, value in enumerate(values)), PayloadReader())


def shown(read: list[ReadMessage]) -> list[tuple[str, ...]]:
    table = table_of(read)
    return [table.headings, *map(table.cells, read)]


def test_objects_have_a_column_for_each_field() -> None:
    found = shown(messages(b'{"id":1,"tags":["a"]}', b'{"id":null,"name":"ada"}'))
    assert found == [
        ("partition", "offset", "time", "id", "tags", "name"),
        ("0", "0", "2026-01-31 12:00:00.120", "1", '["a"]', ""),
        ("0", "1", "2026-01-31 12:00:00.120", "NULL", "", "ada"),
    ]


def test_keys_tombstones_and_what_is_no_object() -> None:
    found = shown(messages(b'{"id":1,"n":2}', None, b"17", b"\xff", b"{}", key=b"k"))
    assert found[0] == ("partition", "offset", "time", "key", "id", "n")
    assert [row[3:] for row in found[1:]] == [
        ("k", "1", "2"),
        ("k", TOMBSTONE, ""),
        ("k", "17", ""),
        ("k", "0xff", ""),
        ("k", "{}", ""),
    ]


def test_headers_and_a_missing_time() -> None:
    message = TopicMessage(3, 8, None, None, b"x", (("trace", b"7"), ("raw", b"\xff"), ("none", None)))
    read = read_messages([message], PayloadReader())
    assert shown(read) == [
        ("partition", "offset", "time", "headers", "value"),
        ("3", "8", "", '{"trace":"7","raw":"/w==","none":null}', "x"),
    ]
    assert json.loads(json.dumps(read[0].as_json()))["headers"] == {"trace": "7", "raw": "/w==", "none": None}


def test_long_cells_are_cut_except_in_the_last_column() -> None:
    (_, cells) = shown(messages(json.dumps({"a": "x" * 100, "b": "y" * 100}).encode()))
    assert cells[-2:] == ("x" * 39 + "…", "y" * 100)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("n > 1", [1, 2]),
        ("n > 1 AND region = 'north'", [2]),
        ("region IS NULL", [1]),
        ('"offset" = 0', [0]),
        ("lower(region) LIKE 's%'", [0]),
        ("key = 'k'", [0, 1, 2, 3, 4]),
        ("place.x = 4", [2]),
    ],
)
def test_conditions(where: str, kept: list[int]) -> None:
    condition = Condition(where)
    read = messages(
        b'{"n":1,"region":"South"}',
        b'{"n":2,"region":null}',
        b'{"n":2.5,"region":"north","place":{"x":4}}',
        None,
        b"text",
        key=b"k",
    )
    assert [each.message.offset for each in condition.keep(read)] == kept
    condition.require_columns()


def test_a_column_that_no_message_has() -> None:
    condition = Condition("amuont > 1")
    assert condition.keep(messages(b'{"amount":2}')) == []
    with pytest.raises(ScriptError, match='Did you mean "amount"'):
        condition.require_columns()


@pytest.mark.parametrize("where", ["n >", "n = ", "sum(n", "n + 1"])
def test_what_is_no_condition(where: str) -> None:
    with pytest.raises(ScriptError, match="cannot be evaluated"):
        Condition(where).keep(messages(b'{"n":1}'))
