"""Messages of changes, bare bytes and Avro in JSON as Flink reads them, with every option that has a say in it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.formats.conformance.reading import SKIPPED, Fails, check_read, parse_columns, plain, rows_read
from tests.unit.formats.flink_goldens import bind_format

COLUMNS: Final = parse_columns("id INT, name STRING")
IDENTITY: Final = Fails("please check the Postgres table has been set REPLICA IDENTITY to FULL level.")
A, B = '{"id":1,"name":"a"}', '{"id":1,"name":"b"}'
OLD: Final = [["-U", 1, "a"], ["+U", 1, "b"]]
ORDINARY: Final = {
    "debezium-json": f'{{"after":{A},"op":"c"}}',
    "ogg-json": f'{{"after":{A},"op_type":"I"}}',
    "maxwell-json": f'{{"data":{A},"type":"insert"}}',
    "canal-json": f'{{"data":[{A}],"type":"INSERT","database":"shop","table":"orders"}}',
}
CHANGES: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "debezium-json": (
        (f'{{"before":null,"after":{A},"op":"r"}}', [["+I", 1, "a"]]),
        (f'{{"before":{A},"after":{B},"op":"u"}}', OLD),
        (f'{{"before":{A},"after":null,"op":"d"}}', [["-D", 1, "a"]]),
        ('{"before":{"id":"7"},"op":"d"}', [["-D", 7, None]]),
        (f'{{"before":null,"after":{B},"op":"u"}}', IDENTITY),
        ('{"op":"d"}', IDENTITY),
        ('{"op":"c"}', Fails()),
        (f'{{"after":{A},"op":"t"}}', Fails('Unknown "op" value "t".')),
        (f'{{"after":{A}}}', Fails()),
        (f'{{"payload":{{"after":{A},"op":"c"}}}}', Fails()),
        ("[]", Fails("Corrupt Debezium JSON message '[]'.")),
    ),
    "ogg-json": (
        (f'{{"before":{A},"after":{B},"op_type":"U"}}', OLD),
        (f'{{"before":{A},"op_type":"D"}}', [["-D", 1, "a"]]),
        (f'{{"after":{B},"op_type":"U"}}', IDENTITY),
        ('{"op_type":"T"}', Fails('Unknown "op_type" value "T".')),
    ),
    "maxwell-json": (
        (f'{{"data":{B},"old":{{"name":"a"}},"type":"update"}}', OLD),
        (f'{{"data":{B},"old":{{"name":null}},"type":"update"}}', [["-U", 1, None], ["+U", 1, "b"]]),
        (f'{{"data":{B},"old":{{}},"type":"update"}}', [["-U", 1, "b"], ["+U", 1, "b"]]),
        (f'{{"data":{B},"type":"update"}}', Fails()),
        (f'{{"data":{A},"type":"delete"}}', [["-D", 1, "a"]]),
        (f'{{"data":{A},"type":"bootstrap-insert"}}', Fails('Unknown "type" value "bootstrap-insert".')),
    ),
    "canal-json": (
        (f'{{"data":[{A},{B}],"type":"INSERT"}}', [["+I", 1, "a"], ["+I", 1, "b"]]),
        (f'{{"data":[{B}],"old":[{{"name":"a"}}],"type":"UPDATE"}}', OLD),
        # Flink looks for the name in all of "old", so one row's change speaks for the others.
        (f'{{"data":[{B},{B}],"old":[{{"name":"a"}},{{"id":0}}],"type":"UPDATE"}}',
         [["-U", None, "a"], ["+U", 1, "b"], ["-U", 0, None], ["+U", 1, "b"]]),
        (f'{{"data":[{A}],"type":"DELETE"}}', [["-D", 1, "a"]]),
        ('{"data":null,"type":"CREATE"}', SKIPPED),
        ('{"data":[],"type":"INSERT"}', SKIPPED),
        ('{"data":null,"type":"ALTER"}', Fails('Unknown "type" value "ALTER".')),
        ('{"data":null,"type":"INSERT"}', Fails()),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("identifier", "message", "expected"),
    [pytest.param(name, *case, id=f"{name} {case[0]}") for name, cases in CHANGES.items() for case in cases],
)
def test_changes(identifier: str, message: str, expected: Any) -> None:
    ordinary = ORDINARY[identifier].encode()
    check_read(bind_format(identifier, {}), COLUMNS, message.encode(), expected, ordinary)
    lenient = bind_format(identifier, {f"{identifier}.ignore-parse-errors": "true"})
    passed_over = SKIPPED if isinstance(expected, Fails) else expected
    check_read(lenient, COLUMNS, message.encode(), passed_over, ordinary)


CANAL: Final = '{"data":[{"id":1}],"type":"INSERT","database":"DB","table":"TABLE"}'


@pytest.mark.parametrize(
    ("options", "database", "table", "is_read"),
    [
        ({"database.include": "shop"}, "shop", "t", True),
        ({"database.include": "sho"}, "shop", "t", False),
        ({"database.include": "shop|mart"}, "mart", "t", True),
        ({"table.include": "ord.*"}, "shop", "orders", True),
        ({"database.include": "shop", "table.include": "x"}, "shop", "orders", False),
    ],
)
def test_only_some_databases_and_tables(
    options: dict[str, str],
    database: str,
    table: str,
    is_read: bool,  # noqa: FBT001
) -> None:
    format_ = bind_format("canal-json", {f"canal-json.{key}": value for key, value in options.items()})
    message = CANAL.replace("DB", database).replace("TABLE", table).encode()
    expected = [["+I", 1, None]] if is_read else SKIPPED
    check_read(format_, COLUMNS, message, expected, CANAL.replace("DB", "no").replace("TABLE", "no").encode())
    check_read(format_, COLUMNS, b'{"data":[{"id":1}],"type":"INSERT"}', Fails(), message)


def test_a_schema_around_the_change() -> None:
    format_ = bind_format("debezium-json", {"debezium-json.schema-include": "true"})
    message = f'{{"schema":{{}},"payload":{ORDINARY["debezium-json"]}}}'.encode()
    check_read(format_, COLUMNS, message, [["+I", 1, "a"]], message)
    check_read(format_, COLUMNS, ORDINARY["debezium-json"].encode(), Fails(), message)


def test_moments_of_changes_in_the_other_standard() -> None:
    columns = parse_columns("`at` TIMESTAMP(3)")
    format_ = bind_format("maxwell-json", {"maxwell-json.timestamp-format.standard": "ISO-8601"})
    message = b'{"data":{"at":"1970-01-01T00:00:01"},"type":"insert"}'
    check_read(format_, columns, message, [["+I", 1_000_000]], message)
    check_read(format_, columns, message.replace(b"T0", b" 0"), Fails(), message)


LITTLE: Final = {"raw.endianness": "little-endian"}


@pytest.mark.parametrize(
    ("options", "type_", "message", "expected"),
    [
        ({}, "BOOLEAN", "02", True),
        ({}, "BOOLEAN", "", Fails("Size of data received for deserializing BOOLEAN type is not 1.")),
        ({}, "TINYINT", "ff", -1),
        ({}, "SMALLINT", "0001", 1),
        (LITTLE, "SMALLINT", "0100", 1),
        ({}, "INT", "00000001", 1),
        ({}, "INT", "000001", Fails("Size of data received for deserializing INT type is not 4.")),
        (LITTLE, "INT", "feffffff", -2),
        ({}, "BIGINT", "8000000000000000", -(2**63)),
        ({}, "FLOAT", "7fc00000", float("nan")),
        (LITTLE, "DOUBLE", "9a9999999999b93f", 0.1),
        ({}, "DOUBLE", "00", Fails("Size of data received for deserializing DOUBLE type is not 8.")),
        ({}, "STRING", "", ""),
        ({}, "STRING", "c3a9", "é"),
        ({}, "STRING", "ff61", "�a"),
        ({"raw.charset": "ISO-8859-1"}, "STRING", "e9", "é"),
        ({"raw.charset": "UTF-16"}, "STRING", "00e9", "é"),
        ({"raw.charset": "UTF-16"}, "STRING", "fffee900", "é"),
        ({}, "BYTES", "00ff", b"\x00\xff"),
    ],
)
def test_raw(options: dict[str, str], type_: str, message: str, expected: Any) -> None:
    columns = parse_columns(f"v {type_}")
    found = rows_read(bind_format("raw", options), columns, [bytes.fromhex(message)])
    if isinstance(expected, Fails):
        assert isinstance(found, Fails)
        assert expected.message in found.message
    else:
        assert found == [["+I", plain(expected, columns[0][1])]]


def test_lines_of_a_raw_message() -> None:
    format_ = bind_format("raw", {"raw.line-delimiter": "\n"})
    columns = parse_columns("v STRING")
    assert rows_read(format_, columns, [b"a\n\nb\n", None, b"", b"c"]) == [["+I", v] for v in ("a", "", "b", "c")]


AVRO: Final = parse_columns("id INT NOT NULL, name STRING, big BIGINT NOT NULL, f FLOAT NOT NULL")
NAMED: Final = '"name":{"string":"a"}'


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f'{{"id":1,{NAMED},"big":2,"f":1.5}}', [["+I", 1, "a", 2, "1.5"]]),
        (f' {{ "f":"NaN", "big":2.0 ,{NAMED}, "id":1 }} trailing', [["+I", 1, "a", 2, "nan"]]),
        ('{"id":1,"name":null,"big":2,"f":1,"more":{}}', [["+I", 1, None, 2, "1.0"]]),
        (f'{{"more":0,"id":1,{NAMED},"big":2,"f":1}}', Fails("Unknown fields: ['more']")),
        (f'{{"id":1,{NAMED},"big":2}}', Fails("Expected field name not found: f")),
        ('{"id":1,"name":"a","big":2,"f":1}', Fails("Expected start-union. Got VALUE_STRING")),
        ('{"id":1,"name":{"int":1},"big":2,"f":1}', Fails("Unknown union branch int")),
        (f'{{"id":"1",{NAMED},"big":2,"f":1}}', Fails("Expected int. Got VALUE_STRING")),
        (f'{{"id":1.5,{NAMED},"big":2,"f":1}}', Fails("Expected int. Got VALUE_NUMBER_FLOAT")),
        (f'{{"id":2147483648,{NAMED},"big":2,"f":1}}', Fails("out of range of int")),
        (f'{{"id":1,{NAMED},"big":2,"f":"x"}}', Fails("Expected float. Got VALUE_STRING")),
        ("[]", Fails("Expected record-start. Got START_ARRAY")),
        ("", Fails("Failed to deserialize Avro record.")),
        ("{", Fails("Failed to deserialize Avro record.")),
    ],
)
def test_avro_in_json(message: str, expected: Any) -> None:
    ordinary = f'{{"id":1,{NAMED},"big":2,"f":0}}'.encode()
    check_read(bind_format("avro", {"avro.encoding": "json"}), AVRO, message.encode(), expected, ordinary)
