"""Messages that once crashed a decoder, kept it busy forever, or failed without their position."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import pytest

from tests.fuzz.binary_messages import SCHEMAS
from tests.fuzz.examination import Tally
from tests.fuzz.tables import Table
from tests.fuzz.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW: Final = Tally(1, rows=1)
UNREADABLE: Final = Tally(1, unreadable=1)
LONG: Final = b"1" * 30_000 + b"x"
BLANKS: Final = b" " * 50_000
COUNT: Final = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"
OBJECTS: Final = b"[" + b",".join([b"{}"] * 20_000) + b"]"


def encode_registered(record: str, datum: bytes) -> bytes:
    [number] = [
        i for i, schema in enumerate(SCHEMAS, 1) if schema.startswith(f'{{"type": "record", "name": "{record}"')
    ]
    return struct.pack(">bI", 0, number) + datum


def table(format_: str, columns: str, **options: str) -> Table:
    return Table(format_, columns, tuple(options.items()))


MANY_FIELDS: Final = ", ".join(f"f{i} INT" for i in range(50))
KEYED: Final = Table("json", "v INT", key="k INT")
SHORTER: Final = b"[" + b",".join([b"{}"] * 3000) + b"]"
WRITTEN: Final = table("avro-confluent", "id INT")
CASES: Final = {
    "exponent": (table("json", "d DECIMAL(10, 2)"), None, b'{"d":1e-1000000000}', ROW),
    "exponent in a list": (table("json", "d ARRAY<DECIMAL(10, 2)>"), None, b'{"d":[1e-1000000000]}', ROW),
    "exponent in a change": (
        table("debezium-json", "d DECIMAL(10, 2)"), None, b'{"op":"c","after":{"d":1e-1000000000}}', ROW,
    ),
    "fraction": (table("json", "d DECIMAL(10, 2)"), None, b'{"d":0.' + b"0" * 10_000_000 + b"1}", ROW),
    "fraction in csv": (table("csv", "d DECIMAL(10, 2)"), None, b"0." + b"0" * 1_000_000 + b"1", ROW),
    "digits and a letter": (table("json", "d DECIMAL(10, 2)"), None, b'{"d":"' + LONG + b'"}', UNREADABLE),
    "digits and a letter as a double": (table("json", "d DOUBLE"), None, b'{"d":"' + LONG + b'"}', UNREADABLE),
    "digits and a letter in csv": (table("csv", "d DECIMAL(10, 2)"), None, LONG, UNREADABLE),
    "digits and a letter as a float in csv": (table("csv", "d FLOAT"), None, LONG, UNREADABLE),
    "digits and a letter in a change": (
        table("ogg-json", "d DECIMAL(10, 2)"), None, b'{"op_type":"I","after":{"d":"' + LONG + b'"}}', UNREADABLE,
    ),
    "number out of all range": (
        table("debezium-json", "d DECIMAL(9, 2)"), None, b'{"op":"c","after":{"d":1e99999999999999999999}}', UNREADABLE,
    ),
    "surrogate": (table("avro", "s STRING", encoding="json"), None, b'{"s":{"string":"\\ud800"}}', ROW),
    "surrogate as a key": (
        table("avro", "m MAP<STRING, INT>", encoding="json"), None, b'{"m":{"map":{"\\ud800":{"int":1}}}}', ROW,
    ),
    "surrogate in a charset": (table("raw", "s STRING", charset="utf-7"), None, b"+2AA-", ROW),
    "metadata that is no time": (
        Table("ogg-json", "i INT", (), ("event-timestamp",)), None,
        b'{"op_type":"I","after":{"i":1},"op_ts":"soon"}', UNREADABLE,
    ),
    "nesting": (WRITTEN, None, encode_registered("node", b"\2\0\2" * 20_000), UNREADABLE),
    "record within itself": (WRITTEN, None, encode_registered("itself", b""), UNREADABLE),
    "nulls": (WRITTEN, None, encode_registered("nulls", b"\2" + COUNT + b"\0"), UNREADABLE),
    "fixed of no bytes": (WRITTEN, None, encode_registered("fixed", b"\2" + COUNT + b"\0"), UNREADABLE),
    "empty records": (WRITTEN, None, encode_registered("empties", b"\2" + COUNT + b"\0"), UNREADABLE),
    "records of records of nothing": (WRITTEN, None, encode_registered("top", b"\2"), UNREADABLE),
    "lists of both": (KEYED, OBJECTS, OBJECTS, UNREADABLE),
    "shorter lists of both": (KEYED, SHORTER, SHORTER, UNREADABLE),
    "long key of a list": (
        Table("json", "v INT", key="k STRING"), b'{"k":"' + b"a" * 500_000 + b'"}', OBJECTS, UNREADABLE,
    ),
    "metadata of a list": (
        Table("canal-json", "i INT", (), ("database",)), None,
        b'{"type":"INSERT","data":' + OBJECTS + b',"database":"' + b"a" * 500_000 + b'"}', UNREADABLE,
    ),
    "blanks after base64": (table("json", "b BYTES"), None, b'{"b":"AAAA' + BLANKS + b'"}', ROW),
    "blanks after base64 in a change": (
        table("debezium-json", "b BYTES"), None, b'{"op":"c","after":{"b":"AAAA' + BLANKS + b'"}}', ROW,
    ),
    "blanks within base64": (table("json", "b BYTES"), None, b'{"b":"AAAA' + BLANKS + b'A"}', UNREADABLE),
    "empty rows of many columns": (
        table("json", ", ".join(f"c{i} BIGINT" for i in range(150))), None,
        b"[" + b"{}," * 300_000 + b"{}]", UNREADABLE,
    ),
    "empty rows of many fields": (
        table("json", f"a ARRAY<ROW<{MANY_FIELDS}>>"), None, b'{"a":[' + b"{}," * 300_000 + b"{}]}", UNREADABLE,
    ),
    "empty old rows": (
        table("canal-json", MANY_FIELDS), None,
        b'{"type":"UPDATE","old":[' + b"{}," * 140_000 + b'{}],"data":[' + b"{}," * 140_000 + b"{}]}", UNREADABLE,
    ),
    "records of an int and nulls": (
        WRITTEN, None, encode_registered("wide", b"\2\x80\x89\x7a" + b"\2" * 1_000_000 + b"\0"), UNREADABLE,
    ),
    "nesting beside the columns": (
        table("json", "i INT"), None, b'{"i":1,"o":' + b"[" * 1500 + b"]" * 1500 + b"}", UNREADABLE,
    ),
    "old rows": (
        table("canal-json", "i INT"), None, b'{"type":"UPDATE","data":' + OBJECTS + b',"old":' + OBJECTS + b"}",
        Tally(1, rows=40_000),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    with Watch() as watch:
        yield watch


@pytest.mark.parametrize("name", CASES)
def test_it_is_a_row_or_unreadable(watch: Watch, name: str) -> None:
    table_, key, value, expected = CASES[name]
    assert watch.examine(table_, [(key, value)]) == expected
