"""What Flink 2.2 wrote and read, recorded from a real cluster."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import DecodeError
from millstream.formats.json_decode import JsonDecoder
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.sql.types import DataType, Field, TypeRoot

GOLDENS: Final = Path(__file__).parents[2] / "fixtures" / "flink-goldens"
SINK: Final = json.loads((GOLDENS / "json-sink.json").read_text("utf-8"))
SOURCE: Final = json.loads((GOLDENS / "json-source.json").read_text("utf-8"))
_TYPE: Final = re.compile(r"(\w+)(?:\(([\d, ]+)\))?(?:<(.*)>)?")
_FLAGS: Final = {
    "json.ignore-parse-errors": "ignore_parse_errors",
    "json.encode.decimal-as-plain-number": "decimal_as_plain_number",
    "json.encode.ignore-null-fields": "ignore_null_fields",
}


def parts(text: str) -> list[str]:
    """Splits at the commas that stand outside of brackets and quotes."""
    found, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "'"
        depth += 0 if quoted else (character in "(<") - (character in ")>")
        if character == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found]


def type_of(text: str) -> DataType:
    match = _TYPE.fullmatch(text)
    assert match is not None, text
    name, numbers, inner = match.groups()
    root = TypeRoot(name)
    if root is TypeRoot.ARRAY:
        return DataType(root, element=type_of(inner))
    if root is TypeRoot.MAP:
        key, value = parts(inner)
        return DataType(root, key=type_of(key), element=type_of(value))
    if root is TypeRoot.ROW:
        return DataType(root, fields=tuple(Field(*column) for column in columns_of(inner)))
    precision, scale, *_ = [*(int(n) for n in (numbers or "").split(",") if n), None, None]
    return DataType(root, precision=precision, scale=scale)


def columns_of(text: str) -> tuple[tuple[str, DataType], ...]:
    pairs = (part.split(" ", 1) for part in parts(text))
    return tuple((name, type_of(type_text)) for name, type_text in pairs)


def literal(text: str, type_: DataType) -> object:  # noqa: PLR0911
    if cast := re.fullmatch(r"CAST\((.*) AS .*\)", text):
        text = cast[1]
    if text == "NULL":
        return None
    if call := re.fullmatch(r"TO_TIMESTAMP_LTZ\((\d+), 3\)", text):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(call[1]))
    inner = re.sub(r"^[A-Z]+ *'|'$", "", text)
    match type_.root:
        case TypeRoot.BOOLEAN:
            return text == "TRUE"
        case TypeRoot.BYTES:
            return bytes.fromhex(inner)
        case TypeRoot.DECIMAL:
            return Decimal(text)
        case TypeRoot.DATE:
            return date.fromisoformat(inner)
        case TypeRoot.TIME:
            return time.fromisoformat(inner)
        case TypeRoot.TIMESTAMP:
            return datetime.fromisoformat(inner)
        case _:
            return int(text)


def options_of(golden: dict[str, Any]) -> JsonOptions:
    given = golden.get("options", {})
    standard = TimestampStandard(given.get("json.timestamp-format.standard", "SQL"))
    flags: dict[str, Any] = {field: given.get(key) == "true" for key, field in _FLAGS.items()}
    return JsonOptions(timestamp_standard=standard, **flags)


def shown(value: object) -> object:
    """A value as the recording shows it."""
    match value:
        case bool() | int() | str() | None:
            return value
        case bytes():
            return f"0x{value.hex()}"
        case time():
            return value.strftime("%H:%M:%S")  # Flink's result column is TIME(0), whatever was declared
        case list():
            return dict(value)
        case _:
            return str(value)


@pytest.mark.parametrize("golden", SINK, ids=lambda golden: f"{golden['columns']} {golden['options']}")
def test_encodes_the_bytes_of_flink(golden: dict[str, Any]) -> None:
    columns = columns_of(golden["columns"])
    rows = [
        [literal(text, type_) for text, (_, type_) in zip(parts(row), columns, strict=True)] for row in golden["rows"]
    ]
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), arrow_schema(columns), strict=True)
    ]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(columns))
    messages = JsonEncoder(columns, options_of(golden)).encode(table)
    assert messages.to_pylist() == [bytes.fromhex(text) for text in golden["values_hex"]]


@pytest.mark.parametrize("exact_only", [False, True], ids=["batch", "exact"])
@pytest.mark.parametrize("golden", SOURCE, ids=lambda golden: f"{golden['columns']} {golden['messages'][0]}")
def test_decodes_the_rows_of_flink(golden: dict[str, Any], exact_only: bool) -> None:  # noqa: FBT001
    decoder = JsonDecoder(columns_of(golden["columns"]), options_of(golden))
    decoder._exact_only |= exact_only
    messages = pa.array([message.encode() for message in golden["messages"]], pa.binary())
    if "error" not in golden:
        rows = [list(row.values()) for row in decoder.decode(messages).table.to_pylist()]
        assert [["+I", [shown(value) for value in row]] for row in rows] == golden["rows"]
        return
    with pytest.raises(DecodeError) as caught:
        decoder.decode(messages)
    assert caught.value.index == 0
    assert caught.value.text.startswith(f"Failed to deserialize JSON '{golden['messages'][0]}'. ")
    # The causes of broken syntax are Jackson's own words; the others are Flink's.
    if "formats.json.JsonParseException" in golden["error"] or "JsonMappingException" in golden["error"]:
        assert caught.value.text.endswith(golden["error"].split(": ", 1)[1])
