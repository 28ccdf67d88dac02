"""Generates messages in binary formats, and lines of CSV."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

from millstream.formats.avro_schema import avro_schema
from tests.fuzz.texts import Draw, text, value_text

if TYPE_CHECKING:
    from millstream.sql.types import DataType

    Columns = tuple[tuple[str, DataType], ...]

_COUNTS: Final = (0, 1, 2, 3, -1, -2, 300, 1 << 20, 1 << 31, 1 << 40, 1 << 62, -(1 << 63), (1 << 63) - 1)
_DEPTHS: Final = (1, 2, 5, 400, 900, 1500, 6000, 30_000)


def _record(called: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": called, "fields": [{"name": key, "type": type_} for key, type_ in fields.items()]}


def _doubling_schema(levels: int) -> dict[str, Any]:
    inner: Any = _record("r0")
    for level in range(1, levels):
        inner = _record(f"r{level}", a=inner, b=f"r{level - 1}")
    return _record("top", id="int", name=inner)


_NULLS: Final = {f"n{i}": "null" for i in range(999)}
_LIST: Final = _record("node", id="int", name=["null", "string"], next=["null", "node"])
_WRITERS: Final[tuple[Any, ...]] = (
    _record("plain", id="int", name=["null", "string"]),
    _LIST,
    _record("tree", id="int", name={"type": "array", "items": "tree"}),
    _record("nulls", id="int", name={"type": "array", "items": "null"}),
    _record("fixed", id="int", name={"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}),
    _record("empties", id="int", name={"type": "array", "items": _record("empty")}),
    _record("maps", id="long", name={"type": "map", "values": "null"}),
    _record("lists", id="int", name={"type": "array", "items": {"type": "array", "items": "long"}}),
    _record("itself", id="itself"),
    _doubling_schema(40),
    _record("others", id=["null", "double", {"type": "enum", "name": "e", "symbols": ["A", "B"]}], name="bytes"),
    ["null", _record("change", before=["null", _record("v", id="int", name=["null", "string"])], after=["null", "v"],
                     op="string")],
    "string",
    _record("wide", id="int", name={"type": "array", "items": _record("w", x="int", **_NULLS)}),
    _record("wider", id="int", name={"type": "map", "values": ["null", _record("v", **_NULLS)]}),
)  # fmt: skip
_CHANGE: Final = 11
SCHEMAS: Final = (*map(json.dumps, _WRITERS), '"no such type"', "message M {}", "[", '{"type":"record","name":"x"}')
"""The schemas in the registry, with ids from one."""


def draw_registered_datum(rng: Draw, *, changes: bool) -> bytes:
    if rng.odd(0.03):
        return rng.randbytes(rng.randrange(9))
    if not rng.odd(1):
        usual = _WRITERS[_CHANGE if changes else 0]
        return struct.pack(">bI", 0, 1 + (_CHANGE if changes else 0)) + _datum(rng, usual, {}, 4)
    number = rng.choice((0, 1, len(SCHEMAS) + 1, 1 << 31)) if rng.random() < 0.05 else rng.randrange(len(SCHEMAS)) + 1
    if not 1 <= number <= len(_WRITERS):
        return struct.pack(">bI", 0, number) + rng.randbytes(rng.randrange(9))
    schema = _WRITERS[number - 1]
    if rng.odd(0.15):
        datum = bytes([rng.choice((0, 2, 2, 2, 4))]) * (2 * rng.choice(_DEPTHS)) + b"\0" * rng.randrange(3)
    else:
        datum = _datum(rng, schema, {}, rng.choice((2, 2, 2, 6)))
    return struct.pack(">bI", 0, number) + datum


def draw_avro_datum(rng: Draw, columns: Columns) -> bytes:
    """By the schema that follows from the columns."""
    if rng.odd(0.03):
        return rng.randbytes(rng.randrange(9))
    return _datum(rng, avro_schema(columns), {}, rng.choice((2, 6, 6)))


def _datum(rng: Draw, schema: Any, named: dict[str, Any], levels: int) -> bytes:
    """With at most this many levels of non-empty unions; occasionally with a wrong count or branch."""
    if isinstance(schema, list):
        branch = len(schema) - 1 if levels > 0 and rng.random() < 0.9 else 0
        branch = rng.randrange(len(schema)) if rng.odd(0.3) else branch
        return _long(branch) + _datum(rng, schema[branch], named, levels - 1)
    schema = named.get(schema, schema) if isinstance(schema, str) else schema
    if isinstance(schema, dict) and "name" in schema:
        named[schema["name"]] = schema
    if levels < -4:
        return b""
    match schema["type"] if isinstance(schema, dict) else schema:
        case "record":
            return b"".join(
                b"\x02" + rng.choice((b"c", b"u", b"d"))
                if field["name"] == "op"
                else _datum(rng, field["type"], named, levels - 1)
                for field in schema["fields"]
            )
        case "array" | "map" as kind:
            count = rng.choice(_COUNTS) if rng.odd(0.3) else rng.randrange(3)
            item = b"" if kind == "array" else _bytes(rng)
            items = [item + _datum(rng, schema.get("items", schema.get("values")), named, levels - 1) for _ in range(2)]
            return _long(count) + (_long(1) if count < 0 else b"") + b"".join(items[: abs(count)]) + _long(0)
        case "string" | "bytes":
            return _bytes(rng)
        case "boolean":
            return bytes([rng.randrange(2 if not rng.odd(0.1) else 256)])
        case "float" | "double" as kind:
            return rng.randbytes(4 if kind == "float" else 8)
        case "null" | "fixed":
            return b""
        case _:
            return _long(rng.choice((0, 1, -1, 7, 1 << 31, 1 << 40, (1 << 63) - 1)) if rng.odd(0.5) else 7)


def _bytes(rng: Draw) -> bytes:
    content = value_text(rng, "STRING").encode("utf-8", "surrogatepass")
    return _long(len(content) if not rng.odd(0.05) else rng.choice(_COUNTS)) + content


def _long(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def protobuf(rng: Draw, depth: int = 0) -> bytes:
    """Fields with wire types that match or do not, and with known and unknown numbers."""
    if depth == 0 and rng.random() < 0.03:
        inner = b""
        for _ in range(rng.choice((50, 99, 101, 3000))):
            inner = varint(rng.choice((13, 14)) << 3 | 2) + varint(len(inner)) + inner
        return inner
    return b"".join(_field(rng, depth) for _ in range(rng.randrange(6)))


def _field(rng: Draw, depth: int) -> bytes:
    number = rng.randrange(1, 17) if rng.random() < 0.95 else rng.choice((0, 19_000, (1 << 29) - 1))
    wire = rng.choice((0, 1, 2, 2, 2, 5)) if rng.random() < 0.9 else rng.randrange(8)
    tag = varint(number << 3 | wire)
    match wire:
        case 0:
            return tag + varint(rng.choice((0, 1, 2, 99, 1 << 31, (1 << 64) - 1, 1 << 69)))
        case 1 | 5:
            return tag + rng.randbytes(8 if wire == 1 else 4)
        case 2:
            inside = (
                protobuf(rng, depth + 1) if depth < 3 and rng.random() < 0.4 else text(rng).encode("utf-8", "replace")
            )
            inside = inside if rng.random() < 0.9 else rng.randbytes(rng.randrange(9))
            return tag + varint(len(inside) if rng.random() < 0.95 else rng.choice((1 << 31, 1 << 62))) + inside
        case _:
            return tag


def raw(rng: Draw) -> bytes:
    if rng.random() < 0.5:
        return rng.randbytes(rng.choice((0, 1, 2, 4, 8, 3, 9, 16)))
    charset = rng.choice(("utf-8", "utf-8", "utf-16", "utf-7", "shift-jis"))
    return "\n".join(text(rng) for _ in range(rng.randrange(4))).encode(charset, "replace")


def csv(rng: Draw, columns: Columns) -> bytes:
    fields = [_csv_field(rng, type_) for _, type_ in columns]
    if rng.odd(0.1):
        fields = fields[: rng.randrange(len(fields) + 1)] + [text(rng)] * rng.randrange(3)
    if rng.odd(0.02):
        fields = fields[:1] * rng.choice((100, 50_000)) if len(fields[:1]) and len(fields[0]) < 10 else fields
    line = rng.choice((",", ";") if rng.odd(0.2) else ",").join(fields)
    if rng.odd(0.1):
        line = rng.choice(("#", "\n", " ", "# a\n", line + "\n")) + line
    return line.encode("utf-8", "replace")


def _csv_field(rng: Draw, type_: DataType) -> str:
    content = value_text(rng, type_.root)
    if type_.root in ("ARRAY", "ROW"):
        content = ";".join(value_text(rng, rng.choice(("INT", "STRING"))) for _ in range(rng.choice((0, 1, 2, 2, 3))))
    if rng.random() < 0.3:
        content = f'"{content.replace(chr(34), chr(34) * 2)}"'
    return content if not rng.odd(0.03) else content + rng.choice(('"', '""', '"x', "\\"))
