"""Generates messages in JSON: rows, changes as the capture tools write them, and Avro's own encoding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from millstream.formats.avro_schema import avro_schema
from millstream.sql.types import NESTED, NUMERIC, DataType, TypeRoot
from tests.fuzz.texts import Draw, number, text, value_text

if TYPE_CHECKING:
    Columns = tuple[tuple[str, DataType], ...]

_MANY: Final = (2, 3, 10, 500, 20_000)
_EMPTY: Final = ("{}", "null", "[]", "[{}]", "[null]", '{"l":[{},{}]}')
_DEPTHS: Final = (3, 60, 900, 1100, 5000, 200_000)
_BLANKS: Final = ("", "", "", " ", "\n", "\t ")
_WORDS_OF_CHANGE: Final = {
    "debezium-json": ("op", ("c", "r", "u", "d")),
    "ogg-json": ("op_type", ("I", "U", "D")),
    "maxwell-json": ("type", ("insert", "update", "delete")),
    "canal-json": ("type", ("INSERT", "UPDATE", "DELETE", "CREATE")),
}
_NAMES_BESIDE: Final = (
    "source", "ts_ms", "ts", "es", "database", "table", "sqlType", "pkNames", "primary_key_columns", "primary_keys",
    "current_ts", "op_ts", "schema",
)  # fmt: skip


def rows(rng: Draw, columns: Columns, many: int | None = None) -> str:
    """An object, or a list of them."""
    if many is not None or rng.random() < 0.1:
        count = rng.choice(_MANY) if many is None else many
        some = [row(rng, columns) for _ in range(3)] if count < 100 or rng.random() < 0.2 else ["{}"]
        some = [each if len(each) < 100_000 // count else "{}" for each in some]
        return f"[{','.join(some[i % len(some)] for i in range(count))}]"
    return row(rng, columns)


def row(rng: Draw, columns: Columns) -> str:
    members = [(name, value(rng, type_)) for name, type_ in columns if rng.random() < 0.85]
    while rng.odd(0.15):
        members.append((rng.choice([*(name for name, _ in columns), text(rng)]), anything(rng)))
    if rng.odd(0.1):
        rng.shuffle(members)
    return _object(rng, members)


def value(rng: Draw, type_: DataType) -> str:
    if rng.odd(0.1):
        return anything(rng)
    if rng.random() < 0.05:
        return "null"
    match type_.root:
        case TypeRoot.ARRAY:
            assert type_.element is not None
            if type_.element.root in NESTED and rng.odd(0.2):
                return f"[{','.join([rng.choice(_EMPTY)] * rng.choice(_MANY))}]"
            return f"[{','.join(value(rng, type_.element) for _ in range(rng.randrange(4)))}]"
        case TypeRoot.MAP:
            assert type_.element is not None
            return _object(rng, [(text(rng), value(rng, type_.element)) for _ in range(rng.randrange(4))])
        case TypeRoot.ROW:
            return row(rng, tuple((field.name, field.type) for field in type_.fields))
        case root if root is TypeRoot.BOOLEAN or (root in NUMERIC and not rng.odd(0.3)):
            return value_text(rng, root)
        case root:
            return quote(rng, value_text(rng, root))


def anything(rng: Draw) -> str:
    match rng.randrange(7):
        case 0:
            return number(rng)
        case 1:
            return quote(rng, text(rng))
        case 2:
            return rng.choice(("null", "true", "false", "NaN", "Infinity", "-Infinity", "nul", "[]", "{}", "", "/**/1"))
        case 3:
            return f"[{','.join(anything(rng) for _ in range(rng.randrange(3)))}]"
        case 4:
            return _object(rng, [(text(rng), anything(rng)) for _ in range(rng.randrange(3))])
        case 5 if rng.random() < 0.3:
            depth, opening, closing = rng.choice(_DEPTHS), *rng.choice((("[", "]"), ('{"a":', "}")))
            return opening * depth + "1" + closing * (depth if rng.random() < 0.8 else 0)
        case _:
            return quote(
                rng, rng.choice(("\\ud800", "\\udc00\\ud800", "\\u0000", "\\x", "\\u12", "\\", "\n")), raw=True
            )


def quote(rng: Draw, content: str, *, raw: bool = False) -> str:
    """With `raw`, the content is inserted unchanged; otherwise in one of the ways to escape it."""
    return f'"{content}"' if raw else json.dumps(content, ensure_ascii=rng.random() < 0.7)


def _object(rng: Draw, members: list[tuple[str, str]]) -> str:
    blank = rng.choice(_BLANKS)
    written = (f"{quote(rng, name)}{blank}:{blank}{member}" for name, member in members)
    return f"{{{blank}{f'{blank},'.join(written)}{blank}}}"


def change(rng: Draw, format_: str, columns: Columns, *, with_schema: bool) -> str:
    """A message of a capture tool; `with_schema` adds Debezium's schema envelope."""
    field, words = _WORDS_OF_CHANGE[format_]
    word = quote(rng, rng.choice(words)) if not rng.odd(0.1) else anything(rng)
    one = rng.random() < 0.8
    new, old = ("data", "old") if format_ in ("canal-json", "maxwell-json") else ("after", "before")
    members = [(field, word)]
    for name in (new, old):
        if not rng.odd(0.1):
            if format_ == "canal-json":
                content = rows(rng, columns, 1 if one else rng.choice(_MANY))
            else:
                content = row(rng, columns)
            members.append((name, content if not rng.odd(0.1) else anything(rng)))
    members += [(name, _beside(rng)) for name in _NAMES_BESIDE if rng.odd(0.15)]
    message = _object(rng, members)
    if not with_schema:
        return message
    return _object(rng, [("schema", anything(rng)), ("payload", message if rng.random() < 0.9 else anything(rng))])


def _beside(rng: Draw) -> str:
    match rng.randrange(4):
        case 0:
            return number(rng)
        case 1:
            return quote(rng, value_text(rng, "TIMESTAMP"))
        case 2:
            return _object(
                rng, [(name, anything(rng)) for name in ("ts_ms", "db", "schema", "table") if rng.random() < 0.5]
            )
        case _:
            return anything(rng)


def avro_datum(rng: Draw, columns: Columns) -> str:
    return _datum(rng, avro_schema(columns))


def _datum(rng: Draw, schema: Any) -> str:
    if rng.odd(0.05):
        return anything(rng)
    if isinstance(schema, list):
        if rng.random() < 0.2:
            return "null"
        branch = schema[1]
        label = str(branch.get("name", branch["type"]) if isinstance(branch, dict) else branch)
        return f"{{{quote(rng, label)}:{_datum(rng, branch)}}}"
    match schema["type"] if isinstance(schema, dict) else schema:
        case "record":
            return _object(rng, [(field["name"], _datum(rng, field["type"])) for field in schema["fields"]])
        case "array":
            return f"[{','.join(_datum(rng, schema['items']) for _ in range(rng.randrange(4)))}]"
        case "map":
            return _object(rng, [(text(rng), _datum(rng, schema["values"])) for _ in range(rng.randrange(3))])
        case "boolean":
            return rng.choice(("true", "false"))
        case "int" | "long" | "float" | "double":
            return number(rng) if rng.odd(1) else "7"
        case _:
            return quote(rng, value_text(rng, "STRING"))
