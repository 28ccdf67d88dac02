"""Avro with a schema registry, against a registry that answers over HTTP."""

from __future__ import annotations

import json
import pickle
import struct
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.changelog import ALL_CHANGES, INSERT_ONLY, KIND, RowKind
from millstream.formats.avro_binary import AvroData
from millstream.formats.avro_schema import avro_schema, debezium_schema
from millstream.formats.codecs import decoder_of, encoder_of
from millstream.formats.confluent_codec import ConfluentAvroDecoder, ConfluentAvroEncoder, schema_number
from millstream.formats.confluent_format import BasicAuthSource, ConfluentAvroFormat, ConfluentOptions, RegistryOptions
from millstream.formats.decoded import DecodeError
from millstream.formats.schema_registry import RegistryError, SchemaRegistry
from millstream.sql.types import BIGINT, INT, STRING
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS: Final = (("id", INT.not_null()), ("name", STRING))
ROWS: Final = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", None]})


@pytest.fixture(scope="module")
def registry() -> Iterator[EmbeddedSchemaRegistry]:
    with EmbeddedSchemaRegistry() as registry:
        yield registry


def plain(registry: EmbeddedSchemaRegistry, schema: str | None = None) -> ConfluentAvroFormat:
    options = ConfluentOptions(RegistryOptions(registry.url), "t-value", schema)
    return ConfluentAvroFormat(options, "avro-confluent", INSERT_ONLY)


def changes(registry: EmbeddedSchemaRegistry) -> ConfluentAvroFormat:
    options = ConfluentOptions(RegistryOptions(registry.url), "changes/t-value")
    return ConfluentAvroFormat(options, "debezium-avro-confluent", ALL_CHANGES)


def test_rows_go_there_and_back_with_the_number_of_their_schema(registry: EmbeddedSchemaRegistry) -> None:
    encoder = pickle.loads(pickle.dumps(encoder_of(plain(registry), COLUMNS)))
    messages = encoder.encode(ROWS)
    number = schema_number(messages[0].as_py())
    assert json.loads(registry.schemas[number - 1]) == avro_schema(COLUMNS)
    assert number in registry.subjects["t-value"]
    assert messages[0].as_py()[5:] == b"\x02\x02\x02a"
    decoder = pickle.loads(pickle.dumps(decoder_of(plain(registry), COLUMNS, ("name", "id"))))
    assert decoder.decode(messages).table.to_pydict() == {"name": ["a", None], "id": [1, 2]}


def test_each_writer_is_read_by_its_own_schema(registry: EmbeddedSchemaRegistry) -> None:
    newer = (("name", STRING), ("extra", BIGINT), ("id", INT))
    table = pa.table({"name": ["z"], "extra": [9], "id": pa.array([3], pa.int32())})
    messages = pa.concat_arrays(
        [
            ConfluentAvroEncoder(COLUMNS, plain(registry)).encode(ROWS),
            ConfluentAvroEncoder(newer, plain(registry)).encode(table),
        ]
    )
    decoder = ConfluentAvroDecoder((("id", BIGINT), ("extra", BIGINT)), plain(registry))
    assert decoder.decode(messages).table.to_pydict() == {"id": [1, 2, 3], "extra": [None, None, 9]}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(-9, 9), st.none() | st.text(max_size=3), st.sampled_from(list(RowKind))), max_size=4
    )
)
def test_changes_go_there_and_back(
    registry: EmbeddedSchemaRegistry, rows: list[tuple[int, str | None, RowKind]]
) -> None:
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int32()),
            "name": pa.array([row[1] for row in rows], pa.string()),
            KIND: pa.array([row[2] for row in rows], pa.int8()),
        }
    )
    messages = ConfluentAvroEncoder(COLUMNS, changes(registry)).encode(table)
    decoded = ConfluentAvroDecoder(COLUMNS, changes(registry)).decode(messages)
    assert decoded.table.equals(table.drop_columns([KIND]))
    assert decoded.kinds is not None
    inserting = (RowKind.INSERT, RowKind.UPDATE_AFTER)
    assert decoded.kinds.to_pylist() == [RowKind.INSERT if row[2] in inserting else RowKind.DELETE for row in rows]


def test_updates_and_tombstones_of_debezium(registry: EmbeddedSchemaRegistry) -> None:
    schema = debezium_schema(COLUMNS)[1]
    number = SchemaRegistry(RegistryOptions(registry.url)).register("db", schema)
    head, data = b"\0" + number.to_bytes(4, "big"), AvroData(schema)

    def message(operation: str, before: object, after: object) -> bytes:
        return head + data.write({"before": before, "after": after, "op": operation})

    one, two = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    messages = [message("r", None, one), message("u", one, two), None, b"", message("d", two, None)]
    decoder = ConfluentAvroDecoder(COLUMNS, changes(registry))
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    assert decoded.kinds is not None
    assert [RowKind(kind).symbol for kind in decoded.kinds.to_pylist()] == ["+I", "-U", "+U", "-D"]
    assert decoded.table["name"].to_pylist() == ["a", "a", "b", "b"]
    with pytest.raises(DecodeError, match=r"Can't deserialize Debezium Avro message.*before.*UPDATE"):
        decoder.decode(pa.array([message("u", None, two)], pa.binary()))


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (b"\x01\0\0\0\x01", "Unknown data format. Magic number does not match"),
        (b"\0\0", "Unknown data format. Magic number does not match"),
        (b"", "Unknown data format. Magic number does not match"),
        (b"\0\0\0\x27\x0f", "Could not find schema with id 9999 in registry"),
    ],
)
def test_what_cannot_be_read_is_told(registry: EmbeddedSchemaRegistry, message: bytes, cause: str) -> None:
    with pytest.raises(DecodeError) as caught:
        ConfluentAvroDecoder(COLUMNS, plain(registry)).decode(pa.array([None, message], pa.binary()))
    assert caught.value.index == 1
    assert caught.value.text.startswith(f"Failed to deserialize Avro record. {cause}")


def test_cut_data_fails(registry: EmbeddedSchemaRegistry) -> None:
    messages = ConfluentAvroEncoder(COLUMNS, plain(registry)).encode(ROWS)
    with pytest.raises(DecodeError, match="Failed to deserialize Avro record"):
        ConfluentAvroDecoder(COLUMNS, plain(registry)).decode(pa.array([messages[0].as_py()[:-1]], pa.binary()))


def test_a_given_schema_is_the_one_registered(registry: EmbeddedSchemaRegistry) -> None:
    given_schema = json.dumps(avro_schema(COLUMNS, "shop.Order"))
    messages = ConfluentAvroEncoder(COLUMNS, plain(registry, given_schema)).encode(ROWS)
    assert json.loads(registry.schemas[schema_number(messages[0].as_py()) - 1])["name"] == "shop.Order"


def test_writing_needs_a_subject(registry: EmbeddedSchemaRegistry) -> None:
    format_ = ConfluentAvroFormat(ConfluentOptions(RegistryOptions(registry.url)), "avro-confluent", INSERT_ONLY)
    with pytest.raises(RegistryError, match=r"Option 'avro-confluent\.subject' is required for serialization"):
        ConfluentAvroEncoder(COLUMNS, format_).encode(ROWS)


def test_the_registry_is_asked_once_per_schema(registry: EmbeddedSchemaRegistry) -> None:
    client = SchemaRegistry(RegistryOptions(registry.url))
    number = client.register("once", "string")
    before = len(registry.requests)
    assert [client.register("once", "string"), client.schema_of(number), client.schema_of(number)] == [
        number,
        "string",
        "string",
    ]
    assert len(registry.requests) == before + 1


@pytest.mark.parametrize(
    ("header", "options"),
    [
        (
            "Basic dXNlcjpzZWNyZXQ=",
            {"basic-auth.credentials-source": "USER_INFO", "basic-auth.user-info": "user:secret"},
        ),
        ("Basic dXNlcjpzZWNyZXQ=", {"properties": "basic.auth.user.info:user:secret,x:y"}),
        ("Bearer token", {"bearer-auth.credentials-source": "STATIC_TOKEN", "bearer-auth.token": "token"}),
        ("Bearer token", {"bearer-auth.token": "token", "properties": "bearer.auth.token:other"}),
    ],
)
def test_who_asks_is_told(header: str, options: dict[str, str]) -> None:
    with EmbeddedSchemaRegistry(header) as registry:
        written = {"url": registry.url} | options
        format_ = bind_format("avro-confluent", {f"avro-confluent.{key}": value for key, value in written.items()})
        assert isinstance(format_, ConfluentAvroFormat)
        assert SchemaRegistry(format_.options.registry).register("s", "int") == 1
        with pytest.raises(RegistryError, match="401"):
            SchemaRegistry(RegistryOptions(registry.url)).register("s", "int")


def test_user_and_password_may_stand_in_the_address() -> None:
    with EmbeddedSchemaRegistry("Basic dXNlcjpzZWNyZXQ=") as registry:
        address = registry.url.replace("http://", "http://user:secret@")
        assert SchemaRegistry(RegistryOptions(address, basic_auth_source=BasicAuthSource.URL)).register("s", "int") == 1


def test_the_next_address_is_asked_where_one_is_silent(registry: EmbeddedSchemaRegistry) -> None:
    silent = "http://127.0.0.1:1"
    assert SchemaRegistry(RegistryOptions(f"{silent}, {registry.url}/")).register("s", "int") > 0
    with pytest.raises(RegistryError, match=r"No answer from http://127\.0\.0\.1:1"):
        SchemaRegistry(RegistryOptions(silent)).schema_of(1)


def test_certificates_are_pem_files(tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    for options in (
        RegistryOptions("https://localhost", truststore_location=str(store)),
        RegistryOptions("https://localhost", keystore_location=str(store)),
        RegistryOptions("https://localhost", truststore_location=str(tmp_path / "missing")),
    ):
        with pytest.raises(RegistryError, match="cannot be read as PEM files"):
            SchemaRegistry(options)


def test_what_is_no_schema_is_asked_for_once_in_a_batch() -> None:
    good = '{"type":"record","name":"r","fields":[{"name":"id","type":"int"},{"name":"name","type":"string"}]}'
    with EmbeddedSchemaRegistry() as registry:
        registry.schemas += ["message M {}", '"no such type"']
        numbers = [1, 2, 3] * 100
        messages = pa.array([struct.pack(">bI", 0, number) + b"\2\2a" for number in numbers], pa.binary())
        decoder = decoder_of(plain(registry), COLUMNS, ("id", "name"))
        reasons = [found.text for found in decoder.decode(messages, sets_aside=True).unreadable]
        assert len(registry.requests) == 3
        assert len(reasons) == 300
        assert all("The writer's schema cannot be read" in reason for reason in (*reasons[0::3], *reasons[1::3]))
        assert all("Could not find schema with id 3" in reason for reason in reasons[2::3])
        registry.schemas.append(good)
        decoded = decoder.decode(messages, sets_aside=True)
        assert decoded.table.to_pydict() == {"id": [1] * 100, "name": ["a"] * 100}
        assert {found.index % 3 for found in decoded.unreadable} == {0, 1}
