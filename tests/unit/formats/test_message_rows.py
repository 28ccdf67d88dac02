"""How key, value and message parts make rows: what a real Flink read, and the rules that its records do not show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.formats.codecs import decoder_of
from millstream.formats.decoded import DecodeError
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows
from millstream.sql.types import INT, STRING, DataType
from tests.unit.formats.flink_goldens import bind_format, columns_of, goldens, name_of, show

GOLDENS = [
    golden
    for golden in goldens("source", "json", "csv", "debezium-json", "canal-json", "maxwell-json", "ogg-json")
    if "rows" in golden
]
Columns = tuple[tuple[str, DataType], ...]
K: Columns = (("k", INT),)
V: Columns = (("v", STRING),)


def half(format_: str, columns: Columns, read: tuple[str, ...] | None = None, **options: str) -> MessageHalf:
    names = tuple(name for name, _ in columns) if read is None else read
    written = {f"{format_}.{key.replace('_', '-')}": value for key, value in options.items()}
    return MessageHalf(decoder_of(bind_format(format_, written), columns, names), names)


def batch(values: list[bytes | None], keys: list[bytes | None] | None = None, **parts: list[Any]) -> pa.RecordBatch:
    columns: dict[str, Any] = {VALUE: pa.array(values, pa.binary())}
    if keys is not None:
        columns[KEY] = pa.array(keys, pa.binary())
    return pa.RecordBatch.from_pydict({**columns, **parts})


def rows_of(rows: MessageRows, messages: pa.RecordBatch) -> list[tuple[object, ...]]:
    table = rows.read(messages).table
    assert table.column_names == [*rows.columns, *([KIND] if rows.with_kinds else [])]
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("golden", GOLDENS, ids=name_of)
def test_what_flink_read(golden: dict[str, Any]) -> None:
    columns = columns_of(golden["columns"])
    format_ = bind_format(golden["format"], golden.get("options", {}))
    names = tuple(name for name, _ in columns)
    value = MessageHalf(decoder_of(format_, columns, names), names)
    messages = [None if text is None else text.encode() for text in golden["messages"]]
    messages_at = batch(messages, at=list(range(len(messages))))
    table = MessageRows(("at", *names), value, with_kinds=True).read(messages_at).table
    found = [
        [RowKind(row.pop(KIND)).symbol, [show(row[name], type_) for name, type_ in columns]]
        for row in table.to_pylist()
    ]
    assert found == golden["rows"]


def test_a_key_beside_the_value() -> None:
    rows = MessageRows(("v", "k"), half("json", V), half("json", K))
    assert rows_of(rows, batch([b'{"v":"a"}', b'{"v":"b"}'], [b'{"k":1}', b'{"k":2}'])) == [("a", 1), ("b", 2)]


def test_names_of_the_key_are_the_key_formats() -> None:
    key = MessageHalf(decoder_of(bind_format("json", {}), K, ("k",)), ("key_k",))
    rows = MessageRows(("key_k", "v"), half("json", V), key)
    assert rows_of(rows, batch([b'{"v":"a"}'], [b'{"k":1}'])) == [(1, "a")]


def test_the_value_wins_where_both_have_a_column() -> None:
    both: Columns = (*K, *V)
    rows = MessageRows(("k", "v"), half("json", both), half("json", K))
    assert rows_of(rows, batch([b'{"v":"a"}', b'{"k":7,"v":"b"}'], [b'{"k":1}', b'{"k":2}'])) == [(None, "a"), (7, "b")]


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_without_a_key_there_is_no_row(format_: str) -> None:
    keyed = b'{"k":1}' if format_ == "json" else b"1"
    rows = MessageRows(("k", "v"), half("json", V), half(format_, K))
    assert rows_of(rows, batch([b'{"v":"a"}', b'{"v":"b"}'], [None, keyed])) == [(1, "b")]


def test_a_key_that_cannot_be_read_drops_its_message_where_errors_are_ignored() -> None:
    rows = MessageRows(("k", "v"), half("json", V), half("json", K, ignore_parse_errors="true"))
    read = rows.read(batch([b'{"v":"a"}', b'{"v":"b"}'], [b"{", b'{"k":2}']))
    assert (read.table.to_pylist(), read.skipped) == ([{"k": 2, "v": "b"}], 1)


def test_a_raw_key_may_be_null() -> None:
    raw_key: Columns = (("k", STRING),)
    rows = MessageRows(("k", "v"), half("json", V), half("raw", raw_key))
    assert rows_of(rows, batch([b'{"v":"a"}', b'{"v":"b"}'], [None, b"x"])) == [(None, "a"), ("x", "b")]


def test_a_message_without_value() -> None:
    messages = batch([None, b"x", None])
    assert rows_of(MessageRows(("v",), half("csv", V)), messages) == [("x",)]
    assert rows_of(MessageRows(("v",), half("raw", V)), messages) == [(None,), ("x",), (None,)]


def test_every_row_of_a_message_has_its_key_and_parts() -> None:
    rows = MessageRows(("k", "v", "at"), half("json", V), half("json", K))
    messages = batch(
        [b'[{"v":"a"},{"v":"b"}]', b"[]", b'{"v":"c"}'], [b'{"k":1}', b'{"k":2}', b'[{"k":3},{"k":4}]'], at=[10, 20, 30]
    )
    assert rows_of(rows, messages) == [(1, "a", 10), (1, "b", 10), (3, "c", 30), (4, "c", 30)]


def test_upserts_and_tombstones_in_their_order() -> None:
    both: Columns = (*K, *V)
    rows = MessageRows(("k", "v", "at"), half("json", both), half("json", K), with_kinds=True, upserts=True)
    messages = batch([b'{"k":5,"v":"a"}', None, b'{"v":"b"}'], [b'{"k":1}', b'{"k":1}', b'{"k":2}'], at=[7, 8, 9])
    assert rows_of(rows, messages) == [
        (5, "a", 7, RowKind.UPDATE_AFTER),
        (1, None, 8, RowKind.DELETE),
        (None, "b", 9, RowKind.UPDATE_AFTER),
    ]


def test_upserts_of_raw_values() -> None:
    rows = MessageRows(("k", "v"), half("raw", V), half("json", K), with_kinds=True, upserts=True)
    messages = batch([b"a", None, None], [b'{"k":1}', b'{"k":1}', None])
    assert rows_of(rows, messages) == [(1, "a", RowKind.UPDATE_AFTER), (1, None, RowKind.DELETE)]


def test_the_first_message_that_cannot_be_read_is_told() -> None:
    rows = MessageRows(("k", "v"), half("json", V), half("json", K))
    with pytest.raises(DecodeError) as caught:
        rows.read(batch([b'{"v":"a"}', b'{"v":"b"}'], [b'{"k":1}', b'{"k":"x"}']))
    assert caught.value.index == 1


def test_no_column_is_needed() -> None:
    rows = MessageRows((), half("json", V, ()), half("json", K, ()))
    table = rows.read(batch([b"{}", b"{}", None], [b"{}", None, b"{}"])).table
    assert (table.num_rows, table.num_columns) == (1, 0)


@given(
    pairs=st.lists(
        st.tuples(
            st.none() | st.lists(st.integers(0, 9), max_size=3),
            st.none() | st.lists(st.text("xyz", max_size=2), max_size=3),
        ),
        max_size=12,
    ),
    upserts=st.booleans(),
)
def test_any_batch_as_one_message_after_the_other(pairs: list[Any], *, upserts: bool) -> None:
    def json(name: str, members: list[Any] | None) -> bytes | None:
        if members is None:
            return None
        texts = (f'"{member}"' if isinstance(member, str) else str(member) for member in members)
        return ("[" + ",".join(f'{{"{name}":{text}}}' for text in texts) + "]").encode()

    rows = MessageRows(("k", "v", "at"), half("json", V), half("json", K), with_kinds=True, upserts=upserts)
    kind = RowKind.UPDATE_AFTER if upserts else RowKind.INSERT
    expected: list[tuple[Any, ...]] = []
    for at, (keys, values) in enumerate(pairs):
        if values is None and upserts:
            expected += [(key, None, at, RowKind.DELETE) for key in keys or []]
        expected += [(key, value, at, kind) for value in values or [] for key in keys or []]
    messages = batch(
        [json("v", values) for _, values in pairs],
        [json("k", keys) for keys, _ in pairs],
        at=pa.array(range(len(pairs)), pa.int64()),
    )
    assert rows_of(rows, messages) == expected


def objects(count: int) -> bytes:
    return b"[" + b",".join([b"{}"] * count) + b"]"


def test_lists_of_both_that_are_too_many_rows_name_their_message() -> None:
    both = MessageRows(("k", "v"), half("json", V), half("json", K))
    messages = batch([b"{}", objects(20_000)], [b"{}", objects(20_000)])
    with pytest.raises(DecodeError, match="400000000 rows") as caught:
        both.read(messages)
    assert caught.value.index == 1
    read = replace(both, sets_aside=True).read(messages)
    assert [found.index for found in read.unreadable] == [1]
    assert read.table.num_rows == 1


def test_many_rows_come_in_pieces_and_in_order() -> None:
    both = MessageRows(("k", "v"), half("json", V), half("json", K))
    key = b'[{"k":1},{"k":2}]'
    text = b'{"v":"' + b"x" * 1_000_000 + b'"}'
    pieces = [piece["k"].to_pylist() for piece in both.read(batch([text] * 300, [key] * 300)).pieces]
    assert len(pieces) > 1
    assert [k for piece in pieces for k in piece] == [1, 2] * 300
