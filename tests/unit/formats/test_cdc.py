"""The rules of Flink's CDC formats, one by one."""

from __future__ import annotations

import json
import pickle
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.formats.cdc_batch import CdcBatchReader
from millstream.formats.cdc_decode import CdcJsonDecoder
from millstream.formats.cdc_dialect import CANAL, DEBEZIUM, MAXWELL, OGG, CdcDialect
from millstream.formats.cdc_encode import CdcJsonEncoder
from millstream.formats.cdc_format import CdcJsonFormat, CdcOptions
from millstream.formats.decoded import DecodeError
from millstream.formats.json_options import JsonOptions
from millstream.sql.types import INT, STRING, DataType
from tests.unit.formats.random_rows import INTS, PAIR, SCALARS, comparable, tables

COLUMNS: Final = (("id", INT), ("name", STRING))
DIALECTS: Final = (DEBEZIUM, CANAL, MAXWELL, OGG)
LENIENT: Final = CdcOptions(JsonOptions(ignore_parse_errors=True))


def read(dialect: CdcDialect, *messages: object, options: CdcOptions | None = None) -> list[tuple[object, ...]]:
    format_ = CdcJsonFormat(dialect, options or CdcOptions())
    values = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    rows = CdcJsonDecoder(COLUMNS, format_).decode(pa.array(values, pa.binary())).with_kinds().to_pylist()
    return [(RowKind(row[KIND]).symbol, row["id"], row["name"]) for row in rows]


def failure(dialect: CdcDialect, message: object) -> str:
    with pytest.raises(DecodeError) as caught:
        read(dialect, message)
    return caught.value.text


@given(st.sampled_from(DIALECTS), tables({**SCALARS, "ar": INTS, "ro": PAIR}), st.data())
def test_what_is_written_is_read_again(
    dialect: CdcDialect, rows: tuple[tuple[tuple[str, DataType], ...], pa.Table], data: st.DataObject
) -> None:
    columns, table = rows
    size = table.num_rows
    kinds = data.draw(st.lists(st.sampled_from(list(RowKind)), min_size=size, max_size=size))
    format_ = CdcJsonFormat(dialect)
    given_kinds = pa.array(kinds, pa.int8())
    messages = CdcJsonEncoder(columns, format_).encode(table.append_column(KIND, given_kinds))
    decoded = CdcJsonDecoder(columns, format_).decode(messages)
    put_in = (RowKind.INSERT, RowKind.UPDATE_AFTER)
    assert decoded.kinds is not None
    assert decoded.kinds.to_pylist() == [RowKind.INSERT if k in put_in else RowKind.DELETE for k in kinds]
    assert comparable(decoded.table) == comparable(table)


@pytest.mark.parametrize(
    ("dialect", "put_in", "taken_back"),
    [
        (DEBEZIUM, '{"before":null,"after":ROW,"op":"c"}', '{"before":ROW,"after":null,"op":"d"}'),
        (OGG, '{"before":null,"after":ROW,"op_type":"I"}', '{"before":ROW,"after":null,"op_type":"D"}'),
        (CANAL, '{"data":[ROW],"type":"INSERT"}', '{"data":[ROW],"type":"DELETE"}'),
        (MAXWELL, '{"data":ROW,"type":"insert"}', '{"data":ROW,"type":"delete"}'),
    ],
)
def test_each_kind_is_written(dialect: CdcDialect, put_in: str, taken_back: str) -> None:
    table = pa.table({"id": [1] * 4, "name": pa.nulls(4, pa.string()), KIND: pa.array(list(RowKind), pa.int8())})
    messages = CdcJsonEncoder(COLUMNS, CdcJsonFormat(dialect)).encode(table)
    texts = [message.decode().replace('{"id":1,"name":null}', "ROW") for message in messages.to_pylist()]
    assert texts == [put_in, taken_back, put_in, taken_back]


def test_null_fields_can_be_left_out_of_the_envelope_too() -> None:
    options = CdcOptions(JsonOptions(ignore_null_fields=True))
    table = pa.table({"id": [1], "name": pa.nulls(1, pa.string())})
    (message,) = CdcJsonEncoder(COLUMNS, CdcJsonFormat(DEBEZIUM, options)).encode(table).to_pylist()
    assert message == b'{"after":{"id":1},"op":"c"}'


def test_tombstones_are_nothing() -> None:
    for dialect in DIALECTS:
        decoded = CdcJsonDecoder(COLUMNS, CdcJsonFormat(dialect)).decode(pa.array([None, b""], pa.binary()))
        assert (decoded.table.num_rows, decoded.skipped) == (0, 0)


@pytest.mark.parametrize(
    ("dialect", "message", "cause"),
    [
        (DEBEZIUM, {"op": "x", "after": {}}, 'Unknown "op" value "x".'),
        (OGG, {"op_type": "T"}, 'Unknown "op_type" value "T".'),
        (CANAL, {"type": "ALTER", "data": None}, 'Unknown "type" value "ALTER".'),
        (MAXWELL, {"type": "bootstrap-insert", "data": {}}, 'Unknown "type" value "bootstrap-insert".'),
        (DEBEZIUM, {"after": {}}, 'The "op" field is missing or null'),
        (DEBEZIUM, [{"op": "c"}], "The message is not a JSON object"),
        (DEBEZIUM, {"op": "c", "after": {"id": "x"}}, "Fail to deserialize at field: after."),
        (CANAL, {"type": "INSERT", "data": None}, 'The "data" field is missing or null'),
        (CANAL, {"type": "UPDATE", "data": [{}], "old": None}, 'The "old" field has no row where it needs one'),
    ],
)
def test_each_cause_of_failure(dialect: CdcDialect, message: object, cause: str) -> None:
    shown = json.dumps(message)
    assert failure(dialect, message) == f"Corrupt {dialect.tool} JSON message '{shown}'. {cause}"


def test_a_missing_row_before_a_change_hints_at_the_replica_identity() -> None:
    assert 'The "before" field of DELETE message is null' in failure(DEBEZIUM, {"op": "d", "before": None})
    assert "REPLICA IDENTITY" in failure(OGG, {"op_type": "U", "after": {"id": 1}})


def test_what_cannot_be_read_is_skipped_and_counted() -> None:
    messages = [b"{", b'{"op":"x"}', b'{"op":"d"}', b'{"op":"c","after":{"id":"x","name":"a"}}']
    format_ = CdcJsonFormat(DEBEZIUM, LENIENT)
    decoded = CdcJsonDecoder(COLUMNS, format_).decode(pa.array(messages, pa.binary()))
    assert decoded.table.to_pylist() == [{"id": None, "name": "a"}]
    assert decoded.skipped == 3


def test_rows_read_before_a_fault_are_kept_where_errors_are_ignored() -> None:
    message = {"type": "INSERT", "data": [{"id": 1}, None, {"id": 2}]}
    assert read(CANAL, message, options=LENIENT) == [("+I", 1, None)]


@pytest.mark.parametrize(
    ("old", "before"),
    [
        ({"name": "a"}, (1, "a")),
        ({"name": None}, (1, None)),
        ({}, (1, "b")),
        ({"other": {"name": 1}}, (1, None)),  # Flink looks for the name everywhere in "old"
        ({"id": 7}, (7, "b")),
    ],
)
def test_old_values_are_merged_by_presence(old: dict[str, Any], before: tuple[object, object]) -> None:
    data = {"id": 1, "name": "b"}
    expected = [("-U", *before), ("+U", 1, "b")]
    assert read(MAXWELL, {"type": "update", "data": data, "old": old}) == expected
    assert read(CANAL, {"type": "UPDATE", "data": [data], "old": [old]}) == expected


def test_in_an_update_of_several_rows_presence_in_any_counts() -> None:
    message = {"type": "UPDATE", "data": [{"id": 1, "name": "b"}, {"id": 2, "name": "c"}], "old": [{"name": "a"}, {}]}
    assert read(CANAL, message) == [("-U", 1, "a"), ("+U", 1, "b"), ("-U", 2, None), ("+U", 2, "c")]


def test_canal_reads_only_the_included_tables() -> None:
    options = CdcOptions(database_include="shop|.*", table_include="s.*k")
    change = {"type": "INSERT", "data": [{"id": "1"}], "database": "d"}
    messages = [change | {"table": table} for table in ("stock", "stocks", "orders")]
    assert read(CANAL, *messages, options=options) == [("+I", 1, None)]
    with pytest.raises(DecodeError, match='The "table" field is missing'):
        read(CANAL, change, options=options)


def test_metadata_of_debezium() -> None:
    message = {
        "op": "c", "after": {"id": 1}, "ts_ms": 1700000000123,
        "source": {"db": "shop", "schema": "s", "table": "stock", "ts_ms": 1700000000000, "lsn": 7},
    }  # fmt: skip
    keys = [offered.key for offered in DEBEZIUM.metadata]
    decoder = CdcJsonDecoder(COLUMNS, CdcJsonFormat(DEBEZIUM), tuple((key, key) for key in keys))
    (row,) = decoder.decode(pa.array([json.dumps(message).encode()], pa.binary())).table.to_pylist()
    assert [str(row[key]) for key in keys[:6]] == [
        "None", "2023-11-14 22:13:20.123000+00:00", "2023-11-14 22:13:20+00:00", "shop", "s", "stock",
    ]  # fmt: skip
    assert ("lsn", "7") in row["source.properties"]


def test_changes_can_be_counted_without_any_column() -> None:
    decoder = CdcJsonDecoder((), CdcJsonFormat(MAXWELL))
    messages = pa.array([b'{"type":"update","data":{"id":1},"old":{"id":2}}'], pa.binary())
    assert decoder._read_batch(messages) is not None
    assert decoder.decode(messages).with_kinds().to_pydict() == {KIND: [RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]}


def test_the_schema_of_debezium_is_metadata() -> None:
    message = b'{"schema":{"a":[1]},"payload":{"op":"c","after":{"id":1},"ts_ms":0}}'
    format_ = CdcJsonFormat(DEBEZIUM, CdcOptions(schema_include=True))
    decoder = CdcJsonDecoder(COLUMNS, format_, (("schema", "schema"), ("at", "ingestion-timestamp")))
    (row,) = decoder.decode(pa.array([message], pa.binary())).table.to_pylist()
    assert (row["id"], row["schema"], row["at"].year) == (1, '{"a":[1]}', 1970)


def test_metadata_of_the_others() -> None:
    metadata: dict[str, object] = {}
    for dialect, message in (
        (CANAL, {"type": "INSERT", "data": [{"id": "1"}], "sqlType": {"id": 4}, "pkNames": ["id"], "es": 1, "ts": 2}),
        (MAXWELL, {"type": "insert", "data": {}, "ts": 1596684883, "primary_key_columns": ["id"], "table": "t"}),
        (OGG, {"op_type": "I", "after": {}, "current_ts": "2020-05-13T15:40:07.123456", "op_ts": "2020-5-13 15:40:6"}),
    ):  # fmt: skip
        keys = tuple((offered.key, offered.key) for offered in dialect.metadata)
        decoder = CdcJsonDecoder(COLUMNS, CdcJsonFormat(dialect), keys)
        (row,) = decoder.decode(pa.array([json.dumps(message).encode()], pa.binary())).table.to_pylist()
        metadata |= {f"{dialect.tool} {key}": str(value) for key, value in row.items() if key not in ("id", "name")}
    assert metadata == {
        "Canal database": "None", "Canal table": "None", "Canal sql-type": "[('id', 4)]", "Canal pk-names": "['id']",
        "Canal ingestion-timestamp": "1970-01-01 00:00:00.002000+00:00",
        "Canal event-timestamp": "1970-01-01 00:00:00.001000+00:00",
        "Maxwell database": "None", "Maxwell table": "t", "Maxwell primary-key-columns": "['id']",
        "Maxwell ingestion-timestamp": "2020-08-06 03:34:43+00:00",
        "Ogg table": "None", "Ogg primary-keys": "None",
        "Ogg ingestion-timestamp": "2020-05-13 15:40:07.123000+00:00",
        "Ogg event-timestamp": "2020-05-13 15:40:06+00:00",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [
        (DEBEZIUM, [{"op": "u", "before": {"id": 1}, "after": {"id": 2}}, {"op": "c", "after": {"id": 3}}]),
        (CANAL, [{"type": "UPDATE", "data": [{"id": "1", "name": None}], "old": [{"id": "2"}]}, {"type": "CREATE"}]),
        (MAXWELL, [{"type": "update", "data": {"id": 1, "name": None}, "old": {"id": 2}}]),
        (OGG, [{"op_type": "D", "before": {"id": 1}}]),
    ],
)
def test_ordinary_messages_are_read_as_one_batch(dialect: CdcDialect, messages: list[object]) -> None:
    decoder = pickle.loads(pickle.dumps(CdcJsonDecoder(COLUMNS, CdcJsonFormat(dialect))))
    assert isinstance(decoder._batch, CdcBatchReader)
    values = pa.array([json.dumps(message).encode() for message in messages], pa.binary())
    prepared, usable = decoder._prepare(values)
    assert usable.all()
    assert decoder._read_batch(prepared) is not None
